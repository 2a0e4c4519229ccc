"""How a day is written in English and in Chinese: the texts of the translation task."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from attention_core import _options

FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)

_DIGITS = "〇一二三四五六七八九"
_YEAR_DIGITS = str.maketrans("0123456789", _DIGITS)
_MONTHS = [
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
]  # fmt: skip
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def chinese_number(number: int) -> str:
    """Write a number from 1 to 99 in Chinese.

    Raises:
        ValueError: number is not between 1 and 99
        TypeError: number is not an int

    >>> [chinese_number(n) for n in (3, 10, 11, 20, 29)]
    ['三', '十', '十一', '二十', '二十九']
    """
    number = _options.check_count("number", number, minimum=1)
    if number > 99:
        raise ValueError(f"number must be at most 99, got {number}")
    tens, ones = divmod(number, 10)
    ten = "" if tens == 0 else "十" if tens == 1 else _DIGITS[tens] + "十"
    return ten + (_DIGITS[ones] if ones else "")


def chinese_date(day: date) -> str:
    """Write the day in Chinese.

    Raises:
        ValueError: day is not between 1900 and 2099
        TypeError: day is not a plain date

    >>> chinese_date(date(2026, 11, 29))
    '二〇二六年十一月二十九日'
    """
    _check_day(day)
    year = str(day.year).translate(_YEAR_DIGITS)
    return f"{year}年{chinese_number(day.month)}月{chinese_number(day.day)}日"


def _check_day(day: date) -> None:
    # Not isinstance: a datetime is a date, but prints its time and never equals a date.
    if type(day) is not date:
        raise TypeError(f"day must be a datetime.date, got {type(day).__name__} {day!r}")
    if not FIRST <= day <= LAST:
        raise ValueError(f"day must lie between {FIRST} and {LAST}, got {day}")


def _ordinal(n: int) -> str:
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(0 if n // 10 == 1 else n % 10, "th")
    return f"{n}{suffix}"


def _month(day: date) -> str:
    return _MONTHS[day.month - 1]


def _weekday(day: date) -> str:
    return _WEEKDAYS[day.weekday()]


#: The ways of writing one day; each gives the English text.
DAY_FORMS: dict[str, Callable[[date], str]] = {
    "day first": lambda d: f"{d.day} {_month(d)} {d.year}",
    "month first": lambda d: f"{_month(d)} {d.day}, {d.year}",
    "short": lambda d: f"{d.day} {_month(d)[:3]} {d.year}",
    "ordinal": lambda d: f"the {_ordinal(d.day)} of {_month(d)} {d.year}",
    "iso": lambda d: d.isoformat(),
    "weekday": lambda d: f"{_weekday(d)}, {d.day} {_month(d)} {d.year}",
}
#: All forms: those of one day, and a range from one day to a later one of the same year.
FORMS = (*DAY_FORMS, "range")


@dataclass(frozen=True)
class Example:
    """Hold a text to translate, its one right translation, its form and its days.

    See chapter 10 of the book.

    >>> example = write([date(2026, 5, 3)], "weekday")
    >>> example.source, example.target
    ('Sunday, 3 May 2026', '二〇二六年五月三日星期日')
    """

    source: str
    target: str
    form: str
    days: tuple[date, ...]


def write(days: Sequence[date], form: str) -> Example:
    """Make an example in one of `FORMS`: of one day, or of two for a range.

    Raises:
        ValueError: form is unknown, the number of days does not fit it, a day is not between
            1900 and 2099, or the days of a range are not in order and in one year
        TypeError: days is not a sequence, or a day is not a plain date

    >>> write([date(2026, 5, 3), date(2026, 6, 7)], "range").source
    'from 3 May to 7 June 2026'
    >>> write([date(2026, 5, 3), date(2026, 5, 7)], "range").target
    '二〇二六年五月三日至七日'
    """
    if isinstance(days, str) or not isinstance(days, Sequence):
        raise TypeError(f"days must be a list of dates, got {type(days).__name__} {days!r}")
    if form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(FORMS)}, got {form!r}")
    wanted = 2 if form == "range" else 1
    if len(days) != wanted:
        raise ValueError(f"days must be {wanted} for the form {form!r}, got {len(days)}")
    for day in days:
        _check_day(day)
    first, last = days[0], days[-1]
    target = chinese_date(first)
    if form == "range":
        if first >= last or first.year != last.year:
            raise ValueError(f"days must run forward within a year, got {first} to {last}")
        # What both days share is written once: the year always, the month if it is the same.
        if first.month == last.month:
            source = f"{first.day}–{last.day} {_month(last)} {last.year}"
            target += f"至{chinese_number(last.day)}日"
        else:
            source = f"from {first.day} {_month(first)} to {last.day} {_month(last)} {last.year}"
            target += f"至{chinese_number(last.month)}月{chinese_number(last.day)}日"
    else:
        source = DAY_FORMS[form](first)
        if form == "weekday":
            target += "星期" + "一二三四五六日"[first.weekday()]
    return Example(source, target, form, tuple(days))


def check_examples(name: str, examples: Sequence[Example]) -> None:
    """Check that ``examples`` is a sequence of at least one `Example`."""
    if not isinstance(examples, Sequence) or not all(isinstance(x, Example) for x in examples):
        kinds = {type(x).__name__ for x in examples} if isinstance(examples, (list, tuple)) else ()
        of = f" of {' and '.join(sorted(kinds))}" if kinds else ""
        raise TypeError(f"{name} must be a list of Example, got {type(examples).__name__}{of}")
    if not examples:
        raise ValueError(f"{name} must hold at least one, got none")


def join(parts: Sequence[Example]) -> Example:
    """Join several examples into one longer text.

    Raises:
        ValueError: there is no example
        TypeError: parts is not a sequence of `Example`

    >>> both = [write([date(2026, 5, 3)], "iso"), write([date(2026, 5, 4)], "short")]
    >>> join(both).source
    '2026-05-03; 4 May 2026'
    """
    check_examples("parts", parts)
    return Example(
        "; ".join(part.source for part in parts),
        "；".join(part.target for part in parts),
        "; ".join(part.form for part in parts),
        tuple(day for part in parts for day in part.days),
    )
