"""language_model.py, generation.py: the decoder-only model and how it continues a text."""

from functools import partial

import pytest
import torch
from samples import assert_same, filled, randn

from attention_core import (
    EncoderCache,
    LanguageModel,
    RMSNorm,
    SwiGLU,
    TransformerConfig,
    alibi_attention,
    causal_mask,
    generate,
    reach_matrix,
    rotary_attention,
    sampling_probabilities,
    sinusoidal_encoding,
    window_mask,
)

V, L, PAD = 13, 7, 0
SIZES = {"d_model": 12, "num_heads": 3, "num_layers": 2, "d_ff": 17, "dropout": 0.0}
CONFIG = TransformerConfig(src_vocab_size=V, tgt_vocab_size=V, max_len=20, **SIZES)
MODERN = TransformerConfig(
    src_vocab_size=V,
    tgt_vocab_size=V,
    norm_first=True,
    num_kv_heads=1,
    attention_bias=False,
    tie_embeddings=True,
    **SIZES,
)
IDS = torch.randint(1, V, (2, L), generator=torch.Generator().manual_seed(4))
KINDS = {
    "2017": lambda: LanguageModel(CONFIG),
    "rotary": lambda: LanguageModel(
        MODERN, attention=rotary_attention, norm=RMSNorm, feed_forward=SwiGLU, positions=False
    ),
    "alibi": lambda: LanguageModel(MODERN, attention=alibi_attention, positions=False),
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def model_of(kind):
    return filled(KINDS[kind]()).eval()


@every_kind
def test_a_token_changes_only_later_scores(kind):
    model = model_of(kind)
    changed = IDS.clone()
    changed[:, 4] = changed[:, 4] % (V - 1) + 1
    same = (model(changed) == model(IDS)).all(dim=-1)
    assert same[:, :4].all()
    assert not same[:, 4:].any()


def test_the_reach_of_the_encoder_is_the_causal_triangle():
    model = model_of("2017")
    reach = reach_matrix(lambda x: model.encoder(x[None], causal_mask(L))[0], randn(L, 12))
    assert torch.equal(reach > 0, causal_mask(L))


@every_kind
def test_padding_changes_nothing(kind):
    model = model_of(kind)
    padded = torch.cat([IDS, IDS.new_zeros(2, 3)], dim=1)
    assert_same(model(padded)[:, :L], model(IDS))


@every_kind
def test_padding_is_hidden_also_by_a_mask_that_lets_everything_through(kind):
    model, everything = model_of(kind), torch.ones(L + 3, L + 3, dtype=torch.bool)
    padded = torch.cat([IDS, IDS.new_zeros(2, 3)], dim=1)
    before = model(padded, everything)[:, :L]
    model.embedding.weight.data[PAD] += 1.0
    assert_same(model(padded, everything)[:, :L, 1:], before[..., 1:])


@every_kind
@pytest.mark.parametrize("steps", [[1] * L, [3, 1, 3], [6, 1]])
def test_the_cache_changes_nothing(kind, steps):
    model = model_of(kind)
    cache, start, parts = model.new_cache(), 0, []
    for n in steps:
        parts.append(model(IDS[:, start : start + n], cache=cache))
        start += n
    assert_same(torch.cat(parts, dim=1), model(IDS))
    assert cache.length == L


def test_the_cache_hides_padding_and_can_be_reordered():
    model, cache = model_of("2017"), None
    ids = torch.tensor([[3, 4, PAD], [5, 6, 7]])
    cache = model.new_cache()
    model(ids, cache=cache)
    cache.reorder(torch.tensor([1, 0]))
    new = torch.tensor([[8], [9]])
    whole = model(torch.cat([ids[[1, 0]], new], dim=1))
    assert_same(model(new, cache=cache), whole[:, -1:])


def test_embeddings_and_positions_are_those_of_the_transformer():
    model = model_of("2017")
    x = model.embedding(IDS) * 12**0.5 + sinusoidal_encoding(L, 12, dtype=torch.float64)
    assert_same(model(IDS), model.output(model.encoder(x, causal_mask(L))))
    plain = filled(LanguageModel(CONFIG, positions=False))
    assert_same(plain(IDS), plain.output(plain.encoder(plain.embedding(IDS), causal_mask(L))))


def test_without_positions_and_mask_the_order_of_the_tokens_is_not_seen():
    model = filled(LanguageModel(CONFIG, positions=False))
    everything, order = torch.ones(L, L, dtype=torch.bool), torch.arange(L - 1, -1, -1)
    assert_same(model(IDS[:, order], everything), model(IDS, everything)[:, order])
    rotary = model_of("rotary")
    moved = rotary(IDS[:, order], everything) - rotary(IDS, everything)[:, order]
    assert moved.abs().max() > 0.01


def test_a_mask_takes_the_place_of_the_causal_one():
    model = model_of("rotary")
    assert torch.equal(model(IDS, causal_mask(L)), model(IDS))
    narrow = model(IDS, window_mask(L, 1))
    for i in range(L):  # each token sees itself only
        assert_same(narrow[:, i : i + 1], model(IDS[:, i : i + 1]))


def test_tied_embeddings_are_one_matrix():
    model = KINDS["rotary"]()
    assert model.output.weight is model.embedding.weight
    matrices = V * 12 + 12  # the embedding, and the gain of the last norm
    layer = 2 * 12 * 12 + 2 * 12 * 4 + 3 * 12 * 17 + 2 * 12
    assert sum(p.numel() for p in model.parameters()) == matrices + 2 * layer


ERRORS = [
    (
        lambda: LanguageModel(TransformerConfig(src_vocab_size=5, tgt_vocab_size=6)),
        ValueError,
        "config must have one vocabulary, .* got src_vocab_size=5 and tgt_vocab_size=6",
    ),
    (
        lambda: LanguageModel(CONFIG, positions=1),
        TypeError,
        "positions must be True or False, got int 1",
    ),
    (lambda: model_of("2017")(IDS.float()), TypeError, "ids must be an integer tensor"),
    (lambda: model_of("2017")(IDS[0]), ValueError, r"ids must have shape \(B, length\)"),
    (lambda: model_of("2017")(IDS + V), ValueError, "ids must hold ids from 0 to 12"),
    (
        lambda: model_of("2017")(torch.ones(1, 21).long()),
        ValueError,
        "positions must lie between 0 and max_len=20, got length 21",
    ),
    (
        lambda: model_of("2017")(IDS, causal_mask(L + 1)),
        ValueError,
        r"mask must broadcast to the scores' shape \(..., L, S\) = \(2, 3, 7, 7\)",
    ),
    (lambda: model_of("2017")(IDS, cache=[]), TypeError, "cache must be a EncoderCache, got list"),
    (
        lambda: model_of("2017")(IDS, cache=EncoderCache(3)),
        ValueError,
        "cache must have as many layers as the encoder, 2, got 3",
    ),
    (lambda: EncoderCache(0), ValueError, "num_layers must be at least 1, got 0"),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_a_bad_argument_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_another_batch_is_refused_and_the_cache_is_as_it_was():
    model = model_of("2017")
    cache = model.new_cache()
    model(IDS, cache=cache)
    for bad in (IDS[:1], IDS + V):
        with pytest.raises(ValueError, match="must hold"):
            model(bad, cache=cache)
    assert cache.length == L
    assert {len(layer.pair[0]) for layer in cache.layers} == {2}
    assert {layer.pair[0].shape[-2] for layer in cache.layers} == {L}


# ------------------------------------------------------------------------ probabilities

LOGITS = torch.tensor([2.0, 0.0, 1.0, -1.0, 1.0], dtype=torch.float64)


def test_temperature_divides_the_logits():
    for t in (0.5, 1.0, 3.0):
        assert_same(sampling_probabilities(LOGITS, temperature=t), torch.softmax(LOGITS / t, -1))


def test_top_k_keeps_the_likeliest_and_the_lower_id_of_equals():
    made = sampling_probabilities(LOGITS, top_k=2)
    e = LOGITS.exp()
    assert_same(made, torch.stack([e[0], e[1] * 0, e[2], e[3] * 0, e[4] * 0]) / (e[0] + e[2]))
    assert_same(sampling_probabilities(LOGITS, top_k=99), torch.softmax(LOGITS, -1))
    assert sampling_probabilities(LOGITS, top_k=1).tolist() == [1, 0, 0, 0, 0]
    equal = sampling_probabilities(torch.zeros(5000), top_k=3)
    assert equal.nonzero()[:, 0].tolist() == [0, 1, 2]


def test_top_p_keeps_the_fewest_that_have_the_share():
    p = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64)
    for share, kept in ((0.4, 1), (0.5, 1), (0.51, 2), (0.75, 2), (0.8, 3), (1.0, 4)):
        made = sampling_probabilities(p.log(), top_p=share)
        assert (made > 0).sum() == kept, share
        assert_same(made, p * (torch.arange(4) < kept) / p[:kept].sum())


def test_top_p_applies_to_what_top_k_has_kept():
    p = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
    # Of the two that are left, the first has 4/7 = 0.571.
    assert (sampling_probabilities(p.log(), top_k=2, top_p=0.57) > 0).sum() == 1
    assert (sampling_probabilities(p.log(), top_k=2, top_p=0.58) > 0).sum() == 2


def test_each_row_has_its_own_probabilities():
    rows = randn(3, 4, V)
    made = sampling_probabilities(rows, top_k=5, top_p=0.9, temperature=0.7)
    one = sampling_probabilities(rows[1, 2], top_k=5, top_p=0.9, temperature=0.7)
    assert_same(made[1, 2], one)
    assert_same(made.sum(dim=-1), torch.ones(3, 4, dtype=torch.float64))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"temperature": 0}, ValueError, "temperature must be positive and finite, got 0"),
        ({"temperature": -1.0}, ValueError, "temperature must be positive and finite, got -1.0"),
        ({"temperature": "1"}, TypeError, "temperature must be a number, got str"),
        ({"top_k": 0}, ValueError, "top_k must be at least 1, got 0"),
        ({"top_k": 2.0}, TypeError, "top_k must be an int, got float"),
        ({"top_p": 0.0}, ValueError, "top_p must be above 0 and at most 1, got 0.0"),
        ({"top_p": 1.5}, ValueError, "top_p must be above 0 and at most 1, got 1.5"),
        ({"top_p": float("nan")}, ValueError, "top_p must be above 0 and at most 1, got nan"),
    ],
)
def test_an_option_out_of_its_range_is_named(options, error, message):
    with pytest.raises(error, match=message):
        sampling_probabilities(LOGITS, **options)


