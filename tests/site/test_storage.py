"""A browser without storage: side bar, theme switch and search work, and nothing is kept.

Storage is blocked in two ways: by a sandboxed frame, whose scripts meet a SecurityError at
``localStorage`` and ``sessionStorage``, and by a browser without ``localStorage``.
"""

from __future__ import annotations

import pytest
from site_browser import PHONE, WIDE, second_browser

PAGE = "chapters/02_simple_attention.html"
THEME = "document.documentElement.dataset.theme"


@pytest.fixture(scope="module")
def browser_without_storage(browser):
    with second_browser(browser, "--disable-local-storage") as running:
        yield running


@pytest.fixture(params=[WIDE, PHONE])
def width(request):
    return request.param


@pytest.fixture(params=["sandboxed frame", "no local storage"])
def opened(request, width, browser, address):
    """Return a tab without storage, and a function that loads a page in it and gives its frame."""
    framed = request.param == "sandboxed frame"
    running = browser if framed else request.getfixturevalue("browser_without_storage")
    context = running.new_context(viewport={"width": width, "height": 900}, color_scheme="light")
    tab = context.new_page()
    tab.set_default_timeout(5000)
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(f"page error: {error}"))
    tab.on("console", lambda m: m.type in ("error", "warning") and problems.append(m.text))

    def load(page: str):
        if not framed:
            tab.goto(address + page)
            return tab.main_frame
        style = f"border: 0; width: {width}px; height: 890px"
        tab.set_content(
            "<style>body { margin: 0 }</style>"
            f'<iframe sandbox="allow-scripts" style="{style}" src="{address}{page}"></iframe>'
        )
        frame = tab.frames[1]
        frame.wait_for_load_state("load")
        return frame

    yield tab, load
    assert problems == []
    context.close()


def test_storage_is_blocked(opened):
    _, load = opened
    # The stand-in that the page puts there is not an instance of Storage; the real one is.
    assert not load(PAGE).evaluate("localStorage instanceof Storage")


def test_side_bar_opens_without_storage(opened, width):
    _, load = opened
    frame = load(PAGE)
    side_bar, toggle = frame.locator(".bd-sidebar-primary"), frame.locator(".primary-toggle")
    assert side_bar.is_visible() == (width == WIDE)
    toggle.locator("visible=true").click()
    if width == WIDE:
        assert side_bar.get_attribute("class").endswith("pst-sidebar-hidden")
    else:
        dialog = frame.locator("#pst-primary-sidebar-modal")
        dialog.locator("nav.bd-links").wait_for(state="visible")


def test_theme_switch_works_without_storage_and_the_choice_is_not_kept(opened):
    _, load = opened
    frame = load(PAGE)
    first = frame.evaluate(THEME)
    button = frame.locator(".theme-switch-button:visible").first
    seen = set()
    for _ in range(3):
        button.click()
        seen.add(frame.evaluate(THEME))
    assert seen == {"light", "dark"}
    while frame.evaluate(THEME) == first:
        button.click()
    assert load(PAGE).evaluate(THEME) == first


@pytest.mark.parametrize("way", ["Control+k", ".search-button__button:visible"])
def test_search_finds_pages_without_storage(opened, way, width):
    tab, load = opened
    frame = load(PAGE)
    if way.startswith("."):
        if width == PHONE and not frame.locator(way).count():
            frame.locator(".primary-toggle").locator("visible=true").click()
        frame.locator(way).first.click()
    else:
        frame.locator("article h1").click()  # so that the frame has the keyboard focus
        tab.keyboard.press(way)
    field = frame.locator("#pst-search-dialog input")
    field.wait_for(state="visible")
    field.fill("softmax")
    field.press("Enter")
    frame.wait_for_url("**/search.html?q=softmax")
    first = frame.locator("#search-results ul.search li").first
    first.wait_for()
    assert first.locator("a").first.inner_text() == "1. What does X·Xᵀ mean?"
    # The words around the match, or the description of the page.
    first.locator("p.context:not(:empty)").wait_for()


def test_search_on_pages_opened_as_files_shows_their_descriptions(site, browser):
    tab = browser.new_page()
    tab.set_default_timeout(5000)
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(f"page error: {error}"))
    tab.on("console", lambda m: m.type in ("error", "warning") and problems.append(m.text))
    tab.goto(f"{(site / 'search.html').as_uri()}?q=softmax")
    first = tab.locator("#search-results ul.search li").first
    first.wait_for()
    tab.goto(first.locator("a").first.evaluate("link => link.href"))
    about = tab.locator("meta[name=description]").get_attribute("content")
    tab.go_back()
    assert first.locator("p.context").inner_text() == about
    assert problems == []
    tab.close()
