"""The pen: shapes, arrows, numbers and words of the drawing, as SVG elements.

Classes begin with ``dr-``, so that no stylesheet of a page meets them. Colours and sizes of
type stand in ``drawing.css``; coordinates are CSS pixels on a phone 390 px wide.
"""

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise

from attention_core.drawing._text import CHINESE, classes, number, path, short

Row = Sequence[float]
Table = Sequence[Row]
Point = tuple[float, float]
#: For each part that an earlier chapter explains: the file of the chapter, and its title.
Links = Mapping[str, tuple[str, str]]

WIDTH = 354.0  # the text column of a phone 390 px wide
_SIZES = {"num": 11.5, "shape": 11.5, "verb": 14.0, "word": 16.0}  # other text: 12.5


class Pen:
    """Draws the parts of one scene, lit or grey; elements collect in ``out``.

    Shapes are placed by their upper left corner, text and chips by their middle.

    Args:
        lit: the names of the parts that are new, with blanks between them, or "all"
        links: where grey parts can lead to
        tight: leave out the zero before the point, for narrow columns
    """

    def __init__(self, lit: str, links: Links, *, tight: bool = False) -> None:
        self.lit, self.links, self.tight = frozenset(lit.split()), links, tight
        self.out: list[str] = []
        self.linked: dict[str, str] = {}
        self.grey = False

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Draw what follows as one part, lit or grey."""
        lit = "all" in self.lit or name in self.lit
        self.grey = not lit
        self.out.append(f'<g class="dr-{"lit" if lit else "grey"}">')
        yield
        self.out.append("</g>")

    @contextmanager
    def leading(self, part: str, name: str) -> Iterator[None]:
        """Make what follows, where it is grey, a link to the chapter of a part.

        All that is drawn under one name is one link, so that a keyboard stops there once.
        """
        if not self.grey or part not in self.links:
            yield
            return
        before, self.out = self.out, []
        yield
        page, title = self.links[part]
        # Of an SVG link, JupyterLab would try to rewrite an href, and fail.
        where = f'xlink:href="{page}" target="_blank"'
        start = f'<a {where} aria-label="{html.escape(f"{name}: {title}")}">'
        self.linked[name] = self.linked.get(name, start) + "".join(self.out)
        self.out = before

    # shapes

    def tag(self, name: str, kind: str, **values: float | str) -> None:
        """Draw one element; numbers are rounded to hundredths."""
        shown = (f'{k}="{v if isinstance(v, str) else short(v)}"' for k, v in values.items())
        self.out.append(f'<{name} class="{classes(kind)}" {" ".join(shown)}/>')

    def path(self, kind: str, *parts: str | float) -> None:
        """Draw a path of commands and coordinates."""
        self.tag("path", kind, d=path(*parts))

    def rect(
        self, kind: str, x: float, y: float, w: float, h: float, r: float = 0, shade: float = 0
    ) -> None:
        """Draw a rectangle with corners of radius r; ``shade`` is the opacity of its fill."""
        more: dict[str, float | str] = {"rx": r} if r else {}
        if shade:
            more["style"] = f"--o:{short(shade)}"
        self.tag("rect", kind, x=x, y=y, width=w, height=h, **more)

    def line(self, *points: Point, role: str = "", tip: bool = True) -> None:
        """Draw straight lines with round corners, and an arrow's tip at the end."""
        d = path("M", *points[0])
        for a, b, c in zip(points, points[1:], points[2:], strict=False):
            d += path("L", *_along(b, a, 7), "Q", *b, *_along(b, c, 7))
        (x, y), (bx, by) = points[-1], _along(points[-1], points[-2], 6.5 if tip else 0)
        self.tag("path", f"line {role}", d=d + path("L", bx, by))
        if tip:
            long = _distance((x, y), (bx, by))
            sx, sy = (by - y) / long * 3.6, (x - bx) / long * 3.6
            self.path(f"tip {role}", "M", x, y, "L", bx + sx, by + sy, "L", bx - sx, by - sy, "z")

    def lines(self, xs: Row, y: float, end: float) -> None:
        """Draw lanes, all in one path."""
        self.tag("path", "line", d="".join(path("M", x, y, "V", end) for x in xs))

    def chip(self, x: float, y: float, name: str, w: float, role: str = "") -> None:
        """Draw the name of an operation, to sit on its arrow."""
        self.rect(f"chip {role}", x - w / 2, y - 10.5, w, 21, 10.5)
        self.text(x, y, name, raw=True)

    def disc(self, x: float, y: float, name: str) -> None:
        """Draw a mark with a number in it."""
        self.tag("circle", "chip", cx=x, cy=y, r=10)
        self.text(x, y, name, "num")

    def down(self, x: float, y: float, end: float, name: str, w: float) -> None:
        """Draw an arrow downwards through the name of its operation."""
        mid = (y + end) / 2 - 2
        self.line((x, y), (x, mid - 10.5), tip=False)
        self.line((x, mid + 10.5), (x, end))
        self.chip(x, mid, name, w)

    def plus(self, xs: Row, y: float, r: float = 7) -> None:
        """Draw an addition on each lane."""
        a = r * 0.55
        for x in xs:
            self.tag("circle", "edge paper", cx=x, cy=y, r=r)
        signs = (path("M", x - a, y, "h", 2 * a, "M", x, y - a, "v", 2 * a) for x in xs)
        self.tag("path", "line", d="".join(signs))

    def norm(self, xs: Row, y: float, w: float, h: float) -> None:
        """Draw a norm on each lane."""
        r, flat = h / 2, w - h
        turn = ("a", r, r, 0, 0, 1, 0)
        pills = (
            path("M", x - flat / 2, y - r, "h", flat, *turn, h, "h", -flat, *turn, -h, "z")
            for x in xs
        )
        self.tag("path", "pill", d="".join(pills))

    def dots(self, xs: Row, y: float, r: float) -> None:
        """Mark where a branch leaves the lanes."""
        turn = ("a", r, r, 0, 0, 1, 0)
        marks = (path("M", x, y - r, *turn, 2 * r, *turn, -2 * r, "z") for x in xs)
        self.tag("path", "tip", d="".join(marks))

    def feed(self, xs: Row, y: float, w: float, h: float) -> None:
        """Draw a feed-forward layer for each token alone: from narrow to wide and back."""
        s, half = w * 0.16, h / 2
        side = w / 2 - s
        shapes = (
            path("M", x - s, y, "h", 2 * s, "l", side, half, -side, half)
            + path("h", -2 * s, "l", -side, -half, "z")
            for x in xs
        )
        self.tag("path", "edge fill", d="".join(shapes))

    # numbers

    def strip(
        self, x: float, y: float, cells: Row | int, role: str, w: float, h: float,
        *, across: bool = False, focus: bool = False, decimals: int | None = None
    ) -> None:  # fmt: skip
        """Draw a vector: cells downwards, or across; a mere count draws empty cells."""
        n = cells if isinstance(cells, int) else len(cells)
        dx, dy = (w, 0.0) if across else (0.0, h)
        if n > 1:
            step = ("v", h) if across else ("h", w)
            rules = (path("M", x + dx * i, y + dy * i, *step) for i in range(1, n))
            self.tag("path", f"rule {role}", d="".join(rules))
        kind = f"edge fill {'focus' if focus else ''} {role}"
        self.rect(kind, x, y, w * n if across else w, h if across else h * n, 3)
        if not isinstance(cells, int):
            for i, cell in enumerate(cells):
                shown = number(cell, decimals, tight=self.tight)
                self.text(x + dx * i + w / 2, y + dy * i + h / 2, shown, "num")

    def columns(self, xs: Row, y: float, n: int, w: float, h: float) -> None:
        """Draw a column of n empty cells in the middle of each lane."""
        r, high = 3.0, n * h
        rules, frames = "", ""
        for x in xs:
            left, flat, tall = x - w / 2, w - 2 * r, high - 2 * r
            rules += "".join(path("M", left, y + h * i, "h", w) for i in range(1, n))
            frames += path("M", left + r, y, "h", flat, "a", r, r, 0, 0, 1, r, r, "v", tall)
            frames += path("a", r, r, 0, 0, 1, -r, r, "h", -flat, "a", r, r, 0, 0, 1, -r, -r)
            frames += path("v", -tall, "a", r, r, 0, 0, 1, r, -r, "z")
        self.tag("path", "rule", d=rules)
        self.tag("path", "edge fill", d=frames)

    def table(
        self, x: float, y: float, rows: Table, role: str, w: float, h: float, focus: int
    ) -> None:
        """Draw a row for each query, a column for each key; weights are shaded by size."""
        n, m = len(rows), len(rows[0])
        for i, row in enumerate(rows):
            for j, v in enumerate(row):
                shade = 0.05 + 0.4 * v if role == "w" else 0.16 if i == focus else 0.06
                at = (x + w * j, y + h * i, w, h)
                self.rect(f"fill {role}", *at, shade=0.9 if math.isinf(v) else shade)
        d = "".join(path("M", x, y + h * i, "h", w * m) for i in range(1, n))
        d += "".join(path("M", x + w * j, y, "v", h * n) for j in range(1, m))
        self.tag("path", f"rule {role}", d=d)
        self.rect(f"edge {role}", x, y, w * m, h * n, 3)
        if n > 1:
            self.rect(f"edge focus {role}", x, y + h * focus, w * m, h, 3)
        for i, row in enumerate(rows):
            for j, v in enumerate(row):
                kind = "num hidden" if math.isinf(v) else "num"
                shown = number(v, tight=self.tight)
                self.text(x + w * (j + 0.5), y + h * (i + 0.5), shown, kind)

    def weights(self, x: float, y: float, rows: Table, w: float, h: float) -> None:
        """Draw an attention seen from afar: its weights; weights of 0 are left out."""
        cells: dict[str, str] = {}  # those of the same shade are one path
        for i, row in enumerate(rows):
            for j, v in enumerate(row):
                if v > 0:
                    shade = short(0.06 + 0.62 * v / max(row))
                    cell = path("M", x + w * j, y + h * i, "h", w, "v", h, "h", -w, "z")
                    cells[shade] = cells.get(shade, "") + cell
        for shade, d in cells.items():
            self.tag("path", "fill w", style=f"--o:{shade}", d=d)
        self.tag("path", "rule w", d="".join(cells.values()))

    # words

    def text(
        self, x: float, y: float, content: str, kind: str = "",
        *, raw: bool = False, turn: bool = False
    ) -> None:  # fmt: skip
        """Write text with its middle at height y; ``start`` and ``end`` set which end is at x.

        With ``turn`` it runs upwards.
        """
        size = next((_SIZES[k] for k in kind.split() if k in _SIZES), 12.5)
        named = f' class="{classes(kind)}"' if kind else ""
        body = content if raw else html.escape(content)
        if CHINESE.fullmatch(content):
            named += ' lang="zh"'
        else:
            body = CHINESE.sub(r'<tspan lang="zh">\g<0></tspan>', body)
        x, y = (x + 0.36 * size, y) if turn else (x, y + 0.36 * size)
        turned = f' transform="rotate(-90 {short(x)} {short(y)})"' if turn else ""
        self.out.append(f'<text{named} x="{short(x)}" y="{short(y)}"{turned}>{body}</text>')

    def verb(self, x: float, y: float, content: str, kind: str = "start") -> None:
        """Write what an arrow does."""
        self.text(x, y, content, f"verb {kind}")

    def noun(
        self, x: float, y: float, name: str, shape: str, kind: str, *, flat: bool = False
    ) -> None:
        """Write what a thing is called, and its shape below the name or behind it."""
        if flat:
            name += f' <tspan class="dr-shape">{shape}</tspan>'
            self.text(x, y, name, f"noun {kind}", raw=True)
            return
        self.text(x, y - 8, name, f"noun {kind}", raw=True)
        self.text(x, y + 8, shape, "shape " + ("end" if "end" in kind.split() else "start"))

    def total(self, x: float, y: float, pairs: Sequence[Point], result: float, per: int) -> None:
        """Write a sum of products in lines that end at x, ``per`` products in each."""
        terms = [f"{number(a)}·{number(b)}" for a, b in pairs]
        lines = [" + ".join(terms[i : i + per]) for i in range(0, len(terms), per)]
        lines = [("+ " if i else "") + line for i, line in enumerate(lines)]
        lines[-1] += f' = <tspan class="dr-bold">{number(result)}</tspan>'
        for i, line in enumerate(lines):
            self.text(x, y + 17 * (i - (len(lines) - 1) / 2), line, "num end", raw=True)


def bridge(pen: Pen, xs: Row, y: float, r: float) -> None:
    """Join sums of radius r on neighbouring lanes."""
    d = "".join(path("M", a + r, y, "H", b - r) for a, b in pairwise(xs))
    pen.tag("path", "line", d=d)


def _distance(a: Point, b: Point) -> float:
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2)


def _along(a: Point, b: Point, r: float) -> Point:
    """Return the point at distance r from a towards b, at most half-way."""
    long = _distance(a, b)
    t = min(r, long / 2) / long
    return a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t
