"""Attention block by block: the same result, and the L x S table never exists at once.

What a query has learned from some keys fits into a `Summary`, and two summaries can be
merged. So the keys may come in blocks, in any order, or lie on several machines.
"""

import math
from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_core import _checks


class Summary(NamedTuple):
    """What each query has learned from some of the keys.

    The weights' numerators are exp(score - largest), so that none can overflow. In half
    precision a summary is float32: small numbers added to a large sum would be lost.

    Args:
        largest: m, the largest score, without gradient; -inf if no key may be attended
        total: l, the sum of the numerators
        mixed: o, the values' sum, each times its numerator

    Shape:
        largest, total: (..., L, 1)    mixed: (..., L, d_v)

    >>> summary = summarize(torch.zeros(2, 3), torch.zeros(5, 3), torch.ones(5, 7))
    >>> summary.total
    tensor([[5.],
            [5.]])
    """

    largest: Tensor
    total: Tensor
    mixed: Tensor


def summarize(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Summary:
    """True in ``mask`` means "may attend". What the queries learn from these keys.

    Of no keys at all (S = 0) it is the summary that changes nothing in a merge.

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)    v: (..., S, d_v)
        mask: bool, broadcastable to (..., L, S)

    Raises:
        ValueError, TypeError: as `scaled_dot_product_attention`

    Source: Milakov and Gimelshein 2018, algorithm 3, for the first two numbers; Rabe and
    Staats 2021, section 2, for all three.

    >>> k = torch.tensor([[0.0], [math.log(3)]])
    >>> mixture(summarize(torch.ones(1, 1), k, torch.tensor([[4.0], [8.0]])))
    tensor([[7.]])
    """
    _checks.check_attention(q, k, v, mask)
    scores = _scores(q, k, mask)
    v = v.to(scores.dtype)
    if scores.shape[-1] == 0:
        largest = scores.new_full((*scores.shape[:-1], 1), -torch.inf)
    else:
        # The mixture does not depend on what is subtracted, so it needs no gradient.
        largest = scores.detach().amax(dim=-1, keepdim=True)
    numerators = torch.exp(scores - _finite(largest))
    return Summary(largest, numerators.sum(dim=-1, keepdim=True), numerators @ v)


def merge(a: Summary, b: Summary) -> Summary:
    """The summary of both sets of keys together, as if they had been one.

    Both are brought to the larger of the two maxima. The order does not matter, and neither
    does which of three is merged first, up to rounding.

    Shape:
        a, b: summaries of the same queries

    Source: Milakov and Gimelshein 2018, section 3.1.

    >>> x = torch.eye(4)
    >>> halves = [summarize(x, x[rows], x[rows]) for rows in (slice(0, 2), slice(2, 4))]
    >>> torch.allclose(mixture(merge(*halves)), mixture(summarize(x, x, x)))
    True
    """
    largest = torch.maximum(a.largest, b.largest)
    shrink_a, shrink_b = (torch.exp(x.largest - _finite(largest)) for x in (a, b))
    return Summary(
        largest,
        a.total * shrink_a + b.total * shrink_b,
        a.mixed * shrink_a + b.mixed * shrink_b,
    )


def mixture(summary: Summary) -> Tensor:
    """The weighted mean of the values; zeros for a query that may attend to nothing.

    Shape:
        returns: (..., L, d_v)

    >>> x = torch.zeros(1, 2)
    >>> mixture(summarize(x, x, x + 7, torch.tensor([[False]])))
    tensor([[0., 0.]])
    """
    return summary.mixed / summary.total.masked_fill(summary.total == 0.0, 1.0)


def blockwise_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    block_size: int,
    dropout_p: float = 0.0,
) -> Tensor:
    """True in ``mask`` means "may attend". `scaled_dot_product_attention`, block by block.

    At no time are there more than L · block_size scores, on the way back neither: they are
    computed again there. Kept for it are inputs and output and one number a query.

    Args:
        block_size: how many keys are looked at together; the last block may be smaller
        dropout_p: must be 0; it is here because a module passes it

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)    v: (..., S, d_v)
        mask: bool, broadcastable to (..., L, S)
        returns: (..., L, d_v); zeros for a query that may attend to nothing

    Raises:
        ValueError: as `scaled_dot_product_attention`, block_size is below 1, or dropout_p
            is not 0
        TypeError: as `scaled_dot_product_attention`, or block_size is not an int

    Source: Rabe and Staats 2021; Dao et al. 2022, algorithm 1 and appendix B, where blocks
    of queries are taken, too. The book's chapter 13 derives it.

    >>> q, k, v = torch.zeros(2, 3, 7), torch.zeros(2, 5, 7), torch.zeros(2, 5, 11)
    >>> blockwise_attention(q, k, v, block_size=2).shape
    torch.Size([2, 3, 11])
    """
    scores_shape = _checks.check_attention(q, k, v, mask)
    _checks.check_count("block_size", block_size, minimum=1)
    if dropout_p != 0.0:
        raise ValueError(
            f"dropout_p must be 0 in blocks, where no weights are kept to drop, got {dropout_p}"
        )
    if mask is not None:
        mask = mask.expand(scores_shape)  # a view: no number is copied
    output: Tensor = _Blockwise.apply(q, k, v, mask, block_size)  # type: ignore[no-untyped-call]
    return output


