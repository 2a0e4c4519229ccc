"""Places, shadows and shares: the drawings of chapter 1, and the plane of a table of dot products.

Needs matplotlib (``pip install "attention-core[plot]"``), like `plotting`, whose fonts and
colours it uses; the rest of the package never imports this module.
"""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc
from torch import Tensor

from attention_core import _checks, plotting


def places_from_products(products: Tensor) -> Tensor:
    """Place n vectors in a plane, given nothing but their dot products.

    It is the plane in which the vectors, less their mean, have the largest sum of squares
    (the first two principal components; the method is known as classical multidimensional
    scaling). Dot products do not change if all vectors are turned or mirrored together, so
    the plane may be, too: it is turned until the first vector points up, and mirrored if need
    be, so that the second lies on the right.

    Shape:
        products: (n, n), symmetric
        returns: (n, 2)

    Raises:
        ValueError: products is not a square table of at least 3 rows
        TypeError: products is not a floating-point tensor

    >>> square = torch.tensor([[0.0, 1], [1, 0], [0, -1], [-1, 0]])
    >>> turned = square @ torch.tensor([[0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    >>> torch.allclose(places_from_products(turned @ turned.T), square, atol=1e-5)
    True
    """
    _checks.check_floating("products", products)
    if products.dim() != 2 or products.shape[0] != products.shape[1] or len(products) < 3:
        raise ValueError(
            "products must have shape (n, n) with at least 3 rows, got shape "
            f"{_checks.shape(products)}"
        )
    # The dot products of the same vectors, less their mean.
    centred = products - products.mean(0) - products.mean(1, keepdim=True) + products.mean()
    sizes, axes = torch.linalg.eigh(centred)  # from the smallest to the largest
    places: Tensor = axes[:, -2:] * sizes[-2:].clamp(min=0).sqrt()
    x, y = (places[0] / places[0].norm()).tolist()
    places = places @ places.new_tensor([[y, x], [-x, y]])
    mirror = places.new_tensor([-1.0 if places[1, 0] < 0 else 1.0, 1.0])
    return places * mirror


def draw_shadows(vectors: Mapping[str, Tensor], pairs: Sequence[tuple[str, str]]) -> Figure:
    """Draw each key in the plane that it shares with its query, and its shadow on the query.

    The query points to the right. The part of the key along it is its shadow, a thick line
    under the arrow; the rest is dashed, at a right angle. All panels have one scale.

    Args:
        vectors: the vectors by their names
        pairs: the names of a query and a key, for each panel

    Raises:
        ValueError: pairs is empty, or a vector has length 0

    >>> vectors = {"a": torch.tensor([3.0, 4.0]), "b": torch.tensor([4.0, 3.0])}
    >>> draw_shadows(vectors, [("a", "b")]).axes[0].get_title()
    'score 24'
    """
    if not pairs:
        raise ValueError("pairs must hold at least 1 pair of names, got none")
    for name in {name for pair in pairs for name in pair}:
        if not vectors[name].any():
            raise ValueError(f"vector {name!r} must not be zero, since an arrow needs a direction")
    parts = [_parts(vectors[query], vectors[key]) for query, key in pairs]
    reach = max(max(length, shadow) for length, shadow, _ in parts)
    low = min(0.0, *(shadow for _, shadow, _ in parts))
    high = max(rest for *_, rest in parts)
    # In shares of the widest panel: room for names and for the two lengths under the axis.
    wide = reach - low
    xlim, ylim = (low - 0.06 * wide, reach + 0.12 * wide), (-0.34 * wide, high + 0.16 * wide)
    panel = plotting.WIDTH / len(pairs)
    height = panel * (ylim[1] - ylim[0]) / (xlim[1] - xlim[0]) + 0.4
    figure, axes = plt.subplots(1, len(pairs), figsize=(plotting.WIDTH, height), squeeze=False)
    for ax, names, (length, shadow, rest) in zip(axes[0], pairs, parts, strict=True):
        _draw_shadow(ax, names, length, shadow, rest, wide)
        ax.set(xlim=xlim, ylim=ylim, aspect=1)
        ax.set_title(f"score {length * shadow:.4g}", size=16)
        ax.set_axis_off()
    return figure


def _parts(query: Tensor, key: Tensor) -> tuple[float, float, float]:
    """Return the query's length, and the key's parts along it and at a right angle to it."""
    length = float(query.norm())
    shadow = float(query @ key) / length
    return length, shadow, math.sqrt(max(0.0, float(key @ key) - shadow**2))


