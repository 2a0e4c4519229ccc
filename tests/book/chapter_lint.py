"""Check the rules for chapters. Each rule yields its problems as (cell, message)."""

from __future__ import annotations

import ast
import base64
import re
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from chapter_form import NOTEBOOK_METADATA, normalise, pictures, to_text
from chapter_text import headings, literal_includes, without_folds, words
from first_cell import ID as FIRST_CELL
from first_cell import SOURCE as FIRST_SOURCE
from first_cell import TAG as FIRST_TAG
from nbformat import NotebookNode

Problem = tuple[Any, str]
Rule = Callable[[Path, NotebookNode], Iterator[Problem]]
RULES: list[Rule] = []

SECTIONS = {"by hand": "by hand", "exercises": "exercises", "summary": "summary"}
WORDS = (700, 1900)
# These chapters fold what only an expert needs, and are held to the length of their main line.
FOLDED = {
    "01_dot_products",
    "02_simple_attention",
    "03_query_key_value",
    "04_scaling",
    "05_masks",
    "06_multi_head",
    "07_positions",
    "08_layers",
    "09_transformer",
}
MAIN_LINE, WITH_FOLDS = (900, 1400), 3200
CODE_CELLS, CODE_LINES, LINE_WIDTH, TABLE = 30, 15, 80, 6

TAGS = re.compile(
    r"raises-exception|trains-live|hide-(?:cell|input|output)|remove-(?:cell|input)"
    r"|(?:exercise|check|solution)-\d"
)
MACHINE = re.compile(
    r"/home/|/tmp\b|/root\b|/Users/|\b[A-Z]:\\|site-packages|ipykernel_|\b0x[0-9a-f]{4,}|object at"
)
IN_SOURCE = {
    "excludes its output from comparison": r"NBVAL_|\bskip-execution\b",
    "shows a progress bar or the time": r"tqdm|time\.time|perf_counter|datetime\.now|%time",
    "installs a package or needs Colab": r"[!%]pip|google\.colab",
    "uses a shell command or a magic": r"(?m)^\s*[!%]",
    "rewrites an output, which is not compared": r"display_id|clear_output|\\r",
}
IN_OUTPUT = {
    "a path or an address of one machine": MACHINE.pattern,
    "a bare tensor(1.), which says less than a number": r"\btensor\(-?\d+\.\)",
    "a signed zero, which may lose its sign elsewhere": r"(?<![\w.])-0(?:\.0*)?(?![\w.])",
    "grad_fn": r"grad_fn",
    "a figure's size instead of its description": r"<Figure size",
    "control characters": r"[\r\x08\x1b]",
}
MIME_TYPES = {"text/plain", "text/html", "image/png"}


def rule(function: Rule) -> Rule:
    RULES.append(function)
    return function


def code(notebook: NotebookNode) -> Iterator[NotebookNode]:
    return (cell for cell in notebook.cells if cell.cell_type == "code")


def prose(notebook: NotebookNode) -> Iterator[NotebookNode]:
    return (cell for cell in notebook.cells if cell.cell_type == "markdown")


def printed(cell: NotebookNode) -> Iterator[str]:
    """Return the printed text of a cell, without alternative texts and errors."""
    for output in cell.outputs:
        data = output.get("data", {})
        yield output.get("text", "") or ("" if "image/png" in data else data.get("text/plain", ""))


