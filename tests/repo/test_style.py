"""The code's form is checked like its numbers: ruff and mypy run as tests."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "command", ["ruff check", "ruff format --check", "mypy"], ids=["lint", "format", "types"]
)
def test_tool_has_nothing_to_say(command):
    result = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert result.returncode == 0, result.stdout + result.stderr
