"""Drawings of chapter 15: a language model, SwiGLU, rotated arrows, shared heads, masks.

Needs matplotlib (``pip install "attention-core[plot]"``), like `diagram`, whose page and
colours it uses; the rest of the package never imports this module.
"""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Arc
from torch import Tensor

from attention_core import _checks, _options, plotting
from attention_core.diagram import _Page
from attention_core.relative import apply_rotary
from attention_core.transformer import TransformerConfig

_CENTRE, _BOX = 1.75, 2.1  # of the boxes of the model, in inches
_LEFT, _RIGHT = 0.2, 3.05  # the edges of the band behind the layer


def draw_language_model(config: TransformerConfig, *, tokens: Sequence[str], answer: str) -> Figure:
    """Draw a model like SmolLM2 from the bottom up; a note stands beside each changed part.

    Coloured boxes are parts that `Transformer` does not have; the note says what is new.

    Args:
        config: the sizes that the notes name
        tokens: the text that the model reads
        answer: the token that it predicts

    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=11, d_model=8, num_heads=4, num_kv_heads=2,
    ...     num_layers=3, d_ff=16,
    ... )
    >>> figure = draw_language_model(config, tokens=["good"], answer="morning")
    >>> [text.get_text() for text in figure.axes[0].texts if "key-value" in text.get_text()]
    ['2 key-value heads for 4 query heads']
    """
    heads = f"{config.num_kv_heads} key-value heads for {config.num_heads} query heads"
    page, y = _Page(), 0.25
    # (text, notes); None stands for a sum, into which the residual line runs
    parts: list[tuple[str | None, list[str]]] = [
        ("embedding", ["no positions added"]),
        ("RMSNorm", ["norm before the sublayer"]),
        ("causal attention", ["queries and keys rotated (RoPE)", heads]),
        (None, []),
        ("RMSNorm", ["no mean, no bias"]),
        ("SwiGLU", ["a gate instead of ReLU"]),
        (None, []),
        ("RMSNorm", ["one more norm at the end"]),
        ("embedding, transposed", []),
        ("softmax", []),
        ("sampling", ["a choice by probability"]),
    ]
    page.write(_CENTRE, y, " ".join(tokens), 3.2)
    fork = bottom = y
    for i, (text, notes) in enumerate(parts):
        start, y = y + 0.18, y + (0.95 if i == 1 else 0.78)
        page.line((_CENTRE, start), (_CENTRE, y - 0.2), head=True)
        if i == 1:
            bottom = start + 0.14
        if i in (1, 4):
            fork = y - 0.48
        page.box(_CENTRE, y, _BOX, 0.38, "mixes" if notes else "paper")
        page.write(_CENTRE, y, text or "add", _BOX - 0.1)
        if text is None:
            edge = _CENTRE - _BOX / 2
            page.line((_CENTRE, fork), (0.4, fork), (0.4, y), (edge, y), head=True)
        for j, note in enumerate(notes):
            place = y - 0.26 * (j - (len(notes) - 1) / 2)
            page.write(_RIGHT + 0.15, place, note, 3.1, role="weights", ha="left")
        if i == 6:
            _band(page, bottom, y + 0.3)
            name = f"layer × {config.num_layers}"
            page.write(_RIGHT + 0.15, y, name, 2.5, ha="left")
    page.line((_CENTRE, y + 0.2), (_CENTRE, y + 0.52), head=True)
    page.write(_CENTRE, y + 0.68, answer, 3.2)
    page.finish(y + 0.9)
    return page.figure


def _band(page: _Page, low: float, high: float) -> None:
    """Draw the band behind the parts of one layer."""
    corners = [_LEFT, _RIGHT]
    page.ax.fill_between(corners, low, high, color=page.colors["band"], lw=0, zorder=1)


