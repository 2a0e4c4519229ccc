"""The figure of the front page: the reader chooses pronoun and order, and one drawing is shown."""

from __future__ import annotations

from itertools import pairwise

import front_figure
import pytest
from site_browser import NARROW, PHONE, WIDE, axe_problems

STATES = front_figure.states()
SHOWN = """() => ['svg', '.result'].map(part =>
  [...document.querySelectorAll(`.front-figure ${part} .case`)].flatMap((one, i) =>
    getComputedStyle(one).display === 'none' ? [] : [i]))"""


@pytest.fixture(params=[WIDE, PHONE, NARROW])
def tab(browser, address, request):
    # Without JavaScript, too: the buttons and a stylesheet do it all.
    context = browser.new_context(
        viewport={"width": request.param, "height": 800 if request.param == WIDE else 844},
        java_script_enabled=request.param != PHONE,
    )
    page = context.new_page()
    page.goto(f"{address}index.html")
    yield page
    context.close()


def label(tab, name: str):
    return tab.locator(f".front-figure label[for=told-{name}]")


def test_one_sentence_is_shown_at_first_and_then_that_of_the_reader(tab):
    assert tab.evaluate(SHOWN) == [[0], [0]]
    for i, state in enumerate(STATES):
        label(tab, state.pronoun).click()
        label(tab, state.first).click()
        assert tab.evaluate(SHOWN) == [[i], [i]]
        result = tab.locator(".front-figure .result").inner_text()
        assert result.startswith(f"{state.pronoun} looks at {state.person}: ")
        drawn = tab.locator(f".front-figure .n{i + 1} text").all_text_contents()
        assert [word for word in drawn if word[0] != "0"] == state.tokens


def test_arrow_keys_change_the_pronoun_and_the_order(tab):
    tab.get_by_role("radio", name="she was tired").focus()
    for key, shown in (("ArrowRight", 1), ("Tab", 1), ("ArrowRight", 3), ("ArrowLeft", 1)):
        tab.keyboard.press(key)
        assert tab.evaluate(SHOWN) == [[shown]] * 2
    tab.keyboard.press("Shift+Tab")
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate(SHOWN) == [[0]] * 2


def test_a_finger_can_hit_each_choice_and_the_first_screen_holds_the_figure(tab):
    for one in tab.locator(".front-figure label").all():
        box = one.bounding_box()
        assert min(box["width"], box["height"]) >= 44
    if tab.viewport_size["width"] >= PHONE:
        box = tab.locator(".front-figure svg").bounding_box()
        assert box["y"] + box["height"] <= tab.viewport_size["height"]


def test_the_words_do_not_touch(tab):
    for i, state in enumerate(STATES, 1):
        label(tab, state.pronoun).click()
        label(tab, state.first).click()
        words = tab.locator(f".front-figure .n{i} text").all()
        boxes = [word.bounding_box() for word in words if word.text_content()[0] != "0"]
        gaps = [b["x"] - a["x"] - a["width"] for a, b in pairwise(boxes)]
        assert min(gaps) >= 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES, ids=lambda s: f"{s.first}-{s.pronoun}")
def test_the_figure_is_accessible(browser, address, theme, state):
    with browser.new_context(viewport={"width": PHONE, "height": 844}) as context:
        page = context.new_page()
        page.goto(f"{address}index.html")
        label(page, state.pronoun).click()
        label(page, state.first).click()
        assert axe_problems(page, theme, ".front-figure") == []
