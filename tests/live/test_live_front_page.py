"""The front page shows a chapter's live figure, taken from what the chapter stores."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from booksite.live import stored_figure
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

ROOT = Path(__file__).parents[2]
CHAPTER = ROOT / "chapters" / "02_simple_attention.ipynb"
CELL = "live-simple_attention"


def test_the_front_page_shows_the_figure_of_chapter_2(site):
    index = (ROOT / "index.md").read_text(encoding="utf-8")
    assert f"```{{live-figure}} chapters/{CHAPTER.name}#{CELL}\n" in index
    page = (site / "index.html").read_text(encoding="utf-8")
    assert page.count('<div class="live"') == 1
    assert stored_figure(CHAPTER, CELL) in page
    assert re.search(r'<script defer src="_static/live/[\w-]+\.js">', page)
    assert 'href="_static/live/live.css"' in page


def cell(name, *htmls):
    outputs = [{"output_type": "display_data", "data": {"text/html": text}} for text in htmls]
    return {"id": name, "cell_type": "code", "outputs": outputs}


LIVE = '<div class="live" data-live="two_vectors"><script>{}</script></div>'


@pytest.mark.parametrize("name", ["absent", "empty", "table", "two", "prose"])
def test_a_cell_without_one_live_figure_is_named(tmp_path, name):
    cells = [cell("one", LIVE), cell("empty"), cell("table", "<table></table>"),
             cell("two", LIVE, LIVE), {"id": "prose", "cell_type": "markdown"}]  # fmt: skip
    notebook = tmp_path / "book.ipynb"
    notebook.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert stored_figure(notebook, "one") == LIVE
    with pytest.raises(ValueError, match=f"book.ipynb has no cell '{name}' that shows one live"):
        stored_figure(notebook, name)


@pytest.fixture
def book(tmp_path):
    """A book of one page that shows a figure of a notebook; and a function that builds it."""
    shutil.copytree(ROOT / "attention_core" / "widgets", tmp_path / "attention_core" / "widgets")
    (tmp_path / "index.rst").write_text("Title\n=====\n\n.. live-figure:: a.ipynb#one\n", "utf-8")
    notebook = tmp_path / "a.ipynb"

    def build(*cells) -> tuple[str, str]:
        notebook.write_text(json.dumps({"cells": cells}), encoding="utf-8")
        out, warnings = tmp_path / "out", tmp_path / "warnings"
        with warnings.open("w+", encoding="utf-8") as stream, docutils_namespace():
            settings = {"extensions": ["booksite.live"], "exclude_patterns": ["attention_core"]}
            app = Sphinx(tmp_path, None, out, tmp_path / "cache", "html",
                         confoverrides=settings, status=None, warning=stream)  # fmt: skip
            app.build()
        return (out / "index.html").read_text("utf-8"), warnings.read_text("utf-8")

    return build


def test_a_change_of_the_notebook_reaches_the_page(book):
    page, warnings = book(cell("one", LIVE))
    assert not warnings
    assert LIVE in page
    assert 'src="_static/live/two_vectors.js"' in page
    changed = LIVE.replace("{}", '{"q": [1, 2]}')
    page, warnings = book(cell("one", changed))
    assert not warnings
    assert changed in page
    assert LIVE not in page


def test_a_figure_that_is_missing_is_a_build_warning(book):
    _, warnings = book(cell("other", LIVE))
    assert "a.ipynb has no cell 'one' that shows one live figure" in warnings
