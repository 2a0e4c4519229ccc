"""What is said to an answer. `question_check.js` says the same, and tests compare them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from attention_core.questions._reading import read_number

State = dict[str, Any]


@dataclass
class Verdict:
    """A reply, in HTML; whether the answer is right; the numbers of the blanks that are wrong."""

    reply: str
    right: bool = False
    wrong: list[int] = field(default_factory=list)


def verdict(state: State, given: Sequence[str]) -> Verdict:
    """Judge an answer by the state of a question, the one that is stored with the page.

    ``given`` is the texts of the fields: one for a number, one for each blank of a table, and for
    a choice the index of an option. A field that was left alone gives an empty text.
    """
    judge = {"number": _number, "choice": _choice, "cells": _cells}[state["kind"]]
    return judge(state, given)


def _number(state: State, given: Sequence[str]) -> Verdict:
    says = state["says"]
    values = read_number(given[0], state["unit"])
    if values is None:
        return Verdict(says["empty"])
    if not values:
        return Verdict(says["unreadable"])

    def distance(wanted: float) -> float:
        return min(abs(value - wanted) for value in values)

    if distance(state["answer"]) <= state["tolerance"]:
        return Verdict(says["right"], right=True)
    closest = None
    for wanted, reply in state["hints"]:
        far = distance(wanted)
        if far <= state["tolerance"] and (closest is None or far < closest[0]):
            closest = far, reply
    if closest:
        return Verdict(closest[1])
    if distance(state["answer"]) <= state["near"]:
        return Verdict(says["near"])
    return Verdict(says["otherwise"])


def _choice(state: State, given: Sequence[str]) -> Verdict:
    if given[0] == "":
        return Verdict(state["says"]["empty"])
    index = int(given[0])
    return Verdict(state["replies"][index], right=index == state["right"])


def _cells(state: State, given: Sequence[str]) -> Verdict:
    says = state["says"]
    read = [read_number(text) for text in given]
    if empty := [place for place, values in enumerate(read) if values is None]:
        return Verdict(says["empty"], wrong=empty)
    if unreadable := [place for place, values in enumerate(read) if not values]:
        return Verdict(says["unreadable"][unreadable[0]], wrong=unreadable)

    def fits(place: int, wanted: float | None) -> bool:
        return wanted is None or any(
            abs(value - wanted) <= state["tolerance"] for value in read[place] or []
        )

    wrong = [place for place, wanted in enumerate(state["answers"]) if not fits(place, wanted)]
    if not wrong:
        return Verdict(says["right"], right=True)
    for table, reply in state["hints"]:
        if all(fits(place, wanted) for place, wanted in enumerate(table)):
            return Verdict(reply, wrong=wrong)
    return Verdict(says["otherwise"][wrong[0]], wrong=wrong)
