"""The parts around attention (feed-forward, norm, residual), and encoder and decoder layer.

Every module works on the last axis as width and on the one before it as position. Layers
are post-norm as in the paper; ``norm_first=True`` is the later alternative.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from attention_core import _checks, _options, _precision
from attention_core.attention import MultiHeadAttention
from attention_core.cache import KeyValueCache, LayerCache
from attention_core.functional import AttentionFunction, scaled_dot_product_attention


class FeedForwardFactory(Protocol):
    """What makes the feed-forward of a layer: `FeedForward`, or one with the same arguments."""

    def __call__(self, d_model: int, d_ff: int, /, *, dropout: float) -> nn.Module: ...


class FeedForward(nn.Module):
    """Compute max(0, x W₁ + b₁) W₂ + b₂, for each position separately.

    Args:
        d_model: width in and out
        d_ff: width between
        dropout: probability of dropping a number after the activation while training, as
            in torch
        activation: stands between the two maps in place of the ReLU max(0, ·). BERT and
            GPT-2 have the GELU, ``torch.nn.functional.gelu``.

    Shape:
        (..., d_model) -> (..., d_model)

    Raises:
        ValueError: the width is not d_model
        TypeError: x is not floating-point or not of the parameters' dtype

    Source: Vaswani et al. 2017, equation (2). The book's chapter 8.

    >>> FeedForward(4, 16)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        activation: Callable[[Tensor], Tensor] = torch.relu,
    ) -> None:
        super().__init__()
        d_model = _options.check_count("d_model", d_model, minimum=1)
        d_ff = _options.check_count("d_ff", d_ff, minimum=1)
        dropout = _options.check_probability("dropout", dropout)
        _options.check_callable("activation", activation)
        self.activation = activation
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        _checks.check_floating("x", x, min_dim=1)
        inner = self.inner
        _checks.check_width("x", x, inner.in_features)
        _checks.check_module_dtype(inner.weight, x=x)
        output: Tensor = self.outer(self.dropout(self.activation(inner(x))))
        return output


class LayerNorm(nn.Module):
    """Bring each token's numbers to mean 0 and variance 1, then apply a gain and a bias.

    The variance is the sum of squares divided by the width, not by the width less 1. ``eps``
    is added under the root: outside it, the gradient of a constant token would be NaN,
    because the root has an infinite slope at 0. For half precision, mean and variance are
    computed in float32: the square of 256 already overflows float16. The result equals
    that of torch's norm.

    Args:
        d_model: width
        eps: added to the variance

    Shape:
        (..., d_model) -> (..., d_model)

    Raises:
        ValueError: the width is not d_model, or eps is not positive and finite
        TypeError: x is not floating-point or not of the parameters' dtype

    Source: Ba, Kiros and Hinton 2016, equation (4).

    >>> LayerNorm(4)(torch.tensor([1.0, 0.0, 0.0, 0.0])).tolist()[0]  # doctest: +ELLIPSIS
    1.732...
    """

    def __init__(self, d_model: int, *, eps: float = 1e-5) -> None:
        super().__init__()
        d_model = _options.check_count("d_model", d_model, minimum=1)
        self.eps = _options.check_positive("eps", eps)
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        _checks.check_floating("x", x, min_dim=1)
        weight = self.weight
        _checks.check_width("x", x, weight.shape[0])
        _checks.check_module_dtype(weight, x=x)
        x = _precision.wide(x)  # in float32, if it is in half precision
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        normed = centred * torch.rsqrt(variance + self.eps) * weight + self.bias
        return _precision.narrow(normed, weight.dtype)


