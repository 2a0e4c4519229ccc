"""The numbers of a question: what is right, how close is close enough, how they are written."""

import math
from collections.abc import Iterable
from typing import Any

# A number rounded to d decimals is off by at most half a unit of the last, and floats a bit more.
_HALF = 0.500001
_EXACT = 1e-9


def number(value: Any, name: str) -> float | int:
    """Return a Python number, a tensor or a NumPy array without axes as a Python number.

    >>> number(torch.tensor(2.5), "answer"), number(True, "answer")
    Traceback (most recent call last):
    ...
    ValueError: answer must be a finite number, got True
    """
    plain = value.item() if getattr(value, "shape", None) == () else value
    if isinstance(plain, bool) or not isinstance(plain, (int, float)) or not math.isfinite(plain):
        raise ValueError(f"{name} must be a finite number, got {value!r}")
    return plain


class Precision:
    """How close to the right number an answer must be; ``digits`` decimals, or ``tolerance``.

    >>> Precision([0.4223], digits=2, tolerance=None).text(0.4223)
    '0.42'
    """

    def __init__(
        self, values: Iterable[float], *, digits: int | None, tolerance: float | None
    ) -> None:
        if digits is not None and tolerance is not None:
            raise ValueError("give digits or tolerance, not both")
        self.digits = digits
        if digits is not None:
            if isinstance(digits, bool) or not isinstance(digits, int) or not 0 <= digits <= 12:
                raise ValueError(f"digits must be an integer from 0 to 12, got {digits!r}")
            self.tolerance = _shorter(_HALF * 10.0**-digits)
            self.places = digits
        elif tolerance is not None:
            self.tolerance = float(number(tolerance, "tolerance"))
            if self.tolerance <= 0:
                raise ValueError(f"tolerance must be positive, got {tolerance}")
            self.places = max(0, math.floor(-math.log10(2 * self.tolerance) + 1e-6))
        else:
            odd = [value for value in values if value != round(value)]
            if odd:
                raise ValueError(
                    f"say how close to {odd[0]:.6g} an answer must be: digits=2, for example"
                )
            self.tolerance, self.places = _EXACT, 0

    def rounded(self, value: float) -> float | int:
        """Return the number as it is stored: the last bits of a float depend on the machine."""
        stored = round(value, self.places + 4)
        return int(stored) if stored == int(stored) else stored

    def text(self, value: float) -> str:
        """Return the number as the answer shows it."""
        return number_text(value, self.places)


def number_text(value: float, places: int) -> str:
    """Return a number in fixed decimals, with a minus sign and not a hyphen; zero has no sign.

    >>> number_text(-2.5, 2), number_text(-0.001, 2)
    ('−2.50', '0.00')
    """
    text = f"{value:.{places}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def _shorter(value: float) -> float:
    return float(f"{value:.6g}")


def as_text(value: Any) -> str:
    """Return an answer that was given in Python as the text that a reader would type."""
    if value is None or value is ...:
        return ""
    if isinstance(value, str):
        return value
    try:
        return repr(number(value, "answer"))
    except ValueError:
        return "no number"


def table(values: Any, name: str) -> list[list[Any]]:
    """Return a table of numbers or None as lists, or raise an error."""
    rows = values.tolist() if hasattr(values, "tolist") else values
    try:
        made = [list(row) for row in rows]
    except TypeError:
        raise ValueError(f"{name} must be a table, a list of rows, got {values!r}") from None
    if not made or not made[0] or len({len(row) for row in made}) > 1:
        raise ValueError(f"{name} must have rows of one length, got {values!r}")
    return [
        [None if cell is None or cell is ... else number(cell, name) for cell in row]
        for row in made
    ]
