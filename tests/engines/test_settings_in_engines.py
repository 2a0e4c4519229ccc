"""Settings of a reader's browser: larger text, forced colours, less motion, dark theme."""

from __future__ import annotations

import io

import pytest
from engine_pages import FORMULAS
from figure_checks import KEYS
from site_browser import OVERFLOW, PHONE, WIDE

# A sticky or fixed element at the bottom hides what is below it; it must not be too high.
_STICKY = """() => [...document.querySelectorAll('body *')].flatMap(element => {
  const {position} = getComputedStyle(element), {height} = element.getBoundingClientRect();
  return ['sticky', 'fixed'].includes(position) && element.checkVisibility()
    && getComputedStyle(element).bottom !== 'auto' && height > innerHeight / 3
    && element.closest('article')
    ? [`${element.tagName}.${element.className} takes ${height} px of ${innerHeight}`] : [];
})"""
# The size of text, usually 16 px, and the width of the page. 21 px is the largest text that
# phones offer without special settings.
_SIZES = {
    "200 % wide": (32, WIDE),
    "131 % on a phone": (21, PHONE),
    "200 % on a phone": (32, PHONE),
}


@pytest.mark.parametrize("setting", _SIZES)
def test_large_text_fits_the_width_of_the_page(open_tab, engine, pages, thorough, setting):
    font_size, width = _SIZES[setting]
    tab = open_tab(font_size=font_size)
    tab.size(width, 900)
    turn = (list(_SIZES).index(setting) + (engine == "webkit")) % 3
    names = pages.names if thorough else pages.names[turn::3]
    problems = []
    for name in names:
        tab.go(pages.address + name)
        size = tab.js("() => parseFloat(getComputedStyle(document.body).fontSize)")
        assert abs(size - font_size) < 0.1
        found = [problem for look in (OVERFLOW, FORMULAS, _STICKY) for problem in tab.js(look)]
        problems += [f"{name}: {problem}" for problem in dict.fromkeys(found)]
    assert not problems, "\n".join(problems)


_COUNT = """() => {
  window.ran = 0;
  for (const kind of ['transitionrun', 'animationstart'])
    addEventListener(kind, () => { window.ran += 1; }, true);
}"""
_FOCUS = """number => {
  const place = document.querySelectorAll('div[data-live]')[number];
  const control = [...place.querySelectorAll('[data-control]')]
    .find(one => one.checkVisibility() && !one.disabled && one.type !== 'text');
  control.scrollIntoView({block: 'center', behavior: 'instant'});
  control.focus();
  return control.type || control.getAttribute('role');
}"""


def _moving(tab, pages, name: str, number: int) -> int:
    """Press the keys of a figure's first control, and count the animations that start."""
    tab.go(pages.address + name)
    tab.js(_COUNT)
    for key in KEYS[tab.js(_FOCUS, number)]:
        tab.press(key)
    # After two frames every animation has started.
    return tab.js("""async () => {
      for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
      return window.ran;
    }""")


def test_nothing_moves_where_less_motion_is_asked_for(open_tab, pages):
    tab = open_tab(reduced_motion=False)
    tab.size(WIDE, 900)
    seen = (_moving(tab, pages, name, number) for name, number, _ in pages.figures)
    assert any(seen), "no figure moves even where motion is allowed"
    tab = open_tab(reduced_motion=True)
    tab.size(WIDE, 900)
    for name, number, module in pages.figures:
        assert _moving(tab, pages, name, number) == 0, module
        assert tab.js("() => matchMedia('(prefers-reduced-motion: reduce)').matches")
        assert tab.js("() => getComputedStyle(document.documentElement).scrollBehavior") == "auto"


_CELLS = """pressed => [...document.querySelectorAll('.live-paint button')]
  .filter(cell => cell.getAttribute('aria-pressed') === pressed).map(cell => {
    const box = cell.getBoundingClientRect();
    return [box.left + 4, box.top + 4, box.right - 4, box.bottom - 4];
  })"""


