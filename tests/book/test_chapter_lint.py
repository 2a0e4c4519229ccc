"""The lint finds each kind of fault, and normalise repairs what is only form."""

import base64
import io
from pathlib import Path

import chapter_lint
import nbformat
import pytest
from chapter_form import normalise, read, to_text, write
from chapter_lint import problems
from first_cell import with_first_cell
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

ALT = "A heat map with six rows and six columns"


def picture():
    png = io.BytesIO()
    Image.new("L", (20, 10)).save(png, "PNG")
    data = {"image/png": base64.b64encode(png.getvalue()).decode("ascii"), "text/plain": ALT}
    metadata = {"image/png": {"width": 10, "height": 5, "alt": ALT}}
    return new_output("display_data", data, metadata=metadata)


def chapter():
    """A chapter in miniature that keeps all rules."""
    sections = ["By hand", "The long way", "With `attention_core`", "Picture", "What goes wrong"]
    cells = [new_markdown_cell("# Why?\n\n" + "word " * 800, id="title")]
    cells += [new_markdown_cell(f"## {name}", id=f"s{n}") for n, name in enumerate(sections)]
    cells += [
        new_code_cell("print(1.5)", id="text", outputs=[new_output("stream", text="1.5000\n")]),
        new_code_cell("draw()", id="picture", outputs=[picture()]),
        new_markdown_cell("## Exercises", id="exercises"),
    ]
    for n in (1, 2):
        cells += [
            new_markdown_cell(f"### Exercise {n}: a question", id=f"question-{n}"),
            new_code_cell(f"answer_{n} = ...", id=f"e{n}", metadata={"tags": [f"exercise-{n}"]}),
            new_code_cell(f"check_{n}(answer_{n})", id=f"k{n}", metadata={"tags": [f"check-{n}"]}),
            new_code_cell("1", id=f"a{n}", metadata={"tags": [f"solution-{n}", "hide-cell"]}),
        ]
    cells.append(new_markdown_cell("## Summary", id="summary"))
    return with_first_cell(new_notebook(cells=cells))


def find(path, notebook):
    """Return the problems that each rule finds, without the rules that find none."""
    found = {rule.__name__: problems(path, notebook, rule) for rule in chapter_lint.RULES}
    return {name: texts for name, texts in found.items() if texts}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "chapters" / "01_words.ipynb"
    path.parent.mkdir()
    write(path, chapter())
    return path


def test_a_good_chapter_has_no_problems(path):
    assert find(path, read(path)) == {}


# (rule, cell, what is stored there, what the lint says)
PRINTED = [
    ("tensor(1.)", "a bare tensor(1.)"),
    ("tensor([-0.0000, 1.0000])", "a signed zero"),
    ("-0.", "a signed zero"),
    ("tensor([1.], grad_fn=<MulBackward0>)", "grad_fn"),
    ("<Figure size 640x480 with 1 Axes>", "a figure's size"),
    ("/home/someone/book", "a path or an address"),
    ("C:\\Users\\someone", "a path or an address"),
    ("<object object at 0x7f21a4c0>", "a path or an address"),
    ("10%\r100%", "control characters"),
    ("x" * 81, "a line of 81 characters"),
    ("tensor([[1, 2, 3, 4, 5, 6, 7],\n        [1, 2, 3, 4, 5, 6, 7]])", "a table of 2x7"),
]


@pytest.mark.parametrize(("printed", "message"), PRINTED, ids=[m for _, m in PRINTED])
def test_a_bad_output_is_found(path, printed, message):
    notebook = read(path)
    cell = next(cell for cell in notebook.cells if cell.id == "text")
    cell.outputs[0].text = printed
    write(path, notebook)
    (texts,) = find(path, notebook).values()
    assert texts[0].startswith("01_words.ipynb, code cell 1 (id text): prints ")
    assert message in texts[0]


@pytest.mark.parametrize("printed", ["-0.5", "10.0 -0.0100", "tensor(1.5000)", "a-0", "0.0 0"])
def test_a_good_output_passes(path, printed):
    notebook = read(path)
    next(cell for cell in notebook.cells if cell.id == "text").outputs[0].text = printed
    assert "outputs" not in find(path, notebook)


