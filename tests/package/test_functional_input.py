"""functional.py: inputs of every form, dropout, devices, and the texts of errors."""

import inspect
import math

import numpy as np
import pytest
import torch
from attention_inputs import D_K, D_V, B, H, L, S, qkv, random_mask
from torch.testing import assert_close

from attention_core import (
    attention_scores,
    attention_weights,
    masked_softmax,
    merge_heads,
    padding_mask,
    scaled_dot_product_attention,
    split_heads,
)

# ---------------------------------------------------------------- robust input


def test_non_contiguous_inputs_give_the_same_result_as_contiguous_copies():
    q, k, v = (x.transpose(0, 1) for x in qkv(batch=(H, B)))
    k, v = k[:, :1].expand(B, H, S, D_K), v[..., ::2, :].repeat_interleave(2, -2)[..., :S, :]
    ours = scaled_dot_product_attention(q, k, v)
    copies = scaled_dot_product_attention(q.contiguous(), k.contiguous(), v.contiguous())
    assert torch.equal(ours, copies)
    assert merge_heads(q).is_contiguous()


@pytest.mark.parametrize("batch", [(), (B,), (B, 3)])
def test_heads_split_and_merge_for_any_number_of_axes(batch):
    x = torch.randn(*batch, L, 2 * 7)
    parts = split_heads(x, 2)
    assert parts.shape == (*batch, 2, L, 7)
    assert torch.equal(parts[..., 1, 3, :], x[..., 3, 7:])
    assert torch.equal(merge_heads(parts), x)


def test_widths_above_256_are_compared_by_value():
    q = torch.ones(1, 300)
    assert_close(attention_scores(q, q), torch.tensor([[300**0.5]]))


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("length", [0, 1])
def test_axes_of_size_one_and_zero_are_kept(batch, length):
    x = torch.zeros(batch, 1, length, 1)
    assert attention_weights(x, x).shape == (batch, 1, length, length)
    assert scaled_dot_product_attention(x, x, x).shape == x.shape
    assert split_heads(x[:, 0], 1).shape == x.shape


def test_no_keys_at_all_give_zeros():
    output = scaled_dot_product_attention(
        torch.zeros(2, 3), torch.zeros(0, 3), torch.zeros(0, 4), torch.ones(2, 0).bool()
    )
    assert torch.equal(output, torch.zeros(2, 4))


def test_half_precision_scores_do_not_overflow_before_the_division():
    q = torch.full((1, 64), 40.0, dtype=torch.float16)  # the bare product is 102,400
    assert attention_scores(q, q).item() == 12_800


def test_inputs_are_left_as_they_were():
    q, k, v = qkv()
    mask = random_mask()
    copies = [x.clone() for x in (q, k, v, mask)]
    scaled_dot_product_attention(q, k, v, mask)
    assert all(torch.equal(x, c) for x, c in zip((q, k, v, mask), copies, strict=True))


def test_works_on_the_meta_device():
    q, k, v = (x.to("meta") for x in qkv())
    output = scaled_dot_product_attention(q, k, v, random_mask().to("meta"))
    assert output.device.type == "meta"
    assert output.shape == (B, H, L, D_V)


def test_compiles_without_a_graph_break():
    q, k, v = qkv()
    compiled = torch.compile(scaled_dot_product_attention, fullgraph=True, backend="eager")
    for length in (4, 7):
        arguments = (q, k[..., :length, :], v[..., :length, :], random_mask()[..., :length])
        assert_close(compiled(*arguments), scaled_dot_product_attention(*arguments))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_gpu_gives_what_the_cpu_gives():
    q, k, v = qkv()
    mask = random_mask()
    ours = scaled_dot_product_attention(q.cuda(), k.cuda(), v.cuda(), mask.cuda())
    assert ours.is_cuda
    assert_close(ours.cpu(), scaled_dot_product_attention(q, k, v, mask), rtol=1e-10, atol=1e-10)


# --------------------------------------------------------------------- dropout


def test_dropout_keeps_a_share_of_the_weights_and_scales_them_up():
    # Uniform weights over 1,000 keys and values of one: the output counts survivors.
    q, k, v = torch.zeros(500, 2), torch.zeros(1000, 2), torch.eye(1000)
    torch.manual_seed(0)
    weights = scaled_dot_product_attention(q, k, v, dropout_p=0.5) * 1000
    kept = weights != 0
    assert_close(weights[kept], torch.full_like(weights[kept], 2.0))
    assert abs(kept.double().mean().item() - 0.5) < 0.01


def test_without_dropout_nothing_is_random():
    q, k, v = qkv()
    torch.manual_seed(0)
    before = torch.get_rng_state()
    first = scaled_dot_product_attention(q, k, v, dropout_p=0.0)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(first, scaled_dot_product_attention(q, k, v))


def test_full_dropout_leaves_zeros():
    q, k, v = qkv()
    output = scaled_dot_product_attention(q, k, v, dropout_p=1.0)
    assert torch.equal(output, torch.zeros_like(output))


@pytest.mark.parametrize("dropout_p", [-0.1, 1.1, math.nan])
def test_a_probability_outside_0_to_1_is_refused(dropout_p):
    q, k, v = qkv()
    with pytest.raises(ValueError, match=f"dropout_p must lie between 0 and 1, got {dropout_p}"):
        scaled_dot_product_attention(q, k, v, dropout_p=dropout_p)


def test_dropout_p_is_keyword_only():
    parameter = inspect.signature(scaled_dot_product_attention).parameters["dropout_p"]
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY


# ----------------------------------------------------------------- error texts

q35, k75 = torch.zeros(3, 5), torch.zeros(7, 5)

