"""The map of a trained model's attention, and of the reader's own weights."""

from __future__ import annotations

import json

import pytest
import torch
import traitlets
from torch.testing import assert_close

from attention_core import record_attention
from attention_core.dates import SOURCE, TARGET
from attention_core.widgets import AttentionMap
from attention_core.widgets.dates_model import dates_model

ONE = torch.eye(3)[None]
MAP = {"name": "a", "queries": ["x"], "keys": ["y"], "weights": [[[[1.0]]]]}
BAD = [
    (lambda: AttentionMap(torch.eye(3)), r"weights must have shape \(H, L, S\), got \(3, 3\)"),
    (lambda: AttentionMap("ab"), "weights must be numbers"),
    (lambda: AttentionMap(2 * ONE), "weights must lie between 0 and 1, got 0 to 2"),
    (lambda: AttentionMap(-ONE), "weights must lie between 0 and 1, got -1 to"),
    (lambda: AttentionMap(ONE * float("nan")), "weights must lie between 0 and 1"),
    (lambda: AttentionMap(torch.ones(0, 3, 3)), "weights must have shape"),
    (
        lambda: AttentionMap(ONE, queries=["a", "b"]),
        r"weights must have shape \(layers, H, 2, 3\) for 2 queries and 3 keys, got \(1, 1, 3, 3\)",
    ),
    (
        lambda: AttentionMap(ONE, keys=[1, 2, 3]),
        "the queries and the keys of a map must be strings",
    ),
    (lambda: AttentionMap(queries=["a"]), "queries and keys label weights: pass weights as well"),
    (lambda: AttentionMap(maps=[]), "maps must be a list of maps"),
    (lambda: AttentionMap(maps=[{"name": "a"}]), "a map must have name, queries, keys and weights"),
    (lambda: AttentionMap(maps=[MAP, MAP]), "each map must have its own name"),
    (
        lambda: AttentionMap(maps=[MAP, {**MAP, "name": "b", "weights": [[[[1]], [[1]]]]}]),
        "all maps must have the same numbers of layers and heads",
    ),
    (lambda: AttentionMap(kind="both"), "kind must be one of encoder, decoder, cross, got 'both'"),
    (lambda: AttentionMap(layer=2), "layer must be below 2, got 2"),
    (lambda: AttentionMap(head=4), "head must be below 4, got 4"),
    (lambda: AttentionMap(query=16), "query must be below 16, got 16"),
    (lambda: AttentionMap(key=-1), "key"),
    (lambda: AttentionMap(side="left"), "side"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


def test_all_weights_are_those_of_the_model_to_three_decimals():
    model, figure = dates_model(), AttentionMap()
    source, target = "24 November 2026", "二〇二六年十一月二十四日"
    src = torch.tensor([SOURCE.encode(source)])
    read = torch.tensor([[TARGET.BOS, *TARGET.encode(target)]])
    with record_attention(model) as recorded:
        model(src, read)
    for kind, part in (
        ("encoder", "encoder.layers.{}.self_attention"),
        ("decoder", "decoder.layers.{}.self_attention"),
        ("cross", "decoder.layers.{}.cross_attention"),
    ):
        for layer in (0, 1):
            figure.kind, figure.layer = kind, layer
            expected = recorded[part.format(layer)][0]
            assert_close(figure.weights, expected, rtol=0, atol=5.001e-4)
    assert [len(one["queries"]) for one in figure.maps] == [16, 13, 13]
    assert "".join(figure.maps[2]["queries"]) == target + "EOS"
    assert "".join(figure.maps[1]["keys"]) == "BOS" + target
    assert "".join(figure.maps[2]["keys"]) == source


def test_the_characters_of_eleven_attend_to_november_as_the_chapter_says():
    figure = AttentionMap(kind="cross", layer=1, head=1, query=5)
    keys = figure.maps[2]["keys"]
    assert keys[figure.row.argmax()] == "N"
    figure.query = 6
    assert keys[figure.row.argmax()] == "v"
    figure.side, figure.key = "key", 3
    assert figure.column[5] == figure.weights[1, 5, 3] > 0.9


def test_a_decoder_never_looks_ahead():
    figure = AttentionMap(kind="decoder")
    for figure.layer in (0, 1):
        assert not figure.weights.triu(1).any()
    figure.query = 0
    assert figure.row.tolist() == [1.0] + [0.0] * 12
    assert figure.numbers()["spread"] == 1.0


def test_the_readers_own_weights_are_kept_and_shown():
    g = torch.Generator().manual_seed(0)
    mine = torch.rand(2, 3, 5, generator=g, dtype=torch.float64).softmax(dim=-1)
    figure = AttentionMap(mine, queries=["a", "b", "c"], keys=list("vwxyz"))
    assert torch.equal(figure.weights, mine)
    figure.head, figure.query = 1, 2
    assert torch.equal(figure.row, mine[1, 2])
    figure.weights = mine.flip(0)  # of the same size: the tokens stay
    assert figure.maps[0]["queries"] == ["a", "b", "c"]
    assert (figure.head, figure.query) == (0, 0)
    assert torch.equal(figure.row, mine[1, 0])
    figure.weights = mine[:, :2]
    assert figure.maps[0]["queries"] == ["0", "1"]
    assert figure.kind == "weights"


def test_the_readers_own_weights_replace_the_example():
    figure = AttentionMap(query=12, key=15)
    figure.weights = torch.full((1, 2, 2), 0.5)
    assert figure.numbers() == {
        "row": [0.5, 0.5],
        "column": [0.5, 0.5],
        "spread": pytest.approx(2.0),
        "received": 1.0,
    }
    with pytest.raises(traitlets.TraitError, match=r"shape \(H, L, S\)"):
        figure.weights = torch.ones(2, 2)
    assert figure.weights.shape == (1, 2, 2)


def test_a_query_that_may_look_at_nothing_has_a_spread_of_zero():
    figure = AttentionMap(torch.zeros(1, 2, 3))
    assert figure.numbers()["spread"] == figure.numbers()["received"] == 0.0


def test_the_stored_figure_stays_below_60_000_characters():
    assert len(json.dumps(AttentionMap().static_html())) < 60_000


def test_the_spread_of_uniform_weights_is_the_number_of_keys():
    figure = AttentionMap(torch.full((1, 1, 8), 1 / 8))
    assert figure.numbers()["spread"] == pytest.approx(8.0)


def test_one_head_of_the_encoder_keeps_day_month_and_year_apart():
    """The chapter asks the reader to find this head; no other head does so."""
    figure, own = AttentionMap(kind="encoder"), {}
    for layer in (0, 1):
        figure.layer = layer
        for head, weights in enumerate(figure.weights):
            parts = [slice(0, 2), slice(3, 11), slice(12, 16)]
            inside = [weights[part, part].sum(dim=-1).mean().item() for part in parts]
            own[layer, head] = min(inside)
    best, second, *_ = sorted(own.values(), reverse=True)
    assert own[1, 1] == best > 0.65
    assert second < 0.4