def _draw_shadow(
    ax: Axes, names: tuple[str, str], length: float, shadow: float, rest: float, wide: float
) -> None:
    query, key = plotting.readable_labels(names)
    roles, ink = plotting.ROLE_COLORS, plotting.INK
    below = -0.06 * wide
    ax.plot([shadow, shadow], [below, rest], color=ink, lw=1.5, ls=(0, (4, 3)))
    ax.plot([length, length], [-0.26 * wide, 0], color=roles["query"], lw=2, ls=":")
    ax.plot([0, shadow], [below, below], color=roles["key"], lw=6, solid_capstyle="butt")
    for role, tip in (("key", (shadow, rest)), ("query", (length, 0.0))):
        style = {"arrowstyle": "-|>", "color": roles[role], "mutation_scale": 18, "lw": 3}
        ax.annotate("", tip, (0, 0), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})
    angle = math.degrees(math.atan2(rest, shadow))
    ax.add_patch(Arc((0, 0), 0.5 * wide, 0.5 * wide, theta1=0, theta2=angle, color=ink, lw=1.5))
    half = math.radians(angle / 2)
    ax.text(0.28 * wide * math.cos(half), 0.28 * wide * math.sin(half), f"{angle:.0f}°",
            ha="left", va="center", size=15)  # fmt: skip
    above = f"{key} {math.hypot(shadow, rest):.2f}"
    ax.text(
        shadow, rest + 0.03 * wide, above, color=roles["key"], ha="center", va="bottom", size=15
    )
    for text, y, role in (
        (f"shadow {shadow:.2f}".replace("-", "−"), -0.15 * wide, "key"),
        (f"{query} {length:.2f}", -0.28 * wide, "query"),
    ):
        ax.text(0, y, text, color=roles[role], ha="left", va="center", size=15)


def draw_softmax(scores: Tensor, names: Sequence[str], *, minus: float = 0.0) -> Figure:
    """Draw softmax in two steps: a bar of height e^(score - minus) for each token, and the shares.

    On the left the bars stand at their scores, under the exponential; on the right they are
    stacked, and the whole stack is 1.

    Args:
        names: one for each score
        minus: the number that is taken off all scores first, which changes no share

    Shape:
        scores: (S,)

    Raises:
        ValueError: scores does not have one axis, or names do not fit it
        TypeError: scores is not a floating-point tensor

    >>> figure = draw_softmax(torch.tensor([1.0, 0.0]), ["a", "b"])
    >>> [text.get_text() for text in figure.axes[1].texts]
    ['b 0.27', 'a 0.73']
    """
    _checks.check_floating("scores", scores, min_dim=1)
    if scores.shape != (len(names),):
        raise ValueError(
            f"scores must have shape (S,) = ({len(names)},), one for each name, got shape "
            f"{_checks.shape(scores)}"
        )
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(plotting.WIDTH, 3.5), gridspec_kw={"width_ratios": [3, 2]}
    )
    labels = plotting.readable_labels(names)
    low, high = math.floor(float(scores.min())) - 2, math.ceil(float(scores.max()))
    x = torch.linspace(low, high + 0.45, 99, dtype=torch.float64)
    left.plot(x, torch.exp(x - minus), color=plotting.INK)
    shares = torch.softmax(scores, dim=0).tolist()
    colors = plotting.SEQUENTIAL([0.45 + 0.55 * share for share in shares])
    for i, score in enumerate(scores.tolist()):
        same = [j for j, other in enumerate(scores.tolist()) if other == score]
        place = score + 0.3 * (same.index(i) - (len(same) - 1) / 2)  # ties stand side by side
        height = math.exp(score - minus)
        left.bar(place, height, 0.26, color=colors[i])
        left.text(place, height / 2, labels[i], ha="center", va="center", size=16)
    start = 0.0
    for label, share, color in reversed(list(zip(labels, shares, colors, strict=True))):
        right.bar(0, share, 1, start, color=color, edgecolor=plotting.PAPER, lw=3)
        shown = f"{label} {share:.2f}"
        right.text(0, start + share / 2, shown, ha="center", va="center", size=16)
        start += share
    left.set(xlabel="score", xticks=range(low, high + 1), ylim=0)
    exponent = f"score {'−' if minus > 0 else '+'} {abs(minus):g}" if minus else "score"
    left.set_title(f"$e^{{\\,\\mathrm{{{exponent}}}}}$", size=19)
    right.set_title("shares of 1", size=16)
    right.set(xlim=(-0.7, 0.7), ylim=(0, 1))
    right.set_axis_off()
    return figure
