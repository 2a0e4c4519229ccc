"""The comparison of outputs: each change to a notebook must fail, and for its own reason.

One notebook holds a cell for each kind of change. It is run and stored by run_chapters,
its stored outputs are then changed, and one run of pytest shows which changes are found.
"""

import base64
import io
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
import run_chapters
from chapter_form import normalise, read, to_text, write
from PIL import Image, ImageChops

TESTS = Path(__file__).parents[1]
SETUP = """\
import io, sys, warnings, base64
import matplotlib.pyplot as plt, numpy as np, seaborn as sns
from IPython.display import display
table = np.arange(36).reshape(6, 6) / 100
words = "Your journey starts with one step".split()
def show(table=table, words=words, annot=True, plain=True):
    fig = plt.figure(figsize=(4.2, 3.5))
    sns.heatmap(table, annot=annot, fmt=".2f", vmin=0, vmax=0.5, annot_kws={"size": 8},
                xticklabels=words, yticklabels=words)
    png = io.BytesIO(); fig.savefig(png, dpi=200); plt.close(fig)
    alt = "A heat map of six rows"
    data = {"image/png": base64.b64encode(png.getvalue()).decode()}
    if plain: data["text/plain"] = alt
    display(data, raw=True, metadata={"image/png": {"width": 420, "height": 350, "alt": alt}})
def live(html):
    view = {"model_id": str(np.random.default_rng().random())}
    display({"text/html": html, "application/vnd.jupyter.widget-view+json": view}, raw=True)
def changed(by):
    other = table.copy(); other[2, 3] += by
    return other
"""
# name of a cell -> its source; the picture of a "donor" takes the place of another's.
CELLS = {
    "setup": SETUP,
    "same": "print(f'{2 / 3:.4f}')\nshow()",
    "donor-digit": "show(changed(0.01))",
    "donor-plain": "show(annot=False)",
    "donor-label": "show(words=[*words[:5], 'stop'])",
    "digit-in-text": "print(f'{2 / 3:.4f}')",
    "digit-in-result": "2 / 3",
    "noise": "show()",
    "digit-in-picture": "show()",
    "colour-in-picture": "show(changed(0.01), annot=False)",
    "label-in-picture": "show()",
    "smaller-picture": "show()",
    "deleted-picture": "show()",
    "deleted-output": "show(plain=False)",
    "added-picture": "1 + 1",
    "alt-in-metadata": "show()",
    "alt-in-text": "show()",
    "width-in-metadata": "show()",
    "live-figure": "live('<b>0.5</b>')",
    "digit-in-html": "live('<b>0.5</b>')",
    "never-run": "1 + 1",
    "stripped": "print(1)",
    "swapped": "print('A heat map')\nshow(plain=False)",
    "stderr": "print('careful', file=sys.stderr)\nprint(1)",
    "warning": "warnings.warn('something is deprecated')",
    "stderr-and-digit": "print('careful', file=sys.stderr)\nprint(11)",
    "stored-stderr": "1 + 1",
    "error-message": "raise ValueError('three')",
    "same-error": "raise ValueError('three')",
    "no-error": "1 + 1",
    "unexpected-error": "1 + 1",
    "ignored-by-tag": "1 + 1",
    "ignored-by-comment": "# NBVAL_IGNORE_OUTPUT\n1 + 1",
    "skipped": "# NBVAL_SKIP\n1 + 1",
}
# What the failure must say; the other cells must pass.
FAILURES = {
    "digit-in-text": "mismatch 'stdout'",
    "digit-in-result": "mismatch 'text/plain'",
    "digit-in-picture": "differing region",
    "colour-in-picture": "by more than 4",
    "label-in-picture": "differing region",
    "smaller-picture": "size 420x350 became 840x700 pixels",
    "deleted-picture": "new outputs, in order",
    "deleted-output": "new outputs, in order",
    "added-picture": "new outputs, in order",
    "alt-in-metadata": "metadata of output 0 differ",
    "alt-in-text": "mismatch 'text/plain'",
    "width-in-metadata": "metadata of output 0 differ",
    "digit-in-html": "mismatch 'text/html'",
    "never-run": "it was never run",
    "stripped": "Unexpected output fields",
    "swapped": "new outputs, in order",
    "stderr-and-digit": "mismatch 'stdout'",
    "stored-stderr": "Missing output fields",
    "error-message": "mismatch 'evalue'",
    "no-error": "raised nothing",
    "unexpected-error": "caused an exception",
    "ignored-by-tag": "excluded from comparison",
    "ignored-by-comment": "excluded from comparison",
    "skipped": "excluded from comparison",
}
CONFIG = """\
[pytest]
addopts = --nbval --nbval-current-env --nbval-cell-timeout=60
filterwarnings = error
"""


