"""Turn the blocks ``Args:``, ``Shape:``, ``Raises:`` and the like of docstrings into fields.

autodoc reads the docstrings, and imports the package only when a page of the reference is out
of date.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_BLOCK = re.compile(r"(Args|Shape|Raises|Returns|Yields|Args and Raises|Source):\s*(.*)")
_SHAPE = re.compile(r"\((?:[^()]*,[^()]*|\.\.\.)\)")
_NAMES = re.compile(r"[A-Za-z_]\w*(?:, [A-Za-z_]\w*)*")


def as_rest(lines: list[str]) -> list[str]:
    """Return a docstring of the package as reStructuredText."""
    made: list[str] = []
    waiting = list(reversed(lines))
    while waiting:
        line = waiting.pop()
        block = _BLOCK.fullmatch(line)
        if block is None:
            verbatim = line.startswith(" ") or line.startswith(">>>")
            made.append(line if verbatim else _inline(line))
            continue
        name, first = block.groups()
        body = [first] if first else []
        # A Source: block is one paragraph; in all other blocks every line is indented.
        while waiting and (waiting[-1].startswith(" ") or (name == "Source" and waiting[-1])):
            body.append(waiting.pop())
        if made and made[-1]:
            made.append("")
        made.append(f":{name.replace('Args', 'Arguments')}:")
        for entry in _entries(body, one=bool(first)):
            made += ["    " + (_shape if name == "Shape" else _entry)(entry), ""]
    return made


def _entries(body: list[str], *, one: bool) -> list[str]:
    """Return the entries of a block; a line that is indented further continues its entry."""
    entries: list[str] = []
    for line in body:
        indent = len(line) - len(line.lstrip())
        if entries and (one or indent > 4):
            entries[-1] += " " + line.strip()
        else:
            entries.append(line.strip())
    # Several shapes may share a line, separated by three or more spaces.
    return [part for entry in entries for part in re.split(r" {3,}", entry)]


def _inline(text: str) -> str:
    """Mark names in single backquotes as code; ``links`` turns them into references."""
    return re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)


def _entry(text: str) -> str:
    names, colon, rest = text.partition(": ")
    if not colon or not _NAMES.fullmatch(names):
        return _inline(text)
    return re.sub(r"\w+", r"``\g<0>``", names) + ": " + _inline(rest)


def _shape(text: str) -> str:
    name, colon, value = text.partition(": ")
    if not colon or name.startswith("(..."):
        name, value = "", text
    elif name != "returns":
        name = f"``{name}``"
    parts = _inline(value).split("``")  # every second one is code already
    parts[::2] = [_SHAPE.sub(r"``\g<0>``", part).replace("->", "→") for part in parts[::2]]
    value = "``".join(parts)
    return f"{name}: {value}" if name else value


def _process(app: Sphinx, what: str, name: str, thing: Any, _o: Any, lines: list[str]) -> None:
    app.env.note_dependency(__file__)
    # For a constant without a docstring autodoc takes that of its type.
    borrowed = what == "data" and lines and lines[0] in (type(thing).__doc__ or "")
    lines[:] = [] if borrowed else as_rest(lines)
    if what in ("class", "data", "exception", "function"):
        module = name.rpartition(".")[0] if what == "data" else thing.__module__
        lines += ["", f":Module: ``{module}``", ""]


def _sign(*found: Any) -> tuple[str, None] | None:
    # A signature of only "*args, **kwargs" tells nothing, so none is shown.
    return ("", None) if (found[-2] or "").startswith("(*args") else None


def _skip(_a: Sphinx, _w: str, name: str, *_: Any) -> bool | None:
    return False if name == "forward" else None  # always listed: how a module is called


def setup(app: Sphinx) -> None:
    # Import the package beside the book, not one that may be installed.
    sys.path.insert(0, str(app.srcdir))
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _sign)
    app.connect("autodoc-skip-member", _skip)
