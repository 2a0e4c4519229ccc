"""Attention block by block: the same result without the whole (L, S) table of scores.

A `Summary` holds each query's unfinished softmax over some of the keys, and two summaries
can be merged. So the keys may come in blocks, in any order, or from several machines.
"""

import math
from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_core import _checks, _options, _precision
from attention_core.functional import _scores


class Summary(NamedTuple):
    """Hold each query's unfinished softmax over some of the keys, and its sum of values.

    The weights' numerators are exp(score - largest), so that none can overflow. For
    half precision a summary is float32: small numbers added to a large sum would be lost.

    Args:
        largest: m, the largest score, without gradient; -inf if no key may be attended
        total: l, the sum of the numerators
        mixed: o, the sum of the values, each times its numerator

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
    """Summarize these keys and values for each query.

    The summary of no keys at all (S = 0) changes nothing in a merge.

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)    v: (..., S, d_v)
        mask: bool, True = may attend; broadcastable to (..., L, S)

    Raises:
        ValueError, TypeError: as `scaled_dot_product_attention`

    Source: Milakov and Gimelshein 2018, algorithm 3, for the first two numbers; Rabe and
    Staats 2021, section 2, for all three.

    >>> k = torch.tensor([[0.0], [math.log(3)]])
    >>> mixture(summarize(torch.ones(1, 1), k, torch.tensor([[4.0], [8.0]])))
    tensor([[7.]])
    """
    _checks.check_attention(q, k, v, mask)
    if _precision.autocast_dtype(q) is not None:
        return _precision.cast_once(summarize, q, k, v, mask)  # type: ignore[no-any-return]
    scores = _masked_scores(q, k, mask)
    v = v.to(scores.dtype)
    if scores.shape[-1] == 0:
        largest = scores.new_full((*scores.shape[:-1], 1), -torch.inf)
    else:
        # The mixture does not depend on what is subtracted, so it needs no gradient.
        largest = scores.detach().amax(dim=-1, keepdim=True)
    numerators = torch.exp(scores - _finite(largest))
    return Summary(largest, numerators.sum(dim=-1, keepdim=True), numerators @ v)


def merge(a: Summary, b: Summary) -> Summary:
    """Merge two summaries into that of both sets of keys together.

    Both are rescaled to the larger of the two maxima. Merging is commutative and, up to
    rounding, associative.

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
    """Compute the weighted mean of the values; zeros for a query that may attend to nothing.

    Shape:
        returns: (..., L, d_v)

    >>> x = torch.zeros(1, 2)
    >>> mixture(summarize(x, x, x + 7, torch.tensor([[False]])))
    tensor([[0., 0.]])
    """
    empty = summary.total == 0.0
    # (zeros also where a blocked value is NaN, which makes mixed NaN)
    return (summary.mixed / summary.total.masked_fill(empty, 1.0)).masked_fill(empty, 0.0)


def blockwise_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    block_size: int,
    dropout_p: float = 0.0,
) -> Tensor:
    """Compute `scaled_dot_product_attention` block by block.

    There are never more than L · block_size scores at once. The backward pass recomputes
    them from the inputs, the output and one number for each query. Second derivatives are
    not supported and raise an error.

    Args:
        block_size: how many keys are taken together; the last block may be smaller
        dropout_p: must be 0; it is here because a module passes it

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)    v: (..., S, d_v)
        mask: bool, True = may attend; broadcastable to (..., L, S)
        returns: (..., L, d_v); zeros for a query that may attend to nothing

    Raises:
        ValueError: as `scaled_dot_product_attention`, block_size is below 1, or dropout_p
            is not 0
        TypeError: as `scaled_dot_product_attention`, or block_size is not an int

    Source: Rabe and Staats 2021; Dao et al. 2022, algorithm 1 and appendix B, which
    also take blocks of queries. The book's chapter 13 derives it.

    >>> q, k, v = torch.zeros(2, 3, 7), torch.zeros(2, 5, 7), torch.zeros(2, 5, 11)
    >>> blockwise_attention(q, k, v, block_size=2).shape
    torch.Size([2, 3, 11])
    """
    scores_shape = _checks.check_attention(q, k, v, mask)
    block_size = _options.check_count("block_size", block_size, minimum=1)
    if _options.check_probability("dropout_p", dropout_p) != 0.0:
        raise ValueError(
            f"dropout_p must be 0, since blocks keep no weights to drop, got {dropout_p}"
        )
    if _precision.autocast_dtype(q) is not None:
        return _precision.cast_once(blockwise_attention, q, k, v, mask, block_size=block_size)  # type: ignore[no-any-return]
    if mask is not None:
        mask = mask.expand(scores_shape)  # a view: no number is copied
    output: Tensor = _Blockwise.apply(q, k, v, mask, block_size)[0]  # type: ignore[no-untyped-call]
    return output


