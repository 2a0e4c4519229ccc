"""A browser at the built pages: what it fetches, complains about and measures."""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import axe_playwright_python
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
_AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
WIDE, PHONE, NARROW = 1280, 390, 320


def _executable() -> str:
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        reason = f"no browser: none of {', '.join(names)} is installed"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@contextmanager
def chromium() -> Iterator[Browser]:
    path = _executable()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def second_browser(first: Browser, *arguments: str) -> Iterator[Browser]:
    """Start another Chromium, with more command-line arguments."""
    browser = first.browser_type.launch(
        executable_path=_executable(), args=[*_ARGUMENTS, *arguments]
    )
    yield browser
    browser.close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(site: Path, root: Path, handler: type[Quiet] = Quiet) -> Iterator[str]:
    """Serve ``site`` as a project page is: below a folder of its own."""
    (root / "book").symlink_to(site.resolve(), target_is_directory=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(root))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/book/"
        server.shutdown()
        thread.join()


# The cumulative layout shift since the first paint.
_SHIFT = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
  }).observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(sum), 120);
})"""

OVERFLOW = """() => {
  const page = document.scrollingElement;
  if (page.scrollWidth <= page.clientWidth) return [];
  const wide = [...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > page.clientWidth + 1 && e.checkVisibility());
  const names = wide.slice(0, 4).map(e => `${e.tagName.toLowerCase()}.${e.className}`);
  return [`${page.scrollWidth} px wide on ${page.clientWidth}: ${names.join(', ')}`];
}"""

_AXE_RUN = """async ([context, rules]) => {
  const result = await axe.run(
    context, {...rules, resultTypes: ['violations'], preload: false});
  return result.violations.filter(v => ['serious', 'critical'].includes(v.impact)).flatMap(v =>
    v.nodes.map(n => `${v.id}: ${n.html.slice(0, 160)} ${n.any.map(a => a.message)}`));
}"""
_CONTRAST = {"runOnly": ["color-contrast"]}
_REST = {"rules": {"color-contrast": {"enabled": False}}}
_ALL, _TEXT, _FRAME = {"include": [["html"]]}, {"exclude": [["pre"]]}, {"exclude": [["article"]]}
# Contrast is slow to compute. An article has the same colours at every width, so it is checked
# on the wide page only, and its code by _CODE. The frame around it differs on a phone.
_AXE_RUNS = {
    "wide": [("light", _TEXT, {}), ("dark", _TEXT, _CONTRAST)],
    "phone": [("light", _ALL, _REST), ("light", _FRAME, _CONTRAST), ("dark", _FRAME, _CONTRAST)],
}
# Code has thousands of words in a dozen colours: check each pair of text and background once.
_CODE = """() => {
  const pairs = {};
  for (const part of document.querySelectorAll('pre, pre *')) {
    if (![...part.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    let behind = part;
    const paper = () => getComputedStyle(behind).backgroundColor;
    while (behind.parentElement && paper() === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
    pairs[getComputedStyle(part).color + ' on ' + paper()] = part.textContent.slice(0, 30);
  }
  const light = color => {
    const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number);
    if (a < 1) return NaN;
    const [x, y, z] = [r, g, b].map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  return Object.entries(pairs).flatMap(([pair, text]) => {
    const [dim, bright] = pair.split(' on ').map(light).sort((x, y) => x - y);
    const contrast = (bright + 0.05) / (dim + 0.05);
    return contrast >= 4.5 ? [] : [`code ${JSON.stringify(text)}: ${pair}, contrast ${contrast}`];
  });
}"""


def axe_problems(tab: Tab, theme: str, within: str) -> list[str]:
    """Return what axe finds in parts of a page as it is now, in a theme."""
    tab.add_script_tag(content=_AXE.read_text(encoding="utf-8"))
    tab.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    found: list[str] = tab.evaluate(_AXE_RUN, [{"include": [[within]]}, {}])
    return found


def visit(browser: Browser, address: str, *, width: int, thorough: bool = True) -> list[str]:
    """Open a page and return what is wrong with it, each problem after its kind."""
    problems: list[str] = []
    host = urlsplit(address).netloc
    context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    try:
        tab = context.new_page()

        def note(kind: str, what: object) -> None:
            problems.append(f"{kind}: {what}")

        def local(url: str) -> bool:
            return urlsplit(url).netloc == host or url.startswith(("data:", "blob:"))

        tab.route(lambda url: not local(url), lambda route: route.abort())
        tab.on("request", lambda r: local(r.url) or note("other host", r.url))
        tab.on("requestfailed", lambda r: note("failed request", r.url))
        tab.on("response", lambda r: r.status < 400 or note("failed request", r.url))
        tab.on("pageerror", lambda error: note("page error", error))
        tab.on("console", lambda m: m.type in ("error", "warning") and note("console", m.text))
        tab.goto(address, wait_until="load")
        shift = tab.evaluate(_SHIFT)
        if shift >= 0.1:
            note("layout shift", round(shift, 3))
        if thorough:
            tab.add_script_tag(content=_AXE.read_text(encoding="utf-8"))
            tab.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            for theme, context_of, rules in _AXE_RUNS["wide" if width > PHONE else "phone"]:
                tab.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
                for problem in tab.evaluate(_AXE_RUN, [context_of, rules]):
                    note(f"axe, {theme}", problem)
                for problem in tab.evaluate(_CODE):
                    note(f"code, {theme}", problem)
            for problem in tab.evaluate(OVERFLOW):
                note("overflow", problem)
        if width == PHONE:
            tab.set_viewport_size({"width": NARROW, "height": 700})
            for problem in tab.evaluate(OVERFLOW):
                note("overflow", problem)
    finally:
        context.close()
    return problems


# The box of a formula is empty where it is not drawn; in a closed fold it has no place yet.
_UNDRAWN = """() => {
  const undrawn = [...document.querySelectorAll('article math')]
    .filter(m => m.checkVisibility() && m.getBoundingClientRect().width < 2)
    .map(m => `a formula is not drawn: ${m.textContent.slice(0, 40)}`);
  const missing = [...document.images].some(i => !i.complete || !i.naturalWidth);
  return [...undrawn, ...(missing ? ['a picture is missing'] : [])];
}"""
_UNOPENED = """() => {
  const folds = [...document.querySelectorAll('article details')];
  if (!folds[0].open) return ['a click opens no fold'];
  for (const fold of folds) fold.open = true;
  const empty = folds.some(fold => fold.lastElementChild.clientHeight <= 0);
  return empty ? ['a folded box does not open'] : [];
}"""


def without_scripts(browser: Browser, address: str) -> list[str]:
    """Return what a reader misses when JavaScript is off."""
    context = browser.new_context(java_script_enabled=False)
    try:
        tab = context.new_page()
        tab.goto(address)
        problems = []
        if len(tab.locator("article").inner_text()) < 40:
            problems.append("the text is missing")
        problems += tab.evaluate(_UNDRAWN)
        folds = tab.locator("article details")
        if folds.count():
            # By a click, as a reader does it; the others in the same way, but at once.
            folds.first.locator("summary").first.click()
            problems += tab.evaluate(_UNOPENED)
        return problems
    finally:
        context.close()


def search(tab: Tab, base: str, words: str) -> list[str]:
    """Return the titles of the pages that the site's own search finds."""
    tab.goto(f"{base}search.html?q={words}")
    tab.wait_for_selector("#search-results .search-summary:not(:empty)")
    return tab.locator("#search-results ul.search a").all_inner_texts()
