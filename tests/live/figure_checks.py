"""Find live figures in a browser, check the numbers that they show, and move their controls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from live_states import as_numbers, differences, shown_text
from site_browser import PHONE, WIDE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Locator
    from playwright.sync_api import Page as Tab

_PLACE = re.compile(r'data-live="(\w+)"')

# NaN and infinities do not survive the way to Python as numbers.
READ = """root => {
  const plain = x => typeof x === 'number' ? String(x)
    : Array.isArray(x) ? x.map(plain)
    : Object.fromEntries(Object.entries(x).map(([k, v]) => [k, plain(v)]));
  return {
    state: root.figure.state(),
    numbers: plain(root.figure.numbers()),
    shown: [...root.querySelectorAll('[data-key]')].map(
      e => [e.dataset.key, Number(e.dataset.digits), e.textContent]),
  };
}"""


def places(site: Path) -> list[tuple[Path, int, str]]:
    """Return every live figure of the site: its page, its place there, its module."""
    found = []
    for path in sorted(site.rglob("*.html")):
        if "_static" not in path.parts:
            names = _PLACE.findall(path.read_text(encoding="utf-8"))
            found += [(path, number, name) for number, name in enumerate(names)]
    return found


def _at(tree: Any, path: str) -> float:
    for key in path.split("."):
        tree = tree[int(key) if isinstance(tree, list) else key]
    return tree


def check(root: Locator, module: str) -> tuple[dict[str, Any], list[str]]:
    """Return the state of a figure, and the problems: wrong numbers, or text that differs."""
    return check_read(root.evaluate(READ), module)


def check_read(read: dict[str, Any], module: str) -> tuple[dict[str, Any], list[str]]:
    """Do the same with what ``READ`` returned, in any browser."""
    numbers = as_numbers(read["numbers"])
    problems = differences(module, read["state"], numbers)
    for key, digits, text in read["shown"]:
        wanted = shown_text(_at(numbers, key), digits)
        if text != wanted:
            problems.append(f"{module} writes {text!r} for {key} = {wanted}")
    if len(read["shown"]) < 3:
        problems.append(f"{module} shows fewer than 3 numbers")
    return read["state"], problems


#: The keys that move a control, by its kind.
KEYS = {
    "range": ["ArrowRight", "ArrowLeft"],
    "slider": ["ArrowUp", "ArrowLeft"],
    "radio": ["ArrowDown", "Space"],
    "select-one": ["ArrowDown", "ArrowUp"],
    "checkbox": ["Space"],
    "submit": ["Enter"],
    "button": ["Enter", "Space"],
}

# --- moving each kind of control by mouse, finger and keyboard -------------------------------


def _centre(control: Locator) -> tuple[float, float]:
    box = control.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _touch_drag(tab: Tab, start: tuple[float, float], by: tuple[float, float]) -> None:
    session = tab.context.new_cdp_session(tab)
    x, y = start
    for kind, share in (("touchStart", 0), ("touchMove", 0.5), ("touchMove", 1), ("touchEnd", 1)):
        points = [{"x": x + share * by[0], "y": y + share * by[1]}]
        session.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [] if kind == "touchEnd" else points},
        )


def moves(tab: Tab, control: Locator, way: str) -> Iterator[None]:
    """Move a control once or twice; the caller checks the figure after each move."""
    kind = control.evaluate("e => e.type || e.getAttribute('role')")
    control.scroll_into_view_if_needed()
    x, y = _centre(control)
    box = control.bounding_box()
    if kind == "text":  # focused in each way, but always typed
        {"finger": control.tap, "mouse": control.click, "keyboard": control.focus}[way]()
        tab.keyboard.press("ControlOrMeta+A")
        tab.keyboard.type("7 July 2007")
        yield
    elif way == "keyboard":
        control.focus()
        for key in KEYS[kind]:
            tab.keyboard.press(key)
            yield
    elif kind == "select-one":  # its menu is drawn outside the page
        for number in (1, 0):
            control.select_option(index=number)
            yield
    elif kind == "range":
        for share in (0.8, 0.3):
            spot = {"x": box["width"] * share, "y": box["height"] / 2}
            control.tap(position=spot) if way == "finger" else control.click(position=spot)
            yield
    elif kind == "slider":
        for by in ((30, -20), (-50, 45)):
            if way == "finger":
                _touch_drag(tab, _centre(control), by)
            else:
                x, y = _centre(control)
                tab.mouse.move(x, y)
                tab.mouse.down()
                tab.mouse.move(x + by[0], y + by[1], steps=3)
                tab.mouse.up()
            yield
    else:
        control.tap() if way == "finger" else control.click()
        yield


WAYS = {"mouse": WIDE, "finger": PHONE, "keyboard": WIDE}
