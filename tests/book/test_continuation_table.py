"""benchmarks/continuation.py: the committed table is what the present script writes."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import lock
import pytest
import torch

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "attention_core" / "data" / "continuation.json"


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The script as a module, with another output file."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    path = ROOT / "benchmarks" / "continuation.py"
    spec = importlib.util.spec_from_file_location("continuation", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "TABLE", tmp_path / "table.json")
    threads = torch.get_num_threads()
    yield module
    torch.set_num_threads(threads)
    for name in ("timing", "why_attention"):
        sys.modules.pop(name, None)


@pytest.fixture
def committed():
    return json.loads(COMMITTED.read_text(encoding="utf-8"))


def settings_of(run):
    return run["model"], run["counted"], run["steps"], run["seed"]


def exact(table, model, counted, steps):
    return [
        run["exact"] for run in table["runs"] if settings_of(run)[:3] == (model, counted, steps)
    ]


def test_the_table_has_the_form_that_the_script_writes(monkeypatch, script, committed, capsys):
    small = {
        "WIDTH": 8,
        "BATCH": 2,
        "EXAMINED": 100,
        "RUNS": [(model, counted, 2, (0,)) for model, counted, _, _ in script.RUNS[1:]],
    }
    for name, value in small.items():
        monkeypatch.setattr(script, name, value)
    script.main()
    made = json.loads(script.TABLE.read_text(encoding="utf-8"))
    assert set(made) == set(committed)
    for part in ("settings", "made"):
        assert set(made[part]) == set(committed[part])
    assert {frozenset(run) for run in made["runs"] + committed["runs"]} == {
        frozenset(made["runs"][0])
    }
    # A run that is finished is not repeated.
    assert capsys.readouterr().out.count('"model"') == len(made["runs"]) == 3
    script.main()
    assert capsys.readouterr().out == ""


def test_the_table_comes_from_the_settings_of_the_script(script, committed):
    assert committed["settings"] == {
        "d_model": script.WIDTH,
        "batch_size": script.BATCH,
        "label_smoothing": script.SMOOTHING,
        "examined": script.EXAMINED,
    }
    asked = [(*run[:3], seed) for run in script.RUNS for seed in run[3]]
    assert sorted(settings_of(run) for run in committed["runs"]) == sorted(asked)
    for run in committed["runs"]:
        built = script.build(run["model"], script.WIDTH)
        assert run["parameters"] == sum(p.numel() for p in built.parameters())
        assert 0 <= run["exact"] <= run["tokens"] <= 1
    assert committed["made"]["command"] == "python benchmarks/continuation.py"
    assert committed["made"]["torch"] == lock.chosen()["torch"]


@pytest.mark.parametrize("model", ["decoder-only", "transformer"])
def test_both_models_translate_held_out_days_with_five_seeds(committed, model):
    shares = exact(committed, model, "target", 2000)
    assert len(shares) == 5
    assert min(shares) >= 0.99


def test_a_loss_on_the_target_alone_counts_no_label_of_the_source(script):
    """The two kinds of batches hold the same sequences and differ in what is counted."""
    batches = script.DateBatches("train", 3, seed=0, target=script.BOTH)
    (src, tgt), (nothing, whole) = batches[5], script.WholeSequences(batches)[5]
    assert nothing.shape == (3, 0)
    assert torch.equal(whole, script.join_pairs(src, tgt, pad_id=0))
    sizes = [(ids[:, 1:] != 0).sum().item() for ids in (tgt, whole)]
    assert sizes[1] - sizes[0] == (src != 0).sum()


@pytest.mark.skipif(not os.environ.get("TRAIN"), reason="TRAIN=1 trains again, for minutes")
def test_a_run_that_is_made_again_gives_the_result_of_the_table(script, committed):
    """Other processors round otherwise, so the shares may differ by a few examples."""
    torch.set_num_threads(1)
    old = committed["runs"][0]
    new = script.trained(*settings_of(old))
    assert new["exact"] == pytest.approx(old["exact"], abs=0.01)
    assert new["exact"] >= 0.99
