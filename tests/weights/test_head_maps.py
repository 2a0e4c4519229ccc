"""The stored maps of the live figure are those that the published weights give."""

from __future__ import annotations

import json

import pytest
import torch
from real_weights import require_weights

from attention_core.widgets.head_maps import map_bytes, sentences, stored, tokens_of, weights_at


@pytest.fixture(scope="module")
def tool():
    require_weights()
    import make_head_maps

    return make_head_maps


def test_the_file_is_what_the_weights_give(tool):
    texts, maps, margin = tool.made()
    assert texts == {"sentences": sentences(), "tokens": [tokens_of(n) for n in range(12)]}
    assert maps == {"trained": map_bytes(trained=True), "untrained": map_bytes(trained=False)}
    # Float64 rounds at 1e-13 here, so no step depends on the machine.
    assert margin > 1e-9
    assert stored()["weights_sha256"] == tool.SHA256["model.safetensors"]


def test_every_weight_is_stored_to_two_right_decimals(tool):
    encoder, pieces = tool.load_minilm(dtype=torch.float64)
    for number, text in enumerate(sentences()):
        found = weights_at(number, trained=True)
        expected = tool.weights_of(encoder, pieces([text]))
        assert (found - expected).abs().max() <= 0.0025 + 1e-12
        pairs = zip(found.flatten().tolist(), expected.flatten().tolist(), strict=True)
        assert all(f"{a:.2f}" == f"{b:.2f}" for a, b in pairs)


def test_the_tool_writes_the_file_as_it_is(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "FILE", tmp_path / "head_maps.json")
    tool.main()
    assert "rounding margin" in capsys.readouterr().out
    written = json.loads(tool.FILE.read_text(encoding="utf-8"))
    assert {**written, "trained": "", "untrained": ""} == {
        **stored(), "trained": "", "untrained": "",
    }  # fmt: skip
