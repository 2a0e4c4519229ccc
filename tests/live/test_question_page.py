"""Questions in a real browser: answered by mouse, finger and keyboard, and remembered there."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pytest
from question_page import PAGE, QUESTIONS, pages_with_questions, site_with_questions, states_on
from question_states import mistakes, right_answer, seen, state_of
from site_browser import (
    NARROW,
    OVERFLOW,
    PHONE,
    WIDE,
    axe_problems,
    second_browser,
    served,
    visit,
)

if TYPE_CHECKING:
    from playwright.sync_api import Locator
    from playwright.sync_api import Page as Tab

STATES = [state_of(question) for question in QUESTIONS]
NUMBER, CHOICE, CELLS = range(3)
WAYS = {"mouse": WIDE, "finger": PHONE, "keyboard": WIDE}


@pytest.fixture(scope="module")
def folder(site, tmp_path_factory):
    return site_with_questions(site, tmp_path_factory.mktemp("questions") / "site")


@pytest.fixture(scope="module")
def base(folder, tmp_path_factory):
    with served(folder, tmp_path_factory.mktemp("served questions")) as address:
        yield address


@pytest.fixture
def opened(browser, base):
    """Return a function that opens a page in a context of its own, and complains at the end."""
    contexts, problems = [], []

    def open_page(page: str = PAGE, *, width: int = WIDE, running=browser, **options) -> Tab:
        context = running.new_context(
            viewport={"width": width, "height": 900}, reduced_motion="reduce", **options
        )
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(5000)
        tab.on("pageerror", lambda error: problems.append(f"page error: {error}"))
        tab.on("console", lambda m: m.type in ("error", "warning") and problems.append(m.text))
        tab.goto(page if ":" in page else base + page)
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def fields(question: Locator) -> list[Locator]:
    return question.locator("input").all()


def give(question: Locator, given: list[str], way: str) -> None:
    """Answer a question: type into its fields, or choose, then check."""
    tab = question.page
    inputs = fields(question)
    if inputs[0].get_attribute("type") == "radio":
        if way == "keyboard":
            # The arrows choose the next option; the first is chosen by a space.
            inputs[0].focus()
            tab.keyboard.press("Space")
            for _ in range(int(given[0])):
                tab.keyboard.press("ArrowDown")
        else:
            label = question.locator("label").nth(int(given[0]))
            label.tap() if way == "finger" else label.click()
    else:
        for number, (field, text) in enumerate(zip(inputs, given, strict=True)):
            if way == "keyboard":
                field.focus() if number == 0 else tab.keyboard.press("Tab")
                assert field.evaluate("e => e === document.activeElement")
            else:
                field.tap() if way == "finger" else field.click()
            tab.keyboard.press("ControlOrMeta+A")
            tab.keyboard.type(text)
    button = question.locator("button").first
    if way == "finger":
        button.tap()
    elif way == "mouse":
        button.click()
    else:
        tab.keyboard.press("Enter")


def reply(question: Locator) -> str:
    return question.locator("[role=status]").inner_text().strip().removeprefix("✓").strip()


def is_right(question: Locator) -> bool:
    return bool(question.locator(".question-right").count())


@pytest.mark.parametrize("way", WAYS)
def test_every_answer_gets_the_reply_that_python_gives(opened, way):
    tab = opened(width=WAYS[way], has_touch=way == "finger")
    for number, state in enumerate(STATES):
        question = tab.locator(".question").nth(number)
        for given, said in [*mistakes(state), (right_answer(state), state["says"]["right"])]:
            give(question, given, way)
            right = said == state["says"]["right"]
            assert (reply(question), is_right(question)) == (seen(said), right)
            assert question.locator("summary").is_visible() != right


def test_each_wrong_cell_is_marked_until_it_is_changed(opened):
    question = opened().locator(".question").nth(CELLS)
    give(question, ["11", "13"], "mouse")
    assert reply(question) == "Not yet. Look again at row 上, column 好."
    first, second = fields(question)
    marks = [field.get_attribute("aria-invalid") for field in (first, second)]
    assert marks == [None, "true"]
    second.fill("12")
    assert (reply(question), second.get_attribute("aria-invalid")) == ("", None)
    second.press("Enter")
    assert is_right(question)


def test_a_right_answer_that_is_changed_is_called_right_no_more(opened):
    question = opened().locator(".question").nth(NUMBER)
    give(question, ["0.42"], "mouse")
    assert is_right(question)
    fields(question)[0].press("9")
    assert not is_right(question)
    assert reply(question) == ""


def test_an_empty_answer_asks_for_one_and_shows_the_way_to_the_answer(opened):
    tab = opened()
    for number, state in enumerate(STATES):
        question = tab.locator(".question").nth(number)
        fold = question.locator("summary")
        assert not fold.is_visible()  # before there was a try
        question.locator("button").first.click()
        assert reply(question) == state["says"]["empty"]
        assert fold.inner_text() == "Show the answer"
        fold.click()
        assert question.locator("details strong").is_visible()


def test_what_was_answered_is_remembered_on_this_page_only(opened, base, folder):
    tab = opened()
    given = {NUMBER: ["0,34"], CHOICE: ["1"], CELLS: ["11", "8"]}
    for number, texts in given.items():
        give(tab.locator(".question").nth(number), texts, "mouse")
    before = [reply(question) for question in tab.locator(".question").all()]
    tab.reload()
    assert [reply(question) for question in tab.locator(".question").all()] == before
    assert [field.input_value() for field in fields(tab.locator(".question").nth(CELLS))] == [
        "11", "8",
    ]  # fmt: skip
    assert tab.locator(".question").nth(CHOICE).locator("input:checked").input_value() == "1"
    keys = sorted(tab.evaluate("Object.keys(localStorage)"))
    questions = [key for key in keys if key.startswith("question:")]
    assert len(questions) == 3
    assert all(re.fullmatch(rf"question:/book/{PAGE}:\w{{8}}", key) for key in questions)
    assert tab.context.cookies() == []
    # Another page with the same questions has answers of its own.
    (folder / "other.html").write_bytes((folder / PAGE).read_bytes())
    tab.goto(f"{base}other.html")
    assert tab.locator("[data-started] [role=status]:not(:empty)").count() == 0


def test_try_again_forgets_the_answer(opened):
    tab = opened()
    for number, state in enumerate(STATES):
        question = tab.locator(".question").nth(number)
        again = question.get_by_role("button", name="Try again")
        give(question, right_answer(state), "mouse")
        again.click()
        assert not again.is_visible()
        assert reply(question) == ""
        assert question.locator("input:checked").count() == 0
        inputs = fields(question)
        if state["kind"] != "choice":
            assert {field.input_value() for field in inputs} == {""}
        assert inputs[0].evaluate("e => e === document.activeElement")
    tab.reload()
    assert tab.locator(".question [role=status]:not(:empty)").count() == 0


def test_what_something_else_stored_is_no_answer(opened):
    tab = opened()
    keep = "([key, text]) => localStorage.setItem(key, text)"
    for stored in ("[", "null", "{}", '"text"', "[1]", '["a","b","c"]', "[null, null]", '["x"]'):
        for question in tab.locator(".question").all():
            key = f"question:/book/{PAGE}:{question.get_attribute('data-question')}"
            tab.evaluate(keep, [key, stored])
        tab.reload()
        assert tab.locator("[data-started]").count() == len(STATES)
        said = [reply(question) for question in tab.locator(".question").all()]
        # A text is an answer to a number, if not a right one; it is no option, and no table.
        unreadable = STATES[NUMBER]["says"]["unreadable"]
        typed = unreadable if stored == '["x"]' else ""
        assert said == [typed, "", "", "", "", typed], stored


@pytest.fixture(params=["sandboxed frame", "no local storage", "full"])
def without_storage(request, opened, browser, base):
    """Return the frame of a page that can store nothing, and a function that loads it again."""
    if request.param == "no local storage":
        with second_browser(browser, "--disable-local-storage") as running:
            tab = opened(running=running)
            yield tab.main_frame, tab.reload
        return
    if request.param == "full":
        tab = opened()
        tab.evaluate(
            """() => {
              const set = Storage.prototype.setItem;
              Storage.prototype.setItem = function (key, text) {
                if (key.startsWith('question:')) throw new Error('full');
                set.call(this, key, text);
              };
            }"""
        )
        yield tab.main_frame, tab.reload
        return
    tab = opened()  # a frame in a blank page may not load from this machine

    def load():
        tab.set_content(
            f'<iframe sandbox="allow-scripts" width=1200 height=880 src="{base}{PAGE}"></iframe>'
        )
        tab.frames[-1].wait_for_selector(".question[data-started]")

    load()
    yield tab.frames[-1], load


def test_questions_work_where_nothing_can_be_stored(without_storage):
    frame, load = without_storage
    for number, state in enumerate(STATES):
        question = frame.locator(".question").nth(number)
        for way in ("mouse", "keyboard"):
            give(question, right_answer(state), way)
            assert is_right(question)
            fields(question)[0].evaluate("e => e.dispatchEvent(new Event('input'))")
            assert not is_right(question)
    load()
    tab = frame.page
    assert tab.frames[-1].locator(".question [role=status]:not(:empty)").count() == 0


def test_without_javascript_a_question_is_read_and_its_answer_unfolds(opened):
    tab = opened(java_script_enabled=False)
    for number, state in enumerate(STATES):
        question = tab.locator(".question").nth(number)
        assert question.locator("input, button").count() == 0
        assert question.locator(".question-text").is_visible()
        assert not question.locator("strong").is_visible()
        question.locator("summary").click()
        assert question.locator("strong").is_visible()
        if state["kind"] == "choice":
            assert len(question.locator("li").all_inner_texts()) == 3
        if state["kind"] == "cells":
            assert question.locator("td.question-blank").all_inner_texts() == ["?"] * len(
                state["answers"]
            )
    assert tab.locator("strong").first.inner_text() == "0.42"


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_nothing_moves_when_questions_start(opened, width):
    measure = "qs => qs.map(q => q.getBoundingClientRect().height)"
    heights = []
    for alive in (True, False):
        tab = opened(width=width, java_script_enabled=alive)
        boxes = [question.bounding_box() for question in tab.locator(".question").all()]
        heights.append([box["height"] for box in boxes])
        if alive:
            assert tab.locator(".question").evaluate_all(measure) == heights[0]
    assert heights[0] == pytest.approx(heights[1], abs=1)


def test_a_page_with_questions_has_no_problems(browser, base):
    for width in (WIDE, PHONE):
        assert visit(browser, base + PAGE, width=width) == []


@pytest.mark.parametrize("width", [WIDE, PHONE, NARROW])
def test_an_answered_page_has_no_problems(opened, width):
    tab = opened(width=width)
    for number, state in enumerate(STATES):
        question = tab.locator(".question").nth(number)
        give(
            question,
            mistakes(state)[0][0] if mistakes(state) else [""] * len(fields(question)),
            "mouse",
        )
        question.locator("summary").click()
    give(tab.locator(".question").nth(CHOICE), ["1"], "mouse")
    assert tab.evaluate(OVERFLOW) == []
    for grid in tab.locator(".question-grid").all():
        if width >= PHONE:  # a table of three columns fits a phone
            assert grid.evaluate("e => e.scrollWidth <= e.clientWidth")
    for theme in ("light", "dark"):
        assert axe_problems(tab, theme, ".question") == []


def test_every_field_has_its_question_in_its_name_or_description(opened):
    tab = opened()
    number, choice, cells = tab.locator(".question").all()[:3]
    field = number.get_by_role("textbox", name="Your answer")
    said = number.locator(".question-text").inner_text()
    described = field.evaluate("e => document.getElementById(e.getAttribute('aria-describedby'))"
                               ".innerText")  # fmt: skip
    assert described == said
    group = choice.get_by_role("group", name=choice.locator(".question-text").inner_text())
    assert group.get_by_role("radio").count() == 3
    assert cells.get_by_role("table", name="Fill the two empty cells.").count() == 1
    assert cells.get_by_role("textbox", name="row 早, column 上").count() == 1
    # Phones show digits only where no sign is needed.
    modes = [
        q.locator("input").first.get_attribute("inputmode") for q in tab.locator(".question").all()
    ]
    assert modes == ["decimal", None, "decimal", None, "decimal", "decimal"]


def test_the_reply_is_announced_politely_and_not_at_the_start(opened):
    tab = opened()
    give(tab.locator(".question").nth(NUMBER), ["0.34"], "mouse")
    tab.add_init_script(
        """document.addEventListener('DOMContentLoaded', () => new MutationObserver(changes => {
          for (const {target} of changes)
            if (target.role === 'status') (window.announced ??= []).push(target.textContent);
        }).observe(document.body, {childList: true, subtree: true}))"""
    )
    tab.reload()
    question = tab.locator(".question").nth(NUMBER)
    assert reply(question) == "You divided by the sum. Take exp first."
    assert tab.evaluate("window.announced") is None  # it came with its region
    question.locator("button").first.click()
    assert tab.evaluate("window.announced.at(-1)") == "You divided by the sum. Take exp first."


def test_a_printed_question_has_no_buttons(opened):
    tab = opened()
    tab.emulate_media(media="print")
    question = tab.locator(".question").nth(NUMBER)
    assert question.locator(".question-text").is_visible()
    assert not question.locator("button").first.is_visible()


def test_questions_start_when_the_page_is_a_file(opened, folder):
    tab = opened((folder / PAGE).as_uri())
    for number, state in enumerate(STATES):
        question = tab.locator(".question").nth(number)
        give(question, right_answer(state), "keyboard")
        assert is_right(question)


def test_a_question_that_fails_leaves_its_answer_and_its_neighbours_intact(browser, base):
    context = browser.new_context()
    tab = context.new_page()
    errors: list[str] = []
    tab.on("console", lambda m: m.type == "error" and errors.append(m.text))

    def broken(route):
        response = route.fetch()
        route.fulfill(response=response, body=response.text().replace('{"answer":', "{answer:", 1))

    tab.route(f"**/{PAGE}", broken)
    tab.goto(base + PAGE)
    first, second = tab.locator(".question").all()[:2]
    first.locator("summary").click()
    assert first.locator("strong").is_visible()
    give(second, ["1"], "mouse")
    assert is_right(second)
    assert len(errors) == 1
    context.close()


def test_the_script_is_small_and_only_where_there_are_questions(site, folder):
    script = (folder / "_static" / "questions" / "question.js").read_bytes()
    style = (folder / "_static" / "questions" / "question.css").read_bytes()
    assert len(gzip.compress(script)) < 4096
    assert len(gzip.compress(style)) < 2048
    with_script = {
        path.relative_to(site).as_posix()
        for path in site.rglob("*.html")
        if "_static/questions/question.js" in path.read_text(encoding="utf-8")
    }
    assert with_script == set(pages_with_questions(site))


def test_the_questions_of_the_book_accept_their_answers(site, browser):
    for page in pages_with_questions(site):
        context = browser.new_context(viewport={"width": PHONE, "height": 800})
        tab = context.new_page()
        tab.goto((site / page).as_uri())
        states = states_on(site / page)
        assert tab.locator(".question[data-started]").count() == len(states)
        for name, state, _ in states:
            question = tab.locator(f"[data-question='{name}']")
            for given, said in [*mistakes(state), (right_answer(state), state["says"]["right"])]:
                give(question, given, "mouse")
                assert reply(question) == seen(said), (page, given)
            assert is_right(question), page
        assert tab.evaluate(OVERFLOW) == [], page
        context.close()