SOURCES = [
    ("# NBVAL_SKIP", "excludes its output"),
    ("from tqdm import tqdm", "progress bar"),
    ("start = time.perf_counter()", "progress bar or the time"),
    ("!pip install torch", "installs a package"),
    ("import google.colab", "needs Colab"),
    ("%matplotlib inline", "a magic"),
    ("display(1, display_id=True)", "rewrites an output"),
    ("torch.load('/tmp/x.pt')", "a path or an address"),
    ("\n".join(["x = 1"] * 16), "16 lines of code"),
]


@pytest.mark.parametrize(("source", "message"), SOURCES, ids=[m for _, m in SOURCES])
def test_a_bad_source_is_found(path, source, message):
    notebook = read(path)
    change(notebook, "text", source=source)
    rules = [chapter_lint.source, chapter_lint.sizes]
    assert message in "\n".join(text for rule in rules for text in problems(path, notebook, rule))


def change(notebook, cell_id, **values):
    cell = next(cell for cell in notebook.cells if cell.id == cell_id)
    for name, value in values.items():
        cell[name] = nbformat.from_dict(value)
    return cell


def without_alt(notebook):
    del change(notebook, "picture").outputs[0].metadata["image/png"]["alt"]


def second_picture(notebook):
    change(notebook, "picture").outputs.append(picture())


def half_size(notebook):
    change(notebook, "picture").outputs[0].metadata["image/png"]["width"] = 20


def without_first_cell(notebook):
    notebook.cells = [cell for cell in notebook.cells if cell.id != "first-cell"]


def tag(notebook, cell_id, *tags):
    change(notebook, cell_id, metadata={"tags": list(tags)})


FAULTS = [
    ("kernel", lambda nb: nb.metadata.kernelspec.update(name="conda-x"), "'kernelspec' must be"),
    ("kernel", lambda nb: nb.metadata.update(widgets={}), "'widgets' must be None"),
    ("ids", lambda nb: change(nb, "s1", id="s0"), "(id s0): id missing or not unique"),
    ("executed", lambda nb: change(nb, "text", execution_count=None), "count None instead of 2"),
    ("normal_form", lambda nb: change(nb, "text", metadata={"scrolled": 1}), "not in normal form"),
    ("tags", lambda nb: tag(nb, "text", "nbval-skip"), "'nbval-skip' is not one"),
    ("tags", lambda nb: tag(nb, "text", "skip-execution"), "'skip-execution' is not one"),
    ("first_cell", without_first_cell, "(id text): is not the cell that fetches the package"),
    ("first_cell", lambda nb: change(nb, "first-cell", source="1"), "must be the first code cell"),
    ("first_cell", lambda nb: nb.cells.append(nb.cells.pop(6)), "must be the first code cell"),
    (
        "first_cell",
        lambda nb: tag(nb, "first-cell"),
        "tag 'remove-cell' is for cell 'first-cell'",
    ),
    ("first_cell", lambda nb: tag(nb, "text", "remove-cell"), "tag 'remove-cell' is for cell"),
    ("outputs", lambda nb: change(nb, "text").outputs[0].update(name="stderr"), "from stderr"),
    ("figures", without_alt, "alternative text too short"),
    ("figures", lambda nb: change(nb, "picture", metadata={}), "mystnb.image.alt is not"),
    ("figures", second_picture, "shows two pictures"),
    ("figures", half_size, "not 1.5 or 2 times the size"),
    ("structure", lambda nb: change(nb, "s1", source="#### Deep"), "'Deep' skips a level"),
    ("structure", lambda nb: change(nb, "summary", source="## End"), "has no section 'summary'"),
    ("structure", lambda nb: change(nb, "s1", source="# Two"), "must have one title"),
    ("length", lambda nb: change(nb, "title", source="# Why?"), "words, wanted 700 to 1900"),
    ("exercises", lambda nb: tag(nb, "a1", "solution-1"), "tagged hide-cell"),
    ("exercises", lambda nb: change(nb, "k2", metadata={}), "exercise cells are tagged"),
    ("exercises", lambda nb: change(nb, "e1", source="answer_1 = 4"), "must hold 'answer_1 = ...'"),
    ("exercises", lambda nb: change(nb, "question-2", source="### B"), "no heading 'Exercise 2'"),
    ("own_names", lambda nb: change(nb, "text", source="def attention_scores(q, k): ..."), "anew"),
    (
        "includes",
        lambda nb: change(nb, "s1", source="```{literalinclude} ../x.py\n:pyobject: f\n```\n"),
        "literalinclude of ../x.py, which does not exist",
    ),
    (
        "includes",
        lambda nb: change(nb, "s1", source="```{literalinclude} ../code.py\n:pyobject: A.g\n```\n"),
        "literalinclude of A.g, which ../code.py does not define",
    ),
]


