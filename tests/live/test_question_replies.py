"""A question replies on the page as it replies in Python."""

from __future__ import annotations

import json
import random
from dataclasses import asdict

import pytest
from node_runs import run_script
from question_states import mistakes, state_of

from attention_core.questions import cells, choice, number
from attention_core.questions._reading import read_number
from attention_core.questions._verdicts import verdict
from attention_core.widgets import bundle
from attention_core.widgets.figure import HERE

SIGNS = ["", "", "", "-", "+", "\u2212", "–", " - "]
SPACES = ["", "", "", " ", "\u00a0", "\u202f", "\u3000", "\ufeff", "\n", "\x1c", "\u180e", "\u200b"]
UNITS = ["", "", "%", "words", "％"]
LETTERS = "0123456789.,%/eE+-−–  ０９．，％／。⁄٣²½abcnifx_'\u00a0\u3000"


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    file = tmp_path_factory.mktemp("questions") / "check.mjs"
    file.write_text(bundle.module(HERE / "question_check.js"), encoding="utf-8")

    def run(texts=(), answers=()):
        given = {"module": file.as_uri(), "texts": list(texts), "answers": list(answers)}
        return run_script(HERE.parents[1] / "tests" / "live" / "question_replies.mjs", given)

    return run


def written(rng: random.Random, value: float) -> str:
    """Write a number in one of the ways in which people write numbers."""
    digits = rng.choice([0, 1, 2, 3, 4, 8])
    forms = [
        f"{abs(value):.{digits}f}", f"{abs(value):.{digits}e}", f"{abs(value):,.{digits}f}",
        f"{abs(value):.{digits}f}".removeprefix("0"), f"{abs(value):,.0f}".replace(",", " "),
        f"{100 * abs(value):.{digits}f} %", f"{round(abs(value) * 7)}/7", repr(abs(value)),
    ]  # fmt: skip
    text = rng.choice(forms)
    if rng.random() < 0.3:
        text = text.replace(".", ",")
    if rng.random() < 0.1:
        text = "".join(chr(ord(c) + 0xFEE0) if c in "0123456789.%/" else c for c in text)
    sign = rng.choice(["-", "\u2212"]) if value < 0 else rng.choice(SIGNS)
    return rng.choice(SPACES) + sign + text + rng.choice(SPACES)


def garbage(rng: random.Random) -> str:
    return "".join(rng.choices(LETTERS, k=rng.randrange(8)))


def test_both_languages_read_the_same_numbers(ask):
    rng = random.Random(17)
    texts = [(written(rng, rng.uniform(-2000, 2000)), rng.choice(UNITS)) for _ in range(4000)]
    texts += [(garbage(rng), rng.choice(UNITS)) for _ in range(8000)]
    texts += [(text, "") for text in ("1 0000", "12 3456", "1 234 567", "1 23", "0 000", "1 000.5")]
    texts += [(f"1{chr(code)}", "") for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    read = [read_number(*text) for text in texts]
    assert ask(texts=texts)["read"] == read
    assert sum(values is not None and len(values) == 1 for values in read) > 3000
    assert sum(values is not None and len(values) == 2 for values in read) > 20
    assert sum(values == [] for values in read) > 3000


def any_number(rng: random.Random) -> float:
    return rng.choice([rng.uniform(-2, 2), rng.uniform(0, 1), rng.randrange(-20, 20), 0.425])


def any_precision(rng: random.Random) -> dict:
    return rng.choice([{"digits": rng.randrange(5)}, {"tolerance": 10 ** rng.uniform(-4, 0)}])


def number_cases(rng: random.Random):
    value, other = any_number(rng), any_number(rng)
    options = {**any_precision(rng), "unit": rng.choice(UNITS)}
    try:
        question = number("?", value, hints={other: "其他 *other*", -value: "Sign."}, **options)
    except ValueError:  # a hint would be right
        question = number("?", value, **options)
    state = state_of(question)
    for base in (value, other, -value):
        for _ in range(4):
            near = base + rng.choice([0, 1, -1, 3, 20]) * state["tolerance"] * rng.random()
            yield state, [written(rng, near)]
        yield state, [repr(base + rng.choice([-1, 1]) * state["tolerance"])]  # on the edge
    yield state, [garbage(rng)]
    # As far from one hint as from the other: the first replies.
    state = state_of(number("?", 0, tolerance=1, hints={3: "One.", 5: "Other."}))
    yield from ((state, [text]) for text in ("4", "4.5", "3.5"))


def choice_cases(rng: random.Random):
    names = [f"option {i}" for i in range(rng.randrange(2, 6))]
    right = rng.choice(names)
    replies = {name: "Right: yes." if name == right else f"No: {name}." for name in names}
    state = state_of(choice("?", replies, right=right))
    yield from ((state, [index]) for index in ["", *map(str, range(len(names)))])


def cells_cases(rng: random.Random):
    rows, columns = rng.randrange(1, 4), rng.randrange(1, 4)
    answer = [[any_number(rng) for _ in range(columns)] for _ in range(rows)]
    table = [[x if rng.random() < 0.5 else None for x in row] for row in answer]
    table[0][0] = None
    wrong = [[x + 3 if rng.random() < 0.7 else None for x in row] for row in answer]
    wrong[0][0] = answer[0][0] + 3
    options = any_precision(rng)
    state = state_of(cells("?", table, answer, hints=[(wrong, "Three more.")], **options))
    for _ in range(12):
        given = []
        for value in state["answers"]:
            value += rng.choice([0, 0, 0, 3, 3, state["tolerance"], 10 * rng.random()])
            given.append(rng.choice([written(rng, value)] * 12 + [garbage(rng), "", " "]))
        yield state, given
        yield state, [repr(value + 3) for value in state["answers"]]
        yield state, [repr(value) for value in state["answers"]]


@pytest.mark.parametrize("cases", [number_cases, choice_cases, cells_cases])
def test_both_languages_give_the_same_reply(ask, cases):
    rng = random.Random(17)
    answers = [case for _ in range(150) for case in cases(rng)]
    # Through JSON, as a page stores it: tuples become lists.
    answers = json.loads(json.dumps(answers))
    wanted = [asdict(verdict(state, given)) for state, given in answers]
    assert ask(answers=answers)["verdicts"] == wanted
    assert {verdict["right"] for verdict in wanted} == {True, False}
    # Each kind of reply occurs.
    kinds = {
        kind
        for (state, _), said in zip(answers, wanted, strict=True)
        for kind, reply in {**state["says"], "hint": [said for _, said in mistakes(state)]}.items()
        if said["reply"] == reply or (isinstance(reply, list) and said["reply"] in reply)
    }
    assert kinds == {*answers[0][0]["says"], "hint"}
