"""Write the pictures of the front page and the counts in README, from the chapters.

    python tools/front_page.py

The heat map is copied from chapter 2, where it is checked when the chapter runs. The preview,
which other sites show beside a link, is drawn from the same numbers. Tests compare all three.
"""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from chapter_form import pictures, read
from chapter_pictures import describe_difference
from front_figure import PATH as FIGURE
from front_figure import figure
from nbformat import NotebookNode

from attention_core import plotting
from attention_core.functional import masked_softmax

ROOT = Path(__file__).resolve().parent.parent
COPY, PREVIEW = ROOT / "_static" / "attention.png", ROOT / "_static" / "preview.png"
README = ROOT / "README.md"
sys.path.insert(0, str(ROOT / "_ext"))
from booksite import counts  # noqa: E402

COUNTED = (
    "On every change {cells} cells are run again, and all that they show is compared: "
    "{numbers} printed numbers, {tensors} whole tensors among them, {pictures} pictures, and the "
    "tables of {figures} figures that move. Chapter 12 plants in the package {planted} published "
    "mistakes: for each, tests must fail; general laws find {found_of_planted}."
)
PREVIEW_SIZE = 1200, 630  # what social networks ask for


def _cell(cell_id: str) -> NotebookNode:
    notebook = read(ROOT / "chapters" / "02_simple_attention.ipynb")
    cell: NotebookNode = next(cell for cell in notebook.cells if cell.id == cell_id)
    return cell


def source() -> bytes:
    """Return the PNG of the heat map in chapter 2."""
    return base64.b64decode(pictures(_cell("picture-code").outputs)[0].data["image/png"])


def preview() -> bytes:
    """Draw the link preview as PNG: the title, and the attention weights of six words."""
    page = _cell("live-simple_attention").outputs[0].data["text/html"]
    stored = re.search(r'json">(.*?)</script>', page)
    if stored is None:
        raise ValueError("the live figure of chapter 2 must store its state as JSON in a script")
    state = json.loads(stored[1])
    x = torch.tensor(state["embeddings"], dtype=torch.float64)
    weights, words = masked_softmax(x @ x.mT), state["words"]
    plotting.use_book_style()
    fig = plt.figure(figsize=[side / 100 for side in PREVIEW_SIZE], layout="none")
    # One text per line: matplotlib spaces the lines of one text unevenly.
    for line, text in enumerate(("Attention,", "Number", "by Number")):
        fig.text(0.05, 0.70 - 0.125 * line, text, fontsize=46)
    about = "From three characters on paper", "to a Transformer that translates.", "All computed."
    for line, text in enumerate(about):
        fig.text(0.05, 0.28 - 0.06 * line, text, fontsize=17)
    ax = plotting.heatmap(weights, words, words, ax=fig.add_axes((0.48, 0.05, 0.49, 0.8)))
    labels = [*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label]
    for label in [*ax.texts, *labels]:
        label.set_fontsize(16)
    raw = io.BytesIO()
    fig.savefig(raw, format="png", dpi=100, metadata={"Software": None})
    plt.close(fig)
    return raw.getvalue()


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
    COPY.write_bytes(source())
    new = preview()
    if not PREVIEW.is_file() or describe_difference(PREVIEW.read_bytes(), new):
        PREVIEW.write_bytes(new)
    FIGURE.write_text(figure(), encoding="utf-8", newline="\n")
    text = with_counts(README.read_text(encoding="utf-8"))
    README.write_text(text, encoding="utf-8", newline="\n")