def test_logits_without_a_token_are_refused():
    with pytest.raises(ValueError, match=r"logits must have a token to choose, got shape \(2, 0\)"):
        sampling_probabilities(torch.zeros(2, 0))
    with pytest.raises(TypeError, match="logits must be a floating-point tensor"):
        sampling_probabilities(torch.zeros(2).long())


# --------------------------------------------------------------------------- generation


@every_kind
def test_greedy_takes_the_likeliest_token_of_the_whole_text(kind):
    model, ids = model_of(kind), IDS
    for _ in range(5):
        logits = model(ids)[:, -1]
        logits[:, PAD] = -torch.inf
        ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    made = generate(model, IDS, max_len=5)
    assert torch.equal(made, ids[:, L:])


def test_an_ended_text_is_padded_and_all_ended_stops():
    model = model_of("2017")
    free = generate(model, IDS, max_len=6)
    first, second = free.tolist()
    end = next(t for t in second if t not in first[:4])
    made = generate(model, IDS, max_len=6, eos_id=end)
    at = second.index(end)
    assert made[1].tolist() == second[:at] + [PAD] * (made.shape[1] - at)
    assert made[0].tolist() == first[: made.shape[1]]
    alone = generate(model, IDS[1:], max_len=6, eos_id=end)
    assert alone.tolist() == [second[:at]]


