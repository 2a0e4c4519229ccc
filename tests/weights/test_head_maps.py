"""The stored maps of the live figure are those that the published weights give."""

from __future__ import annotations

import json

import pytest
import torch
from head_sentences import faults, rows, told
from real_weights import require_weights

from attention_core.widgets import head_maps
from attention_core.widgets.head_maps import (
    is_word,
    leaders_at,
    map_bytes,
    sentences,
    stored,
    tokens_of,
    weights_at,
)


@pytest.fixture(scope="module")
def tool():
    require_weights()
    import make_head_maps

    return make_head_maps


@pytest.fixture(scope="module", params=[True, False], ids=["trained", "untrained"])
def exact(request, tool):
    """Return whether the model is trained, and its weights in float64 for each sentence."""
    encoder, pieces = tool.load_minilm(dtype=torch.float64)
    if not request.param:
        encoder = tool.untrained_minilm(seed=tool.SEED)
    return request.param, [tool.weights_of(encoder, pieces([text])) for text in sentences()]


def wrong_winners(weights, *, trained):
    """Count the rows in which the stored token, or the stored word, does not lead in float64."""
    wrong = [0, 0]
    for sentence, found in enumerate(weights):
        words = torch.tensor([is_word(token) for token in tokens_of(sentence)])
        expected = found.argmax(dim=-1), found.masked_fill(~words, -1.0).argmax(dim=-1)
        for n, (a, b) in enumerate(
            zip(leaders_at(sentence, trained=trained), expected, strict=True)
        ):
            wrong[n] += (a != b).sum().item()
    return wrong


def test_every_stored_winner_has_the_largest_weight_in_float64(exact):
    trained, weights = exact
    assert wrong_winners(weights, trained=trained) == [0, 0]


def test_a_planted_wrong_winner_is_found(exact, monkeypatch):
    trained, weights = exact
    whole = map_bytes(trained=trained)
    size = sum(one[0, 0].numel() for one in weights) * head_maps.LAYERS * head_maps.HEADS
    for planted, expected in ((16, [1, 0]), (1, [0, 1])):
        one = bytes([whole[size] ^ planted])
        wrong = whole[:size] + one + whole[size + 1 :]
        monkeypatch.setattr(head_maps, "map_bytes", lambda *, trained, w=wrong: w)
        assert wrong_winners(weights, trained=trained) == expected
    # Without these bytes the first of the largest step would win, often wrongly.
    none = whole[:size] + bytes(len(whole) - size)
    monkeypatch.setattr(head_maps, "map_bytes", lambda *, trained: none)
    assert wrong_winners(weights, trained=trained)[0] > (30 if trained else 900)


def test_every_sentence_of_the_figure_holds_for_the_weights_in_float64(exact, tmp_path):
    trained, weights = exact
    said = told(tmp_path, trained=trained)
    wrong = []
    for (sentence, layer, head, query), (_, text) in said.items():
        row = weights[sentence][layer, head, query].tolist()
        wrong += faults(text, row, tokens_of(sentence), query)
    assert len(said) == len(list(rows())) == 8784
    assert wrong == []


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