def draw_swiglu(d_model: int, d_ff: int) -> Figure:
    """Draw `SwiGLU` from the bottom up, and above it the curves of ReLU, GELU and SiLU.

    Raises:
        ValueError: a width is below 1
        TypeError: a width is not an int

    >>> figure = draw_swiglu(8, 16)
    >>> [text.get_text() for text in figure.axes[0].texts if "8" in text.get_text()]
    ['x: 8 numbers', '8 numbers']
    """
    d_model = _options.check_count("d_model", d_model, minimum=1)
    d_ff = _options.check_count("d_ff", d_ff, minimum=1)
    page, middle = _Page(), plotting.WIDTH / 2
    gate, inner, wide = 1.6, plotting.WIDTH - 1.6, f"{d_ff:,} numbers"
    page.write(middle, 0.2, f"x: {d_model:,} numbers", 3.0)
    page.line((middle, 0.4), (middle, 0.62))
    for x, name in ((gate, "$W_g$"), (inner, "$W_1$")):
        page.line((middle, 0.62), (x, 0.62), (x, 0.9), head=True)
        _matrix(page, x, 1.12, name)
        page.write(x + 0.15, 1.56, wide, 1.4, ha="left")
    page.line((gate, 1.34), (gate, 1.82), head=True)
    page.box(gate, 2.04, 1.3, 0.44, "mixes")
    page.write(gate, 2.04, "SiLU", 1.2)
    page.line((gate, 2.26), (gate, 2.9), (middle - 1.25, 2.9), head=True)
    page.write(gate - 0.15, 2.6, "gates", 1.2, ha="right", role="weights")
    page.line((inner, 1.34), (inner, 2.9), (middle + 1.25, 2.9), head=True)
    page.box(middle, 2.9, 2.5, 0.44, "mixes")
    page.write(middle, 2.9, "elementwise product", 2.3)
    page.line((middle, 3.12), (middle, 3.6), head=True)
    page.write(middle + 0.15, 3.35, wide, 1.6, ha="left")
    _matrix(page, middle, 3.82, "$W_2$")
    page.line((middle, 4.04), (middle, 4.36), head=True)
    page.write(middle, 4.54, f"{d_model:,} numbers", 3.0)
    page.finish(8.0)
    ax = page.figure.add_axes((0.08, 0.64, 0.9, 0.34))
    numbers = torch.linspace(-4, 3, 200)
    color = page.colors["weights"]
    for name, y, style in (
        ("ReLU", F.relu(numbers), {"ls": "--", "color": page.colors["ink"]}),
        ("GELU", F.gelu(numbers), {"ls": "-", "color": color}),
        ("SiLU", F.silu(numbers), {"ls": ":", "color": color}),
    ):
        ax.plot(numbers.tolist(), y.tolist(), lw=2.5, label=name, **style)
    ax.tick_params(labelsize=14)
    ax.legend(frameon=False, fontsize=15)
    return page.figure


def _matrix(page: _Page, x: float, y: float, name: str) -> None:
    """Draw the box of a matrix, with its name as a formula."""
    page.box(x, y, 1.3, 0.44, "paper")
    page.ax.text(x, y, name, ha="center", va="center", size=16, zorder=4, color=page.colors["ink"])


def draw_turns(query: Tensor, key: Tensor, places: Sequence[tuple[int, int]]) -> Figure:
    """Draw a query and a key of width 2, rotated to their positions, a panel for each pair.

    The title is the angle between the rotated arrows and their dot product, the score before
    scaling. Dashed arrows show the vectors before the rotation.

    Args:
        places: position of the query and of the key, for each panel

    Shape:
        query, key: (2,)

    Raises:
        ValueError: query or key does not have shape (2,) or is zero, or places is empty
        TypeError: query or key is not a floating-point tensor

    >>> figure = draw_turns(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.0]), [(2, 2)])
    >>> figure.axes[0].get_title()
    '0.0°, score 1.0000'
    """
    for name, x in (("query", query), ("key", key)):
        _checks.check_floating(name, x, min_dim=1)
        if x.shape != (2,):
            raise ValueError(f"{name} must have shape (2,), got {_checks.shape(x)}")
        if not x.any():
            raise ValueError(f"{name} must not be zero, since an arrow needs a direction")
    if not places:
        raise ValueError("places must hold at least 1 pair of positions, got none")
    columns = min(2, len(places))
    rows = math.ceil(len(places) / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(plotting.WIDTH, 2.9 * rows), subplot_kw={"aspect": 1}, squeeze=False
    )
    ends = [query, key]  # of arrows, and the places of their names
    for ax, (m, n) in zip(axes.flat, places, strict=False):
        tips, angles = [], []
        for role, x, place in (("query", query, m), ("key", key, n)):
            tip = apply_rotary(x[None], offset=place)[0]
            _arrow(ax, x, role, dashed=True)
            _arrow(ax, tip, role)
            at = (1 + 0.45 / float(x.norm())) * tip
            color = plotting.ROLE_COLORS[role]
            ax.text(
                *at.tolist(), f"{role[0]}, {place}", color=color, ha="center", va="center", size=17
            )
            tips.append(tip)
            angles.append(math.degrees(math.atan2(tip[1], tip[0])))
            ends += [tip, 1.15 * at]
        between = (angles[0] - angles[1] + 180) % 360 - 180  # from the key to the query
        first, last = sorted((angles[1], angles[1] + between))
        ax.add_patch(Arc((0, 0), 1.1, 1.1, theta1=first, theta2=last, color="0.35", lw=2))
        ax.set_title(f"{abs(between):.1f}°, score {float(tips[0] @ tips[1]):.4f}", size=16)
    for ax in axes.flat[len(places) :]:
        ax.text(
            0.5,
            0.5,
            "dashed: before the rotation\nsolid: after it",
            ha="center",
            size=14,
            transform=ax.transAxes,
        )
    low, high = (x.tolist() for x in torch.stack(ends).aminmax(dim=0))
    for ax in axes.flat:
        ax.set_axis_off()
        ax.set(xlim=(low[0] - 0.4, high[0] + 0.4), ylim=(low[1] - 0.1, high[1] + 0.1))
    return figure


