"""decoding.py: tokens that are never written, logits that are not finite, ids out of range."""

import math
from functools import partial
from itertools import pairwise

import pytest
import recurrent_models
import torch
from copying_transformer import PAD as MODEL_PAD
from copying_transformer import SIZES, batch, build
from scripted_model import BOS, EOS, PAD, ScriptedModel, random_rule, scripted

from attention_core import beam_search, greedy_decode, normalised_score

NAN, INF = math.nan, math.inf
SEARCHES = {
    "greedy": greedy_decode,
    "greedy anew": partial(greedy_decode, use_cache=False),
    "one beam": partial(beam_search, beam_size=1),
    "beams": partial(beam_search, beam_size=3),
    "patient beams": partial(beam_search, beam_size=3, patience=INF, use_cache=False),
}
every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=list(SEARCHES))
MODELS = {
    "transformer": build,
    "pre-norm": partial(build, norm_first=True),
    "recurrent": partial(recurrent_models.build, attention=False),
    "recurrent with attention": partial(recurrent_models.build, attention=True),
}


def sources(n):
    return torch.tensor([[i + 1, 7, PAD] for i in range(n)])


def run(search, rule, n=1, *, eos_id=EOS, max_len=6, **model):
    model = ScriptedModel(rule, **model)
    return search(model, sources(n), bos_id=BOS, eos_id=eos_id, max_len=max_len)


# -------------------------------------------- tokens that may and may not be written


@every_search
@pytest.mark.parametrize("special", [PAD, BOS])
def test_pad_and_bos_are_never_written_even_if_they_are_likeliest(search, special):
    def rule(source, tokens):
        wanted = [5, 6, EOS][len(tokens)] if len(tokens) < 3 else 3
        return [11.0 if i == special else 10.0 if i == wanted else 0.0 for i in range(9)]

    assert run(search, rule).tolist() == [[5, 6]]


@every_search
@pytest.mark.parametrize("name", MODELS)
def test_untrained_models_write_padding_at_the_end_only_and_never_bos(search, name):
    seen = set()
    for seed in range(6):
        model = MODELS[name](torch.float32, seed=seed)
        with torch.no_grad():
            # Make PAD and BOS likely: half of the steps would choose them.
            model.output.weight[[MODEL_PAD, BOS]] *= 3
        src, _ = batch(seed)
        out = search(model, src, bos_id=BOS, eos_id=5, max_len=12)
        for row in out.tolist():
            assert BOS not in row
            assert not any(a == MODEL_PAD != b for a, b in pairwise(row))
            seen |= set(row)
    assert len(seen) > 5


@every_search
def test_an_eos_id_that_equals_pad_or_bos_still_ends_the_sentence(search):
    def rule(end):
        return lambda source, tokens: [
            9.0 if i == (5 if len(tokens) < 2 else end) else 0.0 for i in range(9)
        ]

    for end in (PAD, BOS):
        assert run(search, rule(end), eos_id=end).tolist() == [[5, 5]]


@every_search
def test_without_an_eos_id_every_sentence_has_the_greatest_length(search):
    assert run(search, scripted([5, EOS, 6]), eos_id=None, max_len=3).tolist() == [[5, EOS, 6]]
    model = build(torch.float32, max_len=8)
    assert search(model, batch()[0], bos_id=1, eos_id=None, max_len=99).shape == (2, 8)


@every_search
def test_a_pad_id_outside_the_vocabulary_forbids_no_token(search):
    def rule(source, tokens):
        return [5.0 if i == (0, 4, EOS)[min(len(tokens), 2)] else 0.0 for i in range(6)]

    for pad_id in (-100, 99):
        assert run(search, rule, pad_id=pad_id).tolist() == [[0, 4]]


