"""Rewrite HTML of the theme, and check that each search and replace still finds a match.

A new version of the theme may write different HTML. A plain search and replace then changes
nothing, and nobody notices. Here it stops the build with an error that names it.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from collections.abc import Callable

    Size = Callable[[str], tuple[int, int]]


@dataclass
class Page:
    """A page that is being rewritten, and the number of matches of each rewriting."""

    name: str
    head: str
    body: str
    size: Size  # the width and height of an image, by its URL in the page
    matches: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, text: str, size: Size, name: str = "") -> Page:
        head, start, body = text.partition("<body")
        return cls(name, head, start + body, size)

    @property
    def text(self) -> str:
        return self.head + self.body


def everywhere(_: Page) -> bool:
    return True


def articles(page: Page) -> bool:
    """Return whether a page is any other than the search page, which has its own template."""
    return page.name != "search"


def having(sign: str) -> Callable[[Page], bool]:
    """Return the condition that the body of a page contains ``sign``."""
    return lambda page: sign in page.body


@dataclass(frozen=True)
class Rewriting:
    """A search and replace in one part of a page.

    ``name`` says what it does, for the error when it has no match. ``needed`` says on which pages
    it must match; in a build of all pages each rewriting must match on at least one.
    """

    name: str
    part: str  # "head", "body", or "page" for both
    pattern: str
    new: str | Callable[[re.Match[str], Page], str]
    needed: Callable[[Page], bool] = everywhere

    def apply(self, page: Page) -> None:
        new = self.new
        replacement = new if isinstance(new, str) else lambda match: new(match, page)
        for part in ("head", "body") if self.part == "page" else (self.part,):
            before = getattr(page, part)
            after, count = re.subn(self.pattern, replacement, before, flags=re.DOTALL)
            setattr(page, part, after)
            page.matches[self.name] += count


def rewrite(page: Page, rewritings: tuple[Rewriting, ...]) -> list[str]:
    """Apply all rewritings to a page; return the names of those that must match and do not."""
    needed = [step.name for step in rewritings if step.needed(page)]
    for step in rewritings:
        step.apply(page)
    return [name for name in needed if not page.matches[name]]


def complain(missing: dict[str, list[str]]) -> None:
    """Stop the build if rewritings had no match; ``missing`` maps their names to the pages."""
    if missing:
        said = [f"{name!r} finds nothing in {', '.join(on[:3])}" for name, on in missing.items()]
        raise ExtensionError(
            f"the HTML of the theme has changed, see booksite/pages.py: {'; '.join(said)}"
        )


def replace(text: str, old: str, new: str, name: str) -> str:
    """Replace the first ``old`` by ``new``; if there is none, raise an error with ``name``."""
    if old not in text:
        raise ExtensionError(f"{name!r} finds no {old!r} to replace")
    return text.replace(old, new, 1)


def sub(
    pattern: str | re.Pattern[str], new: str | Callable[[re.Match[str]], str], text: str, name: str
) -> str:
    """Replace all matches of ``pattern``; if there is none, raise an error with ``name``."""
    changed, count = re.subn(pattern, new, text)
    if not count:
        raise ExtensionError(f"{name!r} finds nothing that matches {pattern}")
    return changed
