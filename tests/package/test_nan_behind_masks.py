"""NaN and infinity in keys and values that a mask blocks: ours, and torch for comparison."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from samples import D_K, L, S, randn

from attention_core import (
    attention_weights,
    masked_softmax,
    scaled_dot_product_attention,
)
from attention_core.blockwise import blockwise_attention

NAN, INF = float("nan"), float("inf")
OURS = [scaled_dot_product_attention, partial(blockwise_attention, block_size=3)]
ALLOWED = torch.ones(L, S).bool()
ALLOWED[:, -2:] = False  # the last two keys are hidden from all queries
ALLOWED[0] = False  # and all keys from the first
bad = pytest.mark.parametrize("number", [NAN, INF, -INF])
ours = pytest.mark.parametrize("function", OURS)


def qkv(dtype=torch.float64):
    shapes = (L, D_K), (S, D_K), (S, 3)
    return [randn(*shape, seed=i, dtype=dtype) for i, shape in enumerate(shapes)]


def spoiled(x, number):
    x = x.clone()
    x[-1, 1] = number
    return x


@bad
@ours
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_blocked_key_changes_nothing_whatever_it_holds(function, number, dtype):
    q, k, v = qkv(dtype)
    expected = function(q, k, v, ALLOWED)
    assert torch.equal(function(q, spoiled(k, number), v, ALLOWED), expected)
    weights = attention_weights(q, spoiled(k, number), ALLOWED)
    assert torch.equal(weights, attention_weights(q, k, ALLOWED))


@bad
def test_a_blocked_score_changes_nothing_whatever_it_holds(number):
    scores = randn(L, S)
    assert torch.equal(
        masked_softmax(scores.masked_fill(~ALLOWED, number), ALLOWED),
        masked_softmax(scores, ALLOWED),
    )


@bad
def test_in_torch_a_blocked_key_that_is_not_finite_can_give_nan(number):
    # (An infinite key only where its score is +∞, for +∞ - ∞ is NaN.)
    q, k, v = qkv()
    assert F.scaled_dot_product_attention(q, spoiled(k, number), v, ALLOWED)[1:].isnan().any()


@bad
@pytest.mark.parametrize("function", [*OURS, F.scaled_dot_product_attention])
def test_0_times_a_value_that_is_not_finite_is_nan_as_in_torch(function, number):
    q, k, v = qkv()
    expected = function(q, k, v, ALLOWED)
    output = function(q, k, spoiled(v, number), ALLOWED)
    assert output[1:, 1].isnan().all()
    assert torch.equal(output[:, [0, 2]], expected[:, [0, 2]])  # the value's other numbers
    finite = function(q, k, spoiled(v, 1e300), ALLOWED)
    assert torch.equal(finite, expected)


@bad
@ours
@pytest.mark.parametrize("what", ["key", "value"])
def test_an_empty_row_gives_zeros_whatever_is_hidden_from_it(what, function, number):
    q, k, v = qkv()
    k, v = (spoiled(k, number), v) if what == "key" else (k, spoiled(v, number))
    assert (function(q, k, v, ALLOWED)[0] == 0).all()


@bad
@ours
def test_only_gradients_that_multiply_a_blocked_nan_are_nan(function, number):
    q, k, v = (x.requires_grad_() for x in qkv())
    expected = torch.autograd.grad(function(q, k, v, ALLOWED).sum(), (q, k, v))
    output = function(q, spoiled(k, number), v, ALLOWED)
    d_q, d_k, d_v = torch.autograd.grad(output.sum(), (q, k, v))
    assert d_q[:, 1].isnan().all()  # 0 times the hidden number
    others = [0, *range(2, D_K)]
    for found, right in ((d_q[:, others], expected[0][:, others]), (d_k, expected[1])):
        torch.testing.assert_close(found, right)
    torch.testing.assert_close(d_v, expected[2])