def _ranges(tab, boxes) -> list[int]:
    from PIL import Image

    picture = Image.open(io.BytesIO(tab.png())).convert("L")
    assert picture.size[0] == tab.js("() => innerWidth"), "the picture is not in CSS pixels"
    pairs = [picture.crop(tuple(map(round, box))).getextrema() for box in boxes]
    return [high - low for low, high in pairs]


@pytest.mark.parametrize("dark", [False, True])
def test_forbidden_cells_are_hatched(open_tab, pages, dark):
    tab = open_tab(dark=dark)
    tab.size(PHONE, 900)
    tab.go(f"{pages.address}chapters/05_masks.html")
    tab.place(".live-paint")
    ranges = _ranges(tab, tab.js(_CELLS, "false"))
    assert len(ranges) > 5
    blank = sum(one < 20 for one in ranges)
    assert not blank, f"{blank} of {len(ranges)} cells look blank"


_CONTROLS = """number => {
  const place = document.querySelectorAll('div[data-live]')[number];
  place.scrollIntoView({block: 'start', behavior: 'instant'});
  return [...place.querySelectorAll('[data-control]')]
    .filter(control => control.checkVisibility()).map(control => {
      const box = control.getBoundingClientRect();
      return [control.dataset.control, control.outerHTML.slice(0, 120),
        [box.left - 2, box.top - 2, box.right + 2, box.bottom + 2]];
    })
    .filter(([, , [left, top, right, bottom]]) =>
      left >= 0 && top >= 0 && right < innerWidth && bottom < innerHeight);
}"""


@pytest.mark.parametrize("engine", ["firefox"], indirect=True)  # WebKitGTK has no such setting
def test_forced_colours_keep_every_control_visible(open_tab, pages):
    tab = open_tab(forced_colors=True)
    tab.size(WIDE, 1100)
    problems = []
    for name, number, module in pages.figures:
        tab.go(pages.address + name)
        assert tab.js("() => matchMedia('(forced-colors: active)').matches")
        controls = tab.js(_CONTROLS, number)
        assert controls, f"no control of {module} in the window"
        for (control, markup, _), seen in zip(
            controls, _ranges(tab, [box for *_, box in controls]), strict=True
        ):
            if seen < 60:
                problems.append(f"{name}, {module}: {control} cannot be seen: {markup}")
        problems += [f"{name}: {problem}" for problem in tab.js("() => window.wrong")]
    assert not problems, "\n".join(dict.fromkeys(problems))


@pytest.mark.parametrize("engine", ["firefox"], indirect=True)
def test_forced_colours_keep_allowed_and_forbidden_cells_distinct(open_tab, pages):
    tab = open_tab(forced_colors=True)
    tab.size(PHONE, 900)
    tab.go(f"{pages.address}chapters/05_masks.html")
    tab.place(".live-paint")
    forbidden, allowed = (_ranges(tab, tab.js(_CELLS, pressed)) for pressed in ("false", "true"))
    # An allowed cell holds a number in full contrast; a forbidden cell has less contrast.
    assert min(allowed) > 100
    assert max(forbidden) < min(allowed)


_MATHML_LEFT = """() => [...document.querySelectorAll('article math')]
  .filter(math => math.checkVisibility()).map(math => math.textContent)"""
_NOTE = """() => [...document.querySelectorAll('article p')]
  .some(note => note.checkVisibility() && /cannot draw formulas/.test(note.textContent))"""


def test_without_mathml_a_page_says_so_and_shows_latex(open_tab, pages):
    """Otherwise the parts of a formula stand side by side, and ¼ reads 14."""
    name = f"{pages.address}chapters/04_scaling.html"
    tab = open_tab(mathml=False)
    tab.go(name)
    assert tab.js(_MATHML_LEFT) == []
    assert tab.js(_NOTE)
    assert "\\sqrt" in tab.js("() => document.querySelector('article').innerText")
    tab = open_tab()
    tab.go(name)
    assert len(tab.js(_MATHML_LEFT)) > 10
    assert not tab.js(_NOTE)
