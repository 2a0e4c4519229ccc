"""Attention functions in which only the distance of two positions counts: rotary, ALiBi.

Both work inside attention, on queries and keys, and add nothing to the embeddings. Each is
an attention function, so a module takes it as ``attention=rotary_attention``.
"""

import math

import torch
from torch import Tensor

from attention_core import _checks, _options, _precision
from attention_core.functional import AttentionFunction, scaled_dot_product_attention
from attention_core.positional import _frequencies


def apply_rotary(x: Tensor, *, offset: int = 0, base: float = 10_000.0) -> Tensor:
    """Turn the pair (x₂ᵢ, x₂ᵢ₊₁) of the token at position m by the angle m / base^(2i/d).

    The pairs are neighbours, as in the paper. Many published weights pair number i with
    number i + d/2 instead; the two agree only if the rows of the projections that make the
    queries and keys are reordered. Angles are computed in float64 on the CPU; the rotation
    of a half-precision tensor is computed in float32.

    Args:
        offset: the position of the first token
        base: sets the slowest angle, as in `sinusoidal_encoding`

    Shape:
        x: (..., L, d_k), d_k even    returns: (..., L, d_k)

    Raises:
        ValueError: d_k is odd or 0, offset is negative, or base is not a positive finite number
        TypeError: x is not a floating-point tensor, offset is not an int, or base is not a
            number

    Source: Su et al. 2021 (RoFormer), equation (34). The book's chapter 15.

    >>> apply_rotary(torch.tensor([[1.0, 0.0], [1.0, 0.0]]))
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    _checks.check_floating("x", x)
    width = x.shape[-1]
    if width % 2 or width == 0:
        raise ValueError(
            "x must have an even width d_k on its last axis, whose pairs are turned, got shape "
            f"{_checks.shape(x)}"
        )
    offset = _options.check_count("offset", offset, minimum=0)
    positions = torch.arange(offset, offset + x.shape[-2], dtype=torch.float64, device="cpu")
    angles = positions[:, None] * _frequencies(width, base)  # (L, d_k / 2)
    turned = _precision.wide(x)
    cos, sin = (a.to(turned.dtype).to(x.device) for a in (angles.cos(), angles.sin()))
    even, odd = turned[..., 0::2], turned[..., 1::2]
    pairs = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return _precision.narrow(pairs.flatten(-2), x.dtype)


def rotary_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    dropout_p: float = 0.0,
    base: float = 10_000.0,
    attention: AttentionFunction = scaled_dot_product_attention,
) -> Tensor:
    """Turn queries and keys by their positions, then attend.

    The product of a query turned by m and a key turned by n depends on n - m only. It is for
    self-attention: the keys stand at positions 0 to S - 1, the queries at the last L of
    them, as they do when decoding with a cache.

    Args:
        dropout_p: as in `scaled_dot_product_attention`
        base: as in `apply_rotary`
        attention: the function that attends; the fused one is
            ``torch.nn.functional.scaled_dot_product_attention``

    Shape:
        as `scaled_dot_product_attention`, with L <= S and an even d_k

    Raises:
        ValueError: as in `scaled_dot_product_attention`, or d_k is odd, or L > S
        TypeError: as in `scaled_dot_product_attention`, or base is not a number

    Source: Su et al. 2021 (RoFormer), section 3.2. The book's chapter 15.

    >>> q, k, v = torch.zeros(2, 3, 8), torch.zeros(2, 5, 8), torch.zeros(2, 5, 11)
    >>> rotary_attention(q, k, v).shape
    torch.Size([2, 3, 11])
    """
    start = _start(q, k, v, mask)
    q, k = apply_rotary(q, offset=start, base=base), apply_rotary(k, base=base)
    return attention(q, k, v, mask, dropout_p=dropout_p)


def alibi_slopes(num_heads: int) -> Tensor:
    """Compute the slope of each head: 2^(-8/H), 2^(-16/H), …, 2^(-8).

    If H is not a power of two, the slopes are those of the power of two below, followed by
    every second slope of the power of two above, as many as are missing.

    Shape:
        returns: (H,), float64

    Raises:
        ValueError: num_heads is below 1
        TypeError: num_heads is not an int

    Source: Press et al. 2022, section 3 and their code. The book's chapter 15.

    >>> alibi_slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    num_heads = _options.check_count("num_heads", num_heads, minimum=1)
    below = 2 ** (num_heads.bit_length() - 1)  # the greatest power of two up to H

    def of_power(n: int) -> Tensor:
        steps = torch.arange(1, n + 1, dtype=torch.float64, device="cpu")
        return torch.exp2(-8.0 * steps / n)

    return torch.cat([of_power(below), of_power(2 * below)[0::2][: num_heads - below]])


