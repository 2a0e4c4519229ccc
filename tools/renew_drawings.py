"""Renew the drawings that the chapters store, without running the chapters.

    python tools/renew_drawings.py

The drawing depends on nothing that a chapter computes, and some chapters train for minutes.
"""

from __future__ import annotations

from pathlib import Path

from chapter_form import normalise, read, write
from nbformat import NotebookNode
from nbformat.v4 import new_output

from attention_core.drawing import _figure

CHAPTERS = Path(__file__).resolve().parent.parent / "chapters"
ID = "drawing"


def drawing_cell(notebook: NotebookNode) -> NotebookNode | None:
    """Return the cell that shows the drawing of a chapter, if it has one."""
    return next((cell for cell in notebook.cells if cell.get("id") == ID), None)


def output_of(chapter: Path) -> NotebookNode:
    """Return the output that the drawing cell of a chapter must have."""
    made: NotebookNode = new_output("display_data", _figure.data(int(chapter.name[:2])))
    return made


def main() -> None:
    for path in sorted(CHAPTERS.glob("*.ipynb")):
        notebook = read(path)
        cell = drawing_cell(notebook)
        if cell is not None and cell.outputs != [output_of(path)]:
            cell.outputs = [output_of(path)]
            write(path, normalise(notebook))
            print(f"{path.name}: renewed")


if __name__ == "__main__":
    main()
