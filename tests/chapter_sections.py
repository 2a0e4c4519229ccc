"""The chapters cut into their sections, found by the anchor of each heading."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from chapter_form import read

BOOK = Path(__file__).parents[1]
CHAPTERS = {int(path.name[:2]): path for path in sorted((BOOK / "chapters").glob("*.ipynb"))}


def slug(title: str) -> str:
    """The anchor of a heading, as MyST makes it."""
    return re.sub(r"[^\w\s-]", "", title.lower().replace("`", "")).strip().replace(" ", "-")


@cache
def sections(path: Path) -> dict[str, str]:
    """The text and code of a chapter by anchor; what stands before the first section has none."""
    found, anchor = {"": ""}, ""
    for cell in read(path).cells:
        for line in cell.source.splitlines():
            heading = re.match(r"(##+) (.*)", line) if cell.cell_type == "markdown" else None
            if heading:
                anchor = slug(heading[2])
            found[anchor] = found.get(anchor, "") + line + "\n"
    return found
