"""What else could stand where self-attention stands: its price and its reach.

Each kind of layer takes n tokens of width d and gives n tokens of width d. Two numbers
compare them: how much there is to multiply, and through how many steps one end of a text
must pass to reach the other.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_core import _checks

KINDS = ("self-attention", "recurrent", "convolutional", "restricted")


def local_attention(q: Tensor, k: Tensor, v: Tensor, radius: int) -> Tensor:
    """Self-attention in which each token sees ``radius`` neighbours on each side.

    The same as `scaled_dot_product_attention` with a mask that is a band, but scores
    outside the band are never computed: the cost grows with n · radius, not with n².

    Args:
        radius: how far a token sees; 0 is the token alone

    Shape:
        q, k: (..., n, d_k)    v: (..., n, d_v)
        returns: (..., n, d_v)

    Raises:
        ValueError: the lengths or the widths of q and k differ, k and v differ in length, or
            radius is negative
        TypeError: an input is not floating-point, or radius is not an int

    Source: Vaswani et al. 2017, section 4 (restricted self-attention).
    The book's chapter 11.

    >>> local_attention(*torch.zeros(3, 2, 5, 4), radius=1).shape
    torch.Size([2, 5, 4])
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        _checks.check_floating(name, x, min_dim=2)
    _checks.check_count("radius", radius, minimum=0)
    if q.shape[-2:] != k.shape[-2:] or k.shape[-2] != v.shape[-2]:
        raise ValueError(
            "q, k and v must have the same length, and q and k the same width, "
            f"got q {_checks.shape(q)}, k {_checks.shape(k)} and v {_checks.shape(v)}"
        )
    n, d_k = q.shape[-2:]
    window = 2 * radius + 1
    # Row i of the windows holds the tokens i - radius to i + radius; outside there are zeros.
    keys, values = (F.pad(x, (0, 0, radius, radius)).unfold(-2, window, 1) for x in (k, v))
    scores = torch.einsum("...nd,...ndw->...nw", q, keys) / math.sqrt(d_k)
    seen = torch.arange(n, device=q.device)[:, None] + torch.arange(window, device=q.device)
    inside = (seen >= radius) & (seen < n + radius)  # (n, window)
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return torch.einsum("...nw,...ndw->...nd", weights, values)


def layer_operations(kind: str, n: int, d: int, *, kernel: int = 3, radius: int = 8) -> int:
    """Multiplications of one layer for n tokens of width d, each with the addition after it.

    Counted are the matrix products, with all learned matrices; what goes through each number
    once (softmax, gates, biases) is left out. Twice as many are the FLOPs that
    ``torch.utils.flop_counter`` counts.

    Args:
        kind: one of `KINDS`: attention with its four projections; a GRU with three gates;
            a convolution over ``kernel`` tokens; attention over 2 · ``radius`` + 1 tokens

    Raises:
        ValueError: kind is unknown, n, d or kernel is below 1, or radius is negative
        TypeError: a number is not an int

    Source: Vaswani et al. 2017, table 1, which gives the leading terms n² · d, n · d²,
    k · n · d² and r · n · d without the projections.

    >>> [layer_operations(kind, 100, 100) for kind in ("self-attention", "recurrent")]
    [6000000, 6000000]
    """
    _check_kind(kind, n, kernel, radius)
    _checks.check_count("d", d, minimum=1)
    return {
        "self-attention": 4 * n * d**2 + 2 * n**2 * d,
        "recurrent": 6 * n * d**2,
        "convolutional": kernel * n * d**2,
        "restricted": 4 * n * d**2 + 2 * n * (2 * radius + 1) * d,
    }[kind]


def path_length(
    kind: str, n: int, *, kernel: int = 3, radius: int = 8, dilated: bool = False
) -> int:
    """Steps from the first of n tokens to the last output: layers, or updates of a state.

    Args:
        kind: one of `KINDS`
        dilated: the layers of a convolution look at tokens 1, kernel, kernel², … apart; a
            signal near the end of a text may need more layers, or find no way

    Raises:
        ValueError: kind is unknown, n is below 1, kernel is not odd or below 3, or radius is
            below 1
        TypeError: n, kernel or radius is not an int

    Source: Vaswani et al. 2017, table 1, which gives the orders 1, n, n / k (dilated: the
    logarithm of n to the base k) and n / r.

    >>> [path_length(kind, 100) for kind in KINDS]
    [1, 100, 99, 13]
    >>> path_length("convolutional", 100, dilated=True)
    5
    """
    _check_kind(kind, n, kernel, radius)
    if kernel < 3 or kernel % 2 == 0:
        raise ValueError(f"kernel must be odd and at least 3, got {kernel}")
    _checks.check_count("radius", radius, minimum=1)
    if kind == "self-attention":
        return 1
    if kind == "recurrent":
        return n
    if kind == "restricted":
        return max(1, math.ceil((n - 1) / radius))
    layers, reach, step = 1, kernel // 2, 1
    while reach < n - 1:
        step = step * kernel if dilated else 1
        layers, reach = layers + 1, reach + step * (kernel // 2)
    return layers


def _check_kind(kind: str, n: int, kernel: int, radius: int) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    _checks.check_count("n", n, minimum=1)
    _checks.check_count("kernel", kernel, minimum=1)
    _checks.check_count("radius", radius, minimum=0)
