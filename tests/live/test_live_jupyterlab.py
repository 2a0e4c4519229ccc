"""The same figures in JupyterLab: page and kernel share one state, both ways.

A real server, kernel and browser; the notebook is the one that a reader would type.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import nbformat
import pytest

from attention_core.drawing import _figure
from attention_core.questions import number

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Page as Tab

CELLS = [
    "import torch\n"
    "from attention_core.widgets import SimpleAttention\n"
    "X = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])\n"
    "figure = SimpleAttention(words=['a', 'b', 'c'], embeddings=X, query=0)\n"
    "figure",
    "from ipywidgets import FloatSlider, link\n"
    "slider = FloatSlider(value=2.0, min=0.5, max=4.0, step=0.05)\n"
    "link((slider, 'value'), (figure, 'temperature'))\n"
    "slider",
    "import json\n"
    "state = [figure.query, figure.temperature]\n"
    "print(json.dumps({'state': state, 'weights': figure.weights.tolist()}))",
    "with figure.hold_trait_notifications():\n"
    "    figure.words, figure.embeddings = list('wxyz'), torch.eye(4)\n"
    "    figure.query = 3",
    "from attention_core.questions import number\n"
    "number('How many rows has X?', len(X), hints={2: 'It has two columns.'})",
    "from attention_core import drawing\ndrawing.show(3)",
]
# Shown as it was stored, by somebody else: JupyterLab cleans it, and runs no script.
STORED = number("How many columns has X?", 2, hints={3: "It has three rows."})


@contextmanager
def lab(folder: Path) -> Iterator[str]:
    """Run a separate server with these settings only, and without kernels of the user."""
    own = {name: str(folder / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        "--port=0", "--ServerApp.token=secret", f"--ServerApp.root_dir={folder}",
        "--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    server = subprocess.Popen(
        command, stderr=subprocess.PIPE, encoding="utf-8", env={**os.environ, **own}
    )
    try:
        lines: list[str] = []
        for line in server.stderr:
            lines.append(line)
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/lab", line):
                break
        else:
            pytest.fail("JupyterLab did not start:\n" + "".join(lines[-20:]))
        yield f"http://127.0.0.1:{found[1]}/lab/tree/trial.ipynb?token=secret"
    finally:
        server.terminate()
        server.communicate(timeout=30)


@pytest.fixture(scope="module")
def tab(browser, tmp_path_factory) -> Iterator[Tab]:
    folder = tmp_path_factory.mktemp("lab")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    data = {"text/html": STORED.static_html(), "text/plain": repr(STORED)}
    stored = nbformat.v4.new_output("execute_result", data, execution_count=1)
    notebook.cells.append(nbformat.v4.new_code_cell("stored", outputs=[stored], execution_count=1))
    drawn = nbformat.v4.new_output("display_data", _figure.data(5))
    notebook.cells.append(nbformat.v4.new_code_cell("drawn", outputs=[drawn], execution_count=2))
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, folder / "trial.ipynb")
    with lab(folder) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 1400})
        page = context.new_page()
        page.goto(address)
        page.locator(".jp-Notebook .jp-CodeCell").nth(len(CELLS)).wait_for(timeout=60_000)
        yield page
        context.close()


def run(tab: Tab, number: int) -> str:
    """Run one cell, wait until the kernel has done it, and return what it printed."""
    cell = tab.locator(".jp-CodeCell").nth(number)
    prompt = cell.locator(".jp-InputPrompt")
    before = prompt.inner_text()
    for attempt in range(4):
        # A page that is still loading ignores the keys.
        cell.locator(".cm-content").click()
        tab.keyboard.press("ControlOrMeta+Enter")
        for _ in range(50 * (attempt + 1)):
            tab.wait_for_timeout(100)
            if prompt.inner_text() != before:
                break
        else:
            continue
        break
    for _ in range(900):
        now = prompt.inner_text()
        if re.search(r"\[\d+\]", now) and now != before:
            return " ".join(cell.locator(".jp-RenderedText").all_inner_texts())
        tab.wait_for_timeout(100)
    pytest.fail(f"cell {number} was not run: {before!r}, {now!r}")


def test_page_and_kernel_share_one_state(tab):
    run(tab, 0)
    root = tab.locator(".live-figure")
    root.wait_for(timeout=30_000)

    def state() -> dict:
        return root.evaluate("root => root.figure.state()")

    def shown(key: str) -> list[float]:
        return [float(t) for t in root.locator(f"tbody [data-key^='{key}.']").all_inner_texts()]

    def agree(query: int, temperature: float) -> None:
        """Check that page and kernel have this state, and the page the weights of the kernel."""
        read = run(tab, 2)
        assert json.loads(read)["state"] == [query, temperature]
        assert (state()["query"], state()["temperature"]) == (query, temperature)
        assert shown("weights") == pytest.approx(json.loads(read)["weights"], abs=5e-5)

    agree(0, 1.0)
    # From the page to the kernel.
    root.locator("[data-control='query']").nth(1).click()
    agree(1, 1.0)
    # A slider of ipywidgets drives the figure, and is driven by it.
    run(tab, 1)
    agree(1, 2.0)
    root.locator("[data-control='temperature']").focus()
    tab.keyboard.press("ArrowLeft")
    agree(1, 1.95)
    slider = tab.locator(".widget-readout")
    assert float(slider.inner_text()) == pytest.approx(1.95, abs=0.06)
    # The reader's own tensor, of another size, with other words.
    run(tab, 3)
    root.locator("[data-control='query']").nth(3).wait_for()
    agree(3, 1.95)


def test_a_question_is_answered_without_the_kernel(tab):
    run(tab, 0)
    run(tab, 4)
    question = tab.locator(".jp-CodeCell").nth(4).locator(".question[data-started]")
    question.wait_for(timeout=30_000)
    field, reply = question.get_by_role("textbox"), question.get_by_role("status")
    field.click()
    tab.keyboard.type("2")
    tab.keyboard.press("Enter")
    assert reply.inner_text() == "It has two columns."
    field.fill("3")
    question.get_by_role("button", name="Check").click()
    assert reply.inner_text().endswith("Right.")
    # Keys that are commands of JupyterLab, such as "d d", stay in the field.
    cells = tab.locator(".jp-Notebook .jp-Cell").count()
    field.fill("")
    tab.keyboard.type("ddxab")
    assert field.input_value() == "ddxab"
    assert tab.locator(".jp-Notebook .jp-Cell").count() == cells
    assert tab.evaluate("Object.keys(localStorage).filter(key => key.startsWith('question'))") == []


def test_a_stored_question_is_read_with_its_folded_answer(tab):
    cell = tab.locator(".jp-CodeCell").nth(len(CELLS))
    cell.scroll_into_view_if_needed()
    assert "How many columns has X?" in cell.locator(".jp-OutputArea").inner_text()
    answer = cell.locator("details strong")
    assert not answer.is_visible()
    cell.locator("summary").click()
    assert answer.inner_text() == "2"
    assert cell.locator(".jp-OutputArea input").count() == 0


def test_a_drawing_has_its_style_colours_and_links(tab):
    run(tab, 5)
    figure = tab.locator(".jp-CodeCell").nth(5).locator(".dr-figure")
    svg = figure.locator("svg.dr")
    svg.wait_for()
    assert tab.locator(".jp-CodeCell").nth(5).get_by_text("Error").count() == 0
    assert not figure.locator(".dr-note").is_visible()
    drawn, said = svg.bounding_box(), figure.locator("figcaption").bounding_box()
    assert 400 < drawn["width"] < 460
    assert said["x"] >= drawn["x"] + drawn["width"]
    fill = "part => getComputedStyle(part).fill"
    (blue,) = set(svg.locator(".dr-noun.dr-q").evaluate_all(f"all => all.map({fill})"))
    assert blue == "rgb(0, 114, 178)"
    link = svg.locator("a").first
    assert link.evaluate("a => a.href.baseVal") == "01_dot_products.ipynb"
    assert link.evaluate("a => getComputedStyle(a).color") == svg.evaluate(
        "svg => getComputedStyle(svg).color"
    )
    # In the dark theme, the dark shades of the roles.
    tab.evaluate("document.body.dataset.jpThemeLight = 'false'")
    (blue,) = set(svg.locator(".dr-noun.dr-q").evaluate_all(f"all => all.map({fill})"))
    tab.evaluate("document.body.dataset.jpThemeLight = 'true'")
    assert blue == "rgb(108, 184, 234)"


def test_a_stored_drawing_is_no_heap_of_words(tab):
    area = tab.locator(".jp-CodeCell").nth(len(CELLS) + 1).locator(".jp-OutputArea")
    area.scroll_into_view_if_needed()
    said = area.inner_text()
    assert said.startswith("Run this cell to see the drawing.")
    assert "The mask is new." in said
    assert "queries" not in said