def test_drawn_tokens_have_the_probabilities():
    model = model_of("2017")
    draw = partial(generate, model, IDS[:1].expand(4000, -1), max_len=1, temperature=0.8)
    made = draw(generator=torch.Generator().manual_seed(0))
    logits = model(IDS[:1])[0, -1].detach()
    logits[PAD] = -torch.inf
    p = sampling_probabilities(logits, temperature=0.8)
    shares = torch.bincount(made[:, 0], minlength=V) / 4000
    assert (shares - p).abs().max() < 4 * 0.5 / 4000**0.5
    assert torch.equal(made, draw(generator=torch.Generator().manual_seed(0)))
    assert not torch.equal(made, draw(generator=torch.Generator().manual_seed(1)))
    likeliest = generate(model, IDS, max_len=3, temperature=5.0, top_k=1)
    assert torch.equal(likeliest, generate(model, IDS, max_len=3))


def test_padding_is_never_taken_unless_it_ends_a_text():
    model = model_of("2017")
    last = model.encoder(model.positions(model.embedding(IDS) * 12**0.5), causal_mask(L))[0, -1]
    model.output.weight.data[PAD] = 100 * last.detach()  # by far the likeliest for text 0
    assert model(IDS)[0, -1].argmax() == PAD
    assert (generate(model, IDS[:1], max_len=3) != PAD).all()
    assert generate(model, IDS[:1], max_len=3, eos_id=PAD).shape == (1, 0)


