"""Drawings of chapter 15: a decoder-only model, turned arrows, shared key heads, masks.

Needs matplotlib (``pip install "attention-core[plot]"``), like `diagram`, whose page and
colours it uses; the rest of the package never imports this module.
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
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
    >>> [text.get_text() for text in figure.axes[0].texts if "key heads" in text.get_text()]
    ['2 key heads for 4 query heads']
    """
    heads = f"{config.num_kv_heads} key heads for {config.num_heads} query heads"
    page, y = _Page(), 0.25
    # (text, notes); None stands for a sum, into which the residual line runs
    parts: list[tuple[str | None, list[str]]] = [
        ("embedding", ["no positions added"]),
        ("RMSNorm", ["before the part, not after"]),
        ("causal attention", ["queries, keys turned (RoPE)", heads]),
        (None, []),
        ("RMSNorm", ["no mean, no bias"]),
        ("SwiGLU", ["a gate instead of ReLU"]),
        (None, []),
        ("RMSNorm", ["one more norm at the end"]),
        ("embedding, transposed", []),
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


def draw_turns(query: Tensor, key: Tensor, places: Sequence[tuple[int, int]]) -> Figure:
    """Draw a query and a key of width 2, turned to their positions, in one panel for each pair.

    The title is their product, the score before scaling; dashed is where each arrow lay.

    Args:
        places: position of the query and of the key, for each panel

    Shape:
        query, key: (2,)

    Raises:
        ValueError: query or key does not have shape (2,), or places is empty
        TypeError: query or key is not a floating-point tensor

    >>> figure = draw_turns(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.0]), [(2, 2)])
    >>> figure.axes[0].get_title()
    'score 1.0000'
    """
    for name, x in (("query", query), ("key", key)):
        _checks.check_floating(name, x, min_dim=1)
        if x.shape != (2,):
            raise ValueError(f"{name} must have shape (2,), got {_checks.shape(x)}")
    if not places:
        raise ValueError("places must hold at least 1 pair of positions, got none")
    figure, axes = plt.subplots(
        1, len(places), figsize=(plotting.WIDTH, 2.7), subplot_kw={"aspect": 1}, squeeze=False
    )
    ends = [query, key]  # of arrows, and the places of their names
    for ax, (m, n) in zip(axes[0], places, strict=True):
        tips = []
        for role, x, place in (("query", query, m), ("key", key, n)):
            tip = apply_rotary(x[None], offset=place)[0]
            _arrow(ax, x, role, dashed=True)
            _arrow(ax, tip, role)
            at = (1 + 0.5 / float(x.norm())) * tip
            color = plotting.ROLE_COLORS[role]
            ax.text(
                *at.tolist(), f"{role[0]}, {place}", color=color, ha="center", va="center", size=17
            )
            tips.append(tip)
            ends += [tip, 1.15 * at]
        ax.set_title(f"score {float(tips[0] @ tips[1]):.4f}", size=17)
        ax.set_axis_off()
    low, high = (x.tolist() for x in torch.stack(ends).aminmax(dim=0))
    for ax in axes[0]:
        ax.set(xlim=(low[0] - 0.4, high[0] + 0.4), ylim=(low[1] - 0.1, high[1] + 0.1))
    return figure


def _arrow(ax: Axes, tip: Tensor, role: str, *, dashed: bool = False) -> None:
    """Draw an arrow from the origin, in the colour of its role."""
    style = {"arrowstyle": "-|>", "color": plotting.ROLE_COLORS[role], "mutation_scale": 18}
    style |= {"lw": 1.2, "ls": "--", "alpha": 0.6} if dashed else {"lw": 3}
    x, y = tip.tolist()
    ax.annotate("", (x, y), (0, 0), arrowprops={**style, "shrinkA": 0, "shrinkB": 0})


def draw_key_heads(num_heads: int, kv_heads: Sequence[int]) -> Figure:
    """Draw which query heads share a head of keys and values, in one row for each number.

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
            ax.scatter(places, [y] * len(places), 420, color=color, zorder=2)
            for place in places:
                label = "q" if role == "query" else "k, v"
                size = 14 if role == "query" else 10
                ax.text(place, y, label, color="w", ha="center", va="center", size=size)
        kind = {1: "multi-query", num_heads: "multi-head"}.get(count, "grouped-query")
        noun = "head" if count == 1 else "heads"
        ax.set_title(f"{kind}: {count} {noun} of keys and values", size=15, loc="left")
        ax.set(xlim=(-0.6, num_heads - 0.4), ylim=(-0.45, 1.45))
        ax.set_axis_off()
    return figure


def draw_masks(masks: Mapping[str, Tensor]) -> Figure:
    """Draw masks side by side: a row for each query, a column for each key, dark = may attend.

    Shape:
        each mask: (L, S), bool

    Raises:
        ValueError: there is no mask, or a mask does not have two axes

    >>> figure = draw_masks({"all": torch.ones(2, 3, dtype=torch.bool)})
    >>> figure.axes[0].get_title()
    'all'
    """
    if not masks:
        raise ValueError("masks must hold at least 1 mask, got none")
    for name, mask in masks.items():
        if mask.dim() != 2:
            raise ValueError(f"mask {name!r} must have shape (L, S), got {_checks.shape(mask)}")
    figure, axes = plt.subplots(1, len(masks), figsize=(plotting.WIDTH, 2.9), squeeze=False)
    tint = ListedColormap(["#FFFFFF", "#C97CAC"])
    for ax, (name, mask) in zip(axes[0], masks.items(), strict=True):
        ax.pcolormesh(mask.int().tolist(), cmap=tint, vmin=0, vmax=1, edgecolor="0.6", lw=0.8)
        ax.set(aspect=1, xticks=[], yticks=[])
        ax.invert_yaxis()
        ax.set_title(name, size=15)
        ax.set_xlabel("key", color=plotting.ROLE_COLORS["key"], size=15)
        for side in ("left", "bottom"):
            ax.spines[side].set_visible(False)
    axes[0, 0].set_ylabel("query", color=plotting.ROLE_COLORS["query"], size=15)
    return figure
