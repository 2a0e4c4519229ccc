"""What a screen reader says of a figure: one sentence after each change, and named controls."""

from __future__ import annotations

import pytest
from figure_checks import places

REGIONS = "output, [aria-live], [role=status], [role=alert], [role=log]"
# A name as browsers compute it for a button: its label, or the text that is not hidden.
_NAMES = """root => [...root.querySelectorAll('button, summary')].map(button =>
  button.getAttribute('aria-label') ?? button.innerText.trim())"""
_HEARD = """root => {
  const region = root.querySelector('[role=status]');
  window.heard = [];
  window.seen = [];
  const sentence = root.querySelector('.live-reading');
  new MutationObserver(() => window.seen.push(sentence.textContent))
    .observe(sentence, {childList: true, characterData: true, subtree: true});
  new MutationObserver(() => window.heard.push(region.textContent))
    .observe(region, {childList: true, characterData: true, subtree: true});
}"""


@pytest.fixture
def tab(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    yield context.new_page()
    context.close()


def test_each_figure_has_one_live_region_and_no_output(site, tab):
    pages = {path for path, _, _ in places(site)}
    for path in sorted(pages):
        tab.goto(path.as_uri())
        figures = tab.locator("div[data-live] > .live-figure")
        assert figures.count() == len([p for p, _, _ in places(site) if p == path])
        assert tab.locator("div[data-live]").locator(REGIONS).count() == figures.count(), path
        assert tab.locator("div[data-live] output").count() == 0
        for figure in figures.all():
            region = figure.get_by_role("status")
            assert region.count() == 1
            # It repeats the visible sentence, which is hidden from screen readers.
            sentence = figure.locator(".live-reading")
            assert sentence.get_attribute("aria-hidden") == "true"
            assert region.text_content() == sentence.text_content() != ""


def test_every_button_has_a_name(site, tab):
    for path, number, module in places(site):
        tab.goto(path.as_uri())
        root = tab.locator("div[data-live] > .live-figure").nth(number)
        names = root.evaluate(_NAMES)
        assert all(names), (module, names)


@pytest.mark.parametrize(
    ("page", "selector", "names"),
    [
        ("06_multi_head", "button.live-cell", ["11", "12", "13", "14", "15", "16", "21"]),
        ("09_transformer", ".live-stage", ["self-attention (2, 2, 5, 5)", "feed-forward 4→16→4"]),
    ],
)
def test_names_of_buttons_hold_their_numbers(site, tab, page, selector, names):
    tab.goto((site / "chapters" / f"{page}.html").as_uri())
    root = tab.locator("div[data-live] > .live-figure")
    for name in names:
        found = root.locator(selector).and_(tab.get_by_role("button", name=name))
        assert found.count() >= 1, (name, root.aria_snapshot())


def test_a_drag_is_announced_once_when_it_ends(site, tab):
    tab.goto((site / "chapters" / "01_dot_products.html").as_uri())
    root = tab.locator("div[data-live] > .live-figure")
    root.evaluate(_HEARD)
    grip = root.locator(".live-grip").nth(1)
    grip.scroll_into_view_if_needed()
    box = grip.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.mouse.move(x, y)
    tab.mouse.down()
    for by in ((60, 60), (-100, 190), (60, 60), (-100, 190)):
        tab.mouse.move(x + by[0], y + by[1], steps=10)
    tab.mouse.up()
    assert len(tab.evaluate("window.seen")) >= 3  # the visible sentence follows at once
    tab.wait_for_timeout(900)
    heard = tab.evaluate("window.heard")
    assert heard == [root.locator(".live-reading").text_content()]


def test_a_text_that_cannot_be_translated_is_announced_and_then_the_result(site, tab):
    tab.goto((site / "chapters" / "10_translation.html").as_uri())
    root = tab.locator("div[data-live=translator] > .live-figure")
    region, field = root.get_by_role("status"), root.locator("input[type=text]")
    before = region.text_content()
    field.fill("3 May 2026?")
    tab.wait_for_timeout(900)
    assert "has never seen “?”" in region.text_content()
    field.fill("3 May 2026")
    root.locator("[aria-busy]").wait_for(state="detached")
    tab.wait_for_timeout(900)
    assert region.text_content() == root.locator(".live-reading").text_content() == before


def test_new_words_keep_the_live_region_element(site, tab):
    """A screen reader does not announce the text of a replaced region."""
    tab.goto((site / "chapters" / "02_simple_attention.html").as_uri())
    root = tab.locator("div[data-live] > .live-figure")
    root.evaluate(_HEARD)
    root.evaluate("""root => {
      window.region = root.querySelector('[role=status]');
      root.figure.put({words: ['a', 'b'], embeddings: [[1, 0], [0, 2]], query: 0});
    }""")
    tab.wait_for_timeout(900)
    assert root.evaluate("root => window.region === root.querySelector('[role=status]')")
    assert tab.evaluate("window.heard") == [root.locator(".live-reading").text_content()]
