"""The pen: shapes, arrows, numbers and words of the drawing, as SVG elements.

Classes begin with ``dr-``, so that no stylesheet of a page meets them. Colours and sizes of
type stand in ``drawing.css``; coordinates are CSS pixels on a phone 390 px wide.
"""

import html
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import ROUND_HALF_UP, Decimal

Row = Sequence[float]
Table = Sequence[Row]
Point = tuple[float, float]
#: For each part that an earlier chapter explains: the file of the chapter, and its title.
Links = Mapping[str, tuple[str, str]]

WIDTH = 354.0  # the text column of a phone 390 px wide
_SIZES = {"num": 11.5, "shape": 11.5, "verb": 14.0, "word": 16.0}  # other text: 12.5
_SCRIPTED = re.compile(r"([A-Za-z]+|[^\w^]|\d+)(?:([\^_])(\w+|⊤))?")


def math_text(source: str) -> str:
    """Return ``W^q`` or ``√d_k`` as SVG text: letters in italics, marks raised or lowered."""
    out = []
    for base, mark, script in _SCRIPTED.findall(source):
        letter = len(base) == 1 and base.isalpha()
        out.append(f'<tspan class="dr-math">{base}</tspan>' if letter else html.escape(base))
        if mark:
            dy = -4.5 if mark == "^" else 3.0
            kind = "mark math" if script.isascii() and script.isalpha() else "mark"
            out.append(f'<tspan class="{_classes(kind)}" dy="{_n(dy)}">{script}</tspan>')
    return "".join(out)


def rounded(x: float, decimals: int) -> str:
    """Round half up, the same on every machine: 1.495 is 1.50 even where it is 1.49499999….

    >>> rounded(1.495, 2), rounded(-0.001, 2), rounded(11.0, 0)
    ('1.50', '0.00', '11')
    """
    exact = Decimal(f"{x:.9f}")
    text = str(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))
    return text.lstrip("-") if not Decimal(text) else text


def number(x: float, decimals: int | None = None, *, tight: bool = False) -> str:
    """Return a number as the drawing shows it: two decimals, whole numbers none, a true minus.

    >>> number(0.42231), number(11.0), number(-0.5, tight=True), number(float("-inf"))
    ('0.42', '11', '−.50', '−∞')
    """
    if math.isinf(x):
        return "−∞" if x < 0 else "∞"
    if decimals is None:
        decimals = 0 if float(x).is_integer() else 2
    text = rounded(x, decimals).replace("-", "−")
    return text.replace("0.", ".") if tight and text.startswith(("0.", "−0.")) else text


def _n(x: float) -> str:
    """Write a coordinate with at most two decimals."""
    return f"{round(x, 2) + 0.0:g}"


def _classes(names: str) -> str:
    return " ".join(f"dr-{name}" for name in names.split())


