"""Numbers as people write them. `question_check.js` reads them in the same way."""

import math
import re

_SPACES = "[\t-\r \x85\xa0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]+"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")
_GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:[.][0-9]+)?")


def _plain(text: str) -> str:
    """Return the text with ASCII digits and signs, and without spaces around it."""
    text = re.sub("[\uff01-\uff5e]", lambda wide: chr(ord(wide[0]) - 0xFEE0), text)
    text = re.sub("[\u2010-\u2013\u2212\ufe63]", "-", text)
    text = re.sub("[\u2044\u2215]", "/", text)
    text = text.replace("\u3002", ".")
    return re.sub(_SPACES, " ", text).strip(" ")


def _values(text: str) -> list[float]:
    """Return what a number without fraction and percent may mean: 1,000 has two meanings."""
    found = []
    if _NUMBER.fullmatch(text):
        found.append(float(text.replace(",", ".")))
    if _GROUPS.fullmatch(text):
        found.append(float(text.replace(",", "")))
    return [value for value in found if math.isfinite(value)]


def read_number(text: str, unit: str = "") -> list[float] | None:
    """Return the numbers that a text may mean: none if it is no number, None if it is empty.

    >>> read_number(" −0,5"), read_number("42 %"), read_number("1/4"), read_number(".5")
    ([-0.5], [0.42], [0.25], [0.5])
    >>> read_number("1,000"), read_number("10 000"), read_number("42 %", unit="%")
    ([1.0, 1000.0], [10000.0], [42.0])
    >>> read_number("many"), read_number("nan"), read_number("1/0"), read_number(" ")
    ([], [], [], None)
    """
    text = _plain(text)
    if not text:
        return None
    if unit and text.endswith(unit):
        text = text[: len(text) - len(unit)].strip(" ")
    percent = text.endswith("%")
    if percent:
        text = text[:-1].strip(" ")
    text = re.sub("([0-9]) (?=[0-9]{3}(?![0-9]))", r"\1", text)
    parts = [_values(part.strip(" ")) for part in text.split("/")]
    if len(parts) > 2 or not all(parts):
        return []
    values = parts[0]
    if len(parts) == 2:
        values = [values[0] / parts[1][0]] if parts[1][0] else []
    if percent:
        values = [value / 100 for value in values]
    return [value for value in values if math.isfinite(value)]
