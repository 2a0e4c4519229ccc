"""The stored state of a question, read from its HTML."""

from __future__ import annotations

import html
import json
import re
from typing import Any

_STORED = re.compile(
    r'<div class="question" data-question="(\w+)"><script type="application/json">(.*?)</script>'
    r"(.*?)</details></div>",
    re.DOTALL,
)


def questions_in(text: str) -> list[tuple[str, dict[str, Any], str]]:
    """Return the id, the state and the rest of the HTML of all questions of a text."""
    return [(name, json.loads(state), rest) for name, state, rest in _STORED.findall(text)]


def state_of(question: Any) -> dict[str, Any]:
    ((_, state, _),) = questions_in(question.static_html())
    return state


def right_answer(state: dict[str, Any]) -> list[str]:
    """Return the texts of the fields for a right answer."""
    if state["kind"] == "cells":
        return [repr(value) for value in state["answers"]]
    return [str(state["right"]) if state["kind"] == "choice" else repr(state["answer"])]


def mistakes(state: dict[str, Any]) -> list[tuple[list[str], str]]:
    """Return the texts of the fields for each foreseen mistake, and the reply to it."""
    if state["kind"] == "choice":
        replies = enumerate(state["replies"])
        return [([str(index)], said) for index, said in replies if index != state["right"]]
    if state["kind"] == "number":
        return [([repr(value)], said) for value, said in state["hints"]]
    found = []
    for table, said in state["hints"]:
        pairs = zip(table, state["answers"], strict=True)
        found.append(([repr(right if wrong is None else wrong) for wrong, right in pairs], said))
    return found


def seen(text: str) -> str:
    """Return what a reader sees of HTML without boxes."""
    return html.unescape(re.sub(r"<[^>]+>", "", text))