def test_log_probabilities_are_normalised_over_all_tokens_including_pad():
    shares = {(): {PAD: 0.5, 5: 0.3, EOS: 0.2}, (5,): {EOS: 0.6, 6: 0.4}, (5, 6): {EOS: 1.0}}

    def rule(source, tokens):
        given = shares.get(tokens, {EOS: 1.0})
        return [math.log(given[i]) if i in given else -1e4 for i in range(7)]

    # The empty sentence has P = 0.2, [5] has 0.3 * 0.6 = 0.18, at the cost of one token more:
    # log 0.2 = -1.61 loses to log 0.18 / (7/6)^0.5 = -1.59. If the share of PAD were spread
    # over the others, log 0.4 = -0.92 would win against log 0.36 / (7/6)^0.5 = -0.95.
    out = run(partial(beam_search, beam_size=4, length_penalty=0.5, patience=INF), rule)
    assert out.tolist() == [[5]]


# ------------------------------------------------------- logits that are not finite


def broken(step, row, logits):
    """A rule with ordinary logits, except for one sentence at one step."""

    def rule(source, tokens):
        if source == row + 1 and len(tokens) == step - 1:
            return logits
        return [0.0, 0.0, -3.0, 5.0, 4.0, 3.0]

    return rule


@every_search
@pytest.mark.parametrize(
    ("logits", "given"),
    [
        ([NAN] * 6, "nan"),
        ([0.0, 0.0, 0.0, NAN, 0.0, 0.0], "nan"),
        ([NAN, 0.0, 0.0, 0.0, 0.0, 0.0], "nan"),  # that of PAD
        ([0.0, 0.0, 0.0, 0.0, INF, 0.0], "inf"),
        ([0.0, INF, 0.0, 0.0, 0.0, 0.0], "inf"),  # that of BOS
        ([-INF, NAN, -INF, -INF, INF, 0.0], "nan"),
    ],
)
@pytest.mark.parametrize("step", [1, 3])
def test_logits_of_nan_or_inf_are_named_with_step_and_sentence(search, logits, given, step):
    text = rf"logits must be below \+inf, .*, got {given} at step {step} for sentence 1"
    with pytest.raises(ValueError, match=text):
        run(search, broken(step, 1, logits), 3)


