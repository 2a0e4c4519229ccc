"""A drawing of the whole `Transformer`, with the shapes of one config written into it.

Needs matplotlib (``pip install "attention-core[plot]"``), like `plotting`, whose fonts and
colours it uses; the rest of the package never imports this module.
"""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.path import Path

from attention_core import plotting
from attention_core.transformer import TransformerConfig

# Lengths are in inches, and positions are set by hand. The font is as large as two columns
# allow, because a phone shows the page at half its size.
_FONT = 15.0  # points
_BOX = 2.5  # the width of a box
_LEFT, _RIGHT = 1.57, 4.83  # the centres of the encoder and of the decoder
_DETOUR = 1.4  # from a centre to the residual lines outside the boxes
_BAND = 1.52  # from a centre to the edges of the grey band behind a stack
_MEMORY = 3.2  # where the memory's line runs down, between the bands


def draw_transformer(
    config: TransformerConfig, *, source: Sequence[str], target: Sequence[str]
) -> Figure:
    """Draw encoder and decoder, with the shapes they have for one source and one target.

    The drawing reads from the bottom up, like figure 1 of the paper. Shapes are those of
    one sentence; shapes of weights are those of one head. Boxes in a tint of the weights'
    colour mix tokens; boxes in a tint of the query's colour treat each token alone. With
    ``config.tie_embeddings`` an E marks the three places that share one table. A row of
    tokens that is too long is shortened in the middle.

    Args:
        config: the sizes; with ``norm_first`` the norms stand where pre-norm has them
        source: S tokens
        target: L + 1 tokens, BOS and EOS among them; all but the last are the decoder's
            input, all but the first are its labels, as in `shift_targets`

    Raises:
        ValueError: source has no token, target has fewer than two, or source or the
            decoder's input has more than config.max_len tokens

    Source: Vaswani et al. 2017, figure 1.

    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=13, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> figure = draw_transformer(config, source=["早", "好"], target=["BOS", "hello", "EOS"])
    >>> [t.get_text() for t in figure.axes[0].texts if "cross" in t.get_text()]
    ['cross-attention\\nweights (2, 2)']
    """
    S, L = len(source), len(target) - 1
    if S < 1:
        raise ValueError("source must have at least 1 token, got none")
    if L < 1:
        raise ValueError(f"target must have at least 2 tokens, got {len(target)}")
    for name, length in (("source", S), ("target", L)):
        if length > config.max_len:
            raise ValueError(
                f"{name} must give at most max_len={config.max_len} tokens to read, got {length}"
            )
    page = _Page()
    known = plotting.readable_labels(target)
    encoder = _Column(page, config, _LEFT, side=-1)
    encoder.begin(plotting.readable_labels(source), "source")
    encoder.self_attention(f"self-attention\nweights ({S}, {S})")
    encoder.feed_forward()
    encoder.end_stack("encoder")
    memory = encoder.box(f"memory ({S}, {config.d_model})\nfor each decoder layer", gap=0.42)

    decoder = _Column(page, config, _RIGHT, side=1)
    decoder.begin(known[:-1], "target, shifted right")
    decoder.self_attention(f"masked self-attention\nweights ({L}, {L})")
    crossing = decoder.cross_attention(f"cross-attention\nweights ({L}, {S})")
    decoder.feed_forward()
    decoder.end_stack("decoder")
    scores = f"projection, softmax\nchances ({L}, {config.tgt_vocab_size})"
    decoder.box(scores, "alone", gap=0.42, shared=config.tie_embeddings)
    decoder.end(known[1:], "to be said:")

    start, end = _MEMORY, _RIGHT - _BOX / 2
    page.line((_LEFT + _BOX / 2, memory), (start, memory), (start, crossing - 0.2))
    for role, y in (("key", crossing + 0.12), ("value", crossing - 0.2)):
        page.line((start, y), (end, y), role=role, head=True)
        page.write(start + 0.15, y + 0.13, role[0], 0.2, role=role)
    page.explain(decoder.y - 0.2, config)
    page.finish(decoder.y + 0.1)
    return page.figure


