"""Each checking cell accepts the solution and turns down answers that are nearly right."""

from pathlib import Path

import matplotlib as mpl
import nbformat
import pytest
import torch
from chapter_form import read, write
from chapter_runner import Ran, run, unchanged_settings

CHAPTERS = sorted((Path(__file__).parent.parent / "chapters").glob("*.ipynb"))

# Plausible wrong answers: {chapter: {exercise: {what is wrong: Python expression}}}.
# The expression is evaluated after the chapter's last cell, with all of its names:
#
#     "01_dot_products": {
#         1: {
#             "shares by the sum": "scores[1] / scores[1].sum()",
#             "weights of the first word": "weights[0]",
#         },
#     },
WRONG: dict[str, dict[int, dict[str, str]]] = {
    "01_dot_products": {
        1: {
            "shares by the sum": "X @ new / (X @ new).sum()",
            "the scores themselves": "X @ new",
            "divided by the root of d_k first": "torch.softmax(X @ new / root, dim=0)",
            "weights of another token": "weights[0]",
            "two numbers": "[0.1, 0.9]",
        },
        2: {
            "the bare formula": "lambda s: torch.exp(s) / torch.exp(s).sum()",
            "takes off the mean": "lambda s: (e := torch.exp(s - s.mean())) / e.sum()",
            "divides by the sum": "lambda s: s / s.sum()",
            "divides by the largest": "lambda s: torch.softmax(s / s.max(), dim=0)",
            "only exponentials": "lambda s: torch.exp(s - s.max())",
            "no function": "weights",
        },
        3: {
            "orthogonal but correlated": "[[1, 1, 0, 0], [0, 0, 1, 1]]",
            "orthogonal and uncorrelated": "[[1, -1, 0, 0], [0, 0, 1, -1]]",
            "neither": "[[1, 2, 3, 4], [2, 4, 6, 9]]",
            "one is constant": "[[1, 1, 1, 1], [1, 2, 3, 4]]",
            "one list": "[1, 0, 1, 0]",
        },
    },
    "02_simple_attention": {
        1: {
            "may look at all words": "contexts[3]",
            "half and half": "(X[1] + X[3]) / 2",
            "shares exchanged": "shares.flip(0) @ two",
            "shares by the sum": "(two @ X[3]) / (two @ X[3]).sum() @ two",
            "divided by the root of d_k first": "torch.softmax(two @ X[3] / root, dim=0) @ two",
            "the two weights": "shares",
        },
        2: {
            "softmax over queries": "lambda b: torch.softmax(b @ b.mT, dim=1) @ b",
            "divided by the root of d_k": "lambda b: scaled_dot_product_attention(b, b, b)",
            "no softmax": "lambda b: b @ b.mT @ b",
            "shares by the sum": "lambda b: (s := b @ b.mT) / s.sum(-1, keepdim=True) @ b",
            "first sentence only": "lambda b: contexts",
            "sentences look at each other": (
                "lambda b: (torch.softmax((f := b.flatten(0, 1)) @ f.T, -1) @ f).view(b.shape)"
            ),
        },
        3: {"one too few": "6", "one too many": "8", "no whole number": "6.9", "none": "None"},
    },
}


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem)
def chapter(request):
    """(name, the chapter after a run); its settings last as long as the test."""
    path = request.param
    with unchanged_settings(path.parent):
        yield path.stem, run(path)


def accepted(message: str) -> bool:
    return "Right" in message


