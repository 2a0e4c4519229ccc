"""The figure of trained heads without a browser: its stored maps, its numbers, what it sends."""

from __future__ import annotations

import gzip
import json
import re

import pytest
import torch
import traitlets
from booksite import live
from live_states import DATA, as_numbers, differences
from node_runs import NODE_SCRIPT, run_script
from torch.testing import assert_close

from attention_core.widgets import TrainedHeads
from attention_core.widgets.figure import HERE, script_of
from attention_core.widgets.head_maps import (
    HEADS,
    LAYERS,
    LONGEST,
    STEPS,
    packed,
    sentences,
    tokens_of,
    weights_at,
)

ALL = range(len(sentences()))
HEAVIEST = 75_000  # compressed bytes of one model's maps

BAD = [
    (lambda: TrainedHeads(sentence=12), "sentence must lie between 0 and 11, got 12"),
    (lambda: TrainedHeads(layer=6), "layer must lie between 0 and 5, got 6"),
    (lambda: TrainedHeads(head=12), "head must lie between 0 and 11, got 12"),
    (lambda: TrainedHeads(query=13), "query must lie between 0 and 12, got 13"),
    (lambda: TrainedHeads(trained="no"), "trained"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


# --- the stored maps ----------------------------------------------------------------------------

# Weights in float64 as the model gives them: sentence, layer, head, query, key, weight.
KNOWN = [
    (0, 3, 1, "one", "step", 0.8123),
    (0, 3, 1, "step", "one", 0.0103),
    (0, 3, 1, "with", "step", 0.6844),
    (5, 1, 3, "she", "queen", 0.5765),
    (5, 1, 3, "she", "boy", 0.0215),
    (6, 1, 3, "he", "boy", 0.2446),
    (6, 1, 3, "he", "queen", 0.2297),
    (7, 1, 3, "she", "queen", 0.5052),
    (8, 1, 3, "he", "duchess", 0.3181),
    (8, 1, 3, "he", "duke", 0.2069),
    (3, 3, 1, "chased", "cat", 0.4281),
    (4, 3, 1, "chased", "dog", 0.2028),
    (9, 3, 1, "closed", "window", 0.3595),
    (9, 2, 0, "window", "closed", 0.2757),
]


@pytest.mark.parametrize(("sentence", "layer", "head", "query", "key", "weight"), KNOWN)
def test_known_weights_have_the_right_two_decimals(sentence, layer, head, query, key, weight):
    tokens = tokens_of(sentence)
    place = layer, head, tokens.index(query), tokens.index(key)
    found = weights_at(sentence, trained=True)[place].item()
    assert abs(found - weight) <= 0.5 / STEPS + 5e-5
    assert f"{found:.2f}" == f"{weight:.2f}"


@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("sentence", ALL)
def test_each_row_sums_to_one_within_the_rounding(sentence, trained):
    weights = weights_at(sentence, trained=trained)
    length = len(tokens_of(sentence))
    assert weights.shape == (LAYERS, HEADS, length, length)
    assert length <= LONGEST
    sums = weights.sum(dim=-1)
    assert_close(sums, torch.ones_like(sums), rtol=0, atol=length * 0.5 / STEPS)


def test_no_untrained_weight_reaches_twice_the_even_share_as_the_figure_says():
    most = {
        trained: max(
            (weights_at(n, trained=trained).max().item() + 0.5 / STEPS) * len(tokens_of(n))
            for n in ALL
        )
        for trained in (True, False)
    }
    assert most[False] < 2
    assert most[True] > 10
    script = (HERE / "trained_heads.js").read_text(encoding="utf-8")
    assert "Untrained, no weight reaches twice the even share." in script


def test_both_models_read_the_same_sentences_but_weigh_them_differently():
    (trained, first), (untrained, second) = packed(trained=True), packed(trained=False)
    assert (trained["trained"], untrained["trained"]) == (True, False)
    assert trained["sizes"] == untrained["sizes"] == [len(tokens_of(n)) for n in ALL]
    assert len(first) == len(second) == LAYERS * HEADS * sum(n * n for n in trained["sizes"])
    assert first != second
    assert max(first) < STEPS


def test_the_script_has_the_sentences_of_the_file_and_a_word_to_begin_with():
    script = (HERE / "trained_heads.js").read_text(encoding="utf-8")
    table = re.search(r"^const SENTENCES = \[\n(.*?)^\];", script, re.MULTILINE | re.DOTALL)[1]
    found = re.findall(r'\["(.*)", (\d+)\],', table)
    assert [text for text, _ in found] == sentences()
    starts = [tokens_of(n)[int(start)] for n, (_, start) in enumerate(found)]
    words = "one saw she chased chased she he she he closed bark bark"
    assert starts == words.split()


def test_a_script_of_maps_is_small_and_cannot_close_its_element():
    for name, loaded in zip(
        ("heads_trained", "heads_untrained"), DATA["trained_heads"](), strict=True
    ):
        script = live.model_script(name)
        assert script.isascii()
        assert "</" not in script
        assert len(gzip.compress(script.encode(), 6)) <= HEAVIEST
        found = re.fullmatch(rf"\(globalThis\.liveData \|\|= \{{\}}\)\.{name} = (.*);\n", script)
        assert json.loads(found[1]) == loaded


def test_the_page_itself_stays_small():
    assert len(TrainedHeads().static_html()) < 3000
    assert len(gzip.compress(script_of("trained_heads").encode(), 6)) < 8000


# --- the numbers --------------------------------------------------------------------------------


def test_the_even_share_is_that_of_equal_weights():
    figure = TrainedHeads()
    numbers = figure.numbers()
    assert (figure.tokens[5], figure.tokens[numbers["top"]]) == ("one", "step")
    assert numbers["even"] == pytest.approx(1 / 9)
    assert numbers["times"] == pytest.approx(9 * numbers["most"])
    assert numbers["row"] == weights_at(0, trained=True)[3, 1, 5].tolist()
    figure.trained = False
    assert numbers["times"] > 7 > 2 > figure.numbers()["times"]


def test_a_shorter_sentence_uses_its_last_token():
    figure = TrainedHeads(sentence=1, query=12)
    assert figure.tokens[6] == "[SEP]"
    assert torch.equal(figure.row, figure.weights[6])


def test_the_table_names_the_largest_weight_of_each_row():
    table = TrainedHeads().table()
    assert ["one", "step", "0.81"] in table.rows
    assert ["step", "[CLS]", "0.71"] in table.rows
    assert len(table.rows) == 9
    assert "layer 3, head 1, trained; an even share is 0.11" in table.caption


def test_the_first_map_is_shown_before_any_is_fetched(tmp_path):
    file = tmp_path / "figure.mjs"
    file.write_text(script_of("trained_heads"), encoding="utf-8")
    figure = TrainedHeads(sentence=5, layer=1, head=3, query=7)
    first = figure.state()
    states = [first, {**first, "query": 3}, {**first, "trained": False}]
    others = [{**first, "head": 4}, {**first, "sentence": 4}, {**first, "layer": 0}]
    shown = run_script(NODE_SCRIPT, {"module": file.as_uri(), "states": [*states, *others]})
    for state, numbers in zip(states, shown, strict=False):
        assert not differences("trained_heads", state, as_numbers(numbers))
    for numbers in shown[3:]:
        assert {numbers["most"], numbers["top"], *numbers["row"]} == {"NaN"}


def test_the_comparison_finds_a_map_read_in_the_wrong_order(tmp_path):
    """The comparison can fail: with layers and heads exchanged, it does."""
    text = script_of("trained_heads")
    wrong = text.replace("[state.layer][state.head] :", "[state.head % 6][state.layer] :")
    assert wrong != text
    state = TrainedHeads(layer=1, head=3).state()
    found = []
    for name, code in (("right", text), ("wrong", wrong)):
        file = tmp_path / f"{name}.mjs"
        file.write_text(code, encoding="utf-8")
        asked = {"module": file.as_uri(), "states": [state], "data": DATA["trained_heads"]()}
        found += run_script(NODE_SCRIPT, asked)
    assert not differences("trained_heads", state, as_numbers(found[0]))
    assert differences("trained_heads", state, as_numbers(found[1]))


# --- in Jupyter, the kernel's part --------------------------------------------------------------


def asked(figure, content):
    sent = []
    figure.send = lambda content, buffers=None: sent.append((content, buffers))
    figure._handle_custom_msg(content, [])  # what ipywidgets does with a message of the page
    return sent


@pytest.mark.parametrize(("name", "trained"), [("heads_trained", True), ("heads_untrained", False)])
def test_the_kernel_sends_the_maps_that_the_page_asks_for(name, trained):
    ((content, buffers),) = asked(TrainedHeads(), {"wants": name})
    manifest, data = packed(trained=trained)
    assert content == {"data": name, **manifest}
    assert buffers == [data]


@pytest.mark.parametrize("content", [{}, {"wants": "dates"}, {"wants": ["x"]}, "dates", None])
def test_the_kernel_answers_no_other_message(content):
    assert asked(TrainedHeads(), content) == []
