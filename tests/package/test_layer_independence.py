"""layers.py: what an output must not depend on: order, padding, later tokens, the batch."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import D_FF, D_MODEL, B, H, L, S, assert_same, filled, mask, randn
from torch.testing import assert_close

from attention_core import (
    DecoderLayer,
    EncoderLayer,
    SinusoidalPositions,
    causal_mask,
    padding_mask,
)
from attention_core.cache import LayerCache

WIDTHS = (D_MODEL, H, D_FF)
both_norms = pytest.mark.parametrize("norm_first", [False, True])


@given(seed=st.integers(0, 2**31 - 1), length=st.integers(1, 6), norm_first=st.booleans())
@settings(max_examples=25, deadline=None)
def test_layers_ignore_order_later_tokens_and_the_rest_of_the_batch(seed, length, norm_first):
    g = torch.Generator().manual_seed(seed)
    x, memory = (torch.randn(2, n, 6, generator=g, dtype=torch.float64) for n in (length, 4))
    encoder, decoder = (
        filled(layer(6, 2, 5, norm_first=norm_first), seed=seed)
        for layer in (EncoderLayer, DecoderLayer)
    )
    # Without positions a layer ignores order: a shuffled input gives the shuffled output.
    order = torch.randperm(length, generator=g)
    assert_same(encoder(x[:, order]), encoder(x)[:, order])
    assert_same(decoder(x[:, order], memory), decoder(x, memory)[:, order])
    assert_same(decoder(x, memory[:, torch.randperm(4, generator=g)]), decoder(x, memory))
    # The other sentences of the batch do not matter.
    assert_same(encoder(x[1:]), encoder(x)[1:])
    assert_same(decoder(x[1:], memory[1:]), decoder(x, memory)[1:])
    # A later token does not change an earlier one.
    cut, allowed = seed % length, causal_mask(length)
    changed = x.clone()
    changed[:, cut:] = torch.randn(2, length - cut, 6, generator=g, dtype=torch.float64)
    for layer in (
        lambda y: encoder(y, allowed),
        lambda y: decoder(y, memory, tgt_mask=allowed),
    ):
        assert_same(layer(changed)[:, :cut], layer(x)[:, :cut])
        assert not torch.allclose(layer(changed)[:, cut:], layer(x)[:, cut:])


@both_norms
def test_no_gradient_flows_back_from_an_earlier_to_a_later_token(norm_first):
    layer = filled(DecoderLayer(*WIDTHS, norm_first=norm_first)).eval()
    x, memory = randn(B, L, D_MODEL).requires_grad_(), randn(B, S, D_MODEL)
    output = layer(x, memory, tgt_mask=causal_mask(L))
    for i in range(L):
        x.grad = None
        (output[:, i] * randn(D_MODEL, seed=7)).sum().backward(retain_graph=True)
        assert (x.grad[:, i + 1 :] == 0).all()
        assert (x.grad[:, : i + 1] != 0).all()


@both_norms
@pytest.mark.parametrize("length", [3, 5, 50])
def test_an_encoder_layer_ignores_padding_and_the_other_sentences(length, norm_first):
    layer = filled(EncoderLayer(*WIDTHS, norm_first=norm_first), torch.float32).eval()
    positions = SinusoidalPositions(D_MODEL, max_len=50)
    ids = torch.zeros(3, length).long()
    ids[0, :3], ids[1, :], ids[2, :1] = 1, 1, 1
    x = randn(3, length, D_MODEL, seed=1, dtype=torch.float32)
    alone = layer(positions(x[:1, :3]))
    together = layer(positions(x), padding_mask(ids, 0))
    assert together.shape == x.shape
    assert_close(together[:1, :3], alone, rtol=0, atol=1e-6)
    # The content of padding changes nothing; that of a word does.
    changed = torch.where(ids[..., None] == 0, 1e3, x)
    other = layer(positions(changed), padding_mask(ids, 0))
    assert torch.equal(other[ids == 1], together[ids == 1])
    x[0, 2] += randn(D_MODEL, dtype=torch.float32)
    other = layer(positions(x), padding_mask(ids, 0))
    assert not torch.allclose(other[0, :2], together[0, :2], atol=1e-3)


@both_norms
def test_a_decoder_layer_ignores_the_padding_of_the_memory(norm_first):
    layer = filled(DecoderLayer(*WIDTHS, norm_first=norm_first))
    x, memory = randn(B, L, D_MODEL), randn(B, S, D_MODEL)
    before = layer(x, memory, memory_mask=mask("padding"))
    assert_same(before[:1], layer(x[:1], memory[:1, :-2]))
    memory[0, -2:] = 1e3
    assert torch.equal(layer(x, memory, memory_mask=mask("padding")), before)
    memory[1, -2:] = 1e3  # the second sentence has no padding
    assert not torch.equal(layer(x, memory, memory_mask=mask("padding"))[1], before[1])


@both_norms
@pytest.mark.parametrize("chunk", [1, 3, L])
def test_a_decoder_layer_gives_the_same_in_chunks_with_a_cache(chunk, norm_first):
    layer = filled(DecoderLayer(*WIDTHS, norm_first=norm_first))
    x, memory, masks = randn(B, L, D_MODEL), randn(B, S, D_MODEL), {"memory_mask": mask("padding")}
    expected = layer(x, memory, tgt_mask=causal_mask(L), **masks)
    cache, outputs = LayerCache(), []
    for start in range(0, L, chunk):
        new = x[:, start : start + chunk]
        own = causal_mask(start + new.shape[1])[start:]
        outputs.append(layer(new, memory, tgt_mask=own, cache=cache, **masks))
    assert_same(torch.cat(outputs, dim=1), expected)
