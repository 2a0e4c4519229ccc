"""Live figures in a real browser: every control, by mouse, finger and keyboard.

After each move the numbers on the page must be those of `attention_core` for the state that
the page now has.
"""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING

import pytest
from figure_checks import WAYS, check, moves, places
from live_states import FIGURES, STATES
from site_browser import NARROW, PHONE, WIDE

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab


@pytest.fixture(scope="session")
def figures(site):
    found = places(site)
    assert {name for _, _, name in found} == set(FIGURES), "figures without a page, or unknown"
    return found


@pytest.mark.parametrize("way", WAYS)
def test_numbers_are_right_after_every_move(site, figures, browser, address, way):
    problems: list[str] = []
    for path, number, module in figures:
        tab = _open(browser, address + path.relative_to(site).as_posix(), way, problems)
        root = tab.locator("div[data-live] > .live-figure").nth(number)
        state, found = check(root, module)
        problems += [f"at first: {problem}" for problem in found]
        moved: dict[str, bool] = {}
        for control in root.locator("[data-control]").all():
            name = control.get_attribute("data-control")
            moved.setdefault(name, False)
            if not control.is_visible() or control.is_disabled():
                continue
            for _ in moves(tab, control, way):
                # A figure that is busy, for example fetching a model, says so.
                root.locator("[aria-busy]").wait_for(state="detached")
                after, found = check(root, module)
                moved[name] = moved[name] or after != state
                state = after
                problems += [f"{name}, {way}: {problem}" for problem in found]
        problems += [f"{module}: {n} does not answer ({way})" for n, ok in moved.items() if not ok]
        problems += [f"{module} has no control"] * (not moved)
        tab.context.close()
    assert not problems, "\n".join(dict.fromkeys(problems))


def _open(browser: Browser, address: str, way: str, problems: list[str]) -> Tab:
    context = browser.new_context(
        viewport={"width": WAYS[way], "height": 900},
        has_touch=way == "finger",
        reduced_motion="reduce",
    )
    tab = context.new_page()
    tab.on("pageerror", lambda error: problems.append(f"page error: {error}"))
    tab.on(
        "console",
        lambda m: m.type in ("error", "warning") and problems.append(f"console: {m.text}"),
    )
    tab.goto(address, wait_until="load")
    return tab


def test_figures_start_when_the_page_is_a_file(figures, browser):
    for path, number, module in figures:
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(path.as_uri())
        root = tab.locator("div[data-live] > .live-figure").nth(number)
        _, problems = check(root, module)
        assert not problems, "\n".join(problems)
        context.close()


def test_without_javascript_a_table_shows_the_stored_numbers(figures, browser):
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    for path, number, module in figures:
        tab.goto(path.as_uri())
        place = tab.locator("div[data-live]").nth(number)
        text = path.read_text(encoding="utf-8")
        state = list(re.finditer(r'data-live="\w+".*?<script[^>]*>(.*?)</script>', text, re.S))
        figure = FIGURES[module](**json.loads(state[number][1]))
        table = place.locator("table")
        assert table.is_visible()
        assert table.locator("caption").inner_text() == figure.table().caption
        shown = [
            [cell.inner_text() for cell in row.locator("th, td").all()]
            for row in table.locator("tbody tr").all()
        ]
        assert shown == figure.table().rows
    context.close()


def test_a_figure_that_fails_leaves_its_table_and_its_neighbours_intact(browser, site):
    """For example when a browser lacks a feature: the table of the figure can still be read."""
    script = next((site / "_static" / "live").glob("attention_map-translator.js"))
    text = script.read_text(encoding="utf-8")
    sound = '"attention_map": module_attention_map.default'
    assert sound in text
    text = text.replace(sound, "\"attention_map\": { render() { throw Error('x'); } }")
    context = browser.new_context()
    tab = context.new_page()
    errors: list[str] = []
    tab.on("console", lambda m: m.type == "error" and errors.append(m.text))
    tab.route("**/attention_map-translator.js", lambda route: route.fulfill(body=text))
    tab.goto((site / "chapters" / "10_translation.html").as_uri())
    broken, whole = tab.locator("div[data-live]").all()
    assert broken.locator("table").is_visible()
    assert broken.locator(".live-figure").count() == 0
    assert whole.locator(".live-figure").is_visible()
    assert any("Error: x" in error for error in errors)
    context.close()


def test_a_figure_fills_the_height_that_is_reserved_for_it(figures, browser, site, address):
    """The reserved height is nearly the height of the figure, so nothing moves when it starts."""
    for width in (WIDE, PHONE):
        context = browser.new_context(viewport={"width": width, "height": 900})
        tab = context.new_page()
        for path, number, module in figures:
            tab.goto(address + path.relative_to(site).as_posix())
            place = tab.locator("div[data-live]").nth(number)
            kept = FIGURES[module].heights[0 if width == WIDE else 1]
            needed = place.locator("> .live-figure").bounding_box()["height"]
            sizes = f"{module} needs {needed:.0f} px at width {width}, reserved are {kept} px"
            assert kept - 60 <= needed <= kept + 2, sizes
        context.close()


