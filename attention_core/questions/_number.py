"""The question that is answered by a number."""

import html
from collections.abc import Iterable, Mapping
from typing import Any

from attention_core.questions import _texts
from attention_core.questions._numbers import Precision, as_text
from attention_core.questions._numbers import number as plain_number
from attention_core.questions._question import Question, right_reply, wrong_reply
from attention_core.questions._verdicts import State, verdict
from attention_core.questions._words import WORDS


class _Number(Question):
    def _given(self, answer: Any) -> list[str]:
        return [as_text(answer)]


def number(
    text: str,
    answer: Any,
    *,
    digits: int | None = None,
    tolerance: float | None = None,
    unit: str = "",
    right: str | None = None,
    hints: Mapping[Any, str] | Iterable[tuple[Any, str]] = (),
    otherwise: str | None = None,
) -> Question:
    """Ask for a number.

    It may be typed as 0.42, 0,42, .42, 42 %, 1/3, −3 or 10 000. An answer that was rounded to
    ``digits`` decimals, or is within ``tolerance`` of the right one, is right; without both it
    must be the right integer. An answer that is off by up to ten times as much is called close,
    if ``digits`` are given and no hint fits.

    Args:
        text: the question
        answer: a number or a tensor without axes, computed by the chapter
        unit: what stands behind the field; with "%" the answer is in percent
        right: the reply to a right answer, which begins with "Right"
        hints: a reply for each wrong number that is to be expected
        otherwise: the reply to all other numbers

    Raises:
        ValueError: a reply could never be given, or to a right answer; the precision is not said

    >>> share = torch.tensor(0.4223)
    >>> question = number(
    ...     "What weight does 早 get?", share, digits=2,
    ...     right="Right: the softmax of 11, 11 and 10.",
    ...     hints={11 / 32: "You divided by the sum; softmax takes exponentials first."},
    ... )
    >>> question
    Question: What weight does 早 get?
    Answer: 0.42
    >>> question.check("0,42")
    'Right: the softmax of 11, 11 and 10.'
    >>> question.check(11 / 32)
    'You divided by the sum; softmax takes exponentials first.'
    >>> question.check(0.4), question.check(...)
    ('Close, but not to 2 decimals.', 'Your turn: replace the dots.')
    """
    text = _texts.tidy(text, "text")
    value = plain_number(answer, "answer")
    pairs = list(hints.items() if isinstance(hints, Mapping) else hints)
    wanted = [(plain_number(key, "a number in hints"), said) for key, said in pairs]
    precision = Precision([value], digits=digits, tolerance=tolerance)
    near = ""
    if digits:
        decimals = WORDS["one decimal"] if digits == 1 else WORDS["decimals"].format(digits=digits)
        near = WORDS["near"].format(decimals=decimals)
    numbers = [value, *(key for key, _ in wanted)]
    made_hints = [
        (precision.rounded(key), _texts.to_html(wrong_reply(said, "a reply in hints")))
        for key, said in wanted
    ]
    reply = right_reply(right)
    state: State = {
        "kind": "number",
        "answer": precision.rounded(value),
        "tolerance": precision.tolerance,
        # 0: an answer that is no nearer than that is never called close.
        "near": 10 * precision.tolerance if digits else 0,
        "unit": unit,
        # The keyboard for decimals that phones show has no minus sign.
        "signed": any(number < 0 for number in numbers),
        "hints": made_hints,
        "says": {
            "right": _texts.to_html(reply),
            "near": html.escape(near),
            "otherwise": _texts.to_html(wrong_reply(otherwise, "otherwise")),
            "empty": html.escape(WORDS["no number"]),
            "unreadable": html.escape(WORDS["unreadable"]),
        },
    }
    shown = precision.text(value) + (f" {unit}" if unit else "")
    question = _Number(text, state, answer=shown, right=reply)
    for key, (stored, said) in zip(wanted, made_hints, strict=True):
        if verdict(state, [as_text(stored)]).reply != said:
            raise ValueError(
                f"hints has a reply to {key[0]:.6g} that is never given: the number is right, "
                "or another hint is within the tolerance"
            )
    return question
