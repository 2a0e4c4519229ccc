"""Give every chapter the same first cell, which installs the package where it is missing.

    python tools/first_cell.py

The cell is for readers who open a single notebook; the book's pages do not show it.
"""

from __future__ import annotations

import nbformat
from chapter_form import normalise, read, write
from nbformat import NotebookNode
from run_chapters import CHAPTERS

ID, TAG = "first-cell", "remove-cell"
# The extension ``booksite`` writes the address between the quotes, in the site's copies.
SOURCE = """\
# Nothing happens here where attention_core is installed. Elsewhere, as in
# Colab, pip fetches it and what it lacks; torch and numpy stay as they are.
import subprocess
import sys
from importlib import metadata, util

if not util.find_spec("attention_core"):
    wheel = ""  # written by the book's site
    if not util.find_spec("torch"):
        raise ModuleNotFoundError("torch is missing: run pip install torch")
    need = ["anywidget", "matplotlib", "pylopdf-fonts-zh-cn", "seaborn"]
    need = [n for n in need if not util.find_spec(n.replace("-", "_"))]
    if util.find_spec("numpy"):
        need.append(f"numpy=={metadata.version('numpy')}")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--retries=1"]
    # The package comes last, so that a failure leaves none behind.
    for what in (need, ["--no-deps", wheel]):
        if not wheel or (what and subprocess.run([*pip, *what]).returncode):
            raise ModuleNotFoundError(
                "attention_core is missing, and pip could not fetch it. "
                f"Run pip install {wheel or '.'} {' '.join(need)}"
                + ("" if wheel else " in the folder of the book")
            )"""


def with_first_cell(notebook: NotebookNode) -> NotebookNode:
    """Return a copy in normal form with this cell before all other code cells."""
    result = nbformat.from_dict(notebook)
    cells = [cell for cell in result.cells if cell.get("id") != ID]
    place = next(n for n, cell in enumerate(cells) if cell.cell_type == "code")
    cell = nbformat.v4.new_code_cell(SOURCE, id=ID, metadata={"tags": [TAG]})
    result.cells = [*cells[:place], cell, *cells[place:]]
    return normalise(result)


if __name__ == "__main__":
    for path in sorted(CHAPTERS.glob("*.ipynb")):
        write(path, with_first_cell(read(path)))