class _Blockwise(torch.autograd.Function):
    """Compute attention in blocks, with a backward pass that recomputes the weights.

    Softmax turns a gradient g of its weights w into w · (g - Σ w g). Here g is d_output · v
    for each key, so Σ w g is d_output · output: one number for each query.
    """

    @staticmethod
    def forward(
        q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, block_size: int
    ) -> tuple[Tensor, Tensor]:
        parts = [slice(0, 0), *_blocks(k.shape[-2], block_size)]
        summary = reduce(
            merge, (summarize(q, k[..., i, :], v[..., i, :], _columns(mask, i)) for i in parts)
        )
        # One number per query is enough to recompute the weights, exp(score - log_total).
        log_total = _finite(summary.largest + summary.total.log())
        return mixture(summary).to(q.dtype), log_total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        *tensors, ctx.block_size = inputs
        ctx.save_for_backward(*tensors, *output)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, mask, output, log_total = ctx.saved_tensors
        with _precision.autocast_off(q):
            d_output = _precision.wide(d_output)
            known = (d_output * output).sum(dim=-1, keepdim=True)
            d_q, d_k, d_v = torch.zeros_like(q, dtype=log_total.dtype), [], []
            for i in _blocks(k.shape[-2], ctx.block_size):
                k_i, v_i = k[..., i, :], v[..., i, :]
                weights = torch.exp(_masked_scores(q, k_i, _columns(mask, i)) - log_total)
                d_v_i = (weights.mT @ d_output).sum_to_size(v_i.shape)
                d_scores = weights * (d_output @ _precision.wide(v_i).mT - known)
                d_scores = d_scores / math.sqrt(q.shape[-1])
                d_k_i = (d_scores.mT @ _precision.wide(q)).sum_to_size(k_i.shape)
                # (not in place: under vmap, zeros and block may differ in their axes)
                d_q = d_q + (d_scores @ _precision.wide(k_i)).sum_to_size(q.shape)
                d_k.append(d_k_i.to(k.dtype))
                d_v.append(d_v_i.to(v.dtype))
        if not d_k:
            return d_q.to(q.dtype), torch.zeros_like(k), torch.zeros_like(v), None, None
        return d_q.to(q.dtype), torch.cat(d_k, dim=-2), torch.cat(d_v, dim=-2), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Any, Any]:
        """Make the mapped axis the first of the leading axes, which broadcast anyway."""
        *tensors, block_size = inputs
        axes = list(in_dims[:-1])
        if axes[0] is None:  # the scores get the mapped axis from q, so that any mask fits
            tensors[0], axes[0] = tensors[0].expand(info.batch_size, *tensors[0].shape), 0
        pairs = list(zip(tensors, axes, strict=True))
        rank = max(x.dim() - (axis is not None) for x, axis in pairs if x is not None)

        def lead(x: Tensor | None, axis: int | None) -> Tensor | None:
            if x is None or axis is None:
                return x
            x = x.movedim(axis, 0)
            return x.reshape(x.shape[0], *[1] * (rank + 1 - x.dim()), *x.shape[1:])

        return _Blockwise.apply(*(lead(*pair) for pair in pairs), block_size), (0, 0)  # type: ignore[no-untyped-call]


def _blocks(length: int, block_size: int) -> Iterator[slice]:
    for start in range(0, length, block_size):
        yield slice(start, min(start + block_size, length))


def _columns(mask: Tensor | None, block: slice) -> Tensor | None:
    return None if mask is None else mask[..., block]


def _masked_scores(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """Compute scores in float32 or float64, -inf where the mask blocks."""
    scores = _scores(q, k)
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def _finite(x: Tensor) -> Tensor:
    """Replace -inf by 0: exp(-inf - 0) is 0, as it must be, but -inf - (-inf) is NaN."""
    return x.masked_fill(x == -torch.inf, 0.0)
