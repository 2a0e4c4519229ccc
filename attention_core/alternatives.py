"""Alternatives to self-attention: how much they compute, and how far they reach.

Each kind of layer takes n tokens of width d and gives n tokens of width d. Two numbers
compare them: the number of multiplications, and the number of steps that a signal needs
from one end of a text to the other.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_core import _checks, _options, _precision
from attention_core.functional import masked_softmax, scaled_dot_product_attention

KINDS = ("self-attention", "recurrent", "convolutional", "restricted")


def local_attention(q: Tensor, k: Tensor, v: Tensor, radius: int) -> Tensor:
    """Let each token attend to itself and to ``radius`` neighbours on each side.

    Equal to `scaled_dot_product_attention` with a band as mask, but scores outside the
    band are never computed: the cost grows with n · radius, not with n².

    Args:
        radius: number of neighbours on each side; 0 is the token alone

    Shape:
        q, k: (..., n, d_k)    v: (..., n, d_v); leading axes are broadcast
        returns: (..., n, d_v)

    Raises:
        ValueError: the lengths or the widths of q and k differ, k and v differ in length,
            d_k is 0, the leading axes cannot be broadcast, or radius is negative
        TypeError: an input is not floating-point, the dtypes differ (under autocast they
            may), or radius is not an int

    Source: Vaswani et al. 2017, section 4 (restricted self-attention).
    The book's chapter 11.

    >>> local_attention(*torch.zeros(3, 2, 5, 4), radius=1).shape
    torch.Size([2, 5, 4])
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        _checks.check_floating(name, x, min_dim=2)
    radius = _options.check_count("radius", radius, minimum=0)
    if q.shape[-2:] != k.shape[-2:] or k.shape[-2] != v.shape[-2]:
        raise ValueError(
            "q, k and v must have the same length, and q and k the same width, "
            f"got q {_checks.shape(q)}, k {_checks.shape(k)} and v {_checks.shape(v)}"
        )
    _checks.check_attention(q, k, v, None)
    if _precision.autocast_dtype(q) is not None:
        return _precision.cast_once(local_attention, q, k, v, radius=radius)  # type: ignore[no-any-return]
    n, d_k = q.shape[-2:]
    if n == 0:  # no window fits
        return scaled_dot_product_attention(q, k, v)
    window = 2 * radius + 1
    # Row i of the windows holds the tokens i - radius to i + radius; outside there are zeros.
    keys, values = (F.pad(x, (0, 0, radius, radius)).unfold(-2, window, 1) for x in (k, v))
    q, keys = _precision.wide(q) / math.sqrt(d_k), _precision.wide(keys)
    scores = torch.einsum("...nd,...ndw->...nw", q, keys)
    seen = torch.arange(n, device=q.device)[:, None] + torch.arange(window, device=q.device)
    inside = (seen >= radius) & (seen < n + radius)  # (n, window)
    weights = masked_softmax(scores, inside).to(v.dtype)
    return torch.einsum("...nw,...ndw->...nd", weights, values)


def layer_operations(kind: str, n: int, d: int, *, kernel: int = 3, radius: int = 8) -> int:
    """Count the multiplications of one layer for n tokens of width d.

    All matrix products count, those with learned matrices included; elementwise
    operations (softmax, gates, biases) do not. ``torch.utils.flop_counter`` counts the
    additions, too, and so gives twice as many FLOPs.

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
    n, kernel, radius = _check_kind(kind, n, kernel, radius)
    d = _options.check_count("d", d, minimum=1)
    return {
        "self-attention": 4 * n * d**2 + 2 * n**2 * d,
        "recurrent": 6 * n * d**2,
        "convolutional": kernel * n * d**2,
        "restricted": 4 * n * d**2 + 2 * n * (2 * radius + 1) * d,
    }[kind]


def path_length(
    kind: str, n: int, *, kernel: int = 3, radius: int = 8, dilated: bool = False
) -> int:
    """Count the steps from the first of n tokens to the last output.

    A step is a layer; in a recurrent network it is an update of the state.

    Args:
        kind: one of `KINDS`
        dilated: the layers of a convolution have the dilations 1, kernel, kernel², …; a
            signal near the end of a text may need more layers, or have no path

    Raises:
        ValueError: kind is unknown, n is below 1, kernel is not odd or below 3, or radius is
            below 1
        TypeError: n, kernel or radius is not an int, or dilated not a bool

    Source: Vaswani et al. 2017, table 1, which gives the orders 1, n, n / k (dilated: the
    logarithm of n to the base k) and n / r.

    >>> [path_length(kind, 100) for kind in KINDS]
    [1, 100, 99, 13]
    >>> path_length("convolutional", 100, dilated=True)
    5
    """
    n, kernel, radius = _check_kind(kind, n, kernel, radius)
    _options.check_flag("dilated", dilated)
    if kernel < 3 or kernel % 2 == 0:
        raise ValueError(f"kernel must be odd and at least 3, got {kernel}")
    _options.check_count("radius", radius, minimum=1)
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


def _check_kind(kind: str, n: int, kernel: int, radius: int) -> tuple[int, int, int]:
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    return (
        _options.check_count("n", n, minimum=1),
        _options.check_count("kernel", kernel, minimum=1),
        _options.check_count("radius", radius, minimum=0),
    )
