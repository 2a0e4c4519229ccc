"""functional.py: worked numbers, equality with torch and NumPy, properties."""

import math

import oracle
import pytest
import torch
import torch.nn.functional as F
from attention_inputs import D_K, DTYPES, TOLERANCE, B, H, L, S, qkv, random_mask
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import torch_fills_empty_rows
from torch.testing import assert_close

from attention_core import (
    attention_scores,
    attention_weights,
    causal_mask,
    merge_heads,
    padding_mask,
    scaled_dot_product_attention,
    split_heads,
)

# ------------------------------------------------------------- worked numbers


def test_the_three_characters_of_chapter_1():
    x = torch.tensor([[1, 2, 1, 2, 1], [1, 1, 3, 2, 1], [3, 1, 2, 1, 1]], dtype=torch.float64)
    q = x * math.sqrt(5)  # cancels the division by the square root of d_k
    assert_close(attention_scores(q, x)[0], torch.tensor([11.0, 11.0, 10.0]).double())
    e = math.e
    weights = torch.tensor([e, e, 1.0]).double() / (2 * e + 1)
    assert_close(attention_weights(q, x)[0], weights)
    assert [f"{w:.4f}" for w in weights] == ["0.4223", "0.4223", "0.1554"]
    context = scaled_dot_product_attention(q, x, x)[0]
    expected = [
        (2 * e + 3) / (2 * e + 1),
        (3 * e + 1) / (2 * e + 1),
        2.0,
        (4 * e + 1) / (2 * e + 1),
        1.0,
    ]
    assert_close(context, torch.tensor(expected, dtype=torch.float64))


def test_scores_are_divided_by_the_width_of_one_head():
    # One head of width 4 in a model of width 16, raw scores 0 and 8: divide by 2, not by 4.
    q = torch.tensor([[2.0, 0.0, 0.0, 0.0]])
    k = torch.tensor([[0.0, 0.0, 0.0, 0.0], [4.0, 0.0, 0.0, 0.0]])
    assert_close(attention_scores(q, k), torch.tensor([[0.0, 4.0]]))
    share = 1 / (1 + math.exp(-4))
    assert_close(attention_weights(q, k), torch.tensor([[1 - share, share]]))
    assert f"{share:.4f}" == "0.9820"


def test_scores_of_each_sentence_and_head_are_those_of_its_own_queries_and_keys():
    q, k, _ = qkv()
    scores = attention_scores(q, k)
    assert scores.shape == (B, H, L, S)
    for b in range(B):
        for h in range(H):
            products = q[b, h].numpy() @ k[b, h].numpy().T
            assert_close(scores[b, h], torch.from_numpy(products) / D_K**0.5)


