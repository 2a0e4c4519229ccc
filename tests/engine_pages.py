"""The site as the tests of Firefox and WebKit load it: each page tells what goes wrong in it."""

from __future__ import annotations

import io
from pathlib import Path
from urllib.parse import urlsplit

from site_browser import Quiet

# Put first in each page: neither engine reports all of this to its driver, so the page keeps it.
_PROBE = """<script>(() => {
  const wrong = window.wrong = [];
  addEventListener('error', event => wrong.push(event.target?.tagName
    ? `not loaded: ${event.target.src || event.target.href}` : `error: ${event.message}`), true);
  addEventListener('unhandledrejection', event => wrong.push(`rejected: ${event.reason}`));
  addEventListener('securitypolicyviolation',
    event => wrong.push(`request to another host: ${event.blockedURI}`));
  for (const kind of ['error', 'warn']) {
    const old = console[kind];
    console[kind] = (...what) => {
      wrong.push(`console.${kind}: ${what.join(' ')}`);
      old.apply(console, what);
    };
  }
})()</script>"""
# Requests to other hosts are reported and not blocked, so that the page is as readers get it.
_POLICY = "default-src 'self' 'unsafe-inline' data: blob:"
# The same page inside of a frame that may run scripts, and has no storage.
_FRAME = """<!DOCTYPE html><html lang="en"><title>Framed</title>
<link rel="icon" href="data:,">
<style>iframe {{ position: fixed; border: 0; width: 100%; height: 100% }}</style>
<iframe sandbox="allow-scripts allow-forms" src="{address}"></iframe>"""

# A box that hides what is wider than itself cuts a formula; one that scrolls does not.
FORMULAS = r"""() => {
  const problems = [], article = document.querySelector('article') ?? document.body;
  const boxes = new Map();  // how each ancestor of a formula hides what is outside of it
  const hides = element => {
    if (!boxes.has(element)) {
      const {overflowX, overflowY, display} = getComputedStyle(element);
      const hidden = [overflowX, overflowY].some(o => ['hidden', 'clip'].includes(o));
      boxes.set(element, ['auto', 'scroll'].includes(overflowX) ? 'scrolls'
        : display !== 'inline' && hidden ? 'hides' : '');
    }
    return boxes.get(element);
  };
  for (const math of document.querySelectorAll('article math')) {
    const box = math.getBoundingClientRect(), source = math.textContent;
    if (box.width < 2 || box.height < 5) problems.push(`not drawn: ${source}`);
    for (const part of math.querySelectorAll('mfrac, msqrt, mtable'))
      if (part.getBoundingClientRect().height < 8) problems.push(`flat ${part.tagName}: ${source}`);
    for (let out = math.parentElement; out !== article; out = out.parentElement) {
      if (hides(out) === 'scrolls') break;
      if (hides(out) !== 'hides') continue;
      const around = out.getBoundingClientRect();
      if (box.right > around.right + 2 || box.left < around.left - 2)
        problems.push(`cut off by ${out.tagName}.${out.className}: ${source}`);
    }
  }
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (/\\[a-zA-Z]{2,}|\$\$/.test(text.data) && !text.parentElement.closest('pre, code, script'))
      problems.push(`raw TeX: ${text.data.trim().slice(0, 60)}`);
  }
  return problems;
}"""


def probed(failed: list[str]) -> type[Quiet]:
    """Make a server's handler that adds the probe to pages, and notes failed requests.

    ``?framed`` after an address gives the page in a sandboxed frame.
    """

    class Pages(Quiet):
        def send_response(self, code: int, message: str | None = None) -> None:
            if code >= 400:
                failed.append(f"request failed: {code} {self.path}")
            super().send_response(code, message)

        def end_headers(self) -> None:
            self.send_header("Content-Security-Policy-Report-Only", _POLICY)
            # As GitHub Pages does; without it a frame without an origin may not load the fonts.
            self.send_header("Access-Control-Allow-Origin", "*")
            super().end_headers()

        def send_head(self) -> io.BytesIO | None:  # type: ignore[override]
            path = Path(self.translate_path(self.path))
            if path.suffix != ".html" or not path.is_file():
                return super().send_head()  # type: ignore[return-value]
            if urlsplit(self.path).query == "framed":
                page = _FRAME.format(address=path.name)
            else:
                page = path.read_text(encoding="utf-8").replace("<head>", "<head>" + _PROBE, 1)
            body = page.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            return io.BytesIO(body)

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:  # a browser that leaves a page drops what it was loading
                self.close_connection = True

    return Pages
