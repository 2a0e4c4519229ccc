"""decoding.py, beam search: the same as greedy, without a cache, alone; input and output."""

import math

import pytest
import torch
from beam_runs import beam, both_ways, never_pad, sentence, sources
from copying_transformer import batch, build
from scripted_model import BOS, EOS, PAD, ScriptedModel, random_rule, scripted, table_rule

from attention_core import beam_search, greedy_decode

# ------------------------------------------------------- the same in every way


@both_ways
def test_a_beam_of_one_equals_greedy_decoding(use_cache):
    for seed in range(40):
        model = ScriptedModel(random_rule(seed, V=7))
        output = beam(model, sources(5), beam_size=1, use_cache=use_cache)
        expected = greedy_decode(model, sources(5), bos_id=BOS, eos_id=EOS, max_len=9)
        assert torch.equal(output, expected)


@both_ways
@pytest.mark.parametrize("norm_first", [False, True])
def test_a_beam_of_one_equals_greedy_decoding_with_a_real_model(norm_first, use_cache):
    for seed in range(6):
        model = build(torch.float32, seed=seed, norm_first=norm_first)
        src, _ = batch(seed)
        for end in (seed, None):
            ids = {"bos_id": 1, "eos_id": end, "max_len": 7, "use_cache": use_cache}
            output = beam_search(model, src, beam_size=1, **ids)
            assert torch.equal(output, greedy_decode(model, src, **ids))


@both_ways
@pytest.mark.parametrize("V", [4, 7, 50])
def test_a_beam_of_one_breaks_ties_as_greedy_decoding_does(V, use_cache):
    # Half precision rounds logits to equal numbers; both searches take the first of them.
    model = ScriptedModel(lambda source, tokens: [0.0] * 3 + [1.0] * V)
    output = beam(model, sources(2), max_len=3, beam_size=1, use_cache=use_cache)
    expected = greedy_decode(model, sources(2), bos_id=BOS, eos_id=EOS, max_len=3)
    assert torch.equal(output, expected)
    assert expected.tolist() == [[3, 3, 3]] * 2


def test_float64_logits_are_compared_in_float64():
    for best in range(3, 9):
        logits = [0.0] * 3 + [1.0 + (token == best) * 1e-12 for token in range(3, 9)]
        model = ScriptedModel(lambda source, tokens, x=logits: x, dtype=torch.float64)
        assert beam(model, sources(1), max_len=2, beam_size=1).tolist() == [[best, best]]


def test_a_batch_gives_what_each_sentence_gives_alone():
    for seed in range(10):
        model = ScriptedModel(never_pad(random_rule(seed, V=6)))
        together = beam(model, sources(5), max_len=6, beam_size=3)
        for i in range(5):
            alone = beam(model, sources(5)[i : i + 1], max_len=6, beam_size=3)
            assert sentence(together[i]) == sentence(alone[0])


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_cache_does_not_change_the_tokens(norm_first):
    lengths = set()
    for seed in range(6):
        model = build(torch.float64, seed=seed, norm_first=norm_first)
        src, _ = batch(seed)
        # An EOS that occurs: the fourth token of what the model writes without an EOS.
        free = greedy_decode(model, src, bos_id=1, eos_id=None, max_len=4)
        for row in range(2):
            ids = {"bos_id": 1, "eos_id": free[row, 3].item(), "max_len": 7, "beam_size": 3}
            cached = beam_search(model, src, use_cache=True, **ids)
            assert torch.equal(cached, beam_search(model, src, use_cache=False, **ids))
            lengths.add(cached.shape[1])
    assert len(lengths) > 1


@both_ways
def test_there_may_be_more_beams_than_tokens(use_cache):
    rule = table_rule({(): {3: 0.4, EOS: 0.6}, (3,): {3: 0.9, EOS: 0.1}}, V=4)
    output = beam(ScriptedModel(rule), sources(2), max_len=4, beam_size=9, use_cache=use_cache)
    assert output.shape == (2, 0)
    only_end = ScriptedModel(lambda source, tokens: [0.0, 0.0])
    output = beam_search(only_end, sources(1), bos_id=BOS, eos_id=0, max_len=3, beam_size=2)
    assert output.shape == (1, 0)


# ------------------------------------------------------------- input and output


def test_max_len_and_the_limit_of_the_model_end_the_search():
    rule = scripted([5, 6, 7, 8, 9])
    assert beam(ScriptedModel(rule), sources(1), max_len=0).shape == (1, 0)
    assert beam(ScriptedModel(rule), sources(1), max_len=2, beam_size=1).tolist() == [[5, 6]]
    model = ScriptedModel(rule, max_len=3)
    assert beam(model, sources(1), max_len=99, beam_size=1).tolist() == [[5, 6, 7]]
    real = build(torch.float32, max_len=8)
    output = beam_search(real, batch()[0], bos_id=1, eos_id=None, max_len=99, beam_size=2)
    assert output.shape == (2, 8)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_results_have_the_dtype_of_the_source(dtype):
    model = ScriptedModel(scripted([5, 6, EOS], [7, EOS]))
    output = beam(model, sources(2).to(dtype))
    assert output.tolist() == [[5, 6], [7, PAD]]
    assert output.dtype == dtype


def test_short_sentences_are_filled_up_with_the_pad_id_of_the_model():
    model = ScriptedModel(scripted([5, 6, EOS], [EOS]), pad_id=10)
    assert beam(model, sources(2), beam_size=2).tolist() == [[5, 6], [10, 10]]


def test_an_empty_batch_gives_an_empty_result():
    model, src = build(torch.float32), torch.ones(0, 7, dtype=torch.long)
    assert beam_search(model, src, bos_id=1, eos_id=2, max_len=5).shape == (0, 0)
    assert greedy_decode(model, src, bos_id=1, eos_id=2, max_len=5).shape[0] == 0


def test_every_beam_keeps_the_mask_of_its_source():
    model = ScriptedModel(scripted([5, EOS], [6, EOS]))
    src = torch.tensor([[1, 7, PAD], [2, PAD, PAD]])
    beam(model, src, beam_size=2)
    for call in model.calls:
        rows = call.memory_mask[:, 0, 0].tolist()
        assert rows == [[True, True, False]] * 2 + [[True, False, False]] * 2


@pytest.mark.parametrize(
    ("changes", "error", "text"),
    [
        ({"beam_size": 0}, ValueError, "beam_size must be at least 1, got 0"),
        ({"beam_size": 2.0}, TypeError, r"beam_size must be an int, got float 2\.0"),
        ({"beam_size": True}, TypeError, "beam_size must be an int, got bool True"),
        ({"patience": 0.0}, ValueError, r"patience must be above 0, got 0\.0"),
        ({"patience": math.nan}, ValueError, "patience must be above 0, got nan"),
        ({"max_len": -1}, ValueError, "max_len must be at least 0, got -1"),
        ({"eos_id": -1}, ValueError, "eos_id must be at least 0, got -1"),
        ({"bos_id": 1.0}, TypeError, r"bos_id must be an int, got float 1\.0"),
        ({"src": sources(1)[0]}, ValueError, r"src must have shape \(B, length\), got"),
        ({"src": sources(1) > 0}, TypeError, r"src must be an integer tensor, got dtype torch\.b"),
    ],
)
def test_bad_input_is_named(changes, error, text):
    model = ScriptedModel(scripted([5]))
    arguments = {"src": sources(1), "bos_id": BOS, "eos_id": EOS, "max_len": 3, **changes}
    with pytest.raises(error, match=text):
        beam_search(model, **arguments)
    assert model.calls == []