def test_what_follows_an_ended_text_does_not_matter():
    """Not even NaN, which the padding fed to an ended text may give."""
    model = model_of("2017")
    first, second = generate(model, IDS, max_len=6).tolist()
    end = next(t for t in second if t not in first)
    model.embedding.weight.data[PAD] = float("nan")
    for temperature in (0.0, 1e-9):
        made = generate(model, IDS, max_len=6, eos_id=end, temperature=temperature)
        assert made[0].tolist() == first


def test_it_stops_where_the_positions_end():
    assert generate(model_of("2017"), IDS, max_len=99).shape == (2, 20 - L)
    assert generate(model_of("2017"), IDS, max_len=0).shape == (2, 0)


def test_logits_that_are_not_finite_are_named():
    model = model_of("2017")
    model.output.weight.data[3] = float("nan")
    with pytest.raises(ValueError, match=r"model must give finite logits .* got nan .* step 1"):
        generate(model, IDS, max_len=2)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"prompt": IDS[:, :0]}, ValueError, r"prompt must have at least one token, got shape"),
        ({"prompt": IDS * 0}, ValueError, r"prompt must not hold padding \(pad_id=0\)"),
        ({"prompt": IDS.float()}, TypeError, "prompt must be an integer tensor"),
        ({"max_len": -1}, ValueError, "max_len must be at least 0, got -1"),
        ({"eos_id": V}, ValueError, "eos_id must be a token of the vocabulary of 13 tokens, got"),
        ({"eos_id": 1.0}, TypeError, "eos_id must be an int, got float"),
        ({"temperature": -1}, ValueError, "temperature must be positive and finite, got -1"),
        ({"temperature": 1.0, "top_k": 0}, ValueError, "top_k must be at least 1, got 0"),
    ],
)
def test_a_bad_option_of_generate_is_named(change, error, message):
    arguments = {"prompt": IDS, "max_len": 2} | change
    with pytest.raises(error, match=message):
        generate(model_of("2017"), **arguments)
