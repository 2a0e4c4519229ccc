"""Every page in Firefox and WebKit, wide and on phones, light and dark."""

from __future__ import annotations

import pytest
from engine_pages import FORMULAS
from site_browser import NARROW, OVERFLOW, PHONE, WIDE

# Folds are opened, so that their content is checked too.
_LOADED = """async () => {
  for (const fold of document.querySelectorAll('article details')) fold.open = true;
  // A picture in a fold may be fetched only now.
  await Promise.race([
    new Promise(late => setTimeout(late, 20000)),
    Promise.all([...document.images].map(image => {
      image.loading = 'eager';
      return image.decode().catch(() => {});
    })),
  ]);
  const problems = [...window.wrong];
  for (const font of document.fonts)
    if (font.status === 'error') problems.push(`no font ${font.family}`);
  for (const image of document.images)
    if (!image.naturalWidth) problems.push(`no picture ${image.src}`);
  for (const place of document.querySelectorAll('div[data-live]'))
    if (!place.querySelector(':scope > .live-figure'))
      problems.push(`no figure ${place.dataset.live}`);
  return problems;
}"""

# A number and the words beside it have letters of one size: their boxes then end on one line.
_LINES = """() => {
  const box = node => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return range.getClientRects();
  };
  const problems = [];
  for (const number of document.querySelectorAll('.live-figure [data-key]')) {
    for (const [words, last] of [[number.previousSibling, true], [number.nextSibling, false]]) {
      if (words?.nodeType !== Node.TEXT_NODE || !words.data.trim()) continue;
      const beside = [...box(words)].at(last ? -1 : 0), own = box(number)[0];
      if (!own || !beside || Math.abs(own.height - beside.height) >= 1) continue;
      const off = beside.bottom - own.bottom;
      if (Math.abs(off) > 1.5 && Math.abs(off) < 12)  // more is another line
        problems.push(`a number is ${off} px above its line: ${words.data.trim()}`);
    }
  }
  return problems;
}"""

# Light on a wide page, dark on phones, where the open page is then made narrower.
_WAYS = {
    "wide and light": (False, [(WIDE, 900)]),
    "phone and dark": (True, [(PHONE, 900), (NARROW, 700)]),
}
_ALL = {
    **_WAYS,
    "wide and dark": (True, [(WIDE, 900)]),
    "phone and light": (False, [(PHONE, 900), (NARROW, 700)]),
}


@pytest.mark.parametrize("way", _ALL)
def test_pages_load_completely_and_fit_the_window(engine, open_tab, pages, way, thorough):
    if not thorough and way not in _WAYS:
        pytest.skip("tried once a week, with ENGINES=all")
    dark, sizes = _ALL[way]
    half = (list(_WAYS).index(way) + (engine == "webkit")) % 2 if not thorough else None
    problems = []
    tab = open_tab(dark=dark)
    for number, name in enumerate(pages.names):
        if half is not None and number % 2 == half:
            continue  # this page is loaded the other way
        found = []
        for at, (width, height) in enumerate(sizes):
            tab.size(width, height)
            if at == 0:
                pages.failed.clear()
                tab.go(pages.address + name)
                found += tab.js(_LOADED) + pages.failed
                theme = tab.js("() => document.documentElement.dataset.theme")
                found += [f"the theme is {theme}"] * (theme != ("dark" if dark else "light"))
            for look in (OVERFLOW, FORMULAS, _LINES):
                found += [f"at {width} px: {problem}" for problem in tab.js(look)]
        problems += [f"{name}: {problem}" for problem in dict.fromkeys(found)]
    assert not problems, "\n".join(problems)
