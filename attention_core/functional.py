"""Compute scores, weights and attention; split the width into heads and merge them.

Equation (1) of "Attention Is All You Need" (section 3.2.1) in three functions, and
the reshaping of its section 3.2.2 in two. No state, no flags, one result each.
"""

import math
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_core import _checks, _options, _precision


class AttentionFunction(Protocol):
    """A function that mixes values: `scaled_dot_product_attention`, ours or torch's fused one."""

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, /, *, dropout_p: float
    ) -> Tensor: ...


def attention_scores(q: Tensor, k: Tensor) -> Tensor:
    """Compare each query with each key: q kᵀ / √d_k.

    The result has the inputs' dtype, so in float16 a score beyond 65,504 is infinite.
    `attention_weights` and `scaled_dot_product_attention` compute scores in float32 there.

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)
        returns: (..., L, S); leading axes are broadcast

    Raises:
        ValueError: q and k differ in d_k, d_k is 0, or their leading axes cannot be
            broadcast
        TypeError: q or k is not a floating-point tensor, or their dtypes differ (under
            autocast they may)

    Source: Vaswani et al. 2017, section 3.2.1. The book's chapter 1 shows the product,
    chapter 4 the reason for √d_k.

    >>> attention_scores(torch.zeros(2, 3, 7), torch.zeros(2, 5, 7)).shape
    torch.Size([2, 3, 5])
    """
    _checks.check_scores(q, k)
    # Dividing q instead of the product gives the same scores, costs L·d_k divisions
    # instead of L·S, and keeps a half-precision product from overflowing.
    return (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)


