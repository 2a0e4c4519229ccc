"""Live figures in Firefox and WebKit show the right numbers after mouse and keyboard input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from figure_checks import KEYS, READ, check_read
from live_states import FIGURES
from site_browser import PHONE, WIDE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from browser_tab import BrowserTab

_ROOT = "document.querySelectorAll('div[data-live]')[number].querySelector('.live-figure')"
# A figure that is busy, for example fetching a model, says so.
_READY = f"number => {_ROOT} && !{_ROOT}.querySelector('[aria-busy]')"
_READ = f"number => ({READ})({_ROOT})"
_CONTROLS = f"""number => [...{_ROOT}.querySelectorAll('[data-control]')].map(e =>
  [e.dataset.control, e.type || e.getAttribute('role'), !e.disabled && e.checkVisibility()])"""
_REACH = f"""(number, at, focus) => {{
  const control = {_ROOT}.querySelectorAll('[data-control]')[at];
  control.scrollIntoView({{block: 'center', inline: 'nearest', behavior: 'instant'}});
  if (focus) control.focus();
  const box = control.getBoundingClientRect();
  return [box.left, box.top, box.width, box.height];
}}"""


def _check(tab: BrowserTab, number: int, module: str) -> tuple[str, list[str]]:
    tab.wait(_READY, number)
    state, problems = check_read(tab.js(_READ, number), module)
    return json.dumps(state, sort_keys=True), problems + tab.js("() => window.wrong.splice(0)")


def _by_mouse(tab: BrowserTab, number: int, at: int, kind: str) -> Iterator[None]:
    left, top, width, height = tab.js(_REACH, number, at, False)
    middle = left + width / 2, top + height / 2
    if kind == "slider":
        tab.drag(middle, (25, 20))
        yield
    elif kind == "range":
        for share in (0.8, 0.3):
            tab.click((left + share * width, middle[1]))
            yield
        tab.drag((left + 0.3 * width, middle[1]), (0.4 * width, 0))
        yield
    else:
        tab.click(middle)
        yield


def _by_keyboard(tab: BrowserTab, number: int, at: int, kind: str) -> Iterator[None]:
    tab.js(_REACH, number, at, True)
    for key in _KEYS[kind]:
        tab.press(key)
        yield


# ArrowDown on the last radio button leads to the first, but not in WebKit.
_KEYS = {**KEYS, "radio": ["ArrowDown", "ArrowUp"]}
_WAYS = {"mouse": _by_mouse, "keyboard": _by_keyboard}


_MOST = 5  # controls of one name that are tried until one answers; once a week, all


@pytest.mark.parametrize("way", _WAYS)
def test_numbers_are_right_after_every_move(tab, pages, way, thorough):
    """A click, a drag, a key: the page then shows the numbers of attention_core."""
    problems = []
    tab.size(WIDE, 900)
    for name, number, module in pages.figures:
        tab.go(pages.address + name)
        state, found = _check(tab, number, module)
        moved: dict[str, bool] = {}
        tried: dict[str, int] = {}
        # Looked up again each time: a move can add or remove controls.
        at = -1
        while (at := at + 1) < len(controls := tab.js(_CONTROLS, number)):
            control, kind, usable = controls[at]
            # The menu of a select is drawn outside the page: only keys choose from it.
            if not usable or kind == "text" or (kind == "select-one" and way == "mouse"):
                continue
            # The first of several controls of one name may not change when it is moved.
            if not thorough and (moved.get(control) or tried.get(control, 0) == _MOST):
                continue
            tried[control] = tried.get(control, 0) + 1
            for _ in _WAYS[way](tab, number, at, kind):
                after, more = _check(tab, number, module)
                found += [f"{control}: {problem}" for problem in more]
                moved[control] = moved.get(control, False) or after != state
                state = after
        found += [f"{control} does not answer" for control, did in moved.items() if not did]
        found += ["has no control"] * (not moved)
        problems += [f"{name}, {module}: {problem}" for problem in dict.fromkeys(found)]
    assert not problems, "\n".join(problems)


# Puts the cell of a figure back as it was delivered, before the figure started, and measures
# by how much the element that follows it moves.
_MOVED = f"""async number => {{
  const html = await (await fetch(location.href)).text();
  const delivered = new DOMParser().parseFromString(html, 'text/html');
  const around = page => {{
    const place = page.querySelectorAll('div[data-live]')[number];
    return place.closest('.cell') ?? place.parentElement;
  }};
  const started = around(document), before = document.importNode(around(delivered), true);
  let next = started;
  while (!next.nextElementSibling) next = next.parentElement;
  next = next.nextElementSibling;
  const below = () => next.getBoundingClientRect().top + scrollY;
  const needed = {_ROOT}.getBoundingClientRect().height, after = below();
  started.replaceWith(before);
  return [needed, after - below()];
}}"""


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_the_page_below_does_not_move_when_a_figure_starts(tab, pages, width):
    problems = []
    tab.size(width, 900)
    for name, number, module in pages.figures:
        tab.go(pages.address + name)
        tab.wait(_READY, number)
        needed, moved = tab.js(_MOVED, number)
        if abs(moved) > 2:
            kept = FIGURES[module].heights[width == PHONE]
            sizes = f"{module} needs {needed:.0f} px, reserved are {kept} px"
            problems.append(f"{name}: what follows moves by {moved:.0f} px; {sizes}")
    assert not problems, "\n".join(problems)


_DATES = {"24 November 2026": "二〇二六年十一月二十四日", "5 May 2026": "二〇二六年五月五日"}
_WRITTEN = """wanted => {
  const root = document.querySelector('[data-live=translator] .live-figure');
  const written = root.querySelectorAll('.line:not(.later) .written:not(.next)');
  return !root.querySelector('[aria-busy]')
    && [...written].map(part => part.textContent).join('') === wanted;
}"""
_SECONDS = """() => {
  const {figure} = document.querySelector('[data-live=translator] .live-figure');
  const start = performance.now();
  figure.set('source', 'from 28 November to 30 December 2026');
  return (performance.now() - start) / (figure.numbers().count + 1) / 1000;
}"""


def test_typed_dates_are_translated_within_the_time_limit(tab, pages):
    tab.size(PHONE, 844)
    tab.go(f"{pages.address}chapters/10_translation.html")
    for text, wanted in _DATES.items():
        tab.click(tab.place("[data-live=translator] input[type=text]"))
        tab.press("Control+a")
        tab.press(*text)
        tab.wait(_WRITTEN, wanted)
    assert tab.js(_SECONDS) < 0.25  # a token; 3 ms where nothing else runs
    assert tab.js("() => window.wrong") == []


def test_every_control_has_a_name(tab, pages):
    """Also those of the page around a figure: a button without a name is read as "button"."""
    problems = []
    for width in (WIDE, PHONE):
        tab.size(width, 900)
        for name in dict.fromkeys(name for name, *_ in pages.figures):
            tab.go(pages.address + name)
            within = ".bd-header, .bd-header-article, div[data-live]"
            for markup in tab.nameless(within, "button, a[href], input, select, [role=slider]"):
                problems.append(f"{name}, {width} px: {markup}")
            if width == PHONE:  # figures have the same controls there; one page shows the header
                break
    assert not problems, "\n".join(dict.fromkeys(problems))
