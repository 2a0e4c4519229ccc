"""Figures need neither storage nor a parent page: they run in a sandboxed frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from figure_checks import check, moves, places
from live_states import FIGURES

if TYPE_CHECKING:
    from playwright.sync_api import Frame

# Anything that a sandboxed page may not touch throws there; here it is also counted.
_WATCH = """() => {
  window.touched = [];
  const guard = (object, name) => {
    const own = Object.getOwnPropertyDescriptor(object, name);
    Object.defineProperty(object, name, {...own, get() {
      if (/_static\\/live\\//.test(new Error().stack)) window.touched.push(name);
      return own.get.call(this);
    }});
  };
  guard(window, 'localStorage');
  guard(window, 'sessionStorage');
  guard(window, 'indexedDB');
  guard(Document.prototype, 'cookie');
}"""


@pytest.fixture(scope="module")
def pages(site):
    return sorted({path.relative_to(site).as_posix() for path, _, _ in places(site)})


def test_figures_run_in_a_sandboxed_frame(site, address, pages, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.add_init_script(f"({_WATCH})()")
    tab = context.new_page()
    tab.goto(f"{address}index.html")
    moved: set[str] = set()
    for page in pages:
        tab.set_content(
            f'<iframe sandbox="allow-scripts" width=1200 height=880 src="{address}{page}"></iframe>'
        )
        frame: Frame = tab.frames[-1]
        frame.wait_for_selector("div[data-live] > .live-figure")
        # The sandbox does block what the page's stand-in for storage does not cover.
        assert frame.evaluate("() => { try { document.cookie; return 1 } catch { return 0 } }") == 0
        for place in frame.locator("div[data-live]").all():
            module = place.get_attribute("data-live")
            root = place.locator("> .live-figure")
            before, problems = check(root, module)
            assert not problems
            for control in root.locator("[data-control]:not([type=text])").all()[:4]:
                for _ in moves(tab, control, "keyboard"):
                    after, found = check(root, module)
                    assert not found
                    if after != before:
                        moved.add(module)
        assert frame.evaluate("window.touched") == [], page
    assert moved == set(FIGURES)
    context.close()
