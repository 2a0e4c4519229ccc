"""Scores, weights, attention; splitting a width into heads and joining it again.

Equation (1) of "Attention Is All You Need" (section 3.2.1) in three functions, and
the reshaping of its section 3.2.2 in two. No state, no flags, one result each.
"""

import math
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_core import _checks


class AttentionFunction(Protocol):
    """What mixes the values: `scaled_dot_product_attention`, ours or torch's fused one."""

    def __call__(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, /, *, dropout_p: float
    ) -> Tensor: ...


def attention_scores(q: Tensor, k: Tensor) -> Tensor:
    """How well each query matches each key: q kᵀ / √d_k.

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)
        returns: (..., L, S); leading axes are broadcast

    Raises:
        ValueError: q and k differ in d_k, or their leading axes cannot be broadcast
        TypeError: q or k is not a floating-point tensor, or their dtypes differ

    Source: Vaswani et al. 2017, section 3.2.1. The book's chapter 1 shows the product,
    chapter 4 the reason for √d_k.

    >>> attention_scores(torch.zeros(2, 3, 7), torch.zeros(2, 5, 7)).shape
    torch.Size([2, 3, 5])
    """
    _checks.check_scores(q, k)
    # Dividing q instead of the product gives the same scores, costs L·d_k divisions
    # instead of L·S, and keeps a half-precision product from overflowing.
    return (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """True in ``mask`` means "may attend". Shares of 1 along the last axis.

    A blocked entry gets exactly 0. A row in which nothing may be attended gets zeros,
    not NaN, in every dtype and on every device.

    Shape:
        scores: (..., L, S)
        mask: bool, broadcastable to (..., L, S)
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
    """Put -inf, in place, where the mask forbids; return also which rows it forbids wholly.

    exp(-inf) is exactly 0 in every dtype. A row of nothing but -inf would become NaN, and
    so would its gradient, so an empty row keeps its scores; what comes of it is zeroed.
    """
    empty = ~mask.any(dim=-1, keepdim=True)
    # Softmax gives an entry of weight 0 a gradient of 0 by itself, so autograd need not
    # hear of the filling: that saves a pass over L·S numbers on the way back.
    with torch.no_grad():
        scores.masked_fill_(~(mask | empty), float("-inf"))
    return scores, empty


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    """True in ``mask`` means "may attend". How much each query takes from each key.

    The softmax of the scores over the keys, by `masked_softmax`: a query that may attend
    to nothing gets weights of zero.

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)
        mask: bool, broadcastable to (..., L, S)
        returns: (..., L, S); each row sums to 1, or is all 0 if nothing may be attended

    Raises:
        ValueError: as in `attention_scores`, or the mask does not broadcast
        TypeError: as in `attention_scores`, or the mask is not bool

    Source: Vaswani et al. 2017, section 3.2.1; masking, section 3.2.3.

    >>> attention_weights(torch.zeros(1, 2), torch.zeros(4, 2))
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """
    return masked_softmax(attention_scores(q, k), mask)


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, dropout_p: float = 0.0
) -> Tensor:
    """True in ``mask`` means "may attend". Each query's weighted mean of the values.

    Gives what ``torch.nn.functional.scaled_dot_product_attention`` gives for the same
    bool mask, by the explicit formula: `attention_weights` times ``v``.

    Args:
        dropout_p: probability of dropping a weight. As in torch it is applied whenever it
            is above 0; a module passes 0 when it is not training.

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)    v: (..., S, d_v)
        mask: bool, broadcastable to (..., L, S)
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
    _checks.check_probability("dropout_p", dropout_p)
    _checks.check_attention(q, k, v, mask)
    scores = attention_scores(q, k)
    empty = None
    if mask is not None:
        scores, empty = _block_(scores, mask)
    weights = torch.softmax(scores, dim=-1)
    if dropout_p > 0.0:
        weights = F.dropout(weights, dropout_p)
    output = weights @ v
    # Zeroing the outputs of empty rows costs L·d_v numbers, their weights would cost L·S.
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
    _checks.check_heads("d_model", x.shape[-1], num_heads)
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