def test_true_in_a_mask_means_may_attend_as_in_sdpa_and_opposite_to_mha():
    mask = torch.tensor([[True, True, False]])
    q, k, v = torch.zeros(1, 3), torch.zeros(3, 3), torch.eye(3)
    expected = torch.tensor([[0.5, 0.5, 0.0]])
    assert_close(attention_weights(q, k, mask), expected)
    assert_close(F.scaled_dot_product_attention(q, k, v, attn_mask=mask), expected)
    mha = torch.nn.MultiheadAttention(3, 1, bias=False)
    _, theirs = mha(q, k, v, attn_mask=~mask)
    # The query is zero, so any projection of it is: only the mask decides.
    assert_close(theirs, expected)
    assert_close(attention_weights(q, k, ~mask), torch.tensor([[0.0, 0.0, 1.0]]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_query_that_may_attend_to_nothing_gets_zeros(dtype):
    v = torch.arange(12.0).view(3, 4).to(dtype)
    q, k = torch.zeros(2, 3, dtype=dtype), torch.zeros(3, 3, dtype=dtype)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    expected = torch.tensor([[0.5, 0.5, 0], [0, 0, 0]], dtype=dtype)
    assert torch.equal(attention_weights(q, k, mask), expected)
    output = scaled_dot_product_attention(q, k, v, mask)
    assert torch.equal(output, torch.tensor([[2, 3, 4, 5], [0, 0, 0, 0]], dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_blocked_key_gets_exactly_zero_in_every_dtype(dtype):
    weights = attention_weights(
        torch.zeros(1, 2, dtype=dtype),
        torch.zeros(2, 2, dtype=dtype),
        torch.tensor([True, False]) & torch.tensor([[True, True]]),
    )
    assert torch.equal(weights, torch.tensor([[1.0, 0.0]], dtype=dtype))


def test_empty_rows_leave_every_gradient_finite():
    q, k, v = (x.requires_grad_() for x in qkv())
    # Anomaly detection also sees a NaN that a later step of the backward pass would hide.
    with (
        pytest.warns(UserWarning, match="Anomaly Detection"),
        torch.autograd.detect_anomaly(check_nan=True),
    ):
        scaled_dot_product_attention(q, k, v, random_mask()).square().sum().backward()
    for x in (q, k, v):
        assert x.grad.isfinite().all()
    assert (q.grad[..., 0, :] == 0).all()
    assert (q.grad[..., 1:, :] != 0).any()


def test_padding_blocks_the_columns_of_keys_not_the_rows_of_queries():
    mask = padding_mask(torch.tensor([[5, 6, 0]]), pad_id=0)
    weights = attention_weights(torch.zeros(1, 1, 3, 2), torch.zeros(1, 1, 3, 2), mask)
    assert_close(weights[0, 0], torch.tensor([[0.5, 0.5, 0.0]]).expand(3, 3))


def test_split_heads_cuts_the_width_and_keeps_each_token_whole():
    x = torch.arange(8.0).view(1, 2, 4)
    heads = split_heads(x, 2)
    assert heads[0, 0].tolist() == [[0, 1], [4, 5]]
    assert heads[0, 1].tolist() == [[2, 3], [6, 7]]
    assert torch.equal(merge_heads(heads), x)


# ------------------------------------------------------------------- equality

MASKED_FOR_TORCH = [False, pytest.param(True, marks=torch_fills_empty_rows)]


@pytest.mark.parametrize("masked", MASKED_FOR_TORCH)
@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_torch_in_values(dtype, masked):
    q, k, v = qkv(dtype)
    mask = random_mask() if masked else None
    ours = scaled_dot_product_attention(q, k, v, mask)
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert ours.dtype == dtype
    assert_close(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("masked", MASKED_FOR_TORCH)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_equals_torch_in_gradients(dtype, masked):
    mask = random_mask() if masked else None
    gradients = []
    for function in (scaled_dot_product_attention, F.scaled_dot_product_attention):
        tensors = [x.requires_grad_() for x in qkv(dtype)]
        function(*tensors, mask).square().sum().backward()
        gradients.append([x.grad for x in tensors])
    for ours, theirs in zip(*gradients, strict=True):
        assert_close(ours, theirs, rtol=TOLERANCE[dtype] * 10, atol=TOLERANCE[dtype] * 10)


def test_is_causal_and_scale_of_torch_can_be_expressed():
    # What the docstring says instead of is_causal and scale.
    q, k, v = qkv()
    theirs = F.scaled_dot_product_attention(q, k, v, scale=0.7)
    assert_close(scaled_dot_product_attention(q * (0.7 * D_K**0.5), k, v), theirs)
    k, v = k[..., :L, :], v[..., :L, :]
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert_close(scaled_dot_product_attention(q, k, v, causal_mask(L)), theirs)


@pytest.mark.parametrize("masked", [False, True])
def test_equals_plain_numpy(masked):
    q, k, v = qkv(batch=())
    mask = random_mask((L, S)) if masked else None
    weights, output = oracle.attention(
        q.numpy(), k.numpy(), v.numpy(), mask.numpy() if masked else None
    )
    assert_close(attention_weights(q, k, mask).numpy(), weights, rtol=1e-12, atol=1e-12)
    assert_close(
        scaled_dot_product_attention(q, k, v, mask).numpy(), output, rtol=1e-12, atol=1e-12
    )


def test_the_newest_queries_of_a_longer_sequence_see_all_keys_before_them():
    q, k = torch.zeros(2, 3), torch.zeros(5, 3)
    one = attention_weights(q[:1], k, causal_mask(5)[-1:])
    two = attention_weights(q, k, causal_mask(5)[-2:])
    assert_close(one, torch.full((1, 5), 0.2))
    assert_close(two, torch.tensor([[0.25, 0.25, 0.25, 0.25, 0.0], [0.2] * 5]))


# ----------------------------------------------------------------- properties


numbers = st.integers(0, 2**31 - 1)


@given(seed=numbers, lengths=st.tuples(st.integers(1, 6), st.integers(1, 6)))
@settings(max_examples=40, deadline=None)
def test_weights_sum_to_1_and_ignore_a_shift_and_the_order_of_the_keys(seed, lengths):
    g = torch.Generator().manual_seed(seed)
    n, m = lengths
    q, k, v = (
        3 * torch.randn(*s, generator=g, dtype=torch.float64) for s in [(n, 4), (m, 4), (m, 2)]
    )
    weights = attention_weights(q, k)
    output = scaled_dot_product_attention(q, k, v)
    # Every row of weights adds up to 1, and no weight is negative.
    assert_close(weights.sum(dim=-1), torch.ones(n).double())
    assert (weights >= 0).all()
    # A weighted mean stays within the range of the values.
    assert (output <= v.max(dim=-2).values + 1e-12).all()
    assert (output >= v.min(dim=-2).values - 1e-12).all()
    # The same vector added to every key changes nothing: softmax ignores a shift.
    shift = torch.randn(1, 4, generator=g, dtype=torch.float64)
    assert_close(attention_weights(q, k + shift), weights)
    # The order of the keys does not matter as long as the values follow them.
    order = torch.randperm(m, generator=g)
    assert_close(scaled_dot_product_attention(q, k[order], v[order]), output)
    # Shuffled queries give the same outputs, shuffled.
    order = torch.randperm(n, generator=g)
    assert_close(scaled_dot_product_attention(q[order], k, v), output[order])


@given(seed=numbers, heads=st.integers(1, 5), width=st.integers(1, 5), length=st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_merge_undoes_split(seed, heads, width, length):
    x = torch.randn(2, length, heads * width, generator=torch.Generator().manual_seed(seed))
    parts = split_heads(x, heads)
    assert parts.shape == (2, heads, length, width)
    for h in range(heads):
        assert torch.equal(parts[:, h], x[..., h * width : (h + 1) * width])
    assert torch.equal(merge_heads(parts), x)


def test_later_keys_do_not_change_earlier_outputs_under_a_causal_mask():
    q, k, v = (x[..., :L, :] for x in qkv())
    before = scaled_dot_product_attention(q, k, v, causal_mask(L))
    k2, v2 = k.clone(), v.clone()
    k2[..., 3:, :] += 100.0
    v2[..., 3:, :] += 100.0
    after = scaled_dot_product_attention(q, k2, v2, causal_mask(L))
    assert torch.equal(before[..., :3, :], after[..., :3, :])
    assert not torch.equal(before[..., 3:, :], after[..., 3:, :])


def test_keys_and_values_at_padding_do_not_change_the_output():
    q, k, v = qkv()
    mask = padding_mask(torch.tensor([[1] * 5 + [0] * 2, [1] * 7]), pad_id=0)
    before = scaled_dot_product_attention(q, k, v, mask)
    k2, v2 = k.clone(), v.clone()
    k2[0, :, 5:], v2[0, :, 5:] = 1e6, 1e6
    assert torch.equal(before, scaled_dot_product_attention(q, k2, v2, mask))


def test_the_sentences_of_a_batch_do_not_affect_each_other():
    q, k, v = qkv()
    together = scaled_dot_product_attention(q, k, v)
    for b in range(B):
        assert_close(together[b], scaled_dot_product_attention(q[b], k[b], v[b]))


@pytest.mark.parametrize("batch", [(), (B,), (B, H)])
def test_softmax_runs_over_keys_for_any_number_of_axes(batch):
    q, k, _ = qkv(batch=batch)
    weights = attention_weights(q, k)
    assert weights.shape == (*batch, L, S)
    assert_close(weights.sum(dim=-1), torch.ones(*batch, L).double())


def test_a_single_key_gets_the_whole_weight():
    weights = attention_weights(torch.randn(2, 3, 4), torch.randn(2, 1, 4))
    assert torch.equal(weights, torch.ones(2, 3, 1))
