"""Check the questions of a chapter: as they are stored, and what they reply to each mistake."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from chapter_text import words
from nbformat import NotebookNode
from question_states import mistakes, questions_in, right_answer, seen

from attention_core.questions._verdicts import verdict

TAG, PREFIX = "remove-input", "question-"
FEWEST, MOST = 2, 5
QUESTION_WORDS, REPLY_WORDS, LINE_WIDTH = 45, 40, 76
#: The position of the right answer in a call.
ANSWERS = {"number": 1, "cells": 2}


def find_problems(notebook: NotebookNode) -> list[str]:
    """Return what is wrong with the questions of a chapter."""
    problems, names = [], []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        found = questions_in("".join(_html(cell)))
        about = cell.id.startswith(PREFIX)
        if found and not about:
            problems.append(f"{cell.id}: shows a question, so its id must begin with {PREFIX!r}")
        if about:
            problems += [f"{cell.id}: {problem}" for problem in _of_cell(cell, found)]
        names += [name for name, *_ in found]
    if names and not FEWEST <= len(names) <= MOST:
        problems.append(f"{len(names)} questions, wanted {FEWEST} to {MOST}")
    if len(set(names)) < len(names):
        problems.append("two questions have the same text, so they would share what is remembered")
    return problems


def _html(cell: NotebookNode) -> Iterator[str]:
    yield from (out.get("data", {}).get("text/html", "") for out in cell.outputs)


def _of_cell(cell: NotebookNode, found: list[Any]) -> Iterator[str]:
    if cell.metadata.get("tags", []) != [TAG]:
        yield f"must be tagged {TAG!r} and nothing else: a page shows no code of a question"
    if not cell.outputs:
        return  # it prepares the mistakes of the next question
    if len(cell.outputs) != 1 or len(found) != 1:
        yield "must show one question and nothing else"
        return
    text = cell.outputs[0].data.get("text/plain", "")
    if max(map(len, text.splitlines()), default=99) > LINE_WIDTH:
        yield f"its text has lines of more than {LINE_WIDTH} characters, or none"
    (_, state, page) = found[0]
    asked = page.partition('<p class="question-text"')[2].partition(">")[2].partition("</p>")[0]
    if (number := words(seen(asked))) > QUESTION_WORDS:
        yield f"asks in {number} words, at most {QUESTION_WORDS}"
    yield from _replies(state)
    yield from _typed(cell.source)


def _replies(state: dict[str, Any]) -> Iterator[str]:
    answers = verdict(state, right_answer(state))
    if not answers.right or not seen(answers.reply).startswith("Right"):
        yield f"the right answer gets {seen(answers.reply)!r}"
    wrong = mistakes(state)
    if not wrong:
        yield "has no hint for any mistake"
    for given, said in wrong:
        answer = verdict(state, given)
        if answer.right or "Right" in seen(answer.reply):
            yield f"{given} is called right"
        elif answer.reply != said:
            yield f"{given} gets {seen(answer.reply)!r} instead of {seen(said)!r}"
    for said in [state["says"]["right"], *(said for _, said in wrong)]:
        if (number := words(seen(said))) > REPLY_WORDS:
            yield f"replies in {number} words, at most {REPLY_WORDS}: {seen(said)!r}"


def _typed(source: str) -> Iterator[str]:
    """Yield a problem for a right answer that is typed, not computed."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        place = ANSWERS.get(node.func.id)
        given = [k.value for k in node.keywords if k.arg == "answer"]
        if place is not None and len(node.args) > place:
            given.append(node.args[place])
        for answer in given:
            if not any(isinstance(part, ast.Name) for part in ast.walk(answer)):
                yield f"its answer is typed, not computed: {ast.unparse(answer)}"