ERRORS = [
    (
        lambda: attention_scores(q35, torch.zeros(7, 4)),
        ValueError,
        r"q and k must have the same width d_k >= 1 .* got q \(3, 5\) and k \(7, 4\)",
    ),
    (
        lambda: attention_scores(torch.zeros(3, 4), k75),
        ValueError,
        r"must have the same width d_k >= 1 .* got q \(3, 4\) and k \(7, 5\)",
    ),
    (
        lambda: attention_scores(torch.zeros(3, 0), torch.zeros(7, 0)),
        ValueError,
        r"d_k >= 1 .* got q \(3, 0\) and k \(7, 0\)",
    ),
    (
        lambda: attention_scores(torch.zeros(2, 3, 5), torch.zeros(4, 7, 5)),
        ValueError,
        r"leading axes of q and k must be equal or 1, got q \(2, 3, 5\) and k \(4, 7, 5\)",
    ),
    (
        lambda: attention_scores(torch.zeros(5), k75),
        ValueError,
        r"q must have at least 2 axes, got shape \(5,\)",
    ),
    (
        lambda: attention_scores(q35.long(), k75),
        TypeError,
        r"q must be a floating-point tensor, got dtype torch\.int64",
    ),
    (
        lambda: attention_scores(q35, [[0.0]]),
        TypeError,
        r"k must be a torch\.Tensor, got list",
    ),
    (
        lambda: attention_scores(q35.double(), k75),
        TypeError,
        r"q and k must have the same dtype, got q torch\.float64, k torch\.float32",
    ),
    (
        lambda: scaled_dot_product_attention(q35, k75, torch.zeros(6, 2)),
        ValueError,
        r"k and v must have the same length S .* got k \(7, 5\) and v \(6, 2\)",
    ),
    (
        lambda: scaled_dot_product_attention(q35, k75, torch.zeros(8, 2)),
        ValueError,
        r"k and v must have the same length S .* got k \(7, 5\) and v \(8, 2\)",
    ),
    (
        lambda: masked_softmax(torch.zeros(3)),
        ValueError,
        r"scores must have at least 2 axes, got shape \(3,\)",
    ),
    (
        lambda: scaled_dot_product_attention(q35, k75, torch.zeros(7, 2).double()),
        TypeError,
        r"q and k and v must have the same dtype, got .* v torch\.float64",
    ),
    (
        lambda: scaled_dot_product_attention(
            torch.zeros(2, 3, 5), torch.zeros(2, 7, 5), torch.zeros(3, 7, 2)
        ),
        ValueError,
        r"leading axes of scores and v must be equal or 1, got scores \(2, 3, 7\)",
    ),
    (
        lambda: attention_weights(q35, k75, torch.ones(7, 3).bool()),
        ValueError,
        r"mask must broadcast to .* \(\.\.\., L, S\) = \(3, 7\), got mask \(7, 3\)",
    ),
    (
        lambda: attention_weights(q35, k75, torch.ones(2, 3, 7).bool()),
        ValueError,
        r"= \(3, 7\), got mask \(2, 3, 7\)",
    ),
    (
        lambda: attention_weights(q35, k75, np.ones((3, 7), dtype=bool)),
        TypeError,
        r"mask must be a torch\.Tensor of bool, got ndarray",
    ),
    (
        lambda: split_heads(torch.zeros(2, 3, 512), 6),
        ValueError,
        r"d_model must be divisible by num_heads, got d_model=512 and num_heads=6; "
        r"num_heads=1 or 2 or 4 or 8 would work",
    ),
    (
        lambda: split_heads(torch.zeros(2, 3, 1600), 48),
        ValueError,
        r"d_model=1600 and num_heads=48; num_heads=32 or 40 or 50 or 64 would work",
    ),
    (
        lambda: split_heads(torch.zeros(2, 3, 8), 0),
        ValueError,
        r"num_heads must be at least 1, got 0",
    ),
    (
        lambda: split_heads(torch.zeros(2, 3, 8), -2),
        ValueError,
        r"num_heads must be at least 1, got -2",
    ),
    (
        lambda: split_heads(torch.zeros(2, 3, 8), True),
        TypeError,
        r"num_heads must be an int, got bool True",
    ),
    (
        lambda: split_heads(torch.zeros(2, 3, 8), 2.0),
        TypeError,
        r"num_heads must be an int, got float 2\.0",
    ),
    (
        lambda: split_heads(torch.zeros(8), 2),
        ValueError,
        r"x must have at least 2 axes, got shape \(8,\)",
    ),
    (
        lambda: merge_heads(torch.zeros(3, 4)),
        ValueError,
        r"x must have at least 3 axes, got shape \(3, 4\)",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_a_mask_of_numbers_is_refused_with_the_way_to_convert_it(dtype):
    mask = torch.tensor([[1, 1, 0]]).to(dtype)
    text = rf"mask must be bool with True = may attend, got dtype {dtype}; .* mask != 0"
    with pytest.raises(TypeError, match=text):
        attention_weights(torch.zeros(1, 2), torch.zeros(3, 2), mask)


def test_a_padding_mask_for_heads_is_refused_where_there_are_none_and_fits_without_its_axis():
    q, k, _ = qkv(batch=(B,))
    mask = padding_mask(torch.tensor([[1] * 5 + [0] * 2, [1] * 7]), pad_id=0)  # (B, 1, 1, S)
    with pytest.raises(ValueError, match=r"without an axis for heads, use mask\.squeeze\(1\)"):
        attention_weights(q, k, mask)
    weights = attention_weights(q, k, mask.squeeze(1))
    assert (weights[0, :, 5:] == 0).all()
    assert (weights[1] > 0).all()
