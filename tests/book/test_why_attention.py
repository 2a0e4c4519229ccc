"""benchmarks/why_attention.py: the committed table is what the present script writes."""

import importlib.util
import json
import sys
from pathlib import Path

import lock
import pytest
import torch

from attention_core.alternatives import KINDS

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "attention_core" / "data" / "why_attention.json"


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The script as a module, with settings that run in seconds and another output file."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    path = ROOT / "benchmarks" / "why_attention.py"
    spec = importlib.util.spec_from_file_location("why_attention", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, value in {"STEPS": 2, "LONG": 3, "WIDTH": 8, "HELD_OUT": 100}.items():
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "EVALUATED_ON", (1, 2))
    monkeypatch.setattr(module, "LENGTHS", (16, 32))
    monkeypatch.setattr(module, "TABLE", tmp_path / "table.json")
    monkeypatch.setattr(sys, "argv", ["why_attention.py", "lengths"])
    threads = torch.get_num_threads()
    yield module
    torch.set_num_threads(threads)
    for name in ("timing", "models"):
        sys.modules.pop(name, None)


def keys(part):
    """Return the names in a part of the table, without its numbers."""
    row = part.get("runs", part.get("rows"))[0]
    return set(part), set(part["settings"]), set(part["made"]), set(row)


def test_the_table_has_the_form_that_the_script_writes(script, capsys):
    script.lengths()
    script.layers(pairs=3)
    made, committed = script.read(), json.loads(COMMITTED.read_text(encoding="utf-8"))
    assert set(made) == set(committed) == {"lengths", "layers"}
    for part in made:
        assert keys(made[part]) == keys(committed[part])
    # A run that is finished is not repeated.
    before = capsys.readouterr().out.count('"model"')
    assert before == len(made["lengths"]["runs"])
    script.lengths()
    assert '"model"' not in capsys.readouterr().out


def test_the_table_comes_from_the_settings_of_the_script(monkeypatch, script):
    table = json.loads(COMMITTED.read_text(encoding="utf-8"))
    monkeypatch.undo()  # the settings of the script, not those of its quick run
    lengths, layers = table["lengths"], table["layers"]
    s = lengths["settings"]
    assert tuple(s["trained_on"]) == script.TRAINED_ON
    assert tuple(s["dates"]) == script.EVALUATED_ON
    assert {run["steps"] for run in lengths["runs"]} == {script.STEPS, script.LONG}
    found = s["d_model"], s["batch_size"], s["examined"]
    assert found == (script.WIDTH, script.BATCH, script.HELD_OUT)
    s = layers["settings"]
    assert tuple(row["n"] for row in layers["rows"]) == script.LENGTHS
    found = s["d"], s["kernel"], s["radius"]
    assert found == (script.LAYER_WIDTH, script.KERNEL, script.RADIUS)
    for part, table in (("lengths", lengths), ("layers", layers)):
        assert table["made"]["command"].startswith(f"python benchmarks/why_attention.py {part}")
        assert table["made"]["torch"] == lock.chosen()["torch"]


def test_every_model_was_trained_with_three_learning_rates_and_three_seeds():
    runs = json.loads(COMMITTED.read_text(encoding="utf-8"))["lengths"]["runs"]
    steps = min(run["steps"] for run in runs)
    for model in ("transformer", "gru", "gru-attention"):
        own = [run for run in runs if run["model"] == model and run["steps"] == steps]
        assert [run["scale"] for run in own if run["seed"] == 0] == [0.5, 1.0, 2.0]
        best = max((run for run in own if run["seed"] == 0), key=lambda run: run["validation"])
        assert {run["seed"] for run in own if run["scale"] == best["scale"]} == {0, 1, 2}
        assert all(0 <= share <= 1 for run in own for share in run["exact"] + run["tokens"])


def test_every_kind_of_layer_was_timed():
    layers = json.loads(COMMITTED.read_text(encoding="utf-8"))["layers"]
    for row in layers["rows"]:
        assert all(row[kind] > 0 for kind in KINDS)
        assert row["pairs"] >= 3
