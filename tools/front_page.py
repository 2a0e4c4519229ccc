"""Write the pictures by which the book is known, and the counts in README.

    python tools/front_page.py

The pictures are made from the drawing that grows, by ``book_face``. Tests compare all of them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import book_face
from front_figure import PATH as FIGURE
from front_figure import figure

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
sys.path.insert(0, str(ROOT / "_ext"))
from booksite import counts  # noqa: E402

COUNTED = (
    "On every change {cells} cells are run again, and all that they show is compared: "
    "{numbers} printed numbers, {tensors} whole tensors among them, {pictures} pictures, and the "
    "tables of {figures} figures that move. Chapter 12 plants in the package {planted} published "
    "mistakes: for each, tests must fail; general laws find {found_of_planted}."
)


def with_counts(readme: str) -> str:
    """Return README with the current counts.

    Raises:
        ValueError: README does not have the sentence with the counts exactly once
    """
    pattern = re.escape(COUNTED)
    for name in re.findall(r"{(\w+)}", COUNTED):
        pattern = pattern.replace(rf"\{{{name}\}}", r"[\w, ]+?")
    said = COUNTED.format(**counts.said(counts.count(ROOT)))
    text, times = re.subn(pattern, said, readme)
    if times != 1:
        raise ValueError(f"README must have this sentence once: {said}")
    return text


if __name__ == "__main__":
    book_face.write()
    FIGURE.write_text(figure(), encoding="utf-8", newline="\n")
    text = with_counts(README.read_text(encoding="utf-8"))
    README.write_text(text, encoding="utf-8", newline="\n")
