"""What surrounds attention: feed-forward, norm, residual; the encoder and decoder layer.

Every module works on the last axis as width and on the one before it as position. Layers
are post-norm as in the paper; ``norm_first=True`` is the later alternative.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attention_core import _checks
from attention_core.attention import MultiHeadAttention
from attention_core.cache import LayerCache
from attention_core.functional import AttentionFunction, scaled_dot_product_attention


class FeedForward(nn.Module):
    """max(0, x W₁ + b₁) W₂ + b₂, on each position alone.

    Args:
        d_model: width in and out
        d_ff: width between
        dropout: probability of dropping a number after the ReLU while training, as in torch

    Shape:
        (..., d_model) -> (..., d_model)

    Raises:
        ValueError: the width is not d_model

    Source: Vaswani et al. 2017, equation (2). The book's chapter 8.

    >>> FeedForward(4, 16)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, d_model: int, d_ff: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        _checks.check_count("d_model", d_model, minimum=1)
        _checks.check_count("d_ff", d_ff, minimum=1)
        _checks.check_probability("dropout", dropout)
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        _checks.check_floating("x", x, min_dim=1)
        _checks.check_width("x", x, self.inner.in_features)
        output: Tensor = self.outer(self.dropout(torch.relu(self.inner(x))))
        return output


class LayerNorm(nn.Module):
    """Each token's numbers to mean 0 and variance 1, then times a gain plus a bias.

    The variance divides by the width, not by one less, and ``eps`` stands under the root:
    outside it, the root of 0, whose slope is infinite, would turn the gradient of a
    constant token into nan. Equal to torch's.

    Args:
        d_model: width
        eps: added to the variance

    Shape:
        (..., d_model) -> (..., d_model)

    Raises:
        ValueError: the width is not d_model, or eps is not positive

    Source: Ba, Kiros and Hinton 2016, equation (4).

    >>> LayerNorm(4)(torch.tensor([1.0, 0.0, 0.0, 0.0])).tolist()[0]  # doctest: +ELLIPSIS
    1.732...
    """

    def __init__(self, d_model: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        _checks.check_count("d_model", d_model, minimum=1)
        if not eps > 0:
            raise ValueError(f"eps must be positive, got {eps}")
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        _checks.check_floating("x", x, min_dim=1)
        _checks.check_width("x", x, self.weight.shape[0])
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred * torch.rsqrt(variance + self.eps) * self.weight + self.bias


class _Residual(nn.Module):
    """What both layers share: x plus a sublayer of x, with a norm before or after."""

    def __init__(self, dropout: float, norm_first: bool) -> None:
        super().__init__()
        _checks.check_probability("dropout", dropout)
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)

    def add(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Post-norm: norm(x + f(x)). Pre-norm: x + f(norm(x))."""
        if self.norm_first:
            summed: Tensor = x + self.dropout(sublayer(norm(x)))
            return summed
        normed: Tensor = norm(x + self.dropout(sublayer(x)))
        return normed


class EncoderLayer(_Residual):
    """Self-attention, then feed-forward, each with residual, dropout and norm.

    Args:
        d_model, num_heads, d_ff: widths and heads, as in the parts
        dropout: for the weights, inside the feed-forward, and on each sublayer's output,
            as in torch (the paper has the last of the three)
        norm_first: norm before each sublayer instead of after its residual
        attention: as in `MultiHeadAttention`
        norm: makes a norm for a width; ``torch.nn.LayerNorm`` is the fused alternative

    Shape:
        x: (B, S, d_model)    mask: bool, broadcastable to (B, H, S, S); True = may attend
        returns: (B, S, d_model)

    Raises:
        ValueError, TypeError: as the parts

    Source: Vaswani et al. 2017, section 3.1; pre-norm, Xiong et al. 2020.

    >>> EncoderLayer(12, 3, 24)(torch.zeros(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        attention: AttentionFunction = scaled_dot_product_attention,
        norm: Callable[[int], nn.Module] = LayerNorm,
    ) -> None:
        super().__init__(dropout, norm_first)
        self.self_attention = MultiHeadAttention(
            d_model, num_heads, dropout=dropout, attention=attention
        )
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        self.self_attention_norm = norm(d_model)
        self.feed_forward_norm = norm(d_model)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.add(x, self.self_attention_norm, lambda y: self.self_attention(y, y, y, mask))
        return self.add(x, self.feed_forward_norm, self.feed_forward)


class DecoderLayer(_Residual):
    """Self-attention, cross-attention to the memory, then feed-forward.

    Args: as `EncoderLayer`.

    Shape:
        x: (B, L, d_model)    memory: (B, S, d_model)
        tgt_mask: bool, broadcastable to (B, H, L, L), usually causal; True = may attend
        memory_mask: bool, broadcastable to (B, H, L, S): the *source's* padding
        returns: (B, L, d_model)

    Raises:
        ValueError, TypeError: as the parts

    Source: Vaswani et al. 2017, section 3.1. The book's chapter 9.

    >>> DecoderLayer(12, 3, 24)(torch.zeros(2, 5, 12), torch.zeros(2, 7, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        attention: AttentionFunction = scaled_dot_product_attention,
        norm: Callable[[int], nn.Module] = LayerNorm,
    ) -> None:
        super().__init__(dropout, norm_first)
        self.self_attention = MultiHeadAttention(
            d_model, num_heads, dropout=dropout, attention=attention
        )
        self.cross_attention = MultiHeadAttention(
            d_model, num_heads, dropout=dropout, attention=attention
        )
        self.feed_forward = FeedForward(d_model, d_ff, dropout=dropout)
        self.self_attention_norm = norm(d_model)
        self.cross_attention_norm = norm(d_model)
        self.feed_forward_norm = norm(d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """With a ``cache``, x holds the new tokens only, and tgt_mask spans (L, so far + L)."""
        own = cache.self_attention if cache else None
        cross = cache.cross_attention if cache else None
        x = self.add(
            x,
            self.self_attention_norm,
            lambda y: self.self_attention(y, y, y, tgt_mask, cache=own),
        )
        x = self.add(
            x,
            self.cross_attention_norm,
            lambda y: self.cross_attention(y, memory, memory, memory_mask, cache=cross),
        )
        return self.add(x, self.feed_forward_norm, self.feed_forward)
