"""attention.py, num_kv_heads: grouped-query and multi-query attention."""

import pytest
import torch
import torch.nn.functional as F
from samples import TORCH, B, L, S, assert_same, filled, mask, randn
from torch.testing import assert_close

from attention_core import (
    EncoderLayer,
    KeyValueCache,
    MultiHeadAttention,
    TransformerConfig,
    causal_mask,
    record_attention,
    split_heads,
)

H, D_K = 6, 5
D_MODEL = H * D_K
X, MEMORY = randn(B, L, D_MODEL), randn(B, S, D_MODEL, seed=1)


def attend(num_kv_heads, **options):
    return filled(MultiHeadAttention(D_MODEL, H, num_kv_heads=num_kv_heads, **options))


@pytest.mark.skipif(TORCH < (2, 5), reason="torch before 2.5 has no grouped attention")
@pytest.mark.parametrize("num_kv_heads", [1, 2, 3, 6])
@pytest.mark.parametrize("masked", [False, True])
def test_it_is_torchs_grouped_attention(num_kv_heads, masked):
    module = attend(num_kv_heads)
    allowed = mask("padding") if masked else None
    q = split_heads(module.q_proj(X), H)
    k, v = (split_heads(p(MEMORY), num_kv_heads) for p in (module.k_proj, module.v_proj))
    mixed = F.scaled_dot_product_attention(q, k, v, allowed, enable_gqa=True)
    expected = module.out_proj(mixed.transpose(1, 2).flatten(2))
    ours = module(X, MEMORY, MEMORY, allowed)
    assert_same(ours, expected)
    weight = randn(*ours.shape, seed=3)
    parameters = list(module.parameters())
    for a, b in zip(
        torch.autograd.grad((ours * weight).sum(), parameters),
        torch.autograd.grad((expected * weight).sum(), parameters),
        strict=True,
    ):
        assert_same(a, b)


def test_as_many_key_heads_as_heads_is_the_plain_module():
    plain = filled(MultiHeadAttention(D_MODEL, H))
    assert torch.equal(attend(H)(X, MEMORY, MEMORY), plain(X, MEMORY, MEMORY))


@pytest.mark.parametrize("num_kv_heads", [1, 2])
def test_it_is_full_attention_with_repeated_projections(num_kv_heads):
    """Two query heads that share a key head are two heads with equal keys."""
    shared, full = attend(num_kv_heads), attend(H)
    state = shared.state_dict()
    for name in ("k_proj.weight", "k_proj.bias", "v_proj.weight", "v_proj.bias"):
        rows = state[name].unflatten(0, (num_kv_heads, D_K))
        state[name] = rows.repeat_interleave(H // num_kv_heads, dim=0).flatten(0, 1)
    full.load_state_dict(state)
    assert_same(shared(X, MEMORY, MEMORY), full(X, MEMORY, MEMORY))


@pytest.mark.parametrize("num_kv_heads", [1, 3])
def test_the_cache_keeps_each_key_head_once_and_changes_nothing(num_kv_heads):
    module, cache = attend(num_kv_heads), KeyValueCache(grows=True)
    whole = module(X, X, X, causal_mask(L))
    steps = [module(X[:, i : i + 1], *[X[:, i : i + 1]] * 2, cache=cache) for i in range(L)]
    assert_same(torch.cat(steps, dim=1), whole)
    keys, values = cache.pair
    assert keys.shape == values.shape == (B, num_kv_heads, L, D_K)


def test_the_recorded_weights_have_an_axis_of_all_heads():
    module = attend(2)
    with record_attention(module) as weights:
        module(X, MEMORY, MEMORY)
    assert weights[""].shape == (B, H, L, S)
    k = split_heads(module.k_proj(MEMORY), 2)
    q = split_heads(module.q_proj(X), H)
    for head in range(H):
        expected = (q[:, head] @ k[:, head // 3].mT / D_K**0.5).softmax(dim=-1)
        assert_close(weights[""][:, head], expected.detach(), rtol=1e-12, atol=1e-12)


def test_a_layer_and_a_config_pass_it_on():
    layer = EncoderLayer(D_MODEL, H, 7, num_kv_heads=3)
    assert layer.self_attention.k_proj.out_features == 3 * D_K
    assert "num_heads=6, num_kv_heads=3" in repr(layer)
    sizes = {"src_vocab_size": 7, "tgt_vocab_size": 7, "d_model": 12, "num_heads": 4}
    assert TransformerConfig(**sizes).num_kv_heads is None
    assert TransformerConfig(**sizes, num_kv_heads=2).num_kv_heads == 2


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (4, ValueError, "num_heads must be divisible by num_kv_heads, got num_heads=6 and "),
        (0, ValueError, "num_kv_heads must be at least 1, got 0"),
        (2.0, TypeError, r"num_kv_heads must be an int, got float 2\.0"),
    ],
)
def test_a_number_that_does_not_divide_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        MultiHeadAttention(D_MODEL, H, num_kv_heads=given)
    sizes = {"src_vocab_size": 7, "tgt_vocab_size": 7, "d_model": 12, "num_heads": 6}
    with pytest.raises(error, match=message):
        TransformerConfig(**sizes, num_kv_heads=given)
