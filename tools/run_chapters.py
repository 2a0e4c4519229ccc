"""Run chapters and store their outputs in normal form.

    python tools/run_chapters.py [--check] [chapters/NN_topic.ipynb ...]

Without names, all chapters are run. If a new picture equals the stored one within the
tolerance, the stored bytes are kept. So running an unchanged chapter leaves its file as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
from chapter_form import normalise, pictures, read, to_text, write
from chapter_pictures import describe_difference
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbval.kernel import CURRENT_ENV_KERNEL_NAME, NbvalKernelspecManager

CHAPTERS = Path(__file__).resolve().parent.parent / "chapters"
CELL_TIMEOUT = 600  # seconds; the slowest cell takes a tenth of it on one quiet core


class ChapterError(Exception):
    """A chapter whose outputs cannot be stored; the message is for its author."""


class _ThisPython(AsyncKernelManager):
    """A kernel manager that starts this interpreter, whatever is registered as "python3"."""

    def _kernel_spec_manager_default(self) -> NbvalKernelspecManager:
        return NbvalKernelspecManager()


def kernel_environment() -> dict[str, str]:
    """Return the environment of a kernel: ours, without variables that change figures.

    With MPLBACKEND set, as on many servers, a forgotten open figure would not appear as an
    output; without it the kernel chooses its own inline backend. Unless the environment sets
    OMP_WAIT_POLICY, torch's threads sleep while they wait for each other. With busy waiting, a
    chapter takes five times as long where other processes use the cores.
    """
    kept = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    return {"OMP_WAIT_POLICY": "PASSIVE", **kept}


def execute(notebook: NotebookNode, folder: Path) -> list[str]:
    """Run all code cells of the notebook in a fresh kernel; return notes about stderr."""
    client = NotebookClient(
        notebook,
        kernel_name=CURRENT_ENV_KERNEL_NAME,
        kernel_manager_class=_ThisPython,
        timeout=CELL_TIMEOUT,
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
        record_timing=False,
    )
    try:
        # Each chapter has its own event loop, because chapters run in threads. The log of the
        # kernel process is not an output of the chapter.
        asyncio.run(client.async_execute(env=kernel_environment(), stderr=subprocess.DEVNULL))
    except CellExecutionError as error:
        place = name_cell(notebook, next(c for c in reversed(notebook.cells) if _errors(c)))
        raise ChapterError(f"{place} raised {error.ename}: {error.evalue}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise ChapterError(str(error).splitlines()[0]) from None
    notes = []
    for cell in (c for c in notebook.cells if c.cell_type == "code"):
        place = name_cell(notebook, cell)
        if "raises-exception" in cell.metadata.get("tags", []) and not _errors(cell):
            raise ChapterError(f"{place} is tagged raises-exception, but raised nothing")
        stderr = "".join(o.text for o in cell.outputs if o.get("name") == "stderr")
        if stderr:
            notes.append(f"{place} wrote to stderr (not stored): {stderr.splitlines()[0]}")
            cell.outputs = [o for o in cell.outputs if o.get("name") != "stderr"]
    return notes


def name_cell(notebook: NotebookNode, cell: NotebookNode) -> str:
    """Return the id of a cell and its number among code cells, from 0 as in nbval's names."""
    code_cells = [c for c in notebook.cells if c.cell_type == "code"]
    return f"code cell {code_cells.index(cell)} (id {cell.get('id')})"


def _errors(cell: NotebookNode) -> list[NotebookNode]:
    return [out for out in cell.get("outputs", []) if out.output_type == "error"]


def keep_stored_pictures(old: NotebookNode, new: NotebookNode) -> None:
    """Keep the stored picture where the new one equals it within the tolerance."""
    stored = {cell.id: pictures(cell.outputs) for cell in old.cells if cell.cell_type == "code"}
    for cell in new.cells:
        drawn = pictures(cell.get("outputs", []))
        for before, after in zip(stored.get(cell.id, []), drawn, strict=False):
            a, b = (base64.b64decode(out.data["image/png"]) for out in (before, after))
            if not describe_difference(a, b):
                after.data["image/png"] = before.data["image/png"]


def run_chapter(path: Path) -> tuple[str, list[str]]:
    """Return the text for the file of the chapter, and notes for the author."""
    # Cells get their ids first: errors name them, and pictures are matched by them.
    stored = normalise(read(path))
    fresh = nbformat.from_dict(stored)
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    notes = execute(fresh, path.parent)
    result = normalise(fresh)
    keep_stored_pictures(stored, result)
    return to_text(result), notes


def _process(path: Path, check: bool) -> tuple[bool, list[str]]:
    """Run one chapter; return whether it succeeded, and the lines to print."""
    try:
        text, notes = run_chapter(path)
    except ChapterError as error:
        return False, [f"{path.name}: {error}; the file is left as it was"]
    lines = [f"{path.name}: {note}" for note in notes]
    if text == path.read_bytes().decode("utf-8"):
        return True, [*lines, f"{path.name}: unchanged"]
    if check:
        return False, [*lines, f"{path.name}: would change; run it without --check"]
    write(path, nbformat.v4.reads(text))
    return True, [*lines, f"{path.name}: written"]


def find(names: list[str]) -> list[Path]:
    """Return chapter files for names, each a path or a file name in chapters/."""
    if not names:
        return sorted(CHAPTERS.glob("*.ipynb"))
    paths = [Path(name) if Path(name).exists() else CHAPTERS / name for name in names]
    for path in paths:
        if path.suffix != ".ipynb" or not path.is_file():
            raise SystemExit(f"no such chapter: {path}")
    return [path.resolve() for path in paths]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("chapters", nargs="*", help="notebooks; all chapters if none is named")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if a file changes"
    )
    options = parser.parse_args(arguments)
    all_well = True
    with ThreadPoolExecutor(max_workers=2) as pool:
        for well, lines in pool.map(lambda p: _process(p, options.check), find(options.chapters)):
            print("\n".join(lines).encode("ascii", "backslashreplace").decode("ascii"), flush=True)
            all_well = all_well and well
    return 0 if all_well else 1


if __name__ == "__main__":
    sys.exit(main())
