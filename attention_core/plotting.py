"""The book's pictures: one look, one colour per role, one colour map per kind of number.

Needs matplotlib and seaborn (``pip install "attention-core[plot]"``); the rest of the
package never imports this module. Chinese labels are drawn with Noto Sans SC from a
pinned package, so that a picture is the same everywhere. Where no font has a
character, the label becomes the token's position: never an empty box, never a warning.
"""

import base64
import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from attention_core import _checks

#: Okabe-Ito hues, darkened until they reach AA contrast on white as text.
ROLE_COLORS = {
    "query": "#0072B2",
    "key": "#B34700",
    "value": "#00735A",
    "scores": "#595959",
    "weights": "#9B4579",
}
#: The same roles on a dark page.
ROLE_COLORS_DARK = {
    "query": "#6CB8EA",
    "key": "#FF9A57",
    "value": "#3CC9A5",
    "scores": "#B5B5B5",
    "weights": "#E59AC6",
}

INK, PAPER = "#1B1B1B", "#FFFFFF"
INK_DARK, PAPER_DARK = "#E6E6E6", "#121212"

# Both maps stay light enough for black numbers, also when the site's dark theme inverts
# the picture (tested). A map that ended dark would have middle tones on which neither
# black nor white is legible in both themes.
#: For numbers from 0 upwards: white to a light shade of the weights' colour.
SEQUENTIAL: Colormap = LinearSegmentedColormap.from_list(
    "book_sequential", ["#FFFFFF", "#E9C6DB", "#C97CAC"]
)
#: For numbers of both signs, white at 0.
DIVERGING: Colormap = LinearSegmentedColormap.from_list(
    "book_diverging", ["#4BA2D2", "#FFFFFF", "#DE873F"]
)

WIDTH = 6.4  # inches; at 100 CSS pixels an inch this is the book's text column
_CSS_DPI = 100
_PIXEL_RATIO = 2  # drawn at twice the size it is shown, for phones and print


@cache
def _chinese_font() -> str | None:
    """Register the pinned Chinese font and give its family name; None where it is missing."""
    try:
        import pylopdf_fonts_zh_cn
    except ImportError:
        return None
    path = Path(pylopdf_fonts_zh_cn.__file__).with_name("NotoSansSC-Regular.otf")
    if not path.is_file():
        return None
    font_manager.fontManager.addfont(path)
    return str(font_manager.FontProperties(fname=path).get_name())


def use_book_style(*, dark: bool = False) -> None:
    """Draw all further pictures in the book's style, on a white or a dark page.

    The book's own pictures are drawn light; its dark theme inverts them. ``dark=True``
    is for a dark notebook.
    """
    ink, paper = (INK_DARK, PAPER_DARK) if dark else (INK, PAPER)
    chinese = _chinese_font()
    plt.rcdefaults()
    mpl.rcParams.update(
        {
            "font.family": ([chinese] if chinese else []) + ["DejaVu Sans"],
            "font.size": 12,
            "axes.titlesize": 13,
            "axes.titlepad": 10,
            "axes.titleweight": "normal",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": ink,
            "axes.labelcolor": ink,
            "axes.titlecolor": ink,
            "text.color": ink,
            "xtick.color": ink,
            "ytick.color": ink,
            "figure.facecolor": paper,
            "axes.facecolor": paper,
            "savefig.facecolor": paper,
            "figure.constrained_layout.use": True,
            "figure.figsize": (WIDTH, 0.6 * WIDTH),
            "figure.dpi": _CSS_DPI,
        }
    )


def readable_labels(tokens: Sequence[str]) -> list[str]:
    """Return the tokens as labels; one that no font can draw is named by its position.

    >>> readable_labels(["Your", "journey"])
    ['Your', 'journey']
    """
    # Missing families are dropped by hand: findfont would warn about them one by one.
    known = set(font_manager.get_font_names())
    families = [family for family in mpl.rcParams["font.family"] if family in known]
    paths = [font_manager.findfont(family) for family in families or ["DejaVu Sans"]]
    glyphs = set().union(*(font_manager.get_font(path).get_charmap() for path in paths))
    return [
        token if all(ord(c) in glyphs or c == "\n" for c in token) else f"token {i}"
        for i, token in enumerate(tokens, start=1)
    ]


