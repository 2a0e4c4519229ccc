"""The map remembers what was read, in the reader's browser and nowhere else."""

from __future__ import annotations

import pytest
from chapter_sections import CHAPTERS
from site_browser import PHONE, WIDE

FIRST, SECOND = "chapters/01_dot_products.html", "chapters/02_simple_attention.html"


@pytest.fixture(params=[WIDE, PHONE])
def tab(browser, request):
    context = browser.new_context(viewport={"width": request.param, "height": 900})
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(error.stack))
    yield page
    assert page.problems == []
    context.close()


def marks(tab) -> list[bool]:
    """Return for each item of the map whether it has a check mark."""
    items = tab.locator("#the-map ol > li")
    return ["✓" in text for text in items.all_inner_texts()]


def read_to_the_end(tab, address: str) -> None:
    tab.goto(address)
    tab.locator("#summary").scroll_into_view_if_needed()
    tab.wait_for_function("localStorage.getItem('chapters-read') !== null")


def test_a_chapter_read_to_its_summary_is_marked_and_the_next_is_named(tab, address):
    tab.goto(f"{address}index.html")
    assert not any(marks(tab))
    assert tab.locator("#the-map p.progress").is_hidden()
    tab.goto(address + FIRST)  # opened, but not read
    tab.goto(f"{address}index.html")
    assert not any(marks(tab))

    read_to_the_end(tab, address + FIRST)
    tab.goto(f"{address}index.html")
    assert marks(tab) == [True] + [False] * (len(CHAPTERS) - 1)
    note = tab.locator("#the-map p.progress")
    assert note.get_by_role("link").inner_text() == "How does a word gather its context?"
    note.get_by_role("link").click()
    tab.wait_for_url(f"**/{SECOND}")

    tab.go_back()
    tab.get_by_role("button", name="Forget the marks").click()
    assert note.is_hidden()
    assert not any(marks(tab))
    assert tab.evaluate("localStorage.getItem('chapters-read')") == "[]"


def test_a_reader_of_all_chapters_is_told_so(tab, address):
    tab.goto(f"{address}index.html")
    names = tab.locator("#the-map ol a").evaluate_all(
        "links => links.map(a => a.pathname.match(/chapters.(.*).html/)[1])"
    )
    tab.evaluate("names => localStorage.setItem('chapters-read', JSON.stringify(names))", names)
    tab.reload()
    assert "You have read them all." in tab.locator("#the-map p.progress").inner_text()


@pytest.mark.parametrize("kept", ["nonsense", "7", '{"a": 1}'])
def test_stored_progress_that_is_no_list_is_ignored(tab, address, kept):
    tab.goto(f"{address}index.html")
    tab.evaluate("kept => localStorage.setItem('chapters-read', kept)", kept)
    tab.reload()
    assert tab.locator("#the-map p.progress").is_hidden()


def test_a_browser_without_storage_shows_the_plain_map(tab, address):
    tab.add_init_script(
        "Object.defineProperty(window, 'localStorage',"
        " { configurable: true, get() { throw new Error('no'); } })"
    )
    tab.goto(address + FIRST)
    tab.locator("#summary").scroll_into_view_if_needed()
    tab.goto(f"{address}index.html")
    assert tab.locator("#the-map p.progress").is_hidden()
    assert not any(marks(tab))