class _Page:
    """A page measured in inches, in the colours of the current style."""

    def __init__(self) -> None:
        self.figure = Figure()
        self.figure.set_layout_engine("none")
        canvas = FigureCanvasAgg(self.figure)
        self.renderer = canvas.get_renderer()  # type: ignore[no-untyped-call]
        self.ax = self.figure.add_axes((0, 0, 1, 1))
        self.ax.set_axis_off()
        ink, paper = mpl.rcParams["text.color"], mpl.rcParams["figure.facecolor"]
        dark = paper == plotting.PAPER_DARK
        roles = plotting.ROLE_COLORS_DARK if dark else plotting.ROLE_COLORS
        self.colors = {**roles, "ink": ink, "paper": paper}
        for tint, color, share in (
            ("mixes", roles["weights"], 0.18),
            ("alone", roles["query"], 0.14),
            ("band", ink, 0.07),
        ):
            r, g, b = (
                share * c + (1 - share) * p
                for c, p in zip(to_rgb(color), to_rgb(paper), strict=True)
            )
            self.colors[tint] = to_hex((r, g, b))

    def finish(self, height: float) -> None:
        """Set the final height of the page."""
        self.figure.set_size_inches(plotting.WIDTH, height)
        self.ax.set(xlim=(0, plotting.WIDTH), ylim=(0, height))

    def write(
        self, x: float, y: float, text: str, width: float, *, role: str = "ink", ha: str = "center"
    ) -> None:
        """Write text at a point, in a smaller font if it would be wider than ``width``."""
        label = self.ax.text(x, y, text, ha=ha, va="center", size=_FONT, parse_math=False)
        label.set(color=self.colors[role], zorder=4)
        wide = self.width(text)
        label.set_fontsize(_FONT * min(1.0, width / wide))

    def width(self, text: str) -> float:
        """Return the width of a text in the usual font size."""
        label = self.figure.text(0, 0, text, size=_FONT, parse_math=False)
        wide = label.get_window_extent(self.renderer).width / self.figure.dpi
        label.remove()
        return max(float(wide), 1e-9)  # an empty text has no width

    def row(self, x: float, y: float, tokens: Sequence[str]) -> None:
        """Write tokens side by side; shorten long ones at the end, a long row in the middle."""
        tokens = [token if len(token) <= 16 else f"{token[:15]}…" for token in tokens]
        shown, kept = tokens, min(len(tokens) - 1, 40)
        while kept > 1 and (len(shown) > 42 or self.width(" ".join(shown)) > 2 * _BAND):
            kept -= 1
            shown = [*tokens[:kept], "…", tokens[-1]]
        self.write(x, y, " ".join(shown), 2 * _BAND)

    def line(self, *points: tuple[float, float], role: str = "ink", head: bool = False) -> None:
        """Draw straight lines from point to point, with or without an arrowhead."""
        self.ax.add_patch(
            FancyArrowPatch(
                path=Path(points),
                arrowstyle="-|>" if head else "-",
                mutation_scale=13,
                lw=1.5,
                color=self.colors[role],
                fill=head,
                zorder=2,
            )
        )

    def box(self, x: float, y: float, width: float, height: float, tint: str) -> None:
        """Draw a box around a point."""
        self.ax.add_patch(
            FancyBboxPatch(
                (x - width / 2, y - height / 2),
                width,
                height,
                boxstyle="round,pad=0,rounding_size=0.1",
                fc=self.colors[tint],
                ec=self.colors["ink"],
                zorder=3,
            )
        )

    def badge(self, x: float, y: float) -> None:
        """Draw the mark of a part that shares the table E."""
        colors = {"fc": self.colors["paper"], "ec": self.colors["ink"]}
        self.ax.add_patch(Circle((x, y), 0.15, zorder=4, **colors))
        self.write(x, y - 0.01, "E", 0.2)

    def explain(self, y: float, config: TransformerConfig) -> None:
        """Draw the legend of tints and E, in the corner that the encoder leaves free."""
        for tint, meaning in (("mixes", "mixes tokens"), ("alone", "each token alone")):
            self.box(0.3, y, 0.4, 0.26, tint)
            self.write(0.65, y, meaning, 2.5, ha="left")
            y -= 0.38
        if config.tie_embeddings:
            self.badge(0.3, y)
            size = f"({config.tgt_vocab_size}, {config.d_model})"
            self.write(0.65, y, f"one table {size}", 2.5, ha="left")


