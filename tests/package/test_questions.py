"""Questions: what they read, what they reply, what they refuse, and the HTML that is stored."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch

from attention_core.questions import cells, choice, number
from attention_core.questions._reading import read_number
from attention_core.questions._texts import from_html, to_html, to_plain
from attention_core.questions._words import WORDS

GRAM = torch.tensor([[11, 11, 10], [11, 16, 12], [10, 12, 8]])
HOLES = [[11, None, 10], [11, 16, None], [10, 12, 8]]


def weight(**options):
    given = {"digits": 2, "hints": {0.34: "You divided by the sum."}, **options}
    return number("What weight?", torch.tensor(0.4223), **given)


def turn():
    return choice(
        "What happens?",
        {"Nothing.": "Look again.", "It *grows*.": "Right: it grows.", "It ends.": "No."},
        right="It *grows*.",
    )


def gram(**options):
    given = {"hints": [([[0, None, 0], [0, 0, 8], [0, 0, 0]], "That is 好 with itself.")]}
    names = {"rows": ["早", "上", "好"], "columns": ["早", "上", "好"]}
    return cells("Fill the cells.", HOLES, GRAM, **{**given, **names, **options})


def state_of(question):
    (text,) = re.findall(
        r'<script type="application/json">(.*?)</script>', question.static_html(), re.DOTALL
    )
    return json.loads(text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("0.42", [0.42]), ("0,42", [0.42]), (".42", [0.42]), (",42", [0.42]), ("42.", [42]),
        (" 0.42\u00a0", [0.42]), ("+3", [3]), ("-3", [-3]), ("\u22123", [-3]), ("–3", [-3]),
        ("42 %", [0.42]), ("42%", [0.42]), ("０．４２", [0.42]), ("42％", [0.42]), ("0。5", [0.5]),
        ("1/4", [0.25]), ("1 / 4", [0.25]), ("-1/4", [-0.25]), ("1⁄4", [0.25]), ("0,5/2", [0.25]),
        ("1e-3", [0.001]), ("1E3", [1000]), ("10 000", [10000]), ("1 234 567", [1234567]),
        ("1,000", [1, 1000]), ("1,000,000", [1000000]), ("1,234.5", [1234.5]), ("0,155", [0.155]),
        ("", None), ("  \u3000", None),
        *((text, []) for text in (
            "nan", "NaN", "inf", "Infinity", "-∞", "∞", "1e999", "1/0", "1/2/3", "1/", "/2", "%",
            "many", "0x10", "1_000", "1 2", "1.2.3", "1.234,5", "--1", "1-2", "10²", "²", "٣", "½",
            "1e", "e3", ".", ",", "-", "None", "0.4.", "<b>1</b>", "1 0000",
        )),
    ],
)  # fmt: skip
def test_a_number_is_read_as_people_write_it(text, values):
    assert read_number(text) == values


def test_a_unit_is_dropped_and_a_percentage_of_percent_is_not_divided():
    assert read_number("42 %", "%") == read_number("42", "%") == [42]
    assert read_number("6 words", "words") == [6]
    assert read_number("%", "%") == read_number("words", "words") == []


def test_a_right_number_is_right_in_every_form():
    question = number("How many?", 0.5, tolerance=0.001, right="Right: half.")
    forms = [0.5, "0,5", " 50 % ", "1/2", torch.tensor(0.5), torch.tensor(0.5).half()]
    forms += [np.float32(0.5), np.array(0.5), "０.５"]
    assert {question.check(form) for form in forms} == {"Right: half."}


@pytest.mark.parametrize(
    "given",
    [None, "", "  ", [], [0.5], {}, True, "?", float("nan"), float("inf"), "nan", "inf", 0.5j,
     object(), torch.tensor([0.5]), torch.tensor([]), torch.tensor(float("nan")),
     np.array([[0.5]])],
)  # fmt: skip
def test_what_is_no_number_gets_a_sentence_and_is_not_right(given):
    reply = number("How many?", 0.5, tolerance=9, right="Right: half.").check(given)
    assert reply in (WORDS["no number"], WORDS["unreadable"])


def test_dots_mean_that_there_is_no_answer_yet():
    for question in (weight(), turn(), gram()):
        assert question.check(...) == "Your turn: replace the dots."


@pytest.mark.parametrize(
    ("given", "reply"),
    [
        ("0.42", "Right."), ("0.4223", "Right."), ("0.425", "Right."),
        ("0.34", "You divided by the sum."), ("11/32", "You divided by the sum."),
        ("0.4", "Close, but not to 2 decimals."), ("0.43", "Close, but not to 2 decimals."),
        ("0.48", "Not yet."), ("4", "Not yet."), ("-0.42", "Not yet."),
    ],
)  # fmt: skip
def test_digits_say_what_is_right_and_what_is_close(given, reply):
    assert weight().check(given) == reply


def test_both_neighbours_of_a_tie_are_right():
    question = number("How many?", 0.425, digits=2)
    assert question.check("0.42") == question.check("0.43") == "Right."
    assert question.check("0.41") != "Right."


def test_one_decimal_is_named_in_the_singular_and_no_decimals_are_never_close():
    assert number("?", 0.42, digits=1).check(0.6) == "Close, but not to one decimal."
    assert number("?", 6, digits=0).check(8) == "Not yet."
    assert number("?", 6, tolerance=0.5).check(8) == "Not yet."


def test_without_digits_the_answer_is_an_integer_and_nothing_else_is_right():
    question = number("?", torch.tensor(11.0), unit="words")
    assert question.check("11") == question.check("11 words") == "Right."
    assert question.check(11.0001) == "Not yet."
    assert repr(question) == "Question: ?\nAnswer: 11 words"


def test_the_nearest_hint_replies():
    question = number("?", 1, tolerance=0.5, hints={3: "three", 3.6: "more"})
    assert [question.check(x) for x in (2.9, 3.25, 3.4, 4)] == ["three", "three", "more", "more"]


def test_the_last_bits_of_a_float_are_not_stored():
    here, there = 0.1 + 0.2, 0.3
    assert here != there
    one, other = (number("?", x, digits=4, hints={2 * x: "Twice."}) for x in (here, there))
    assert one.static_html() == other.static_html()


def test_a_choice_is_given_by_its_text():
    assert turn().check("It grows.") == turn().check(" it *grows*. ") == "Right: it grows."
    assert turn().check("Nothing.") == "Look again."
    for nothing in (None, "", "Something.", 1, [], torch.tensor(1)):
        assert turn().check(nothing) == WORDS["no choice"]


def test_cells_are_compared_at_the_blanks_only():
    question = gram()
    for given in (GRAM, GRAM.double(), GRAM.tolist(), GRAM.numpy(), [11, 12], ["11", "12"]):
        assert question.check(given) == "Right."
    assert question.check([[0, 11, 0], [0, 0, 12], [0, 0, 0]]) == "Right."


@pytest.mark.parametrize(
    ("given", "reply"),
    [
        ([11, 8], "That is 好 with itself."), ([99, 8], "That is 好 with itself."),
        ([16, 12], "Not yet. Look again at row 早, column 上."),
        ([11, 11], "Not yet. Look again at row 上, column 好."),
        ([11, None], WORDS["no cells"]), (HOLES, WORDS["no cells"]),
        ([11, "x"], "In row 上, column 好 stands no number. Write digits, such as 0.42 or 1/3."),
        ([float("nan"), 12], WORDS["unreadable cell"].format(cell="row 早, column 上")),
        ([11], WORDS["shape"]), (None, WORDS["shape"]), (11, WORDS["shape"]), ([], WORDS["shape"]),
        (GRAM[:2], WORDS["shape"]), (GRAM[None], WORDS["shape"]), ("11", WORDS["shape"]),
    ],
)  # fmt: skip
def test_a_reply_names_the_cell_that_is_wrong(given, reply):
    assert gram().check(given) == reply


def test_cells_without_headers_are_numbered_and_show_what_they_are_given():
    question = cells("Fill.", [[0.5, None]], [[0.5, 2]])
    assert repr(question) == "Question: Fill.\n0.5 ?\nAnswer: row 1, column 2: 2"
    assert question.check([3]) == "Not yet. Look again at row 1, column 2."
    rounded = cells("Fill.", [[0.5, None]], [[0.5, -0.001]], digits=2)
    assert repr(rounded) == "Question: Fill.\n0.50 ?\nAnswer: row 1, column 2: 0.00"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: number(" ", 1), "text must be a text, got ' '"),
        (lambda: number("$x$?", 1), "text must be plain text: formulas .* write q·k"),
        (lambda: number("?", [1]), r"answer must be a finite number, got \[1\]"),
        (lambda: number("?", float("nan")), "answer must be a finite number, got nan"),
        (lambda: number("?", True), "answer must be a finite number, got True"),
        (lambda: number("?", 0.5), "say how close to 0.5 an answer must be: digits=2"),
        (lambda: number("?", 1, digits=2, tolerance=1), "give digits or tolerance, not both"),
        (lambda: number("?", 1, digits=-1), "digits must be an integer from 0 to 12, got -1"),
        (lambda: number("?", 1, digits=True), "digits must be an integer from 0 to 12, got True"),
        (lambda: number("?", 1, tolerance=0), "tolerance must be positive, got 0"),
        (lambda: number("?", 1, tolerance="x"), "tolerance must be a finite number, got 'x'"),
        (lambda: number("?", 1, right="Yes."), "right must begin with \"Right\", got 'Yes.'"),
        (lambda: number("?", 1, right="Righteous."), 'right must begin with "Right"'),
        (lambda: number("?", 1, otherwise="Right?"), 'otherwise must not say "Right"'),
        (lambda: number("?", 1, hints={2: "Right."}), 'a reply in hints must not say "Right"'),
        (lambda: number("?", 1, hints={2: ""}), "a reply in hints must be a text, got ''"),
        (lambda: number("?", 1, hints={"x": "No."}), "a number in hints must be a finite number"),
        (lambda: number("?", 1, hints={1: "One."}), "a reply to 1 that is never given"),
        (lambda: number("?", 0.5, digits=1, hints={0.46: "No."}), "a reply to 0.46 that is never"),
        (
            lambda: number("?", 1, tolerance=0.5, hints=[(3, "a"), (3, "b")]),
            "a reply to 3 that is never given",
        ),
        (lambda: choice("?", {"a": "Right."}, right="a"), "options must be at least two that"),
        (lambda: choice("?", {"a": "Right.", "A": "No."}, right="a"), "options must be at least"),
        (lambda: choice("?", {"a": "No.", "b": "No."}, right="c"), "right must be one of the"),
        (lambda: choice("?", {"a": "No.", "b": "No."}, right="a"), 'option must begin'),
        (lambda: choice("?", {"a": "Right.", "b": "Right."}, right="a"), 'must not say "Right"'),
        (lambda: cells("?", [[1]], [[1]]), "table must have a cell to fill, None"),
        (lambda: cells("?", [1, None], [[1, 2]]), "table must be a table, a list of rows"),
        (lambda: cells("?", 1, [[1, 2]]), "table must be a table, a list of rows"),
        (lambda: cells("?", [[None], [1, 2]], [[1]]), "table must have rows of one length"),
        (lambda: cells("?", [[1, None]], [[1]]), "answer must have 1 rows of 2 cells"),
        (lambda: cells("?", [[1, None]], [[1, None]]), "answer must have no empty cell"),
        (lambda: cells("?", [[1, None]], [[2, 3]]), "table has 1 in row 1, column 1, where answer"),
        (lambda: cells("?", [[None]], [[1]], rows=["a", "b"]), "rows must be 1 headers, got"),
        (lambda: cells("?", [[None]], [[0.5]]), "say how close to 0.5 an answer must be"),
        (lambda: gram(hints=[([[0]], "No.")]), "a table in hints must have 3 rows of 3 cells"),
        (lambda: gram(hints=[(GRAM, "No.")]), r"a reply to \[11, 12\] that is never given"),
        (lambda: gram(hints=[(GRAM + 1, "a"), (GRAM + 1, "b")]), "that is never given"),
    ],
)  # fmt: skip
def test_a_question_that_cannot_work_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_marks_in_texts_become_html_and_all_else_is_escaped():
    text = "*Two* `a<b`, [q·k]{scores} & [x]{red}: 2*3*4 早 </script>"
    assert to_html(text) == (
        '<em>Two</em> <code>a&lt;b</code>, <span class="scores">q·k</span> &amp; [x]{red}: '
        '2*3*4 <span lang="zh">早</span> &lt;/script&gt;'
    )
    assert to_plain(text) == from_html(to_html(text))
    assert to_html("*早 and [q]{query}*") == (
        '<em><span lang="zh">早</span> and <span class="query">q</span></em>'
    )


class Tags(HTMLParser):
    """The elements of a page, and whether each is closed in its turn."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


