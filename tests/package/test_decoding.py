"""decoding.py, greedy: when it stops, what it returns, what it asks of the model."""

import math

import pytest
import torch
from copying_transformer import PAD as MODEL_PAD
from copying_transformer import SIZES, batch, build
from scripted_model import BOS, EOS, PAD, ScriptedModel, random_rule, scripted

from attention_core import Transformer, TransformerConfig, greedy_decode

both_ways = pytest.mark.parametrize("use_cache", [True, False])


def sources(n):
    """Sentences 1 to n, each with padding behind it."""
    return torch.tensor([[i + 1, 7, PAD] for i in range(n)])


def greedy(model, src, max_len=9, **options):
    return greedy_decode(model, src, bos_id=BOS, eos_id=EOS, max_len=max_len, **options)


def allowed(logits):
    """PAD and BOS may not be written."""
    return [-math.inf if token in (PAD, BOS) else x for token, x in enumerate(logits)]


# -------------------------------------------------------------------- the end


@both_ways
def test_nothing_after_eos_is_kept(use_cache):
    model = ScriptedModel(scripted([5, 6, EOS, 7, 8, EOS, 9]))
    assert greedy(model, sources(1), use_cache=use_cache).tolist() == [[5, 6]]
    assert len(model.calls) == 3  # for 5, 6 and EOS; there is no further call


@both_ways
def test_sentences_end_at_different_steps_and_are_filled_with_padding(use_cache):
    model = ScriptedModel(scripted([5, EOS, 6, 6, 6], [7, 8, 9, 10, EOS, 6], [4, 4, EOS]))
    output = greedy(model, sources(3), use_cache=use_cache)
    assert output.tolist() == [[5, PAD, PAD, PAD], [7, 8, 9, 10], [4, 4, PAD, PAD]]
    assert len(model.calls) == 5
    # The model reads padding for a sentence that has ended.
    assert [call.tgt[0, -1].item() for call in model.calls] == [BOS, 5, PAD, PAD, PAD]


def test_a_finished_sentence_gets_no_more_tokens():
    model = ScriptedModel(scripted([EOS, 5, EOS, 5], [6, 7, 8, EOS]))
    assert greedy(model, sources(2)).tolist() == [[PAD] * 3, [6, 7, 8]]


@both_ways
def test_without_eos_it_stops_at_max_len(use_cache):
    model = ScriptedModel(scripted([5, 6, 7, 8, 9, 10]))
    output = greedy(model, sources(1), max_len=4, use_cache=use_cache)
    assert output.tolist() == [[5, 6, 7, 8]]
    assert len(model.calls) == 4


@both_ways
def test_without_eos_it_stops_at_the_max_len_of_the_model(use_cache):
    model = ScriptedModel(scripted([5, 6, 7, 8, 9, 10]), max_len=3)
    assert greedy(model, sources(1), use_cache=use_cache).tolist() == [[5, 6, 7]]
    real = build(torch.float32, max_len=8)
    output = greedy_decode(real, batch()[0], bos_id=1, eos_id=None, max_len=99, use_cache=use_cache)
    assert output.shape == (2, 8)


@pytest.mark.parametrize("n", [1, 3])
def test_eos_first_gives_empty_sentences(n):
    model = ScriptedModel(scripted(*[[EOS, 5]] * n))
    output = greedy(model, sources(n))
    assert output.shape == (n, 0)
    assert len(model.calls) == 1


def test_max_len_0_gives_empty_sentences_without_a_call_of_the_model():
    model = ScriptedModel(scripted([5], [6]))
    assert greedy(model, sources(2), max_len=0).shape == (2, 0)
    assert model.calls == []


def test_an_empty_batch_gives_an_empty_result():
    model = build(torch.float32)
    src = torch.ones(0, 7, dtype=torch.long)
    assert greedy_decode(model, src, bos_id=1, eos_id=2, max_len=5).shape[0] == 0


# ------------------------------------------------------------- input and output


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_results_have_the_dtype_of_the_source(dtype):
    model = ScriptedModel(scripted([5, 6, EOS], [7, EOS]))
    output = greedy(model, sources(2).to(dtype))
    assert output.dtype == dtype
    assert output.tolist() == [[5, 6], [7, PAD]]


def test_short_sentences_are_filled_up_with_the_pad_id_of_the_model():
    model = ScriptedModel(scripted([5, 6, EOS], [EOS]), pad_id=10)
    assert greedy(model, sources(2)).tolist() == [[5, 6], [10, 10]]