def heatmap(
    table: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    ax: Axes | None = None,
    decimals: int = 2,
    vmin: float | None = None,
    vmax: float | None = None,
    diverging: bool = False,
) -> Axes:
    """Draw scores or weights: a row for each query, a column for each key.

    Shape:
        table: (L, S), with L names in ``queries`` and S names in ``keys``

    Args:
        decimals: digits after the point in each cell
        vmin, vmax: the numbers at the ends of the colour map; unless given, 0 (minus the
            largest absolute value if ``diverging``) and the largest absolute value

    Raises:
        ValueError: table does not have two axes, or its shape does not fit the labels
        TypeError: table is not a floating-point tensor
    """
    _checks.check_floating("table", table)
    if table.dim() != 2 or table.shape != (len(queries), len(keys)):
        raise ValueError(
            "table must have shape (L, S) = (number of queries, number of keys) = "
            f"({len(queries)}, {len(keys)}), got shape {_checks.shape(table)}"
        )
    numbers = np.asarray(table.detach().cpu().double().tolist()).reshape(table.shape)
    largest = float(np.abs(numbers).max(initial=0.0)) or 1.0
    if ax is None:
        side = 0.62 * max(len(queries), 2) + 1.0
        _, ax = plt.subplots(figsize=(WIDTH, min(side, WIDTH)))
    sns.heatmap(
        numbers,
        ax=ax,
        annot=numbers.round(decimals) + 0.0,  # adding 0 turns -0.0 into 0.0
        fmt=f".{decimals}f",
        annot_kws={"fontsize": 12, "color": "black"},
        cmap=DIVERGING if diverging else SEQUENTIAL,
        vmin=(-largest if diverging else 0.0) if vmin is None else vmin,
        vmax=largest if vmax is None else vmax,
        cbar=False,
        linewidths=1.5,
        linecolor=mpl.rcParams["figure.facecolor"],
        xticklabels=readable_labels(keys),
        yticklabels=readable_labels(queries),
    )
    dark = mpl.rcParams["figure.facecolor"] == PAPER_DARK
    roles = ROLE_COLORS_DARK if dark else ROLE_COLORS
    ax.set_xlabel("key", color=roles["key"])
    ax.set_ylabel("query", color=roles["query"])
    # Names above the columns, as in a table.
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0, labelrotation=0)
    plt.setp(ax.get_xticklabels(), va="baseline")
    return ax


def show(fig: Figure, *, alt: str, light: bool = False) -> None:
    """Display a finished figure once, at twice its size in pixels, with alternative text.

    The alternative text is also the plain text of the output, so a terminal prints it and
    the chapter's verification compares it.

    Args:
        light: take 1.5 pixels instead of 2, and 32 colours, which is enough for boxes, arrows
            and words, at about half the bytes

    Raises:
        ValueError: alt is shorter than 20 characters
    """
    from IPython.display import display

    alt = " ".join(alt.split())
    if len(alt) < 20:
        raise ValueError(f"alt must say in at least 20 characters what is seen, got {alt!r}")
    pixel_ratio, colors = (1.5, 32) if light else (_PIXEL_RATIO, 256)
    raw = io.BytesIO()
    fig.savefig(raw, format="png", dpi=_CSS_DPI * pixel_ratio)
    plt.close(fig)
    # 256 colours are plenty for flat areas and letters, at a third of the bytes; and no
    # metadata is kept that would name the matplotlib version.
    image = Image.open(raw).convert("RGB").quantize(colors, dither=Image.Dither.NONE)
    small = io.BytesIO()
    image.save(small, format="png", optimize=True)
    size = {
        "width": round(image.width / pixel_ratio),
        "height": round(image.height / pixel_ratio),
    }
    display(  # type: ignore[no-untyped-call]
        {"image/png": base64.b64encode(small.getvalue()).decode("ascii"), "text/plain": alt},
        metadata={"image/png": {**size, "alt": alt}},
        raw=True,
    )