@pytest.mark.parametrize(("rule", "damage", "message"), FAULTS, ids=[f[2] for f in FAULTS])
def test_a_fault_is_found(path, rule, damage, message):
    code = "class A:\n    def f(self): ...\n"
    (path.parent.parent / "code.py").write_text(code, encoding="utf-8")
    notebook = read(path)
    damage(notebook)
    assert message in "\n".join(find(path, notebook)[rule])


@pytest.mark.parametrize(
    ("outside", "folded", "message"),
    [
        (1000, 900, None),
        (1000, 2300, "words, wanted 700 to 3200"),
        (850, 900, "words outside folds, wanted 900 to 1400"),
        (1450, 0, "words outside folds, wanted 900 to 1400"),
    ],
)
def test_the_main_line_is_counted_without_folds_and_exercises(outside, folded, message):
    notebook = chapter()
    fold = (
        "````{admonition} Going deeper: more\n:class: dropdown\n\n" + "word " * folded + "\n````\n"
    )
    change(notebook, "title", source="# Why?\n\n" + "word " * (outside - 13) + "\n\n" + fold)
    change(notebook, "question-1", source="### Exercise 1: a question\n\n" + "word " * 90)
    found = problems(Path("02_simple_attention.ipynb"), notebook, chapter_lint.length)
    assert found == [] if message is None else message in "\n".join(found)


def test_file_name_and_line_ends_are_checked(path):
    odd = path.with_name("1 早上好.ipynb")
    odd.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert set(find(odd, read(odd))) == {"file_name", "normal_form"}


def test_normalise_gives_every_notebook_the_same_form(path):
    messy = new_notebook(
        metadata={"widgets": {"state": {}}, "vscode": 1},
        cells=[
            new_code_cell("a  \n", id="keep", metadata={"scrolled": True, "tags": []}),
            new_markdown_cell("b"),
            new_markdown_cell("  ", id="empty"),
            new_code_cell("c", execution_count=40),
            new_code_cell("d", metadata={"execution": {"iopub": "now"}, "tags": ["hide-cell"]}),
        ],
    )
    messy.cells[1]["id"] = "keep"
    messy.cells[3]["id"] = "no spaces"
    del messy.cells[4]["id"]
    messy.cells[0].outputs = [
        new_output("stream", text="1"),
        new_output("stream", text="2"),
        new_output("stream", name="stderr", text="3"),
        new_output(
            "display_data",
            {"text/html": "<p>", "application/vnd.jupyter.widget-view+json": {"model_id": "9"}},
            metadata={"application/vnd.jupyter.widget-view+json": {"colab": 1}},
        ),
        new_output("execute_result", {"text/plain": "4"}, execution_count=40),
        new_output("error", ename="E", evalue="v", traceback=["\x1b[31m/home/x.py\x1b[0m"]),
    ]
    tidy = normalise(messy)
    assert [cell.get("id") for cell in tidy.cells] == ["keep", "c02", "c03", "c04"]
    assert [cell.source for cell in tidy.cells] == ["a", "b", "c", "d"]
    assert [c.execution_count for c in tidy.cells if c.cell_type == "code"] == [1, 2, 3]
    assert [dict(cell.metadata) for cell in tidy.cells] == [{}, {}, {}, {"tags": ["hide-cell"]}]
    assert tidy.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    out = tidy.cells[0].outputs
    assert [o.get("text", "") for o in out] == ["12", "3", "", "", ""]
    assert (out[2].data, out[2].metadata) == ({"text/html": "<p>"}, {})
    assert (out[3].execution_count, out[4].traceback) == (1, ["E: v"])
    assert normalise(tidy) == tidy
    nbformat.validate(tidy)
    text = to_text(tidy)
    assert text.endswith("}\n")
    assert text.startswith('{\n "cells": [\n  {\n')
