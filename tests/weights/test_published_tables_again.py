"""The tables of published numbers, made again from the weights, are the stored ones."""

import json
import math

import published_measures
import published_tables
import pytest
import torch
from real_weights import require_weights

from attention_core.published.tables import _with_tensors


def differences(stored, made, where=""):
    """Where two tables differ by more than the last digit that is written."""
    if isinstance(made, dict) and isinstance(stored, dict) and stored.keys() == made.keys():
        return [d for key in made for d in differences(stored[key], made[key], f"{where}.{key}")]
    if isinstance(made, list) and isinstance(stored, list) and len(stored) == len(made):
        pairs = enumerate(zip(stored, made, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, f"{where}.{i}")]
    if isinstance(made, float) and isinstance(stored, float):
        same = math.isclose(stored, made, rel_tol=2e-6, abs_tol=1.1e-4)
    elif isinstance(made, torch.Tensor) and isinstance(stored, torch.Tensor):
        same = made.shape == stored.shape and bool(((made - stored).abs() < 1e-5).all())
    else:
        same = type(stored) is type(made) and stored == made
    return [] if same else [where]


def exact(*numbers):
    return _with_tensors(published_measures.exact(torch.tensor(numbers)))


def test_a_changed_number_is_found():
    made = {"a": [1, "x", 0.5], "b": exact(0.5, 1.5)}
    assert differences(made, made) == []
    for changed in (
        {"a": [2, "x", 0.5], "b": made["b"]},
        {"a": [1, "y", 0.5], "b": made["b"]},
        {"a": [1, "x", 0.5002], "b": made["b"]},
        {"a": [1, "x"], "b": made["b"]},
        {"a": made["a"], "b": exact(0.5, 1.50002)},
        {"a": made["a"], "b": exact(0.5)},
        {"a": made["a"]},
    ):
        assert len(differences(changed, made)) == 1


@pytest.fixture(scope="module")
def made():
    require_weights()
    return published_tables.make()


def test_the_tables_made_again_are_the_stored_ones(made):
    stored = json.loads(published_tables.FILE.read_text(encoding="utf-8"))
    again = json.loads(published_tables.as_text(made))
    assert differences(_with_tensors(stored), _with_tensors(again)) == []
    assert published_tables.as_text(stored["tables"]) == published_tables.FILE.read_text("utf-8")