def _arrow(ax: Axes, tip: Tensor, role: str, *, dashed: bool = False) -> None:
    """Draw an arrow from the origin, in the colour of its role."""
    style = {"arrowstyle": "-|>", "color": plotting.ROLE_COLORS[role], "mutation_scale": 18}
    style |= {"lw": 1.2, "ls": "--", "alpha": 0.6} if dashed else {"lw": 3}
    x, y = tip.tolist()
    ax.annotate("", (x, y), (0, 0), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})


def draw_key_heads(num_heads: int, kv_heads: Sequence[int]) -> Figure:
    """Draw which query heads share a key-value head, in one row for each number of them.

    Raises:
        ValueError: num_heads is below 1, or a number in kv_heads does not divide it

    >>> len(draw_key_heads(8, [8, 2, 1]).axes)
    3
    """
    num_heads = _options.check_count("num_heads", num_heads, minimum=1)
    for count in kv_heads:
        if count < 1 or num_heads % count:
            raise ValueError(f"kv_heads must divide num_heads={num_heads}, got {count}")
    figure, axes = plt.subplots(
        len(kv_heads), figsize=(plotting.WIDTH, 2.1 * len(kv_heads)), squeeze=False
    )
    for ax, count in zip(axes[:, 0], kv_heads, strict=True):
        share = num_heads // count
        middles = [share * i + (share - 1) / 2 for i in range(count)]
        for head in range(num_heads):
            ax.plot([head, middles[head // share]], [1, 0], color="0.55", lw=1.5, zorder=1)
        for role, places, y in (("query", range(num_heads), 1), ("key", middles, 0)):
            color = plotting.ROLE_COLORS[role]
            ax.scatter(places, [y] * len(places), 1000, color=color, zorder=2)
            for place in places:
                label, size = ("q", 17) if role == "query" else ("k, v", 15)
                ax.text(place, y, label, color="w", ha="center", va="center", size=size)
        kind = {1: "multi-query", num_heads: "multi-head"}.get(count, "grouped-query")
        noun = "head" if count == 1 else "heads"
        ax.set_title(f"{kind}: {count} key-value {noun}", size=16, loc="left")
        ax.set(xlim=(-0.6, num_heads - 0.4), ylim=(-0.5, 1.5))
        ax.set_axis_off()
    return figure


def draw_masks(
    masks: Mapping[str, Tensor], *, marked: Mapping[str, Tensor] | None = None
) -> Figure:
    """Draw masks side by side: a row for each query, a column for each key, filled = may attend.

    Args:
        marked: for some of the masks, the cells that get the colour of the keys

    Shape:
        each mask, and each of marked: (L, S), bool

    Raises:
        ValueError: there is no mask, a mask does not have two axes, or marked names no mask or
            has another shape

    >>> figure = draw_masks({"all": torch.ones(2, 3, dtype=torch.bool)})
    >>> figure.axes[0].get_title()
    'all'
    """
    if not masks:
        raise ValueError("masks must hold at least 1 mask, got none")
    for name, mask in masks.items():
        if mask.dim() != 2:
            raise ValueError(f"mask {name!r} must have shape (L, S), got {_checks.shape(mask)}")
    marked = marked or {}
    for name, cells in marked.items():
        if name not in masks or cells.shape != masks[name].shape:
            raise ValueError(f"marked must have the names and shapes of masks, got {name!r}")
    figure, axes = plt.subplots(1, len(masks), figsize=(plotting.WIDTH, 2.9), squeeze=False)
    tint = ListedColormap(["#FFFFFF", "#C97CAC", "#F0A060"])
    for ax, (name, mask) in zip(axes[0], masks.items(), strict=True):
        cells = mask.int() + (mask & marked[name]).int() if name in marked else mask.int()
        ax.pcolormesh(cells.tolist(), cmap=tint, vmin=0, vmax=2, edgecolor="0.6", lw=0.8)
        ax.set(aspect=1, xticks=[], yticks=[])
        ax.invert_yaxis()
        ax.set_title(name, size=15)
        ax.set_xlabel("key", color=plotting.ROLE_COLORS["key"], size=15)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
    axes[0, 0].set_ylabel("query", color=plotting.ROLE_COLORS["query"], size=15)
    return figure
