"""Questions in the chapters: right answers are right, each mistake gets its hint."""

from pathlib import Path

import nbformat
import pytest
from chapter_form import normalise, read
from question_rules import find_problems

from attention_core.questions import cells, choice, number
from attention_core.questions._words import WORDS

CHAPTERS = sorted((Path(__file__).parents[2] / "chapters").glob("*.ipynb"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_questions_of_a_chapter_keep_the_rules(path):
    found = find_problems(read(path))
    assert not found, f"\n{path.stem}: " + f"\n{path.stem}: ".join(found)


def cell(question, name="question-one", *, tags=("remove-input",), source="number('?', x)"):
    outputs = []
    if question is not None:
        html = question if isinstance(question, str) else question.static_html()
        data = {"text/html": html, "text/plain": repr(question)}
        outputs = [nbformat.v4.new_output("execute_result", data, execution_count=1)]
    return nbformat.v4.new_code_cell(
        source, id=name, metadata={"tags": list(tags)}, outputs=outputs, execution_count=1
    )


def weight(text="What weight?", **options):
    return number(text, 0.4223, **{"digits": 2, "hints": {0.34: "The sum."}, **options})


def turn(**options):
    given = {"a": "Right.", "b": "No.", **options}
    return choice("Which?", given, right="a")


def problems(*made):
    return find_problems(normalise(nbformat.v4.new_notebook(cells=list(made))))


SECOND = cell(turn(), "question-two", source="choice('?', {}, right='a')")


def test_good_questions_have_no_problems():
    table = cells("Fill.", [[None]], [[1]], hints=[([[2]], "Two.")])
    third = cell(table, "question-three", source="cells('?', table, x @ x.T)")
    prepared = cell(None, "question-hints", source="wrong = x.flip(0)")
    assert problems(cell(weight()), SECOND, prepared, third) == []
    assert problems() == []


def spoiled(old, new):
    html = weight().static_html()
    assert old in html
    return html.replace(old, new, 1)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (cell(weight(), "c01"), "c01: shows a question, so its id must begin with 'question-'"),
        (cell(weight(), tags=["hide-input"]), "must be tagged 'remove-input' and nothing else"),
        (cell(weight(), tags=["remove-input", "check-1"]), "must be tagged 'remove-input'"),
        (cell("<p>?</p>"), "must show one question and nothing else"),
        (cell(2 * weight().static_html()), "must show one question and nothing else"),
        (cell(weight("word " * 46)), "asks in 46 words, at most 45"),
        (cell(weight(right="Right: " + "word " * 40)), "replies in 41 words, at most 40"),
        (cell(weight(hints={0.34: "word " * 41})), "replies in 41 words, at most 40"),
        (cell(weight(hints={})), "has no hint for any mistake"),
        (cell(spoiled('"right": "Right."', '"right": "Yes."')), "the right answer gets 'Yes.'"),
        (cell(spoiled("The sum.", "Right?")), "['0.34'] is called right"),
        (cell(spoiled("[[0.34,", "[[0.42,")), "['0.42'] is called right"),
        (
            cell(spoiled('[[0.34, "The sum."]]', '[[0.34, "One."], [0.34, "The sum."]]')),
            "['0.34'] gets 'One.' instead of 'The sum.'",
        ),
        (cell(weight(), source="number('?', 0.42, digits=2)"), "is typed, not computed: 0.42"),
        (cell(weight(), source="number('?', answer=-1 / 3)"), "is typed, not computed: -1 /"),
        (cell(weight(), source="cells('?', [[None]], [[1]])"), "is typed, not computed: [[1]]"),
    ],
)  # fmt: skip
def test_a_bad_question_is_found(made, problem):
    found = problems(made, SECOND)
    assert any(problem in one for one in found), found


def test_questions_are_counted_and_differ():
    assert problems(cell(weight())) == ["1 questions, wanted 2 to 5"]
    many = [cell(weight(f"What weight {i}?"), f"question-{i}") for i in range(6)]
    assert problems(*many) == ["6 questions, wanted 2 to 5"]
    twins = problems(cell(weight()), cell(weight(), "question-twin"))
    assert twins == ["two questions have the same text, so they would share what is remembered"]


def test_the_law_of_right_holds_for_the_words_of_the_package():
    said = {name for name, text in WORDS.items() if "Right" in text}
    assert said == {"right"}
