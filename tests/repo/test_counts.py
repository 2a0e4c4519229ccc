"""The counts on the front page and in README are those of the stored outputs."""

import re
from pathlib import Path

import nbformat
import pytest
from booksite.counts import count, said
from chapter_form import read, write
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attention_core.museum import EXHIBITS, LAWS

ROOT = Path(__file__).parents[2]
FIGURE = (
    '<div class="live" data-live="two"><script type="application/json">{"q": [7, 8]}</script>'
    "<style>i {width: 9px}</style><table><tr><td rowspan=2>1.50</td><td>2</td></tr></table></div>"
)
SHOWN = {
    "first-cell": [],
    "tensor": [new_output("execute_result", {"text/plain": "tensor([[1.0000, 2.0000]])"})],
    "line": [new_output("stream", text="1,234 steps, 0.5 off\n")],
    "picture": [new_output("display_data", {"image/png": "", "text/plain": "A map of 6 words."})],
    "figure": [new_output("display_data", {"text/html": FIGURE, "text/plain": "a figure"})],
    "planted": [new_output("stream", text="2 exhibits 3 laws\na  2 good 0 bad\nb 0 good 1 bad\n")],
    "answer": [],
}  # fmt: skip


def book(folder):
    """A book of one chapter that shows one thing of each kind."""
    cells = [new_code_cell("", id=name, outputs=out) for name, out in SHOWN.items()]
    cells[-1].metadata.tags = ["exercise-1"]
    (folder / "chapters").mkdir()
    notebook = new_notebook(cells=[new_markdown_cell("# 5 words", id="title"), *cells])
    write(folder / "chapters" / "01_one.ipynb", notebook)
    return folder


def test_one_of_each_kind_is_counted_once(tmp_path):
    assert count(book(tmp_path)) == {
        "chapters": 1, "cells": 6, "pictures": 1, "figures": 1, "exercises": 1,
        "tensors": 1, "numbers": 2 + 2 + 1 + 2 + 6, "planted": 2, "found": 1, "laws": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name"),
    [("tensors", "tensor"), ("pictures", "picture"), ("figures", "figure"), ("planted", "planted")],
)
def test_a_removed_output_is_no_longer_counted(tmp_path, kind, name):
    path = book(tmp_path) / "chapters" / "01_one.ipynb"
    notebook = read(path)
    next(cell for cell in notebook.cells if cell.id == name).outputs = []
    write(path, notebook)
    assert count(tmp_path)[kind] == 0


def test_the_counts_of_the_book_equal_an_independent_count():
    found = count(ROOT)
    texts = [path.read_text(encoding="utf-8") for path in ROOT.glob("chapters/*.ipynb")]
    cells = [c for text in texts for c in nbformat.reads(text, 4).cells if c.cell_type == "code"]
    assert found["chapters"] == len(texts)
    assert found["cells"] == len(cells) - len(texts)
    assert found["pictures"] == sum(text.count('"image/png": "') for text in texts)
    assert found["exercises"] == sum(text.count("Your turn: replace the dots") for text in texts)
    widgets = ROOT / "attention_core" / "widgets"
    shown = {path.stem for path in widgets.glob("*.js")} & {p.stem for p in widgets.glob("*.py")}
    assert found["figures"] == len(shown)
    assert found["planted"] == len(EXHIBITS)
    assert found["laws"] == len(LAWS)


def test_the_front_page_of_the_site_shows_the_counts(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    (section,) = re.findall(r'<section id="what-is-checked">.*?</section>', page, re.DOTALL)
    text = re.sub(r"<[^>]*>", "", section)
    found = count(ROOT)
    (items,) = re.findall(r'<section id="the-map">.*?<ol.*?>(.*?)</ol>', page, re.DOTALL)
    assert items.count("<li") == found["chapters"]
    names = "cells numbers pictures figures planted"
    stated = re.findall(r"\b\d[\d,]*", text.replace("chapter 12", ""))
    assert stated == [f"{found[name]:,}" for name in names.split()]


def test_the_laws_find_all_or_so_many_of_the_planted_mistakes():
    counts = {"cells": 1234, "planted": 26, "found": 26}
    assert said(counts)["found_of_planted"] == "all of them"
    assert said(counts | {"found": 25})["found_of_planted"] == "25 of them"
    assert said(counts)["cells"] == "1,234"
