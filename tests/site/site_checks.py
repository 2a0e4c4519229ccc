"""Checks of the built pages that need no browser.

Each check returns a list of problems, in words; an empty list is a pass.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
_NOT_PROSE = {"script", "style", "math", "pre", "code", "title"}
_FETCHED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "video": "src"}
_FETCHED_LINKS = {"stylesheet", "preload", "icon", "shortcut", "modulepreload", "prefetch"}
_FORBIDDEN = re.compile(
    r"thebe|mathjax|katex|require\.js|jsdelivr|unpkg|cdnjs|googleapis|cloudflare", re.I
)
_LATEX = re.compile(r"\\[({\[]|\\[A-Za-z]{2,}|\$\$|\$[^$\n]{1,80}\$")


@dataclass
class Page:
    """One page, read once: its content, and the addresses that it links and fetches."""

    path: Path
    text: str
    language: str | None = None
    ids: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    images: list[dict[str, str]] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    tracebacks: int = 0

    @classmethod
    def read(cls, path: Path) -> Page:
        return cls.from_text(path, path.read_text(encoding="utf-8"))

    @classmethod
    def from_text(cls, path: Path, text: str) -> Page:
        page = cls(path, text)
        _Reader(page).feed(page.text)
        return page


class _Reader(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__()
        self.page = page
        self.open: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        page = self.page
        if tag not in _VOID:
            self.open.append((tag, given.get("class", "")))
        if tag == "html":
            page.language = given.get("lang")
        if "id" in given:
            page.ids.append(given["id"])
        if tag == "a" and "href" in given:
            page.links.append(given["href"])
        if tag == "img":
            page.images.append(given)
        if tag in _FETCHED and _FETCHED[tag] in given:
            page.fetched.append(given[_FETCHED[tag]])
        if tag == "link" and _FETCHED_LINKS & set(given.get("rel", "").split()):
            page.fetched.append(given.get("href", ""))
        page.fetched += re.findall(r"url\([\"']?([^)\"']+)", given.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        while self.open:
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        tags = {tag for tag, _ in self.open}
        if not tags & _NOT_PROSE:
            self.page.prose.append(data)
        if "style" in tags:
            self.page.fetched += re.findall(r"url\([\"']?([^)\"']+)", data)
        # Expected in a cell tagged for it, and in an example of a docstring, which is a test.
        expected = any(
            mark in classes for _, classes in self.open for mark in ("tag_raises", "doctest")
        )
        if "Traceback (most recent" in data and not expected:
            self.page.tracebacks += 1


def pages_of(site: Path) -> list[Page]:
    paths = [p for p in sorted(site.rglob("*.html")) if "_static" not in p.parts]
    return [Page.read(path) for path in paths]


def _is_external(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def _target(page: Path, address: str) -> Path:
    return (page.parent / unquote(urlsplit(address).path)).resolve()


def stylesheet_urls(css: str) -> list[str]:
    found = re.findall(r"""url\(\s*["']?([^)"']+)|@import\s+["']([^"']+)""", css)
    return [first or second for first, second in found]


def other_hosts(page: Page, site: Path) -> list[str]:
    """Return what the page, or a stylesheet of the site, fetches from another host."""
    problems = [address for address in page.fetched if _is_external(address)]
    for path in site.rglob("*.css"):
        css = path.read_text(encoding="utf-8")
        problems += [f"{path.name}: {url}" for url in stylesheet_urls(css) if _is_external(url)]
    problems += [f"named: {name}" for name in _FORBIDDEN.findall(page.text)]
    return problems


def broken_addresses(page: Page, site: Path, ids: dict[Path, set[str]]) -> list[str]:
    """Return the links, anchors and files that do not exist."""
    problems = []
    for address in [*page.links, *page.fetched]:
        if _is_external(address) or address.startswith("data:"):
            continue
        parts = urlsplit(address)
        target = _target(page.path, address) if parts.path else page.path.resolve()
        if not target.is_relative_to(site.resolve()):
            problems.append(f"{address} leaves the site")
        elif not target.is_file():
            problems.append(f"{address} does not exist")
        elif parts.fragment and parts.fragment not in ids.get(target, {parts.fragment}):
            problems.append(f"{address}: no such anchor")
    return problems


def poor_images(page: Page) -> list[str]:
    problems = []
    for image in page.images:
        source, alt = image.get("src", ""), image.get("alt", "")
        if len(alt) < 20 or ".png" in alt or re.search(r"[0-9a-f]{16}", alt):
            problems.append(f"{source}: alternative text too short or a file name: {alt!r}")
        if not (image.get("width", "").isdigit() and image.get("height", "").isdigit()):
            problems.append(f"{source}: has no width and height")
    return problems


def raw_latex(page: Page) -> list[str]:
    """Formulas that were not translated: a container without MathML, or LaTeX in the text."""
    problems = []
    containers = len(re.findall(r'class="(?:\w+ )?math notranslate', page.text))
    if containers != page.text.count("<math"):
        problems.append(f"{containers} formulas, {page.text.count('<math')} in MathML")
    for text in page.prose:
        problems += [f"raw LaTeX: {match}" for match in _LATEX.findall(text)]
    return problems


def repeated_ids(page: Page) -> list[str]:
    return sorted({name for name in page.ids if page.ids.count(name) > 1})


def weight(page: Page) -> tuple[int, int]:
    """Return the bytes on the wire (compressed text, cold cache) and the number of requests."""
    seen: set[Path] = set()
    waiting = [page.path.resolve()]
    waiting += [_target(page.path, a) for a in page.fetched if not _is_external(a)]
    while waiting:
        path = waiting.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        if path.suffix == ".css":
            css = path.read_text(encoding="utf-8")
            for url in stylesheet_urls(css):
                if url.startswith("data:") or _is_external(url):
                    continue
                # The basic style names a picture that only the list of the search page shows.
                if url == "file.png" and page.path.name != "search.html":
                    continue
                waiting.append(_target(path, url))
    sizes = [_on_the_wire(path) for path in seen]
    return sum(sizes), len(sizes)


def _on_the_wire(path: Path) -> int:
    data = path.read_bytes()
    return len(data) if path.suffix in (".png", ".woff2") else len(gzip.compress(data, 6))


def stale_citations(pages: list[Page]) -> list[str]:
    """Numbers in brackets that are not those of the list they point at."""
    labels: dict[tuple[str, str], str] = {}
    for page in pages:
        pattern = (
            r'<div class="citation" id="(\w+)">\s*<span class="label">.*?\[</span>(?:<a.*?>)?(\w+)'
        )
        for anchor, label in re.findall(pattern, page.text):
            labels[page.path.name, anchor] = label
    problems = []
    for page in pages:
        for target, anchor, number in re.findall(
            r'<a class="reference internal" href="([^"#]*)#(\w+)"[^>]*>(\d+)</a>', page.text
        ):
            right = labels.get((Path(target).name or page.path.name, anchor))
            if right != number:
                problems.append(f"{page.path.name}: cites [{number}], the list says [{right}]")
    return problems