@pytest.mark.parametrize("width", [WIDE, PHONE, NARROW])
def test_the_table_before_a_figure_starts_has_the_reserved_height(figures, browser, width):
    """A longer table would move the text below; so it scrolls within the figure's height."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    tab = context.new_page()
    tab.route("**/_static/live/*.js", lambda route: route.abort())
    for path, number, module in figures:
        tab.goto(path.as_uri())
        place = tab.locator("div[data-live]").nth(number)
        kept = FIGURES[module].heights[0 if width == WIDE else 1]
        assert place.locator("table").is_visible()
        assert place.bounding_box()["height"] == kept, module
    context.close()


def test_legends_stand_before_their_choices(figures, browser, site):
    context = browser.new_context(viewport={"width": WIDE, "height": 900})
    tab = context.new_page()
    seen = 0
    for path in sorted({path for path, _, _ in figures}):
        tab.goto(path.as_uri())
        for choice in tab.locator(".live-figure .live-choice").all():
            name = choice.locator("legend").text_content().strip()
            assert tab.get_by_role("group", name=name, exact=True).and_(choice).count() == 1, name
            seen += 1
    assert seen >= 6
    context.close()


def test_forced_colours_leave_the_mask_legible(browser, site):
    """A blocked cell has a dashed frame and its hatching, a permitted one a solid frame."""
    context = browser.new_context(forced_colors="active")
    tab = context.new_page()
    tab.goto((site / "chapters" / "05_masks.html").as_uri())
    styles = "e => [getComputedStyle(e).borderTopStyle, getComputedStyle(e).backgroundImage]"
    cells = tab.locator(".live-paint button")
    looks = {
        state: cells.and_(tab.locator(f"[aria-pressed={state}]")).first.evaluate(styles)
        for state in ("true", "false")
    }
    assert looks["true"][0] == "solid"
    assert looks["false"][0] == "dashed"
    assert looks["false"][1].startswith("repeating-linear-gradient")
    context.close()


# Text of the figure whose contrast with its background is below 4.5. The backgrounds of all
# boxes behind it are laid over each other; each colour of a gradient may lie behind the text.
_FAINT = """root => {
  const parse = text => {
    const numbers = text.match(/-?[\\d.]+(e-?\\d+)?/g).map(Number);
    const most = text.startsWith('color(') ? 1 : 255;
    return [numbers.slice(0, 3).map(n => n / most), numbers[3] ?? 1];
  };
  const over = ([top, alpha], below) => top.map((c, i) => alpha * c + (1 - alpha) * below[i]);
  const light = colour => {
    const [r, g, b] = colour.map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    if (!element) return [[1, 1, 1]];
    const style = getComputedStyle(element);
    const all = style.backgroundImage.match(/(rgba?|color)\\([^()]*\\)/g) ?? [];
    // A strip at the bottom, as high as the padding there, lies under the number and not behind it.
    const [x, y] = [style.backgroundSize, style.backgroundPosition].map(t => t.match(/[\\d.]+px/g));
    const high = parseFloat(x?.at(-1)) + parseFloat(y?.at(-1));
    const stops = high <= parseFloat(style.paddingBottom) + 0.1 ? [] : all;
    return behind(element.parentElement).flatMap(below => {
      const flat = over(parse(style.backgroundColor), below);
      return [flat, ...stops.map(stop => over(parse(stop), flat))];
    });
  };
  const faint = [];
  for (const element of root.querySelectorAll('*')) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest('svg, :disabled, [hidden]')) continue;
    const style = getComputedStyle(element);
    for (const paper of behind(element)) {
      const [a, b] = [light(over(parse(style.color), paper)), light(paper)];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const text = element.textContent.trim().slice(0, 30);
      if (ratio < 4.5) faint.push(`${text}: ${ratio.toFixed(2)}`);
    }
  }
  return faint;
}"""


def test_numbers_stay_legible_on_every_shade(figures, browser):
    context = browser.new_context(viewport={"width": WIDE, "height": 900}, reduced_motion="reduce")
    tab = context.new_page()
    problems = []
    for path, number, module in figures:
        tab.goto(path.as_uri())
        root = tab.locator("div[data-live] > .live-figure").nth(number)
        draw = random.Random(module)
        for state in [{}, *(FIGURES[module](**STATES[module](draw)).state() for _ in range(3))]:
            root.evaluate("(root, state) => root.figure.put(state)", state)
            for theme in ("light", "dark"):
                tab.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
                problems += [f"{module}, {theme}: {text}" for text in root.evaluate(_FAINT)]
    context.close()
    assert not problems, "\n".join(dict.fromkeys(problems))


def test_role_colours_of_figures_are_those_of_the_book():
    from booksite import palette

    from attention_core.widgets.figure import HERE

    css = (HERE / "live.css").read_text(encoding="utf-8")
    for role, light in palette.ROLE_COLORS.items():
        assert f"--live-{role}: var(--role-{role}, {light});" in css
        assert f"--live-{role}: {palette.ROLE_COLORS_DARK[role]};" in css