class _Blockwise(torch.autograd.Function):
    """Softmax has the derivative w (dw - w · dw); w · dw is output · d output, one number."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, block_size: int
    ) -> Tensor:
        parts = [slice(0, 0), *_blocks(k.shape[-2], block_size)]
        summary = reduce(
            merge, (summarize(q, k[..., i, :], v[..., i, :], _columns(mask, i)) for i in parts)
        )
        output = mixture(summary).to(q.dtype)
        # The weights are exp(score - this): n numbers bring n² back.
        log_total = _finite(summary.largest + summary.total.log())
        ctx.save_for_backward(q, k, v, mask, output, log_total)
        ctx.block_size = block_size
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, mask, output, log_total = ctx.saved_tensors
        precise = log_total.dtype
        d_output = d_output.to(precise)
        known = (d_output * output).sum(dim=-1, keepdim=True)
        d_q = output.new_zeros((*output.shape[:-1], q.shape[-1]), dtype=precise)
        d_k, d_v = torch.empty_like(k), torch.empty_like(v)
        for i in _blocks(k.shape[-2], ctx.block_size):
            k_i, v_i = k[..., i, :], v[..., i, :]
            weights = torch.exp(_scores(q, k_i, _columns(mask, i)) - log_total)
            d_v[..., i, :] = (weights.mT @ d_output).sum_to_size(v_i.shape)
            d_scores = weights * (d_output @ v_i.to(precise).mT - known) / math.sqrt(q.shape[-1])
            d_q += d_scores @ k_i.to(precise)
            d_k[..., i, :] = (d_scores.mT @ q.to(precise)).sum_to_size(k_i.shape)
        return d_q.sum_to_size(q.shape).to(q.dtype), d_k, d_v, None, None


def _blocks(length: int, block_size: int) -> Iterator[slice]:
    for start in range(0, length, block_size):
        yield slice(start, min(start + block_size, length))


def _columns(mask: Tensor | None, block: slice) -> Tensor | None:
    return None if mask is None else mask[..., block]


def _scores(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """Scores in float32 or better, -inf where the mask forbids."""
    precise = torch.promote_types(q.dtype, torch.float32)
    scores = (q.to(precise) / math.sqrt(q.shape[-1])) @ k.to(precise).mT
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def _finite(x: Tensor) -> Tensor:
    """0 for -inf: exp(-inf - 0) is the wanted 0, while -inf - (-inf) would be NaN."""
    return x.masked_fill(x == -torch.inf, 0.0)