class Pen:
    """Draws the parts of one scene, lit or grey; elements collect in ``out``.

    Shapes are placed by their upper left corner, text and chips by their middle.

    Args:
        lit: the names of the parts that are new, with blanks between them, or "all"
        links: where the grey parts lead to
        tight: leave out the zero before the point, for narrow columns
    """

    def __init__(self, lit: str, links: Links, *, tight: bool = False) -> None:
        self.lit, self.links, self.tight = frozenset(lit.split()), links, tight
        self.out: list[str] = []
        self.linked: dict[str, str] = {}
        self.link: tuple[str, str] | None = None

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Draw what follows as one part, lit or grey."""
        lit = "all" in self.lit or name in self.lit
        self.link = None if lit else self.links.get(name)
        self.out.append(f'<g class="dr-{"lit" if lit else "grey"}">')
        yield
        self.out.append("</g>")

    @contextmanager
    def leading(self, name: str) -> Iterator[None]:
        """Make what follows a link to the chapter of a grey part.

        All that is drawn under one name is one link, so that a keyboard stops there once.
        """
        if not self.link:
            yield
            return
        before, self.out = self.out, []
        yield
        page, title = self.link
        start = f'<a href="{page}" aria-label="{html.escape(f"{name}: {title}")}">'
        self.linked[name] = self.linked.get(name, start) + "".join(self.out)
        self.out = before

    # shapes

    def tag(self, name: str, kind: str, **values: float | str) -> None:
        """Draw one element; numbers are rounded to hundredths."""
        shown = (f'{k}="{v if isinstance(v, str) else _n(v)}"' for k, v in values.items())
        self.out.append(f'<{name} class="{_classes(kind)}" {" ".join(shown)}/>')

    def rect(
        self, kind: str, x: float, y: float, w: float, h: float, r: float = 0, shade: float = 0
    ) -> None:
        """Draw a rectangle with corners of radius r; ``shade`` is the opacity of its fill."""
        more: dict[str, float | str] = {"rx": r} if r else {}
        if shade:
            more["style"] = f"--o:{_n(shade)}"
        self.tag("rect", kind, x=x, y=y, width=w, height=h, **more)

    def line(self, *points: Point, role: str = "", tip: bool = True) -> None:
        """Draw straight lines with round corners, and an arrow's tip at the end."""
        d = f"M{_n(points[0][0])} {_n(points[0][1])}"
        for a, b, c in zip(points, points[1:], points[2:], strict=False):
            (px, py), (qx, qy) = _along(b, a, 7), _along(b, c, 7)
            d += f"L{_n(px)} {_n(py)}Q{_n(b[0])} {_n(b[1])} {_n(qx)} {_n(qy)}"
        (x, y), (bx, by) = points[-1], _along(points[-1], points[-2], 6.5 if tip else 0)
        self.tag("path", f"line {role}", d=f"{d}L{_n(bx)} {_n(by)}")
        if tip:
            long = _distance((x, y), (bx, by))
            sx, sy = (by - y) / long * 3.6, (x - bx) / long * 3.6
            d = f"M{_n(x)} {_n(y)}L{_n(bx + sx)} {_n(by + sy)}L{_n(bx - sx)} {_n(by - sy)}z"
            self.tag("path", f"tip {role}", d=d)

    def lines(self, xs: Row, y: float, end: float) -> None:
        """Draw lanes, all in one path."""
        self.tag("path", "line", d="".join(f"M{_n(x)} {_n(y)}V{_n(end)}" for x in xs))

    def chip(self, x: float, y: float, name: str, w: float, role: str = "") -> None:
        """Draw the name of an operation, to sit on its arrow."""
        self.rect(f"chip {role}", x - w / 2, y - 10.5, w, 21, 10.5)
        self.text(x, y, name, raw=True)

    def down(self, x: float, y: float, end: float, name: str, w: float) -> None:
        """Draw an arrow downwards through the name of its operation."""
        mid = (y + end) / 2 - 2
        self.line((x, y), (x, mid - 10.5), tip=False)
        self.line((x, mid + 10.5), (x, end))
        self.chip(x, mid, name, w)

    def plus(self, x: float, y: float, r: float = 7) -> None:
        """Draw an addition on a lane."""
        a = r * 0.55
        self.tag("circle", "edge paper", cx=x, cy=y, r=r)
        d = f"M{_n(x - a)} {_n(y)}h{_n(2 * a)}M{_n(x)} {_n(y - a)}v{_n(2 * a)}"
        self.tag("path", "line", d=d)

    def norm(self, x: float, y: float, w: float, h: float) -> None:
        """Draw a norm on a lane."""
        self.rect("pill", x - w / 2, y - h / 2, w, h, h / 2)

    def dots(self, xs: Row, y: float, r: float) -> None:
        """Mark where a branch leaves the lanes."""
        for x in xs:
            self.tag("circle", "tip", cx=x, cy=y, r=r)

    def feed(self, x: float, y: float, w: float, h: float) -> None:
        """Draw a feed-forward layer for one token: from narrow to wide and back."""
        s, t = w * 0.16, w / 2
        d = f"M{_n(x - s)} {_n(y)}h{_n(2 * s)}l{_n(t - s)} {_n(h / 2)}l{_n(s - t)} {_n(h / 2)}"
        self.tag("path", "edge fill", d=f"{d}h{_n(-2 * s)}l{_n(s - t)} {_n(-h / 2)}z")

    # numbers

    def strip(
        self, x: float, y: float, cells: Row | int, role: str, w: float, h: float,
        *, across: bool = False, focus: bool = False, decimals: int | None = None
    ) -> None:  # fmt: skip
        """Draw a vector: cells downwards, or across; a mere count draws empty cells."""
        n = cells if isinstance(cells, int) else len(cells)
        dx, dy = (w, 0.0) if across else (0.0, h)
        if n > 1:
            step = f"v{_n(h)}" if across else f"h{_n(w)}"
            d = "".join(f"M{_n(x + dx * i)} {_n(y + dy * i)}{step}" for i in range(1, n))
            self.tag("path", f"rule {role}", d=d)
        kind = f"edge fill {'focus' if focus else ''} {role}"
        self.rect(kind, x, y, w * n if across else w, h if across else h * n, 3)
        if not isinstance(cells, int):
            for i, cell in enumerate(cells):
                shown = number(cell, decimals, tight=self.tight)
                self.text(x + dx * i + w / 2, y + dy * i + h / 2, shown, "num")

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
        d = "".join(f"M{_n(x)} {_n(y + h * i)}h{_n(w * m)}" for i in range(1, n))
        d += "".join(f"M{_n(x + w * j)} {_n(y)}v{_n(h * n)}" for j in range(1, m))
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
        d = ""
        for i, row in enumerate(rows):
            for j, v in enumerate(row):
                if v > 0:
                    at = (x + w * j, y + h * i)
                    self.rect("fill w", *at, w, h, shade=0.06 + 0.62 * v / max(row))
                    d += f"M{_n(at[0])} {_n(at[1])}h{_n(w)}v{_n(h)}h{_n(-w)}z"
        self.tag("path", "rule w", d=d)

    # words

    def text(self, x: float, y: float, content: str, kind: str = "", *, raw: bool = False) -> None:
        """Write text with its middle at height y; ``start`` and ``end`` set which end is at x."""
        size = next((_SIZES[k] for k in kind.split() if k in _SIZES), 12.5)
        named = f' class="{_classes(kind)}"' if kind else ""
        body = content if raw else html.escape(content)
        self.out.append(f'<text{named} x="{_n(x)}" y="{_n(y + 0.36 * size)}">{body}</text>')

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


def _distance(a: Point, b: Point) -> float:
    return math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2)


def _along(a: Point, b: Point, r: float) -> Point:
    """Return the point at distance r from a towards b, at most half-way."""
    long = _distance(a, b)
    t = min(r, long / 2) / long
    return a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t
