"""Search, theme and side bar in Firefox and WebKit, also where nothing may be stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from site_browser import PHONE, WIDE

if TYPE_CHECKING:
    from browser_tab import BrowserTab

_CHAPTER = "chapters/01_dot_products.html"
_TITLE = "() => document.querySelector('#search-results ul.search a')?.innerText"
_FOUND = [("mask", "5. What may a word look at?"), ("早上好", "1. What does X·Xᵀ mean?")]
_THEME = "() => document.documentElement.dataset.theme"
_COMPLETE = """query => document.readyState === 'complete'
  && decodeURIComponent(location.search).includes(query)"""
_SHOWN = """selector => [...document.querySelectorAll(selector)]
  .findIndex(element => element.checkVisibility() && element.getBoundingClientRect().width)"""


class _Reader:
    """Someone who reads the site in a tab, on the page itself or in a sandboxed frame."""

    def __init__(self, tab: BrowserTab, address: str, *, framed: bool = False) -> None:
        self.tab, self.address, self.framed = tab, address, framed

    def open(self, name: str, width: int) -> None:
        self.tab.size(width, 900)
        path, _, query = name.partition("?")
        self.tab.go(f"{self.address}{path}?{'framed' if self.framed else query}")
        if self.framed:
            self.tab.enter_frame()
            if query:
                self.tab.js("query => { location.search = query; }", query)
            self.tab.wait(_COMPLETE, query)

    def click(self, selector: str) -> None:
        self.tab.click(self.tab.place(selector, self.tab.js(_SHOWN, selector)))

    def search(self, words: str) -> str:
        self.open(f"search.html?q={words}", WIDE)
        return self.tab.wait(_TITLE)

    def themes(self) -> list[str]:
        self.open(_CHAPTER, WIDE)
        seen = []
        for _ in range(3):
            self.click(".theme-switch-button")
            seen.append(self.tab.js(_THEME))
        return seen

    def search_by_key(self) -> None:
        self.open(_CHAPTER, WIDE)
        self.click("article h1")  # so that the page, or the frame, has the focus
        self.tab.press("Control+k")
        self.tab.wait("() => document.querySelector('#pst-search-dialog').open")
        self.tab.press("Escape")
        self.tab.wait("() => !document.querySelector('#pst-search-dialog').open")

    def side_bar(self) -> None:
        self.open(_CHAPTER, PHONE)
        self.click(".primary-toggle")
        self.tab.wait("() => document.querySelector('#pst-primary-sidebar-modal').open")


def _check_search_theme_and_side_bar(reader: _Reader) -> None:
    for words, title in _FOUND:
        assert reader.search(words) == title
    assert set(reader.themes()) == {"dark", "light"}
    reader.search_by_key()
    reader.side_bar()


def test_search_theme_and_side_bar_work(tab, pages):
    _check_search_theme_and_side_bar(_Reader(tab, pages.address))
    tab.js("() => localStorage.clear()")


def test_the_chosen_theme_is_remembered(tab, pages):
    reader = _Reader(tab, pages.address)
    reader.open(_CHAPTER, WIDE)
    first = tab.js(_THEME)
    while tab.js(_THEME) == first:
        reader.click(".theme-switch-button")
    tab.go(f"{pages.address}index.html")
    assert tab.js(_THEME) != first
    tab.js("() => localStorage.clear()")


def test_search_theme_and_side_bar_work_with_storage_blocked(open_tab, pages):
    _check_search_theme_and_side_bar(_Reader(open_tab(storage=False), pages.address))


def test_search_theme_and_side_bar_work_in_a_sandboxed_frame(tab, pages):
    _check_search_theme_and_side_bar(_Reader(tab, pages.address, framed=True))


def test_pronoun_and_order_on_the_front_page_are_chosen_by_mouse_and_by_key(tab, pages):
    tab.size(PHONE, 844)
    tab.go(f"{pages.address}index.html")
    read = "() => document.querySelector('.front-figure .result').innerText.trim()"
    tab.click(tab.place("label[for=told-he]"))
    assert tab.js(read).startswith("he looks at king: it gives this word 0.42")
    tab.click(tab.place("label[for=told-girl]"))
    assert tab.js(read).startswith("he looks at king: it gives this word 0.29")
    tab.js("() => document.querySelector('#told-he').focus()")
    tab.press("ArrowLeft")
    assert tab.js(read).startswith("she looks at girl: it gives this word 0.49")


@pytest.mark.parametrize("engine", ["firefox"], indirect=True)  # WebKit's driver has no touch input
def test_a_finger_moves_figures_and_not_the_page(tab, pages):
    tab.size(PHONE, 844)
    tab.go(f"{pages.address}{_CHAPTER}")
    grip, before = tab.place(".live-grip", 1), tab.js("() => scrollY")
    state = "() => JSON.stringify(document.querySelector('.live-figure').figure.state())"
    first = tab.js(state)
    tab.drag(grip, (4, 52), kind="touch", steps=13)
    assert tab.js(state) != first
    assert tab.js("() => scrollY") == before


_CELL = """name => {
  const cells = [...document.querySelectorAll('.live-paint button')];
  const cell = cells.find(cell => cell.getAttribute('aria-label') === name);
  const box = cell.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}"""


@pytest.mark.parametrize("engine", ["firefox"], indirect=True)
@pytest.mark.parametrize("way", ["touch", "mouse"])
def test_a_stroke_paints_every_cell_that_it_crosses(tab, pages, way):
    tab.size(PHONE, 844)
    tab.go(f"{pages.address}chapters/05_masks.html")
    tab.place(".live-paint")
    first, *rest = [tab.js(_CELL, f"{word} may look at Your") for word in ("step", "one", "with")]
    column = "() => document.querySelector('.live-figure').figure.state().mask.map(row => row[0])"
    before = tab.js(column)
    tab.pointer(first, "down", *(s for cell in rest for s in (cell, 20)), "up", kind=way)
    after = tab.js(column)
    assert [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [3, 4, 5]
