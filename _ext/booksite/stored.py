"""Show on other pages what a chapter has stored: the HTML of an output, and the drawing.

It is stored, and compared, when the chapter runs. To make it here would load torch.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from collections.abc import Callable

    from sphinx.application import Sphinx

_DRAWING = re.compile(r'<figure class="dr-figure">.*?</svg>', re.DOTALL)


def stored_html(notebook: Path, cell_id: str) -> list[str]:
    """Return the HTML of each output that a cell of a notebook has stored."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [
        out for cell in cells if cell.get("id") == cell_id for out in cell.get("outputs", [])
    ]
    return ["".join(out.get("data", {}).get("text/html", "")) for out in outputs]


def stored_drawing(notebook: Path, cell_id: str) -> str:
    """Return the drawing that a cell shows, without its caption: the start of a figure."""
    found = [m[0] for text in stored_html(notebook, cell_id) if (m := _DRAWING.search(text))]
    if len(found) != 1:
        raise ValueError(f"{notebook.name} has no cell {cell_id!r} that shows one drawing")
    return found[0]


class StoredDirective(SphinxDirective):
    """Read what the cell has stored that the argument names: a notebook and the id of a cell."""

    required_arguments = 1

    def stored(self, kind: Callable[[Path, str], str]) -> str:
        name, _, cell_id = self.arguments[0].partition("#")
        path = Path(self.env.srcdir) / name
        # The page is read again when the notebook changes.
        self.env.note_dependency(str(path))
        try:
            return kind(path, cell_id)
        except (OSError, ValueError) as error:
            raise self.error(str(error)) from error


class ChapterDrawingDirective(StoredDirective):
    """Show the drawing of a chapter; the content of the directive is its caption::

    ```{chapter-drawing} chapters/09_transformer.ipynb#drawing
    Look at the pink tables.
    ```
    """

    has_content = True

    def run(self) -> list[nodes.Node]:
        start = self.stored(stored_drawing) + "<figcaption>"
        end = "</figcaption></figure>"
        caption = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, caption)
        return [
            nodes.raw("", start, format="html"),
            *caption.children,
            nodes.raw("", end, format="html"),
        ]


def setup(app: Sphinx) -> None:
    app.add_directive("chapter-drawing", ChapterDrawingDirective)
