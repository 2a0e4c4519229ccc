"""Fit the drawing that grows into the pages: its style, and where its links lead.

In a notebook each drawing brings its style along, and links to notebooks. On the pages the style
is a part of ``book.css``, and links lead to pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SOURCE = Path(__file__).parents[2] / "attention_core" / "drawing" / "drawing.css"
PLACE = "/* drawing.py inserts the style of the drawing here. */"  # in book.css
_FIGURE = '<figure class="dr-figure">'
# What a notebook needs and a page does not: the style, and a note in its absence.
_START = re.compile(rf'({_FIGURE})<style>.*?</style><div hidden="hidden">', re.DOTALL)
_END = re.compile(r'(</svg>)</div><p class="dr-note">.*?</p>')
_LINK = re.compile(r'<a xlink:href="(\d\d_\w+)\.ipynb" target="_blank"')


def css() -> str:
    """Return the style of the drawing."""
    return SOURCE.read_text(encoding="utf-8")


class FitDrawings(SphinxPostTransform):
    default_priority = 600
    formats = ("html",)

    def run(self, **_: object) -> None:
        for raw in list(self.document.findall(nodes.raw)):
            if _FIGURE not in raw.astext():
                continue
            text = _END.sub(r"\1", _START.sub(r"\1", raw.astext()))
            text = _LINK.sub(lambda m: f'<a href="{self._page(m[1])}"', text)
            raw.replace_self(nodes.raw("", text, **raw.attributes))

    def _page(self, chapter: str) -> str:
        here, there = self.env.docname, f"chapters/{chapter}"
        address: str = self.app.builder.get_relative_uri(here, there)
        return address


def setup(app: Sphinx) -> None:
    app.add_post_transform(FitDrawings)
