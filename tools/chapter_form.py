"""Define the normal form of chapters: what a notebook file keeps, and how it is written.

Everything a front end or a machine would add (times, versions, paths, colours of a
traceback, widget models) is removed, so a change in the file is a change in the book.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CELL_METADATA = ("tags", "mystnb")
# A model id is random, and without the kernel it names nothing.
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def read(path: Path) -> NotebookNode:
    """Read a notebook as it is: nbformat.read would give random ids to cells without one."""
    notebook: NotebookNode = nbformat.v4.reads(path.read_text(encoding="utf-8"))
    return notebook


def code_cells(path: Path) -> list[str]:
    """Return the sources of all code cells."""
    return [cell.source for cell in read(path).cells if cell.cell_type == "code"]


def to_text(notebook: NotebookNode) -> str:
    text: str = nbformat.writes(notebook, version=4)
    return text.rstrip("\n") + "\n"


def write(path: Path, notebook: NotebookNode) -> None:
    path.write_text(to_text(notebook), encoding="utf-8", newline="\n")


def normalise(notebook: NotebookNode) -> NotebookNode:
    """Return a copy in normal form; normalising it again changes nothing."""
    result = copy.deepcopy(notebook)
    result.nbformat, result.nbformat_minor = 4, 5
    result.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    result.cells = [cell for cell in result.cells if cell.source.strip()]
    _name_cells(result.cells)
    code_cells = [cell for cell in result.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code_cells, start=1):
        cell.execution_count = number
        cell.outputs = _join_streams([_normal_output(out, number) for out in cell.outputs])
    for cell in result.cells:
        cell.source = cell.source.rstrip()
        cell.metadata = _normal_metadata(cell)
    return result


def pictures(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Return the outputs that show a picture, in order."""
    return [out for out in outputs if "image/png" in out.get("data", {})]


def _name_cells(cells: list[NotebookNode]) -> None:
    """Keep each valid id at its first use; number the other cells by their place."""
    taken: set[str] = set()
    nameless: list[tuple[int, NotebookNode]] = []
    for place, cell in enumerate(cells, start=1):
        name = cell.get("id")
        if isinstance(name, str) and CELL_ID.fullmatch(name) and name not in taken:
            taken.add(name)
        else:
            nameless.append((place, cell))
    for place, cell in nameless:
        name = f"c{place:02d}"
        while name in taken:
            name += "b"
        taken.add(name)
        cell["id"] = name


def _normal_output(output: NotebookNode, number: int) -> NotebookNode:
    if output.output_type == "error":
        # Stack frames hold paths, line numbers and colours, so only the message is kept.
        message = f"{output.ename}: {output.evalue}" if output.evalue else output.ename
        output.traceback = [message]
    elif output.output_type in ("display_data", "execute_result"):
        output.data.pop(WIDGET_VIEW, None)
        if "image/png" in output.data:
            output.data["image/png"] = "".join(output.data["image/png"].split())
        output.metadata = nbformat.from_dict(output_metadata(output))
        if output.output_type == "execute_result":
            output.execution_count = number
    return output


def output_metadata(output: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of the pictures and texts that an output stores."""
    kept = set(output["data"]) - {WIDGET_VIEW}
    metadata = output.get("metadata", {})
    return {mime: dict(metadata[mime]) for mime in sorted(kept) if metadata.get(mime)}


def _join_streams(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join adjacent outputs of the same stream: the kernel splits a stream at random places."""
    joined: list[NotebookNode] = []
    for output in outputs:
        last = joined[-1] if joined else None
        is_stream = output.output_type == "stream"
        if is_stream and last and last.get("name") == output.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def _normal_metadata(cell: NotebookNode) -> NotebookNode:
    metadata = {key: cell.metadata[key] for key in CELL_METADATA if key in cell.metadata}
    if not metadata.get("tags"):
        metadata.pop("tags", None)
    options = dict(metadata.pop("mystnb", None) or {})
    image = dict(options.pop("image", {}))
    image.pop("alt", None)
    shown = pictures(cell.get("outputs", []))
    if len(shown) == 1:
        # MyST-NB takes an <img>'s alternative text from the cell, not from the output.
        alt = shown[0].metadata.get("image/png", {}).get("alt")
        image.update({"alt": alt} if alt else {})
    options.update({"image": image} if image else {})
    if any(tag.startswith("solution-") for tag in metadata.get("tags", [])):
        # Folded in JupyterLab too, as hide-cell folds it on the page.
        metadata["jupyter"] = {"outputs_hidden": True, "source_hidden": True}
    elif any(tag == "remove-cell" or tag.startswith("check-") for tag in metadata.get("tags", [])):
        metadata["jupyter"] = {"source_hidden": True}  # its output stays visible
    metadata.update({"mystnb": options} if options else {})
    made: NotebookNode = nbformat.from_dict(metadata)
    return made
