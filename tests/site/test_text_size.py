"""Larger text cuts nothing off, and without MathML formulas are shown as LaTeX."""

from __future__ import annotations

import pytest
from site_browser import NARROW, PHONE, WIDE, second_browser

# An inline formula that is cut off at the edge of its box and cannot be scrolled.
_CUT = """() => [...document.querySelectorAll('article math')]
  .filter(math => {
    const box = math.closest('span.math');
    return box && box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX === 'hidden';
  }).map(math => `cut off: ${math.dataset.tex}`)"""  # noqa: E501
_WIDE = """() => {
  for (const fold of document.querySelectorAll('article details')) fold.open = true;
  const page = document.scrollingElement, edge = page.clientWidth;
  if (page.scrollWidth <= edge) return [];
  const wide = [...document.querySelectorAll('main *')]
    .filter(e => e.getBoundingClientRect().right > edge + 1 && e.checkVisibility()
      && !e.closest('pre, .formula, .pst-scrollable-table-container, .bd-sidebar-secondary'))
    .slice(0, 6).map(e => `${e.tagName}.${e.className} ${e.textContent.slice(0, 20)}`);
  return [`${page.scrollWidth} px on ${edge}: ${wide.join(', ')}`];
}"""


@pytest.mark.parametrize(
    ("size", "width"), [(16, NARROW), (21, PHONE), (32, PHONE), (32, WIDE)]
)  # 16 px is what browsers come with
def test_larger_text_fits_the_page_and_no_formula_is_cut(site, browser, size, width):
    problems = []
    with second_browser(browser, f"--blink-settings=defaultFontSize={size}") as large:
        tab = large.new_page(viewport={"width": width, "height": 900})
        for path in sorted(site.rglob("*.html")):
            if "_static" in path.parts:
                continue
            tab.goto(path.as_uri())
            assert (
                tab.evaluate("getComputedStyle(document.documentElement).fontSize") == f"{size}px"
            )
            problems += [f"{path.name}: {p}" for look in (_WIDE, _CUT) for p in tab.evaluate(look)]
    assert not problems, "\n".join(problems)


# A browser without MathML lays its elements out inline, without fractions and roots.
_NO_MATHML = """
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("math, math * { display: inline !important }");
  document.adoptedStyleSheets.push(sheet);
"""


def test_a_browser_without_mathml_shows_latex_and_says_so(site, browser):
    page = (site / "chapters" / "04_scaling.html").as_uri()
    tab = browser.new_page()
    tab.goto(page)
    formulas = tab.locator("article math").evaluate_all("all => all.map(m => m.dataset.tex)")
    assert len(formulas) > 50
    assert tab.locator(".no-mathml").count() == 0
    tab.add_init_script(_NO_MATHML)
    tab.goto(page)
    assert tab.locator("math").count() == 0
    shown = tab.locator(".math code").all_text_contents()  # also in closed folds
    said = tab.locator("article h1 + .no-mathml").inner_text()
    tab.close()
    assert shown == formulas
    assert "cannot draw formulas" in said
