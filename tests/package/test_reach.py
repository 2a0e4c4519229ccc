"""reach.py: an output reaches exactly the inputs that it was computed from."""

import pytest
import torch
from samples import D_MODEL, B, H, L, S, filled, randn
from torch import nn

from attention_core import (
    EncoderLayer,
    LayerNorm,
    MultiHeadAttention,
    causal_mask,
    reach_matrix,
)

X = randn(B, L, D_MODEL)


def test_self_attention_reaches_everywhere_and_a_causal_mask_only_back():
    attend = filled(MultiHeadAttention(D_MODEL, H))
    assert (reach_matrix(lambda x: attend(x, x, x), X) > 0).all()
    masked = reach_matrix(lambda x: attend(x, x, x, causal_mask(L)), X)
    assert torch.equal(masked > 0, causal_mask(L))


def test_cross_attention_has_a_row_for_each_output():
    attend = filled(MultiHeadAttention(D_MODEL, H))
    reach = reach_matrix(lambda memory: attend(X, memory, memory), randn(B, S, D_MODEL))
    assert reach.shape == (L, S)
    assert (reach > 0).all()


def test_a_position_wise_module_reaches_only_its_own_position():
    for module in (LayerNorm(D_MODEL), nn.Linear(D_MODEL, 3, dtype=X.dtype)):
        assert torch.equal(reach_matrix(module.to(X.dtype), X) > 0, torch.eye(L) > 0)


def test_the_entry_is_the_largest_change_over_batch_and_width():
    x = torch.zeros(2, 3, 5)
    factor = torch.tensor([1.0, -7.0])[:, None, None]
    assert torch.equal(reach_matrix(lambda x: factor * x, x), 14 * torch.eye(3))


def test_a_single_sequence_needs_no_batch_axis():
    assert torch.equal(reach_matrix(lambda x: 3 * x, torch.zeros(2, 5)), 6 * torch.eye(2))


def test_a_function_that_works_in_place_does_not_change_the_input():
    x = randn(L, D_MODEL)
    before = x.clone()
    reach = reach_matrix(lambda y: y.mul_(2), x)
    assert torch.equal(x, before)
    assert torch.equal(reach > 0, torch.eye(L) > 0)


def test_no_gradient_is_recorded():
    x = randn(L, D_MODEL).requires_grad_()
    assert not reach_matrix(lambda y: y * y, x).requires_grad


@pytest.mark.parametrize(
    ("function", "x", "error", "text"),
    [
        (lambda x: x, torch.zeros(3), ValueError, r"x must have at least 2 axes, got shape \(3,\)"),
        (lambda x: x, torch.zeros(3, 2).long(), TypeError, "x must be a floating-point tensor"),
        (lambda x: x.sum(), torch.zeros(3, 2), ValueError, r"function\(x\) must have at least 2"),
        (lambda x: x > 0, torch.zeros(3, 2), TypeError, r"function\(x\) must be a floating"),
        (lambda x: x, torch.zeros(0, 2), ValueError, r"x must have no empty axis, got .* \(0, 2\)"),
        (lambda x: x, torch.zeros(3, 0), ValueError, r"x must have no empty axis, got .* \(3, 0\)"),
        (lambda x: x, torch.zeros(0, 3, 2), ValueError, r"x must have no empty axis"),
        (
            lambda x: x[:0],
            torch.zeros(3, 2),
            ValueError,
            r"function\(x\) must have no empty axis, got shape \(0, 2\)",
        ),
        (
            lambda x: x / 0,
            torch.zeros(3, 2),
            ValueError,
            r"function\(x\) must be finite, got NaN or infinity in 6 places",
        ),
        (
            lambda x: (1 - x[..., 1:] * (x[..., 1:] > 1)).sqrt(),
            torch.zeros(3, 2),
            ValueError,
            r"function\(x\) with token 0 changed must be finite, got NaN or infinity in 1 places",
        ),
    ],
)
def test_bad_input_and_output_are_named(function, x, error, text):
    with pytest.raises(error, match=text):
        reach_matrix(function, x)


def test_dropout_is_refused():
    layer = EncoderLayer(D_MODEL, H, 7, dropout=0.5).to(X.dtype)
    with pytest.raises(ValueError, match=r"same result twice; .* eval mode \(x \(\d+, \d+, \d+\)"):
        reach_matrix(layer, X)
    assert (reach_matrix(layer.eval(), X) > 0).any()
