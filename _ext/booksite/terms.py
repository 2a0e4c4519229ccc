"""Add the terms of the glossary to the search index, with the section that introduces each.

Sphinx ranks pages by their titles, and this book's titles are questions. So each chapter gets
index entries, in English and Chinese, for the rows of the glossary that link to it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sphinx import addnodes
from sphinx.transforms import SphinxTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

GLOSSARY = "notation.md"
_ROW = re.compile(
    r"^\| ([^|]+) \| (?:<span lang=\"zh\">)?([^|<]+)(?:</span>)? \|"
    r".*\| \[\d+\]\((chapters/\w+)\.ipynb(?:#([\w-]+))?\) \|$",
    re.MULTILINE,
)


def terms(glossary: str) -> list[tuple[str, str, str]]:
    """Return each term with its page and section; a row of the glossary may have several terms."""
    return [
        (term, page, section)
        for english, chinese, page, section in _ROW.findall(glossary)
        for term in dict.fromkeys(re.split(r", |、", f"{english}, {chinese}"))
        if "$" not in term
    ]


class IndexTerms(SphinxTransform):
    default_priority = 300  # before the domains read what there is to index

    def apply(self, **_: object) -> None:
        if not self.env.docname.startswith("chapters/"):
            return
        path = self.env.srcdir / GLOSSARY
        if not path.is_file():
            return
        self.env.note_dependency(str(path))
        entries = [
            ("single", term, section, "main", None)
            for term, page, section in terms(path.read_text(encoding="utf-8"))
            if page == self.env.docname
        ]
        if entries:
            self.document.insert(0, addnodes.index(entries=entries, inline=False))


def setup(app: Sphinx) -> None:
    app.add_transform(IndexTerms)
