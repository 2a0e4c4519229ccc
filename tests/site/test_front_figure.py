"""The figure of the front page: the reader chooses a word, and one arrow is shown."""

from __future__ import annotations

import front_figure
import pytest
from site_browser import NARROW, PHONE, WIDE, axe_problems

WORDS = [*front_figure.ANIMALS, *front_figure.TREES]
SHOWN = """() => ['.sentence', 'svg', '.result'].map(part =>
  [...document.querySelectorAll(`.front-figure ${part} .case`)].flatMap((one, i) =>
    getComputedStyle(one).display === 'none' ? [] : [i]))"""


@pytest.fixture(params=[WIDE, PHONE, NARROW])
def tab(browser, address, request):
    # Without JavaScript, too: the buttons and a stylesheet do it all.
    context = browser.new_context(
        viewport={"width": request.param, "height": 844}, java_script_enabled=request.param != PHONE
    )
    page = context.new_page()
    page.goto(f"{address}index.html")
    yield page
    context.close()


def test_one_word_is_chosen_at_first_and_then_that_of_the_reader(tab):
    first = WORDS.index(front_figure.FIRST_CHOICE)
    assert tab.evaluate(SHOWN) == [[first]] * 3
    for i, word in enumerate(WORDS):
        tab.locator(".front-figure label", has_text=word).click()
        assert tab.evaluate(SHOWN) == [[i]] * 3
        assert f"came from the {word}." in tab.locator(".front-figure .sentence").inner_text()
        assert word in tab.locator(".front-figure .result").inner_text()


def test_arrow_keys_choose_the_next_word(tab):
    tab.get_by_role("radio", name="wolf").focus()
    tab.keyboard.press("Space")
    assert tab.evaluate(SHOWN) == [[0]] * 3
    for i in (1, 2):
        tab.keyboard.press("ArrowRight")
        assert tab.evaluate(SHOWN) == [[i]] * 3
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate(SHOWN) == [[1]] * 3


def test_a_finger_can_hit_each_word_and_the_first_screen_holds_the_figure(tab):
    for label in tab.locator(".front-figure label").all():
        box = label.bounding_box()
        assert min(box["width"], box["height"]) >= 44
    if tab.viewport_size["width"] >= PHONE:
        box = tab.locator(".front-figure svg").bounding_box()
        assert box["y"] + box["height"] <= 844


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_figure_is_accessible(browser, address, theme):
    with browser.new_context(viewport={"width": PHONE, "height": 844}) as context:
        page = context.new_page()
        page.goto(f"{address}index.html")
        assert axe_problems(page, theme, ".front-figure") == []