@every_search
@pytest.mark.parametrize("logits", [[-INF] * 6, [1.0, 2.0, -INF, -INF, -INF, -INF]])
def test_a_first_step_at_which_no_token_is_possible_is_named(search, logits):
    text = r"finite for at least one .* got -inf for all of them at step 1 for sentence 1"
    with pytest.raises(ValueError, match=text):
        run(search, broken(1, 1, logits), 3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_minus_infinity_is_a_legal_mask_as_long_as_a_finite_logit_is_left(dtype):
    def rule(source, tokens):
        return [-INF if i != (4 if len(tokens) < 2 else EOS) else -7.0 for i in range(6)]

    for search in SEARCHES.values():
        assert run(search, rule, 2, dtype=dtype).tolist() == [[4, 4]] * 2


def test_a_hypothesis_without_a_next_token_is_given_up_while_others_go_on():
    table = {(): [-INF, -INF, -INF, 2.0, 1.0, -INF], (3,): [-INF] * 6}

    def rule(source, tokens):
        return table.get(tokens, [-INF, -INF, 0.0, -INF, -INF, -INF])

    assert run(partial(beam_search, beam_size=2), rule).tolist() == [[4]]
    for beam_size in (1, 2):
        table[(4,)] = [-INF] * 6
        with pytest.raises(ValueError, match="got -inf for all of them at step 2 for sentence 0"):
            run(partial(beam_search, beam_size=beam_size), rule)


@every_search
def test_logits_after_the_end_of_a_sentence_are_ignored(search):
    def rule(source, tokens):
        if source == 1:
            return [NAN] * 6 if tokens else [-INF, -INF, 9.0, -INF, -INF, -INF]
        return [0.0, 0.0, -50.0 if len(tokens) < 3 else 20.0, 9.0, 0.0, 0.0]

    assert run(search, rule, 2).tolist() == [[PAD] * 3, [3] * 3]


def test_a_model_with_a_weight_of_nan_is_refused():
    for make in MODELS.values():
        model = make(torch.float32)
        with torch.no_grad():
            model.output.weight[0, 0] = NAN
        for search in SEARCHES.values():
            with pytest.raises(ValueError, match="got nan at step 1 for sentence 0"):
                search(model, batch()[0], bos_id=1, eos_id=2, max_len=5)


# ----------------------------------------------------------------- score and options


@pytest.mark.parametrize("alpha", [1e4, -1e4, INF, -INF, NAN])
def test_a_length_penalty_that_overflows_is_named(alpha):
    with pytest.raises(ValueError, match=rf"alpha must keep .* got alpha={alpha} with length=2"):
        normalised_score(-1.0, 2, alpha)
    with pytest.raises(ValueError, match=rf"got length_penalty={alpha} with length=6"):
        run(partial(beam_search, length_penalty=alpha), scripted([5, EOS]))


def test_large_length_penalties_select_the_longest_or_the_shortest_sentence():
    rule = random_rule(0, V=6)
    for alpha, length in [(800.0, 6), (-800.0, 0)]:
        out = run(partial(beam_search, beam_size=50, length_penalty=alpha, patience=INF), rule)
        # The longest that can end within six tokens, or the shortest.
        assert out.shape[1] == max(length - 1, 0)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: normalised_score(-1.0, -6, 0.5), ValueError, "length must be at least 0, got -6"),
        (lambda: normalised_score(-1.0, 2.0, 0.5), TypeError, "length must be an int, got float"),
        (lambda: normalised_score(-1.0, 2, "1"), TypeError, "alpha must be a number, got str '1'"),
        (lambda: normalised_score(-1.0, 2, True), TypeError, "alpha must be a number, got bool"),
        (
            lambda: run(partial(beam_search, length_penalty=None), scripted([5])),
            TypeError,
            "length_penalty must be a number, got NoneType None",
        ),
        (
            lambda: run(partial(beam_search, patience="2"), scripted([5])),
            TypeError,
            "patience must be a number, got str '2'",
        ),
    ],
)
def test_bad_options_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


# ------------------------------------------------------------- ids that do not fit


@every_search
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8])
@pytest.mark.parametrize("name", MODELS)
def test_sources_of_any_integer_dtype_give_the_same_sentences(search, dtype, name):
    model = MODELS[name](torch.float32, tgt_vocab_size=400)
    src, _ = batch()
    expected = search(model, src, bos_id=1, eos_id=None, max_len=5)
    assert expected.max() > 127  # ids of the target that int8 could not hold
    out = search(model, src.to(dtype), bos_id=1, eos_id=None, max_len=5)
    assert out.tolist() == expected.tolist()
    assert out.dtype == (torch.int32 if dtype == torch.int32 else torch.int64)


@every_search
@pytest.mark.parametrize("name", ["bos_id", "eos_id"])
def test_a_bos_or_eos_outside_the_vocabulary_is_named(search, name):
    size = SIZES["tgt_vocab_size"]
    ids = {"bos_id": 1, "eos_id": 2, name: size}
    text = f"{name} must be in the target vocabulary of {size} tokens, got {size}"
    for make in MODELS.values():
        with pytest.raises(ValueError, match=text):
            search(make(torch.float32), batch()[0], **ids, max_len=0)
    # Where the model has no tgt_vocab_size, the width of its logits counts.
    with pytest.raises(ValueError, match=r"eos_id must be .* of 11 tokens, got 11; None says"):
        run(search, scripted([5]), eos_id=11)


@every_search
def test_a_source_outside_the_vocabulary_is_named(search):
    for make in MODELS.values():
        with pytest.raises(ValueError, match=r"src must hold ids from 0 to 18, .* got 21 in row 0"):
            search(make(torch.float32), batch()[0] * 0 + 21, bos_id=1, eos_id=2, max_len=3)
