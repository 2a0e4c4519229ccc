"""Bundle the ES modules of live figures into one script, dependencies first.

A browser loads no module from a page that was opened as a file, and anywidget takes one string.
So imports are resolved here, without Node: each module becomes a function that is called once
and returns its exports. Only three forms are understood, and any other is an error:
`import { a, b } from "./file.js";`, `export const a = ...` and one `export default`.

This module imports nothing from the package, so that the book's build need not load torch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export const (\w+) =", re.MULTILINE)
_DEFAULT = re.compile(r"^export default ", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/[ \t]*)\n", re.MULTILINE | re.DOTALL)


def imported(path: Path) -> list[Path]:
    """List the modules that a module imports, in the order of its import statements."""
    found = _IMPORT.findall(path.read_text(encoding="utf-8"))
    return [(path.parent / file).resolve() for _, file in found]


def needed(entries: Sequence[Path]) -> list[Path]:
    """List the entries and all their dependencies, each module after those that it imports."""
    order: list[Path] = []

    def visit(path: Path, above: tuple[Path, ...]) -> None:
        if path in above:
            raise ValueError(
                f"circular import: {path.name} imports itself through {above[-1].name}"
            )
        if path not in order:
            for other in imported(path):
                visit(other, (*above, path))
            order.append(path)

    for entry in entries:
        visit(entry.resolve(), ())
    return order


def without_comments(text: str) -> str:
    """Remove the comments that fill whole lines: only readers of the source need them.

    >>> without_comments("// why\\nconst a = 1; // stays\\n/**\\n * @type {x}\\n */\\nb();\\n")
    'const a = 1; // stays\\nb();\\n'
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count("`") % 2:
            raise ValueError(f"line {number}: a template must be on one line, got {line.strip()}")
    return _COMMENT.sub("", text)


def _variable(path: Path) -> str:
    return f"module_{path.stem}"


def _parts(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        text = without_comments(path.read_text(encoding="utf-8"))
        exports = _EXPORT.findall(text)
        if len(_DEFAULT.findall(text)) > 1:
            raise ValueError(f"{path.name} must have at most one `export default`")
        default = _DEFAULT.search(text)
        body = _EXPORT.sub(r"const \1 =", _DEFAULT.sub("const exported = ", text))

        def resolve(match: re.Match[str], path: Path = path) -> str:
            names = " ".join(match[1].split()).rstrip(",")
            return f"const {{ {names} }} = {_variable(path.parent / match[2])};\n"

        body = _IMPORT.sub(resolve, body)
        if other := _OTHER.search(body):
            raise ValueError(f"{path.name}: cannot read `{other[0]}`")
        returned = ", ".join([*exports, *(["default: exported"] if default else [])])
        lines = [f"const {_variable(path)} = (() => {{", body.strip(), f"return {{ {returned} }};"]
        yield "\n".join([*lines, "})();"])


def module(entry: Path) -> str:
    """Return the bundle of a figure as one ES module, for anywidget and for Node."""
    paths = needed([entry])
    entry = paths[-1]
    text = entry.read_text(encoding="utf-8")
    lines = [*_parts(paths)]
    if _DEFAULT.search(text):
        lines.append(f"export default {_variable(entry)}.default;")
    if names := _EXPORT.findall(text):
        lines.append(f"export const {{ {', '.join(names)} }} = {_variable(entry)};")
    return "\n".join([*lines, ""])


def page_script(figures: Sequence[Path], host: Path) -> str:
    """Return the bundle of a page as one classic script: its figures, then the call of the host."""
    for path in figures:
        if not _DEFAULT.search(path.read_text(encoding="utf-8")):
            raise ValueError(f"{path.name} must have one `export default`")
    table = ", ".join(f"{json.dumps(path.stem)}: {_variable(path)}.default" for path in figures)
    start = f"{_variable(host)}.host({{ {table} }});"
    lines = ["(() => {", '"use strict";', *_parts(needed([*figures, host])), start, "})();", ""]
    return "\n".join(lines)