HOSTILE = "</script><!--<script><img src=x onerror=alert(1)>\"'&lt; 早"


@pytest.mark.parametrize(
    "question",
    [
        number(HOSTILE, 1, unit=HOSTILE, right=f"Right: {HOSTILE}", hints={2: HOSTILE}),
        choice(HOSTILE, {HOSTILE: f"Right: {HOSTILE}", "b": HOSTILE}, right=HOSTILE),
        cells(
            HOSTILE, [[None]], [[1]], rows=[HOSTILE], columns=[HOSTILE], otherwise=HOSTILE,
            hints=[([[2]], HOSTILE)],
        ),
    ],
)  # fmt: skip
def test_no_text_can_leave_its_place(question):
    tags = Tags()
    tags.feed(question.static_html())
    assert tags.open == []
    assert "img" not in tags.seen
    assert tags.seen.count("script") == 1
    assert state_of(question)["kind"] in ("number", "choice", "cells")
    assert HOSTILE in " ".join(repr(question).split())


def test_the_stored_html_is_a_question_with_a_folded_answer():
    page = re.sub(r"<script.*?</script>", "", weight(right="Right: two of three.").static_html())
    assert page.index("What weight?") < page.index("<details><summary>Answer</summary>")
    fold = page[page.index("<details>") :]
    assert from_html(fold) == "Answer0.42Two of three."
    assert "<input" not in page
    assert "<button" not in page
    assert gram().static_html().count('class="question-blank">?<') == 2
    assert turn().static_html().count("<li>") == 3