class _Column:
    """The encoder or the decoder, drawn upwards; ``y`` is the height reached so far."""

    def __init__(self, page: _Page, config: TransformerConfig, x: float, *, side: int) -> None:
        self.page, self.config, self.x, self.side = page, config, x, side
        self.y = self.bottom = 0.0

    def box(self, text: str, tint: str = "paper", *, gap: float, shared: bool = False) -> float:
        """Draw a box, ``gap`` above ``y``, and move ``y`` to its top; return its middle."""
        height = 0.68 if "\n" in text else 0.42
        low = self.y + gap
        self.page.line((self.x, self.y), (self.x, low), head=True)
        middle, self.y = low + height / 2, low + height
        self.page.box(self.x, middle, _BOX, height, tint)
        self.page.write(self.x, middle, text, _BOX - 0.1)
        if shared:
            self.page.badge(self.x - _BOX / 2 + 0.03, self.y - 0.03)
        return middle

    def begin(self, tokens: Sequence[str], caption: str) -> None:
        """Draw the input tokens and their embedding, and begin the band of the stack."""
        self.page.row(self.x, 0.5, tokens)
        self.page.write(self.x, 0.22, caption, 2 * _BAND)
        self.y = 0.64
        text = f"embedding × √{self.config.d_model}\n+ position"
        self.box(text, "alone", gap=0.28, shared=self.config.tie_embeddings)
        self.bottom = self.y + 0.12
        self.y += 0.42
        self.page.line((self.x, self.y - 0.42), (self.x, self.y))
        shape = f"({len(tokens)}, {self.config.d_model})"
        self.page.write(self.x + 0.1, self.y - 0.1, shape, 1.2, ha="left")

    def sublayer(self, text: str, tint: str, *, gap: float, ports: Sequence[str] = ()) -> float:
        """Draw a sublayer with its norm and residual; return the height of its middle."""
        pre, fork = self.config.norm_first, self.y + 0.2
        if pre:
            self.box("norm", "alone", gap=0.42)
            gap -= 0.2
        low = self.y + gap
        middle = self.box(text, tint, gap=gap)
        for role in ports:
            x = self.x + {"query": 0.0, "key": -0.65, "value": 0.65}[role]
            self.page.line((self.x, low - 0.3), (x, low - 0.3), (x, low), role=role, head=True)
            self.page.write(x - 0.16, low - 0.15, role[0], 0.2, role=role)
        last = self.box("add" if pre else "add & norm", "alone", gap=0.22)
        out, edge = self.x + self.side * _DETOUR, self.x + self.side * _BOX / 2
        self.page.line((self.x, fork), (out, fork), (out, last), (edge, last), head=True)
        return middle

    def self_attention(self, text: str) -> None:
        self.sublayer(text, "mixes", gap=0.66, ports=("key", "value", "query"))

    def cross_attention(self, text: str) -> float:
        return self.sublayer(text, "mixes", gap=0.66, ports=("query",))

    def feed_forward(self) -> None:
        d, d_ff = self.config.d_model, self.config.d_ff
        self.sublayer(f"feed-forward\n{d} → {d_ff} → {d}", "alone", gap=0.42)

    def end_stack(self, name: str) -> None:
        """Draw the final norm of a pre-norm stack, and the band behind it, with its name."""
        top, left = self.y + 0.12, self.x - _BAND
        corner, height = (left, self.bottom), top - self.bottom
        band = Rectangle(corner, 2 * _BAND, height, fc=self.page.colors["band"], zorder=1)
        self.page.ax.add_patch(band)
        name = f"{name} × {self.config.num_layers}"
        self.page.write(left, top + 0.16, name, _BAND - 0.1, ha="left")
        if self.config.norm_first:
            self.box("norm", "alone", gap=0.45)

    def end(self, tokens: Sequence[str], caption: str) -> None:
        """Draw the labels, the tokens that the decoder is to predict."""
        self.page.line((self.x, self.y), (self.x, self.y + 0.32), head=True)
        self.page.row(self.x, self.y + 0.48, tokens)
        self.page.write(self.x, self.y + 0.76, caption, 2 * _BAND)
        self.y += 0.9
