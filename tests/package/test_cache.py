"""cache.py: decoding with a cache gives what full recomputation gives."""

import pytest
import torch
import torch.nn.functional as F
from copying_transformer import PAD, SIZES, batch, build, ids
from torch import nn
from torch.testing import assert_close

from attention_core import (
    DecoderCache,
    KeyValueCache,
    RecurrentCache,
    causal_mask,
    greedy_decode,
    padding_mask,
    record_attention,
)

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
V_SRC, V_TGT = SIZES["src_vocab_size"], SIZES["tgt_vocab_size"]
FUSED = {"attention": F.scaled_dot_product_attention, "norm": nn.LayerNorm}

both_norms = pytest.mark.parametrize("norm_first", [False, True])
both_kernels = pytest.mark.parametrize("functions", [{}, FUSED], ids=["explicit", "fused"])


def decode_in_chunks(model, src, tgt, chunk):
    memory, mask, cache = model.encode(src), padding_mask(src, PAD), model.new_cache()
    logits = []
    for i in range(0, tgt.shape[1], chunk):
        assert cache.length == i
        logits.append(model.decode(tgt[:, i : i + chunk], memory, mask, cache=cache))
    assert cache.length == tgt.shape[1]
    return torch.cat(logits, dim=1)


@both_norms
@both_kernels
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("chunk", [1, 3, 5, 11])
def test_logits_equal_full_recomputation_whatever_the_chunk(chunk, dtype, functions, norm_first):
    model = build(dtype, norm_first=norm_first, **functions)
    src, tgt = batch(S=7, L=11)
    tgt[0, 4] = PAD  # padding inside a sentence, not only at its end
    cached = decode_in_chunks(model, src, tgt, chunk)
    assert_close(cached, model(src, tgt), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@both_norms
@both_kernels
def test_greedy_decoding_with_a_cache_gives_the_same_twenty_tokens(functions, norm_first):
    model = build(torch.float32, seed=1, norm_first=norm_first, **functions)
    src, _ = batch()
    cached, anew = (
        greedy_decode(model, src, bos_id=1, eos_id=None, max_len=20, use_cache=use_cache)
        for use_cache in (True, False)
    )
    assert cached.shape == (2, 20)
    assert torch.equal(cached, anew)
    # The sentences differ, and neither repeats a single token.
    assert not torch.equal(cached[0], cached[1])
    assert all(len(set(row.tolist())) > 1 for row in cached)


def test_new_tokens_attend_to_all_cached_ones_and_not_to_padding():
    model = build()
    src, tgt = batch(L=5)
    tgt[0, 2] = PAD
    memory, cache = model.encode(src), model.new_cache()
    model.decode(tgt[:, :3], memory, None, cache=cache)
    with record_attention(model) as weights:
        model.decode(tgt[:, 3:], memory, None, cache=cache)
    own = weights["decoder.layers.1.self_attention"]
    expected = (tgt != PAD)[:, None, None, :] & causal_mask(5)[-2:]
    assert own.shape == (2, SIZES["num_heads"], 2, 5)
    assert torch.equal(own > 0, expected.expand_as(own))


def test_a_step_projects_the_new_token_only_and_the_memory_once():
    model = build(torch.float32)
    src, tgt = batch(L=5)
    lengths = {"self": [], "cross": []}
    layer = model.decoder.layers[1]
    for name, attention in [("self", layer.self_attention), ("cross", layer.cross_attention)]:
        for projection in (attention.k_proj, attention.v_proj):
            projection.register_forward_pre_hook(
                lambda _, inputs, name=name: lengths[name].append(inputs[0].shape[1])
            )
    decode_in_chunks(model, src, tgt, 1)
    assert lengths == {"self": [1] * 10, "cross": [7] * 2}


def test_gradients_through_the_cache_equal_full_recomputation():
    model = build()
    src, tgt = batch()
    results = []
    for run in (lambda: decode_in_chunks(model, src, tgt, 2), lambda: model(src, tgt)):
        model.zero_grad()
        run().square().mean().backward()
        results.append([p.grad.clone() for p in model.parameters()])
    for cached, anew in zip(*results, strict=True):
        assert_close(cached, anew, rtol=1e-12, atol=1e-12)


@both_norms
@pytest.mark.parametrize("rows", [[1, 0, 2], [2, 2, 0], [1], [0, 1, 1, 2, 0]])
def test_a_reordered_cache_continues_as_a_batch_in_that_order(rows, norm_first):
    model = build(norm_first=norm_first)
    src, tgt = ids(3, 7, vocabulary=V_SRC), ids(3, 5, vocabulary=V_TGT)
    src[1, 4:], tgt[1, 1] = PAD, PAD
    rows = torch.tensor(rows)
    new = ids(len(rows), 2, vocabulary=V_TGT, seed=6)
    memory, mask, cache = model.encode(src), padding_mask(src, PAD), model.new_cache()
    model.decode(tgt, memory, mask, cache=cache)
    cache.reorder(rows)
    assert cache.length == 5
    cached = model.decode(new, memory[rows], mask[rows], cache=cache)
    anew = model(src[rows], torch.cat([tgt[rows], new], dim=1))
    assert_close(cached, anew[:, 5:], rtol=1e-12, atol=1e-12)


def test_an_empty_cache_may_be_reordered():
    cache = DecoderCache(2)
    cache.reorder(torch.tensor([1, 0]))
    assert cache.length == 0
    assert cache.layers[1].self_attention.pair is None


def test_every_cache_begins_empty_and_each_layer_has_its_own():
    model = build(num_layers=3)
    src, tgt = batch()
    one, other = model.new_cache(), model.new_cache()
    model.decode(tgt, model.encode(src), None, cache=one)
    assert (one.length, other.length) == (5, 0)
    assert other.layers[0].self_attention.pair is None
    keys = [layer.self_attention.pair[0] for layer in one.layers]
    assert len(keys) == 3
    assert not torch.equal(keys[0], keys[1])


def test_a_growing_cache_appends_and_a_static_one_projects_once():
    calls = []

    def project():
        calls.append(1)
        k = torch.full((2, 3, 1, 5), float(len(calls)))
        return k, -k

    for grows, total, last in [(True, 3, [1.0, 2.0, 3.0]), (False, 1, [1.0])]:
        calls.clear()
        cache = KeyValueCache(grows=grows)
        for _ in range(3):
            k, v = cache.update(project)
        assert len(calls) == total
        assert k[1, 2, :, 4].tolist() == last
        assert torch.equal(v, -k)


def test_a_refused_call_leaves_the_cache_as_it_was():
    model = build()
    src, tgt = batch()
    memory, cache = model.encode(src), model.new_cache()
    model.decode(tgt[:, :2], memory, None, cache=cache)
    kept = cache.mask, *(layer.self_attention.pair for layer in cache.layers)
    for arguments in [
        (tgt[:, 2:], memory, torch.ones(2, 1, 1, 6).bool()),
        (tgt[:, 2:], memory, torch.ones(2, 1, 1, 7)),
        (tgt[:, 2:], memory.float(), None),
        (tgt[:, 2:], memory[:, 1:], None),
        (tgt[:1, 2:], memory[:1], None),
        (tgt[:, 2:] + V_TGT, memory, None),
    ]:
        with pytest.raises((ValueError, TypeError)):
            model.decode(*arguments, cache=cache)
        now = cache.mask, *(layer.self_attention.pair for layer in cache.layers)
        assert all(x is y for x, y in zip(kept, now, strict=True))


def pair(*shape, dtype=torch.float32):
    return lambda: (torch.zeros(shape, dtype=dtype),) * 2


@pytest.mark.parametrize(
    ("project", "text"),
    [
        (pair(1, 3, 2, 5), r"got \(1, 3, 2, 5\) of torch.float32 after \(2, 3, 4, 5\) of torch.f"),
        (pair(2, 1, 2, 5), r"new keys must differ in length only .* got \(2, 1, 2, 5\)"),
        (pair(2, 3, 2, 7), r"new keys must differ in length only .* got \(2, 3, 2, 7\)"),
        (pair(2, 3, 2, 5, dtype=torch.float64), r"got \(2, 3, 2, 5\) of torch\.float64 after"),
        (lambda: (torch.zeros(2, 3, 1, 5), torch.zeros(2, 3, 1, 4)), "new values must differ in"),
    ],
)
def test_new_keys_that_do_not_fit_the_cached_ones_are_named(project, text):
    cache = KeyValueCache(grows=True)
    cache.update(pair(2, 3, 4, 5))
    before = cache.pair
    with pytest.raises(ValueError, match=text):
        cache.update(project)
    assert cache.pair is before


@pytest.mark.parametrize(
    ("rows", "error", "text"),
    [
        ([0, 1], TypeError, "rows must be a tensor of int64 or int32, got list"),
        (torch.tensor([0.0]), TypeError, r"rows must be .* int32, got torch\.float32"),
        (torch.tensor([True]), TypeError, r"rows must be .* int32, got torch\.bool"),
        (torch.tensor([[0]]), ValueError, r"rows must have one axis, got shape \(1, 1\)"),
    ],
)
@pytest.mark.parametrize(
    "make", [lambda: DecoderCache(1), lambda: KeyValueCache(grows=True), RecurrentCache]
)
def test_bad_rows_are_named(make, rows, error, text):
    with pytest.raises(error, match=text):
        make().reorder(rows)


def test_bad_sizes_of_a_cache_are_named():
    with pytest.raises(ValueError, match="num_layers must be at least 1, got 0"):
        DecoderCache(0)
    with pytest.raises(TypeError, match=r"num_layers must be an int, got float 2\.0"):
        DecoderCache(2.0)
    cache = DecoderCache(1)
    cache.extend_mask(torch.ones(2, 1, 1, 3).bool())
    with pytest.raises(ValueError, match="got 5 sentences for a cache of 2"):
        cache.extend_mask(torch.ones(5, 1, 1, 1).bool())