def build() -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_code_cell(source, id=name) for name, source in CELLS.items()]
    for cell in cells:
        if cell.id in ("error-message", "same-error"):
            cell.metadata.tags = ["raises-exception"]
    return nbformat.v4.new_notebook(cells=cells)


def edit_png(text, function):
    with Image.open(io.BytesIO(base64.b64decode(text))) as image:
        new = io.BytesIO()
        function(image.convert("RGB")).save(new, "PNG")
    return base64.b64encode(new.getvalue()).decode("ascii")


def mutate(notebook):
    """Change stored outputs, each in the cell that is named after the change."""
    by_id = {cell.id: cell for cell in notebook.cells}

    def first(name):
        return by_id[name].outputs[0]

    def png(name):
        return first(name).data["image/png"]

    first("digit-in-text").text = "0.6668\n"
    first("digit-in-result").data["text/plain"] = "0.6666666666666667"
    first("noise").data["image/png"] = edit_png(
        png("noise"), lambda image: ImageChops.add(image, Image.new("RGB", image.size, (2, 0, 1)))
    )
    first("digit-in-picture").data["image/png"] = png("donor-digit")
    first("colour-in-picture").data["image/png"] = png("donor-plain")
    first("label-in-picture").data["image/png"] = png("donor-label")
    first("smaller-picture").data["image/png"] = edit_png(
        png("smaller-picture"), lambda image: image.resize((420, 350))
    )
    del first("deleted-picture").data["image/png"]
    by_id["added-picture"].outputs += by_id["deleted-output"].outputs
    by_id["deleted-output"].outputs = []
    first("alt-in-metadata").metadata["image/png"]["alt"] = "A heat map of seven rows"
    first("alt-in-text").data["text/plain"] = "A heat map of seven rows"
    first("width-in-metadata").metadata["image/png"]["width"] = 840
    first("digit-in-html").data["text/html"] = "<b>0.6</b>"
    by_id["never-run"].update(execution_count=None, outputs=[])
    by_id["stripped"].outputs = []
    by_id["swapped"].outputs.reverse()
    first("stderr-and-digit").text = "12\n"
    by_id["stored-stderr"].outputs += [nbformat.v4.new_output("stream", name="stderr", text="x")]
    first("error-message").evalue = "four"
    by_id["no-error"].metadata.tags = ["raises-exception"]
    by_id["unexpected-error"].source = "1 / 0"
    by_id["ignored-by-tag"].metadata.tags = ["nbval-ignore-output"]
    return notebook


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The notebook as run_chapters stores it, untouched."""
    path = tmp_path_factory.mktemp("chapters") / "stored.ipynb"
    write(path, build())
    assert run_chapters.main([str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def verified(stored):
    """(failure texts by file and cell id, output) of one pytest run over both notebooks."""
    notebook = read(stored)
    # The comments of nbval make a cell fail in any notebook, so the unchanged one has none.
    unchanged = nbformat.from_dict(notebook)
    for cell in unchanged.cells:
        cell.source = cell.source.replace("# NBVAL", "# ")
    write(stored.with_name("unchanged.ipynb"), unchanged)
    write(stored.with_name("changed.ipynb"), mutate(nbformat.from_dict(notebook)))
    folder = stored.parent
    (folder / "pytest.ini").write_text(CONFIG, encoding="utf-8")
    (folder / "conftest.py").write_text('pytest_plugins = ["notebook_plugin"]\n', encoding="utf-8")
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent / "tools")])
    environment = {**os.environ, "PYTHONPATH": paths, "MPLBACKEND": "Agg", "TMPDIR": str(folder)}
    names = ["-p", "no:cacheprovider", "--junitxml=out.xml", "unchanged.ipynb", "changed.ipynb"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "--color=no", *names],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )
    assert (folder / "out.xml").exists(), ran.stdout[-3000:] + ran.stderr[-3000:]
    ids, failures = list(CELLS), {"unchanged": {}, "changed": {}}
    for case in ElementTree.parse(folder / "out.xml").iter("testcase"):
        texts = [part.text or "" for kind in ("failure", "error") for part in case.iter(kind)]
        file = "unchanged" if "unchanged" in case.get("classname", "") else "changed"
        failures[file][ids[int(case.get("name", "").split()[-1])]] = "".join(texts)
    return failures, ran.stdout


def test_an_unchanged_notebook_passes(verified):
    failures, _ = verified
    assert list(failures["unchanged"]) == list(CELLS)
    assert not {name: text for name, text in failures["unchanged"].items() if text}


@pytest.mark.parametrize("name", CELLS)
def test_a_changed_cell_is_found(verified, name):
    text = verified[0]["changed"][name]
    assert FAILURES.get(name, "") in text
    assert bool(text) == (name in FAILURES)
    if text:
        assert f"changed.ipynb, code cell {list(CELLS).index(name)} (id {name})" in text


def test_differing_pictures_are_saved(verified, stored):
    text = verified[0]["changed"]["digit-in-picture"]
    folder = Path(text.split("see ")[1].splitlines()[0])
    assert folder.parent == stored.parent
    assert {path.name for path in folder.iterdir()} == {"stored.png", "new.png", "difference.png"}


def test_stderr_is_reported_at_the_end(verified):
    _, output = verified
    summary = output.split("chapters wrote to stderr")[1]
    place = list(CELLS).index("stderr")
    assert f"unchanged.ipynb, code cell {place}: careful" in summary
    assert "something is deprecated" in summary


def test_a_second_run_changes_nothing(stored, capsys):
    notebook = read(stored)
    notebook.cells = notebook.cells[: list(CELLS).index("same") + 1]
    before = to_text(notebook).encode()
    # Another rendering of the same picture: the stored bytes stay.
    picture = notebook.cells[-1].outputs[1]
    picture.data["image/png"] = edit_png(picture.data["image/png"], lambda image: image)
    assert to_text(notebook).encode() != before
    again = stored.with_name("again.ipynb")
    write(again, notebook)
    kept = again.read_bytes()
    # An edited picture would be replaced, and --check only reports it.
    other = stored.with_name("other.ipynb")
    picture.data["image/png"] = edit_png(picture.data["image/png"], ImageChops.invert)
    write(other, notebook)
    inverted = other.read_bytes()
    assert run_chapters.main(["--check", str(again), str(other)]) == 1
    told = capsys.readouterr().out
    assert "again.ipynb: unchanged" in told
    assert "other.ipynb: would change" in told
    assert (again.read_bytes(), other.read_bytes()) == (kept, inverted)


def test_run_chapters_stores_the_normal_form(stored):
    notebook = read(stored)
    assert normalise(notebook) == notebook
    assert [cell.execution_count for cell in notebook.cells] == [*range(1, len(CELLS) + 1)]
    by_id = {cell.id: cell for cell in notebook.cells}
    assert by_id["error-message"].outputs[0].traceback == ["ValueError: three"]
    assert by_id["same"].metadata == {"mystnb": {"image": {"alt": "A heat map of six rows"}}}
    assert by_id["warning"].outputs == []
    assert [out.name for out in by_id["stderr"].outputs] == ["stdout"]


@pytest.mark.parametrize(
    ("source", "tags", "message"),
    [
        ("1 / 0", [], "code cell 1 (id b) raised ZeroDivisionError: division by zero"),
        ("1 + 1", ["raises-exception"], "code cell 1 (id b) is tagged raises-exception, but"),
        ("import os; os._exit(1)", [], "Kernel died"),
    ],
)
def test_a_chapter_that_fails_is_not_overwritten(tmp_path, capsys, source, tags, message):
    cells = [
        nbformat.v4.new_code_cell("0", id="a"),
        nbformat.v4.new_code_cell(source, id="b", metadata={"tags": tags}),
    ]
    path = tmp_path / "broken.ipynb"
    write(path, nbformat.v4.new_notebook(cells=cells))
    before = path.read_bytes()
    assert run_chapters.main([str(path)]) == 1
    assert message in capsys.readouterr().out
    assert path.read_bytes() == before