@rule
def file_name(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    if not re.fullmatch(r"\d\d_[a-z0-9_]+\.ipynb", path.name):
        yield None, "the file name must read NN_topic.ipynb, in ASCII and without spaces"


@rule
def kernel(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    for key in sorted(set(notebook.metadata) | set(NOTEBOOK_METADATA)):
        if notebook.metadata.get(key) != NOTEBOOK_METADATA.get(key):
            yield None, f"metadata {key!r} must be {NOTEBOOK_METADATA.get(key)}"


@rule
def ids(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    seen = [cell.get("id") for cell in notebook.cells]
    yield from ((cell, "id missing or not unique") for cell in notebook.cells
                if not cell.get("id") or seen.count(cell.id) > 1)  # fmt: skip


@rule
def executed(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    for number, cell in enumerate(code(notebook), start=1):
        if cell.execution_count != number:
            yield cell, f"execution count {cell.execution_count} instead of {number}: run all cells"


@rule
def normal_form(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    tidy = normalise(notebook)
    if len(tidy.cells) != len(notebook.cells):
        yield None, "has empty cells; run tools/run_chapters.py"
        return
    differing = [a for a, b in zip(notebook.cells, tidy.cells, strict=True) if a != b]
    yield from ((cell, "not in normal form; run tools/run_chapters.py") for cell in differing)
    if not differing and path.read_bytes() != to_text(tidy).encode():
        yield None, "the file is not in normal form; run tools/run_chapters.py"


@rule
def tags(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    for cell in notebook.cells:
        for tag in cell.metadata.get("tags", []):
            if not TAGS.fullmatch(tag):
                yield cell, f"tag {tag!r} is not one that the book uses"


@rule
def source(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    for cell in notebook.cells:
        if found := MACHINE.search(cell.source):
            yield cell, f"names a path or an address of one machine: {found[0]!r}"
        if re.search(r"!\[\s*\]\(", cell.source):
            yield cell, "has an image without alternative text"
    for cell in code(notebook):
        for meaning, pattern in IN_SOURCE.items():
            if found := re.search(pattern, cell.source):
                yield cell, f"{meaning}: {found[0]!r}"


@rule
def first_cell(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    for cell in code(notebook):
        first, named = cell is next(code(notebook)), cell.id == FIRST_CELL
        if first and not named:
            yield cell, "is not the cell that fetches the package; run tools/first_cell.py"
        elif named and (not first or cell.source != FIRST_SOURCE or cell.outputs):
            yield cell, "must be the first code cell as tools/first_cell.py writes it"
        if (FIRST_TAG in cell.metadata.get("tags", [])) != named:
            yield cell, f"tag {FIRST_TAG!r} is for cell {FIRST_CELL!r}, and for no other"


@rule
def outputs(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    for cell in code(notebook):
        streams = [out.name for out in cell.outputs if out.output_type == "stream"]
        if "stderr" in streams:
            yield cell, "stores text from stderr"
        elif len(streams) > 1:
            yield cell, "prints again after another output; make it two cells"
        for output in cell.outputs:
            if surplus := set(output.get("data", {})) - MIME_TYPES:
                yield cell, f"stores {sorted(surplus)}, which nothing compares"
            parts = [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", [])]
            parts += [v for k, v in output.get("data", {}).items() if k != "image/png"]
            text = "\n".join(parts)
            for meaning, pattern in IN_OUTPUT.items():
                if found := re.search(pattern, text):
                    yield cell, f"prints {meaning}: {found[0]!r}"


@rule
def sizes(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    # On top of the chapter's own cells come live figures, questions, the drawing, and the cell
    # that no page shows.
    shown = [cell for cell in code(notebook) if cell.id != FIRST_CELL]
    own = [cell for cell in shown if not cell.id.startswith(("live-", "question-", "drawing"))]
    if (number := len(own)) > CODE_CELLS:
        yield None, f"{number} code cells, at most {CODE_CELLS}"
    for cell in shown:
        if (number := len(cell.source.splitlines())) > CODE_LINES:
            yield cell, f"{number} lines of code, at most {CODE_LINES}"
        for text in printed(cell):
            for line in text.splitlines():
                if len(line) > LINE_WIDTH:
                    yield cell, f"prints a line of {len(line)} characters, at most {LINE_WIDTH}"
            yield from ((cell, problem) for problem in large_tensors(text))


def large_tensors(text: str) -> Iterator[str]:
    for tensor in re.findall(r"tensor\((\[.*?\])(?:\)|,\s+[a-z])", text, re.DOTALL):
        # Blank lines part the tables of a tensor with more than two axes.
        for block in tensor.split("\n\n"):
            rows = re.findall(r"\[([^\[\]]*)\]", block)
            if len(rows) == 1 and "\n" not in rows[0]:
                continue  # one row may be as long as the line
            width = max((len(row.split(",")) for row in rows), default=0)
            if len(rows) > TABLE or width > TABLE:
                yield f"prints a table of {len(rows)}x{width} numbers, at most {TABLE}x{TABLE}"


@rule
def figures(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    for cell in code(notebook):
        if len(pictures(cell.outputs)) > 1:
            yield cell, "shows two pictures; MyST-NB knows one alternative text for a cell"
        for output in pictures(cell.outputs):
            about = output.metadata.get("image/png", {})
            alt = about.get("alt", "")
            if len(alt) < 20:
                yield cell, f"alternative text too short: {alt!r}; show figures with plotting.show"
            if output.data.get("text/plain") != alt:
                yield cell, "the picture's text/plain is not its alternative text"
            if cell.metadata.get("mystnb", {}).get("image", {}).get("alt") != alt:
                yield cell, "mystnb.image.alt is not the alternative text; run run_chapters.py"
            pixels = struct.unpack(">II", base64.b64decode(output.data["image/png"])[16:24])
            # Twice, or one and a half times for light drawings, up to the rounding of the size.
            shown = about.get("width", 0), about.get("height", 0)
            sharp = any(
                all(abs(n - ratio * m) < 1 for n, m in zip(pixels, shown, strict=True))
                for ratio in (1.5, 2)
            )
            if not sharp:
                yield cell, f"{pixels} pixels are not 1.5 or 2 times the size that is shown"


@rule
def own_names(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    import attention_core

    exported = set(getattr(attention_core, "__all__", ()))
    for cell in code(notebook):
        for node in ast.walk(ast.parse(cell.source)):
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            name = node.id if stored else getattr(node, "name", None)
            if name in exported and not isinstance(node, ast.alias):
                yield cell, f"defines {name!r} anew, which attention_core exports"


@rule
def includes(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    for cell in prose(notebook):
        for target, pyobject in literal_includes(cell.source):
            file = path.parent / target
            if not file.is_file():
                yield cell, f"literalinclude of {target}, which does not exist"
            elif pyobject and not _defines(ast.parse(file.read_text(encoding="utf-8")), pyobject):
                yield cell, f"literalinclude of {pyobject}, which {target} does not define"


def _defines(tree: ast.AST, dotted: str) -> bool:
    first, _, rest = dotted.partition(".")
    for node in getattr(tree, "body", []):
        if getattr(node, "name", None) == first:
            return not rest or _defines(node, rest)
    return False


@rule
def structure(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    found = [(cell, *heading) for cell in prose(notebook) for heading in headings(cell.source)]
    if [level for _, level, _ in found].count(1) != 1 or found[0][1] != 1:
        yield None, "must have one title, and begin with it"
    for (_, before, _), (cell, level, title) in pairwise(found):
        if level > before + 1:
            yield cell, f"heading {title!r} skips a level"
    for keyword, name in SECTIONS.items():
        if not any(level == 2 and keyword in title.lower() for _, level, title in found):
            yield None, f"has no section {name!r}"


@rule
def length(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    number = sum(words(cell.source) for cell in prose(notebook))
    low, high = (WORDS[0], WITH_FOLDS) if path.stem in FOLDED else WORDS
    if not low <= number <= high:
        yield None, f"{number} words, wanted {low} to {high}"
    number = main_line(notebook)
    if path.stem in FOLDED and not MAIN_LINE[0] <= number <= MAIN_LINE[1]:
        yield None, f"{number} words outside folds, wanted {MAIN_LINE[0]} to {MAIN_LINE[1]}"


def main_line(notebook: NotebookNode) -> int:
    """Count the words of the prose outside folds and exercises."""
    total, counted = 0, True
    for cell in prose(notebook):
        for level, title in headings(cell.source):
            counted = "exercises" not in title.lower() if level == 2 else counted
        total += words(without_folds(cell.source)) if counted else 0
    return total


@rule
def exercises(path: Path, notebook: NotebookNode) -> Iterator[Problem]:
    order = [
        (tag, cell)
        for cell in code(notebook)
        for tag in cell.metadata.get("tags", [])
        if tag[-1].isdigit()
    ]
    number = sum(tag.startswith("exercise-") for tag, _ in order)
    parts = ("exercise", "check", "solution")
    wanted = [f"{part}-{n}" for n in range(1, number + 1) for part in parts]
    if number < 2:
        yield None, "has fewer than two exercises"
    if [tag for tag, _ in order] != wanted:
        yield None, f"exercise cells are tagged {[tag for tag, _ in order]}, wanted {wanted}"
    titles = [title for cell in prose(notebook) for _, title in headings(cell.source)]
    for n in range(1, number + 1):
        if not any(re.match(rf"Exercise {n}\b", title) for title in titles):
            yield None, f"has no heading 'Exercise {n}'"
    for tag, cell in order:
        if tag.startswith("solution-") and "hide-cell" not in cell.metadata.tags:
            yield cell, "a solution must be tagged hide-cell"
        if tag.startswith("exercise-") and f"answer_{tag[-1]} = ..." not in cell.source:
            yield cell, f"must hold 'answer_{tag[-1]} = ...' for the reader to fill"


def problems(path: Path, notebook: NotebookNode, check: Rule) -> list[str]:
    code_cells = list(code(notebook))
    return [
        f"{path.name}" + (f", {_place(cell, code_cells)}" if cell else "") + f": {message}"
        for cell, message in check(path, notebook)
    ]


def _place(cell: NotebookNode, code_cells: list[NotebookNode]) -> str:
    number = next((f"code cell {n} " for n, c in enumerate(code_cells) if c is cell), "cell ")
    return f"{number}(id {cell.get('id')})"