class _Residual(nn.Module):
    """Add the output of a sublayer to its input, with a norm before or after."""

    def __init__(self, dropout: float, norm_first: bool) -> None:
        super().__init__()
        dropout = _options.check_probability("dropout", dropout)
        self.norm_first = _options.check_flag("norm_first", norm_first)
        self.dropout = nn.Dropout(dropout)

    def add(self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Post-norm: norm(x + f(x)). Pre-norm: x + f(norm(x))."""
        if self.norm_first:
            summed: Tensor = x + self.dropout(sublayer(norm(x)))
            return summed
        normed: Tensor = norm(x + self.dropout(sublayer(x)))
        return normed


class _Layer(_Residual):
    """The parts that encoder and decoder layer share."""

    has_memory: ClassVar[bool]

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
        feed_forward: FeedForwardFactory = FeedForward,
        num_kv_heads: int | None = None,
        attention_bias: bool = True,
    ) -> None:
        super().__init__(dropout, norm_first)
        _options.check_callable("norm", norm)
        _options.check_callable("feed_forward", feed_forward)
        _options.check_flag("attention_bias", attention_bias)
        options: Any = {
            "dropout": dropout,
            "attention": attention,
            "num_kv_heads": num_kv_heads,
            "bias": attention_bias,
        }
        # The order of the parts fixes the order of the state dict and of the random numbers.
        self.self_attention = MultiHeadAttention(d_model, num_heads, **options)
        if self.has_memory:
            self.cross_attention = MultiHeadAttention(d_model, num_heads, **options)
        self.feed_forward = feed_forward(d_model, d_ff, dropout=dropout)
        self.self_attention_norm = norm(d_model)
        if self.has_memory:
            self.cross_attention_norm = norm(d_model)
        self.feed_forward_norm = norm(d_model)


class EncoderLayer(_Layer):
    """Apply self-attention, then feed-forward, each with residual, dropout and norm.

    Args:
        d_model, num_heads, d_ff: widths and heads, as in the parts
        dropout: for the weights, inside the feed-forward, and on each sublayer's output,
            as in torch (the paper has the last of the three)
        norm_first: norm before each sublayer instead of after its residual
        attention: as in `MultiHeadAttention`
        norm: called with a width, makes a norm; ``torch.nn.LayerNorm`` is the fused one
        feed_forward: called as ``feed_forward(d_model, d_ff, dropout=dropout)``, makes the
            feed-forward: `SwiGLU`, or ``partial(FeedForward, activation=F.gelu)``
        num_kv_heads: as in `MultiHeadAttention`
        attention_bias: whether the projections of attention add a bias

    Shape:
        x: (B, S, d_model)
        mask: bool, True = may attend; broadcastable to (B, H, S, S), or (B, S, S) for all
            heads, as in `MultiHeadAttention`
        returns: (B, S, d_model)

    Raises:
        ValueError, TypeError: as the parts

    Source: Vaswani et al. 2017, section 3.1; pre-norm, Xiong et al. 2020.

    >>> EncoderLayer(12, 3, 24)(torch.zeros(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    has_memory = False

    def forward(
        self, x: Tensor, mask: Tensor | None = None, *, cache: KeyValueCache | None = None
    ) -> Tensor:
        """With a ``cache``, x holds the new tokens only; mask is (L, tokens so far + L)."""
        x = self.add(
            x,
            self.self_attention_norm,
            lambda y: self.self_attention(y, y, y, mask, cache=cache),
        )
        return self.add(x, self.feed_forward_norm, self.feed_forward)


class DecoderLayer(_Layer):
    """Apply self-attention, cross-attention to the memory, then feed-forward.

    Args: as `EncoderLayer`.

    Shape:
        x: (B, L, d_model)    memory: (B, S, d_model)
        tgt_mask: bool, True = may attend; broadcastable to (B, H, L, L), or (B, L, L) for
            all heads; usually causal
        memory_mask: the same for (B, H, L, S) or (B, L, S): the *source's* padding
        returns: (B, L, d_model)

    Raises:
        ValueError, TypeError: as the parts

    Source: Vaswani et al. 2017, section 3.1. The book's chapter 9.

    >>> DecoderLayer(12, 3, 24)(torch.zeros(2, 5, 12), torch.zeros(2, 7, 12)).shape
    torch.Size([2, 5, 12])
    """

    has_memory = True

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """With a ``cache``, x holds the new tokens only; tgt_mask is (L, tokens so far + L)."""
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
