"""Each checking cell accepts the solution and refuses answers that are nearly right."""

from pathlib import Path

import matplotlib as mpl
import nbformat
import pytest
import torch
from answer_forms import forms, right_answer, spoiled
from chapter_form import code_cells, read, write
from chapter_runner import Ran, run, unchanged_settings
from real_weights import require_weights_for
from wrong_answers import WRONG

CHAPTERS = sorted((Path(__file__).parents[2] / "chapters").glob("*.ipynb"))
PATHS = {path.stem: path for path in CHAPTERS}


@pytest.fixture(params=CHAPTERS, ids=lambda path: path.stem, scope="module")
def chapter(request):
    """(name, the chapter after a run); its settings last as long as its tests."""
    path = request.param
    require_weights_for(*code_cells(path))
    with unchanged_settings(path.parent):
        yield path.stem, run(path)


def accepted(message: str) -> bool:
    return "Right" in message


def find_problems(ran: Ran, wrong: dict[int, dict[str, str]]) -> list[str]:
    """Return the faults in the exercises of a chapter."""
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


def test_exercise_checks_accept_right_and_refuse_wrong_answers(chapter):
    name, ran = chapter
    found = find_problems(ran, WRONG.get(name, {}))
    assert not found, f"\n{name}: " + f"\n{name}: ".join(found)


#: Exercises whose answer is a function that returns True or False, or checks a property.
NO_NUMBERS = {("09_transformer", 3), ("10_translation", 3), ("12_bug_museum", 3)}


def test_a_right_answer_is_right_in_every_form(chapter):
    name, ran = chapter
    refused = []
    for number in ran.exercises:
        if (name, number) in NO_NUMBERS:
            continue
        answer = right_answer(PATHS[name], ran.namespace, number)
        for form, given in forms(answer):
            if not accepted(verdict := ran.verdict(number, given)):
                refused.append(f"exercise {number}, {form}: {verdict}")
    assert not refused, f"\n{name}: " + f"\n{name}: ".join(refused)


#: Answers that a second reading of the exercise leads to; the check accepts them, too.
ALSO_RIGHT = {
    ("09_transformer", 2): ["[40817, 35856]", "[base[1] + 72, big[1] + 72]"],  # without biases
}


def test_a_second_reading_is_accepted(chapter):
    name, ran = chapter
    for (page, number), answers in ALSO_RIGHT.items():
        for answer in answers if page == name else []:
            verdict = ran.verdict(number, eval(answer, dict(ran.namespace)))
            assert accepted(verdict), f"{name}, exercise {number}, {answer}: {verdict}"


def test_a_spoiled_answer_is_never_right(chapter):
    name, ran = chapter
    called_right = []
    for number in ran.exercises:
        if (name, number) in NO_NUMBERS:
            continue
        answer = right_answer(PATHS[name], ran.namespace, number)
        for form, given in spoiled(answer):
            if accepted(ran.verdict(number, given)):
                called_right.append(f"exercise {number}, {form}")
    assert not called_right, f"\n{name}: " + f"\n{name}: ".join(called_right)


def test_wrong_answers_name_existing_chapters():
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


def test_a_good_exercise_has_no_problems_and_settings_are_restored(tmp_path):
    def settings():
        third = torch.tensor(1 / 3)
        return third.dtype, repr(third), mpl.rcParams["font.size"], Path.cwd()

    before = settings()
    ran = synthetic(tmp_path)
    assert find_problems(ran, {1: {"a sum": "2 + 1", "a text": "'4'"}}) == []
    assert settings() == before


def test_cells_tagged_trains_live_are_not_run(tmp_path):
    cells = [("shown = 1", ["trains-live"]), ("answer_1 = ...", ["exercise-1"])]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code, metadata={"tags": tags}) for code, tags in cells]
    )
    write(tmp_path / "01_synthetic.ipynb", notebook)
    with unchanged_settings(tmp_path):
        assert "shown" not in run(tmp_path / "01_synthetic.ipynb").namespace


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