def find_problems(ran: Ran, wrong: dict[int, dict[str, str]]) -> list[str]:
    """What is the matter with the exercises of a chapter."""
    problems = []
    if not ran.exercises:
        problems.append("no exercises")
    for number in ran.exercises:
        if ran.namespace[f"answer_{number}"] is not ...:
            problems.append(f"exercise {number}: the reader's cell already holds an answer")
        if accepted(ran.shown.get(f"check-{number}", "Right")):
            problems.append(f"exercise {number}: the untouched cell is called right")
        if not accepted(ran.shown.get(f"solution-{number}", "")):
            problems.append(f"exercise {number}: the solution is not called right")
        answers = {"left untouched": "...", **wrong.get(number, {})}
        if len(answers) < 3:
            problems.append(f"exercise {number}: fewer than two wrong answers in WRONG")
        for name, expression in answers.items():
            try:
                verdict = ran.verdict(number, eval(expression, dict(ran.namespace)))
            except Exception as error:
                problems.append(f"exercise {number}, {name}: raises {error!r}")
            else:
                if accepted(verdict):
                    problems.append(f"exercise {number}, {name}: is called right")
    for number in set(wrong) - set(ran.exercises):
        problems.append(f"exercise {number}: is in WRONG, but not in the chapter")
    return problems


def test_checks_tell_right_from_wrong(chapter):
    name, ran = chapter
    found = find_problems(ran, WRONG.get(name, {}))
    assert not found, f"\n{name}: " + f"\n{name}: ".join(found)


def test_wrong_answers_belong_to_chapters():
    assert set(WRONG) <= {path.stem for path in CHAPTERS}


def synthetic(tmp_path, *, check="answer == 4", solution="check_1(4)", given="..."):
    """Run a small chapter with one exercise."""
    cells = [
        ("import torch\nimport matplotlib.pyplot as plt", []),
        ("torch.set_default_dtype(torch.float64)\ntorch.set_printoptions(precision=2)", []),
        ("plt.rcParams['font.size'] = 33\nfig = plt.figure()", []),
        ("from IPython.display import display\ndisplay({'text/plain': 'x'}, raw=True)", []),
        ("1 / 0", ["raises-exception"]),
        (f"answer_1 = {given}", ["exercise-1"]),
        (
            f"def check_1(answer):\n    return 'Right' if {check} else 'No'\n\n\ncheck_1(answer_1)",
            ["check-1"],
        ),
        (solution, ["solution-1", "hide-cell"]),
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code, metadata={"tags": tags}) for code, tags in cells]
    )
    path = tmp_path / "01_synthetic.ipynb"
    write(path, notebook)
    assert read(path).cells
    with unchanged_settings(tmp_path):
        ran = run(path)
        assert torch.get_default_dtype() == torch.float64
        return ran


def test_a_good_exercise_has_no_problems_and_leaves_no_trace(tmp_path):
    def settings():
        third = torch.tensor(1 / 3)
        return third.dtype, repr(third), mpl.rcParams["font.size"], Path.cwd()

    before = settings()
    ran = synthetic(tmp_path)
    assert find_problems(ran, {1: {"a sum": "2 + 1", "a text": "'4'"}}) == []
    assert settings() == before


TWO = {"three": "3", "five": "5"}


@pytest.mark.parametrize(
    ("options", "wrong", "problem"),
    [
        ({}, {}, "fewer than two wrong answers"),
        ({}, {1: TWO, 2: TWO}, "exercise 2: is in WRONG, but not in the chapter"),
        ({"solution": "check_1(5)"}, {1: TWO}, "the solution is not called right"),
        ({"check": "answer is ... or answer == 4"}, {1: TWO}, "the untouched cell is called right"),
        ({"check": "answer in (4, 5)"}, {1: TWO}, "exercise 1, five: is called right"),
        ({"given": "4"}, {1: TWO}, "already holds an answer"),
        ({}, {1: {**TWO, "odd": "1 / 0"}}, "exercise 1, odd: raises ZeroDivisionError"),
        ({"check": "4 in {answer}"}, {1: {**TWO, "a list": "[4]"}}, "a list: raises TypeError"),
    ],
)
def test_a_bad_exercise_is_found(tmp_path, options, wrong, problem):
    assert any(problem in found for found in find_problems(synthetic(tmp_path, **options), wrong))


def test_a_cell_that_raises_unexpectedly_is_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError):
        synthetic(tmp_path, solution="1 / 0")
