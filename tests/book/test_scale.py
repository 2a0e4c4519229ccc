"""benchmarks/scale.py: the committed table is what the present script writes."""

import importlib.util
import json
import sys
from pathlib import Path

import lock
import pytest
import torch

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "attention_core" / "data" / "scale.json"
SHARED = ("timing", "models", "memory", "why_attention")


def load():
    path = ROOT / "benchmarks" / "scale.py"
    spec = importlib.util.spec_from_file_location("scale", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The script as a module, with settings that run in seconds and another output file."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    module = load()
    small = {
        "MEMORY_LENGTHS": (16, 32),
        "TIME_LENGTHS": (16, 32),
        "DECODED": (2, 3),
        "HALF_LENGTH": 16,
        "PAIRS": 3,
        "TABLE": tmp_path / "table.json",
    }
    for name, value in small.items():
        monkeypatch.setattr(module, name, value)
    # torch.compile needs a C++ compiler, which may be missing, and takes long.
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(sys, "argv", ["scale.py"])
    threads = torch.get_num_threads()
    yield module
    torch.set_num_threads(threads)
    for name in SHARED:
        sys.modules.pop(name, None)


@pytest.fixture
def committed():
    return json.loads(COMMITTED.read_text(encoding="utf-8"))


def form(table):
    """Return the names in each part of the table, without its numbers."""
    return {
        part: (set(content), set(content["settings"]), set(content["made"]), set(row))
        for part, content in table.items()
        for row in content["rows"][:1]
    }


def test_the_table_has_the_form_that_the_script_writes(script, committed, capsys):
    script.main([])
    made = json.loads(script.TABLE.read_text(encoding="utf-8"))
    assert form(made) == form(committed)
    assert made["memory"]["made"]["command"] == "python benchmarks/scale.py"
    assert capsys.readouterr().out.count("\n") == 2 + 2 + 2 + 6


def test_one_part_of_the_table_can_be_measured_again_alone(script, capsys):
    script.TABLE.write_text('{"half": "kept", "memory": "old"}', encoding="utf-8")
    script.main(["memory"])
    made = json.loads(script.TABLE.read_text(encoding="utf-8"))
    assert made["half"] == "kept"
    assert [row["n"] for row in made["memory"]["rows"]] == [16, 32]


def test_the_table_comes_from_the_settings_of_the_script(monkeypatch, committed):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    script = load()
    for name in SHARED:
        sys.modules.pop(name, None)
    assert set(committed) == set(script.PARTS)
    lengths = {part: tuple(row.get("n") for row in committed[part]["rows"]) for part in committed}
    assert lengths["memory"] == script.MEMORY_LENGTHS
    assert lengths["time"] == script.TIME_LENGTHS
    assert lengths["decoding"] == script.DECODED
    for part in ("memory", "time"):
        assert committed[part]["settings"]["block_size"] == script.BLOCK
    assert committed["half"]["settings"]["n"] == script.HALF_LENGTH
    rows = [(row["kind"], row["dtype"]) for row in committed["half"]["rows"]]
    dtypes = [str(dtype)[6:] for dtype in script.DTYPES]
    assert rows == [(kind, dtype) for kind in ("explicit", "fused") for dtype in dtypes]
    for content in committed.values():
        assert content["made"]["command"].startswith("python benchmarks/scale.py")
        assert content["made"]["torch"] == lock.chosen()["torch"]
        assert content["made"]["machine"].endswith(", 1 thread")


def test_every_number_in_the_table_is_a_measurement(committed):
    for content in committed.values():
        for row in content["rows"]:
            numbers = [value for value in row.values() if not isinstance(value, str)]
            assert all(number > 0 for number in numbers)
            assert row.get("pairs", 3) >= 3


def test_memory_grows_quadratically_only_where_the_weight_matrix_is_stored(committed):
    rows = committed["memory"]["rows"]
    for kind, factor in (("explicit", 4), ("fused", 2), ("blockwise", 2)):
        a, b, c = (row[kind] for row in rows[-3:])
        assert (c - b) / (b - a) == pytest.approx(factor, rel=0.1)
