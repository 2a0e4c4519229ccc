"""Count what the tests check, for the front page, which states these counts.

The counts are taken from the stored outputs of the chapters. The pages are built from them, and
the tests compare them with the outputs of a new run.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxRole

if TYPE_CHECKING:
    from pathlib import Path

    from sphinx.application import Sphinx

_PICTURE, _FIGURE = "image/png", 'class="live"'
# The parts of an output's HTML that are not shown: a figure's state, a drawing's style and
# description, and the tags.
_UNSEEN = re.compile(r"<(script|style|desc|title)\b.*?</\1>|<[^>]*>", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
# Chapter 12 plants each mistake in the package and prints how many laws detect it there.
_PLANTED = re.compile(r"^(\w+) +(\d+) good (\d+) bad$", re.MULTILINE)


def chapters(root: Path) -> list[Path]:
    return sorted((root / "chapters").glob("*.ipynb"))


def count(root: Path) -> dict[str, int]:
    """Count what is run again and compared. The keys are the names for the role ``count``.

    chapters   notebooks
    cells      code cells, without the one that fetches the package
    numbers    numbers in what cells print, a live figure's table included
    tensors    tensors among them, printed as torch prints them
    pictures   drawn pictures
    figures    live figures
    exercises  exercises, each with a cell that checks an answer
    planted    mistakes that chapter 12 plants in the package
    found      those of them that break at least one law
    laws       the laws
    """
    result = dict.fromkeys(
        ("chapters", "cells", "numbers", "tensors", "pictures", "figures", "exercises"), 0
    )
    result |= {"planted": 0, "found": 0, "laws": 0}
    for path in chapters(root):
        result["chapters"] += 1
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] != "code" or cell["id"] == "first-cell":
                continue
            result["cells"] += 1
            tags = cell["metadata"].get("tags", [])
            result["exercises"] += any(tag.startswith("exercise-") for tag in tags)
            for data in map(_data, cell["outputs"]):
                figure = data.get("text/html", "")
                result["pictures"] += _PICTURE in data
                result["figures"] += _FIGURE in figure
                text = _UNSEEN.sub(" ", figure) or data.get("text/plain", "")
                result["numbers"] += len(_NUMBER.findall(text))
                result["tensors"] += text.count("tensor(")
                planted = _PLANTED.findall(text)
                result["planted"] += len(planted)
                result["found"] += sum(int(good) > 0 for _, good, _ in planted)
                if laws := re.match(r"\d+ exhibits (\d+) laws\n", text):
                    result["laws"] = int(laws[1])
    return result


def _data(output: dict[str, Any]) -> dict[str, str]:
    """Return the contents of an output by MIME type; a stream counts as text/plain."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    return {kind: "".join(content) for kind, content in data.items()}


def said(counted: dict[str, int]) -> dict[str, str]:
    """Return the counts as pages state them, by the names that the role ``count`` knows.

    ``found_of_planted`` is a phrase: "all of them", or how many.
    """
    texts = {name: f"{number:,}" for name, number in counted.items()}
    every = counted["found"] == counted["planted"]
    return texts | {"found_of_planted": "all of them" if every else f"{texts['found']} of them"}


class CountRole(SphinxRole):
    """Replace ``{count}`numbers``` by the number that this build counts."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        root = self.env.srcdir
        for path in chapters(root):
            self.env.note_dependency(str(path))
        texts = said(count(root))
        if self.text not in texts:
            message = f"count must be one of {', '.join(texts)}, got {self.text!r}"
            return [], [self.inliner.reporter.error(message, line=self.lineno)]
        return [nodes.Text(texts[self.text])], []


def setup(app: Sphinx) -> None:
    app.add_role("count", CountRole())