def test_a_step_decodes_one_token_with_a_cache_and_the_whole_prefix_without():
    for use_cache, lengths in [(True, [1, 1, 1, 1]), (False, [1, 2, 3, 4])]:
        model = ScriptedModel(scripted([5, 6, 7, EOS]))
        greedy(model, sources(1), use_cache=use_cache)
        assert [call.tgt.shape[1] for call in model.calls] == lengths
        assert all((call.cache is not None) == use_cache for call in model.calls)


def test_the_padding_of_the_source_is_masked():
    model = ScriptedModel(scripted([5, EOS]))
    greedy(model, sources(1))
    for call in model.calls:
        assert call.memory_mask.dtype == torch.bool
        assert call.memory_mask.tolist() == [[[[True, True, False]]]]


def test_no_gradient_is_recorded_and_the_mode_of_the_model_stays():
    model = build(torch.float32)  # ScriptedModel asserts that gradients are off
    seen = []
    model.output.register_forward_hook(lambda *call: seen.append(call[-1].requires_grad))
    for training in (True, False):
        greedy_decode(model.train(training), batch()[0], bos_id=1, eos_id=2, max_len=3)
        assert model.training == training
    assert seen
    assert not any(seen)
    assert torch.is_grad_enabled()


# ----------------------------------------------------------------- the choice


@both_ways
def test_every_token_is_the_likeliest_after_those_before_it(use_cache):
    for seed in range(20):
        rule = random_rule(seed, V=7)
        output = greedy(ScriptedModel(rule), sources(5), use_cache=use_cache)
        for i, row in enumerate(output.tolist()):
            expected = []
            while len(expected) < 9:
                logits = allowed(rule(i + 1, tuple(expected)))
                token = logits.index(max(logits))
                if token == EOS:
                    break
                expected.append(token)
            assert row == expected + [PAD] * (output.shape[1] - len(expected))


@both_ways
def test_of_equal_logits_the_first_is_taken(use_cache):
    model = ScriptedModel(lambda source, tokens: [0.0, 0.0, 0.0, 2.0, 1.0, 2.0])
    assert greedy(model, sources(1), max_len=2, use_cache=use_cache).tolist() == [[3, 3]]


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_batch_gives_what_each_sentence_gives_alone(norm_first):
    for seed in range(5):
        model = build(torch.float64, seed=seed, norm_first=norm_first)
        src, _ = batch(seed)
        end = SIZES["tgt_vocab_size"] - 1 - seed
        together = greedy_decode(model, src, bos_id=1, eos_id=end, max_len=7)
        for b, sentence in enumerate([src[:1], src[1:, :-3]]):  # alone and without padding
            alone = greedy_decode(model, sentence, bos_id=1, eos_id=end, max_len=7)[0]
            rest = together.shape[1] - len(alone)
            assert together[b].tolist() == alone.tolist() + [MODEL_PAD] * rest


# ---------------------------------------------------------------- error texts

SRC = torch.ones(2, 3, dtype=torch.long)
GOOD = {"bos_id": 1, "eos_id": 2, "max_len": 3}
ERRORS = [
    (SRC[0], {}, ValueError, r"src must have shape \(B, length\), got shape \(3,\)"),
    (SRC.float(), {}, TypeError, r"src must be an integer tensor, got dtype torch\.float32"),
    ([[1]], {}, TypeError, r"src must be a torch\.Tensor, got list"),
    (SRC, {"max_len": -1}, ValueError, "max_len must be at least 0, got -1"),
    (SRC, {"max_len": 2.5}, TypeError, r"max_len must be an int, got float 2\.5"),
    (SRC, {"bos_id": -1}, ValueError, "bos_id must be at least 0, got -1"),
    (SRC, {"bos_id": None}, TypeError, "bos_id must be an int, got NoneType None"),
    (SRC, {"eos_id": -1}, ValueError, "eos_id must be at least 0, got -1"),
    (SRC, {"eos_id": "2"}, TypeError, "eos_id must be an int, got str '2'"),
    (SRC, {"eos_id": True}, TypeError, "eos_id must be an int, got bool True"),
]


@pytest.mark.parametrize(("src", "changes", "error", "text"), ERRORS)
def test_bad_input_is_named(src, changes, error, text):
    model = ScriptedModel(scripted([5], [5]))
    with pytest.raises(error, match=text):
        greedy_decode(model, src, **{**GOOD, **changes})
    assert model.calls == []


def test_a_source_longer_than_the_model_is_named():
    model = Transformer(
        TransformerConfig(src_vocab_size=5, tgt_vocab_size=5, d_model=4, num_heads=1, max_len=2)
    ).eval()
    with pytest.raises(ValueError, match="max_len=2, got length 3 from position 0"):
        greedy_decode(model, SRC, **GOOD)