def _scores(q: Tensor, k: Tensor) -> Tensor:
    """Compute `attention_scores` without checks, and in float32 for half precision."""
    q, k = _precision.wide(q), _precision.wide(k)
    return (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Turn scores into weights of at least 0 that add up to 1 along the last axis.

    A blocked entry gets weight 0, whatever its score, NaN and infinity included. A row in
    which nothing may be attended gets zeros, not NaN, in every dtype and on every device.

    Shape:
        scores: (..., L, S)
        mask: bool, True = may attend; broadcastable to (..., L, S)
        returns: (..., L, S)

    Raises:
        ValueError: the mask does not broadcast, or scores has fewer than 2 axes
        TypeError: the mask is not bool, or scores is not a floating-point tensor

    >>> masked_softmax(torch.zeros(1, 3), torch.tensor([[True, True, False]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    _checks.check_floating("scores", scores)
    if mask is None:
        return torch.softmax(scores, dim=-1)
    _checks.check_mask(mask, scores.shape)
    blocked, empty = _block_(scores.clone(), mask)
    return torch.softmax(blocked, dim=-1).masked_fill(empty, 0.0)


def _block_(scores: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Write -inf in place where the mask blocks; return also which rows are wholly blocked.

    exp(-inf) is exactly 0 in every dtype. A row of nothing but -inf would become NaN, and
    so would its gradient. So a wholly blocked, "empty" row gets scores of 0, and the caller
    sets its result to 0.
    """
    empty = ~mask.any(dim=-1, keepdim=True)
    fill = empty.to(scores.dtype).log()  # log 1 = 0 in an empty row, log 0 = -inf elsewhere
    if torch._C._functorch.peek_interpreter_stack() is not None:
        # Inside a transform of torch.func: vmap cannot write in place to a tensor without
        # the mapped axis.
        return torch.where(mask, scores, fill), empty
    # Softmax gives an entry of weight 0 a gradient of 0 by itself, so autograd need not
    # know of the filling: that saves a pass over L·S numbers in the backward pass.
    with torch.no_grad():
        torch.where(mask, scores, fill, out=scores)
    return scores, empty


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    """Compute how much each query takes from each key: softmax of the scores over the keys.

    A blocked key gets weight 0, and a query that may attend to nothing gets only zeros, as
    in `masked_softmax`.

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)
        mask: bool, True = may attend; broadcastable to (..., L, S). The mask of
            `padding_mask`, (B, 1, 1, S), has an axis for heads: for q and k without heads,
            (B, L, d_k), use ``mask.squeeze(1)``.
        returns: (..., L, S); each row sums to 1, or is all 0 if nothing may be attended

    Raises:
        ValueError: as in `attention_scores`, or the mask does not broadcast
        TypeError: as in `attention_scores`, or the mask is not bool

    Source: Vaswani et al. 2017, section 3.2.1; masking, section 3.2.3.

    >>> attention_weights(torch.zeros(1, 2), torch.zeros(4, 2))
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    _checks.check_scores(q, k)
    if _precision.autocast_dtype(q) is not None:
        return _precision.cast_once(attention_weights, q, k, mask)  # type: ignore[no-any-return]
    return _precision.narrow(masked_softmax(_scores(q, k), mask), q.dtype)


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, dropout_p: float = 0.0
) -> Tensor:
    """Compute each query's weighted mean of the values: softmax(q kᵀ / √d_k) v.

    Equal to ``torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)`` for a bool
    mask, by the explicit formula: `attention_weights` times ``v``. Torch's other options
    have no argument here. Its ``attn_mask`` is our ``mask``; instead of ``is_causal=True`` pass
    `causal_mask`, and instead of ``scale=s`` multiply q by s · √d_k.

    A blocked key does not change the result, NaN and infinity included: its score is
    replaced. A blocked value gets weight 0, so any finite number in it does nothing, but
    0 · NaN and 0 · ∞ are NaN. So are gradients through such a key or value. Torch's
    fused function differs in one point: it may add -∞ to the scores of blocked keys, and
    then NaN or infinity in a blocked *key* can make the result NaN, too. Overwrite such
    numbers before the call.

    Args:
        dropout_p: probability of dropping a weight. As in torch it is applied whenever it
            is above 0; a module passes 0 when it is not training.

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)    v: (..., S, d_v)
        mask: bool, True = may attend; broadcastable to (..., L, S), aligned at the last axes
            as in torch: for q of shape (B, H, L, d_k), a mask for each sentence, (B, L, S),
            needs an axis for heads
        returns: (..., L, d_v); zeros for a query that may attend to nothing

    Raises:
        ValueError: as in `attention_weights`, k and v differ in S, or dropout_p is not
            between 0 and 1
        TypeError: as in `attention_weights`, or v's dtype differs

    Source: Vaswani et al. 2017, equation (1).

    >>> q, k, v = torch.zeros(2, 3, 7), torch.zeros(2, 5, 7), torch.zeros(2, 5, 11)
    >>> scaled_dot_product_attention(q, k, v).shape
    torch.Size([2, 3, 11])
    """
    _options.check_probability("dropout_p", dropout_p)
    _checks.check_attention(q, k, v, mask)
    if _precision.autocast_dtype(q) is not None:
        attend = scaled_dot_product_attention
        return _precision.cast_once(attend, q, k, v, mask, dropout_p=dropout_p)  # type: ignore[no-any-return]
    scores = _scores(q, k)
    empty = None
    if mask is not None:
        scores, empty = _block_(scores, mask)
    weights = _precision.narrow(torch.softmax(scores, dim=-1), v.dtype)
    if dropout_p > 0.0:
        weights = F.dropout(weights, dropout_p)
    output = weights @ v
    # Zeroing the outputs of empty rows writes L·d_v numbers, their weights would be L·S.
    return output if empty is None else output.masked_fill(empty, 0.0)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut the width into ``num_heads`` equal parts and make the heads a batch axis.

    Shape:
        x: (..., L, d_model)
        returns: (..., H, L, d_k) with d_k = d_model / H

    Raises:
        ValueError: num_heads does not divide d_model, or x has fewer than 2 axes
        TypeError: num_heads is not an int

    Source: Vaswani et al. 2017, section 3.2.2.

    >>> split_heads(torch.arange(8.0).view(1, 2, 4), 2)
    tensor([[[[0., 1.],
              [4., 5.]],
    <BLANKLINE>
             [[2., 3.],
              [6., 7.]]]])
    """
    _checks.check_floating("x", x)
    num_heads = _options.check_heads("d_model", x.shape[-1], num_heads)
    # A reshape straight to (..., H, L, d_k) has the right shape and the wrong contents: it
    # mixes tokens. The width must be cut first, and only then the axes exchanged.
    *batch, d_model = x.shape
    return x.reshape(*batch, num_heads, d_model // num_heads).transpose(-3, -2)


def merge_heads(x: Tensor) -> Tensor:
    """Put the heads side by side again: the inverse of `split_heads`.

    Shape:
        x: (..., H, L, d_k)
        returns: (..., L, d_model) with d_model = H * d_k

    Raises:
        ValueError: x has fewer than 3 axes

    Source: Vaswani et al. 2017, "Concat" of section 3.2.2; the book's chapter 6.

    >>> merge_heads(torch.zeros(2, 3, 5, 7)).shape
    torch.Size([2, 5, 21])
    """
    _checks.check_floating("x", x, min_dim=3)
    return x.transpose(-3, -2).flatten(-2)