def test_long_questions_are_wrapped_in_their_text():
    question = choice("long " * 40, {"option " * 20: "Right.", "b": "No."}, right="option " * 20)
    lines = repr(question).splitlines()
    assert len(lines) > 6
    assert max(map(len, lines)) <= 76


def test_every_question_has_its_own_id_and_keeps_it():
    def made():
        return [weight(), weight(digits=3), turn(), gram(), number("Another?", 1)]

    ids = [re.search(r'data-question="(\w+)"', q.static_html())[1] for q in made()]
    assert ids == [re.search(r'data-question="(\w+)"', q.static_html())[1] for q in made()]
    assert len(set(ids)) == 4  # the same text asks the same question


def test_all_words_come_from_one_table(monkeypatch):
    """A translation replaces the table; then no English is left but what the author wrote."""
    for name, text in WORDS.items():
        monkeypatch.setitem(WORDS, name, re.sub("[A-Za-z]+(?![}a-z])", "语", text))
    monkeypatch.setitem(WORDS, "right", "对。")
    for question in (
        number("问?", 0.5, digits=2, hints={1: "一"}),
        choice("问?", {"一": WORDS["right"], "二": "二"}, right="一"),
        cells("问?", [[None]], [[1]], rows=["早"], columns=["好"]),
    ):
        state = state_of(question)
        page = re.sub(r"<script.*?</script>", "", question.static_html())
        for text in strings_in([state["says"], state["words"], state.get("labels", []), page]):
            assert not re.search("[A-Za-z]", from_html(text)), text


def strings_in(tree):
    if isinstance(tree, str):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree
    return [text for part in parts for text in strings_in(part)]


def test_a_question_shows_html_and_text_and_a_widget_where_there_is_anywidget():
    pytest.importorskip("anywidget")
    for question in (weight(), turn(), gram()):
        data, _ = question._repr_mimebundle_()
        assert data["text/html"] == question.static_html()
        assert data["text/plain"] == repr(question)
        assert "application/vnd.jupyter.widget-view+json" in data
        assert question._widget.html == question.static_html()


def test_a_question_shows_html_and_text_without_anywidget(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "attention_core.questions._widget", None)
    data, metadata = turn()._repr_mimebundle_()
    assert (set(data), metadata) == ({"text/html", "text/plain"}, {})
