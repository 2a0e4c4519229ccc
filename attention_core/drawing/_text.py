"""Numbers and formulas as the drawing writes them."""

import html
import math
import re
from decimal import ROUND_HALF_UP, Decimal

CHINESE = re.compile("[\u3400-\u9fff]+")
_SCRIPTED = re.compile(r"([A-Za-z]+|[^\w^]|\d+)(?:([\^_])(\w+|⊤))?")


def math_text(source: str) -> str:
    """Return ``W^q`` or ``√d_k`` as SVG text: letters in italics, marks raised or lowered."""
    out, back = [], 0.0  # back: how far the next letter must move to stand on the line
    for base, mark, script in _SCRIPTED.findall(source):
        kind = ' class="dr-math"' if len(base) == 1 and base.isalpha() else ""
        down = f' dy="{short(back)}"' if back else ""
        piece = html.escape(base)
        out.append(f"<tspan{kind}{down}>{piece}</tspan>" if kind or down else piece)
        back = 0.0
        if mark:
            dy = -4.5 if mark == "^" else 3.0
            names = "mark math" if script.isascii() and script.isalpha() else "mark"
            out.append(f'<tspan class="{classes(names)}" dy="{short(dy)}">{script}</tspan>')
            back = -dy
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
        decimals = 0 if abs(x - round(x)) < 1e-9 else 2
    text = rounded(x, decimals).replace("-", "−")
    return text.replace("0.", ".") if tight and text.startswith(("0.", "−0.")) else text


def short(x: float) -> str:
    """Write a coordinate with at most two decimals."""
    return f"{round(x, 2) + 0.0:g}"


def classes(names: str) -> str:
    return " ".join(f"dr-{name}" for name in names.split())


def path(*parts: str | float) -> str:
    """Write the data of a path, from letters of commands and coordinates.

    >>> path("M", 1, 2.5, "h", -3.333, "z")
    'M1 2.5h-3.33z'
    """
    data = ""
    for part in parts:
        shown = part if isinstance(part, str) else short(part)
        between = " " if data and not (data[-1].isalpha() or shown[0].isalpha()) else ""
        data += between + shown
    return data