def alibi_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    dropout_p: float = 0.0,
    attention: AttentionFunction = scaled_dot_product_attention,
) -> Tensor:
    """Lower each score by slope times distance, m (i - j), then attend.

    It is for causal self-attention. There, -m i is the same for the whole row i, so softmax
    does not see it. What is left, + m j, is the product of 1 and one more number of the key:
    queries and keys get one more coordinate, and the mask stays bool. Without a causal mask,
    keys to the right of the query would be *raised* by m (j - i).

    In half precision, the calculation runs in float32, because bfloat16 has no number
    between 256 and 258.

    Args:
        dropout_p: as in `scaled_dot_product_attention`
        attention: the function that attends

    Shape:
        q: (..., H, L, d_k)    k: (..., H, S, d_k)    v: (..., H, S, d_v), L <= S
        mask: bool, True = may attend; should be causal
        returns: (..., H, L, d_v)

    Raises:
        ValueError: as in `scaled_dot_product_attention`, L > S, or there is no axis for heads
        TypeError: as in `scaled_dot_product_attention`

    Source: Press et al. 2022 (ALiBi), section 3. The book's chapter 15.

    >>> q, k, v = torch.zeros(2, 3, 8), torch.zeros(2, 5, 8), torch.zeros(2, 5, 11)
    >>> alibi_attention(q, k, v).shape
    torch.Size([2, 3, 11])
    """
    _checks.check_floating("k", k, min_dim=3)
    _start(q, k, v, mask)
    if _precision.autocast_dtype(q) is not None:
        options = {"dropout_p": dropout_p, "attention": attention}
        mixed: Tensor = _precision.cast_once(alibi_attention, q, k, v, mask, **options)
        return mixed
    dtype, width = v.dtype, k.shape[-1]
    q, k, v = (_precision.wide(x) for x in (q, k, v))
    num_heads, length = k.shape[-3], k.shape[-2]
    # Counted from the newest key: near keys get small numbers, which are the most exact.
    places = torch.arange(1 - length, 1, dtype=torch.float64, device="cpu")
    raised = alibi_slopes(num_heads)[:, None] * places  # (H, S)
    raised = raised.to(k.dtype).to(k.device)[..., None].expand(*k.shape[:-1], 1)
    # The function will divide by the root of the new width, d_k + 1.
    ones = torch.full_like(q[..., :1], math.sqrt(width + 1))
    q = torch.cat([q * math.sqrt((width + 1) / width), ones], dim=-1)
    k = torch.cat([k, raised], dim=-1)
    return _precision.narrow(attention(q, k, v, mask, dropout_p=dropout_p), dtype)


def _start(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> int:
    """Check the inputs of self-attention; return the position of the first query."""
    _checks.check_attention(q, k, v, mask)
    start = k.shape[-2] - q.shape[-2]
    if start < 0:
        raise ValueError(
            "q must not be longer than k, since queries stand at the last positions of the "
            f"keys, got q {_checks.shape(q)} and k {_checks.shape(k)}"
        )
    return start
