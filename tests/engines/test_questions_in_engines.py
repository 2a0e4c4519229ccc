"""Questions in Firefox and WebKit: answered by mouse and keyboard, remembered, and in a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from engine_pages import probed
from question_page import PAGE, QUESTIONS, site_with_questions
from question_states import mistakes, right_answer, seen, state_of
from site_browser import OVERFLOW, PHONE, WIDE, served

if TYPE_CHECKING:
    from browser_tab import BrowserTab

STATES = [state_of(question) for question in QUESTIONS]
READY = "() => document.querySelectorAll('.question[data-started]').length"
# Numbers every control, so that a test can point at it.
MARK = """() => document.querySelectorAll('.question').forEach((question, q) =>
  question.querySelectorAll('input, button').forEach((control, c) => {
    control.dataset.at = `${q}-${c}`;
  }))"""
REPLY = """number => {
  const region = document.querySelectorAll('.question')[number].querySelector('[role=status]');
  return [region.textContent, region.classList.contains('question-right')];
}"""
FOCUS = "at => document.querySelector(`[data-at='${at}']`).focus()"
CLEAR = """number => document.querySelectorAll('.question')[number]
  .querySelectorAll('[type=text]').forEach(input => { input.value = ''; })"""
STORED = "() => Object.keys(localStorage).filter(key => key.startsWith('question:'))"


@pytest.fixture(scope="module")
def base(site, tmp_path_factory):
    folder = site_with_questions(site, tmp_path_factory.mktemp("questions") / "site")
    failed: list[str] = []
    with served(folder, tmp_path_factory.mktemp("served questions"), probed(failed)) as address:
        yield address
    assert failed == []


def load(tab: BrowserTab, address: str) -> None:
    tab.go(address)
    if address.endswith("?framed"):
        tab.enter_frame()
    tab.wait(READY)
    tab.js(MARK)


def give(tab: BrowserTab, number: int, given: list[str], way: str) -> None:
    state = STATES[number]
    tab.js(CLEAR, number)

    def reach(control: int) -> None:
        at = f"{number}-{control}"
        if way == "mouse":
            tab.click(tab.place(f"[data-at='{at}']"))
        else:
            tab.js(FOCUS, at)

    if state["kind"] == "choice":
        reach(int(given[0]) if way == "mouse" else 0)
        if way == "keyboard":
            tab.press("Space", *["ArrowDown"] * int(given[0]))
    else:
        for control, text in enumerate(given):
            reach(control)
            tab.press(*text)
    if way == "mouse":
        reach(3 if state["kind"] == "choice" else len(given))  # the button stands after them
    else:
        tab.press("Enter")


def check_all(tab: BrowserTab, way: str) -> None:
    for number, state in enumerate(STATES):
        right = state["says"]["right"]
        for given, said in [*mistakes(state), (right_answer(state), right)]:
            give(tab, number, given, way)
            assert tab.js(REPLY, number) == [seen(said), said == right], (number, given)


@pytest.mark.parametrize("way", ["mouse", "keyboard"])
def test_every_answer_gets_the_reply_that_python_gives(tab, base, way):
    tab.size(WIDE if way == "keyboard" else PHONE, 900)
    load(tab, base + PAGE)
    tab.js("() => localStorage.clear()")
    load(tab, base + PAGE)
    check_all(tab, way)
    replies = [tab.js(REPLY, number) for number in range(len(STATES))]
    assert len(tab.js(STORED)) == len(STATES)
    load(tab, base + PAGE)
    assert [tab.js(REPLY, number) for number in range(len(STATES))] == replies
    assert tab.js(OVERFLOW) == []
    assert tab.js("() => window.wrong") == []


def test_questions_work_in_a_sandboxed_frame(tab, base):
    tab.size(WIDE, 900)
    load(tab, f"{base}{PAGE}?framed")
    check_all(tab, "mouse")
    # To WebKit the site is another host than a frame without an origin.
    wrong = [said for said in tab.js("() => window.wrong") if "another host" not in said]
    assert wrong == []


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_tables_fit_and_nothing_moves_when_questions_start(tab, base, width):
    tab.size(width, 900)
    load(tab, base + PAGE)
    moved = """async () => {
      const html = await (await fetch(location.href)).text();
      const page = new DOMParser().parseFromString(html, 'text/html');
      const heights = () => [...document.querySelectorAll('.question')]
        .map(question => question.getBoundingClientRect().height);
      const alive = heights();
      const wide = [...document.querySelectorAll('.question-grid')]
        .filter(grid => grid.scrollWidth > grid.clientWidth).length;
      document.querySelectorAll('.question').forEach((question, number) => question.replaceWith(
        document.importNode(page.querySelectorAll('.question')[number], true)));
      return [wide, Math.max(...heights().map((height, i) => Math.abs(height - alive[i])))];
    }"""
    tab.js("() => localStorage.clear()")
    load(tab, base + PAGE)
    wide, by = tab.js(moved)
    assert wide == 0
    assert by <= 2


def test_every_field_of_a_question_has_a_name(tab, base):
    tab.size(WIDE, 900)
    load(tab, base + PAGE)
    assert tab.nameless(".question", "input, button, fieldset, table, summary") == []
