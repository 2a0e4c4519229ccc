"""The figure of trained heads without a browser: its stored maps, its numbers, what it sends."""

from __future__ import annotations

import gzip
import json
import re

import pytest
import torch
import traitlets
from booksite import live
from head_sentences import faults, rows, told
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
    bytes_at,
    leaders_at,
    leads_at,
    packed,
    sentences,
    times_of,
    tokens_of,
    weights_at,
)

ALL = range(len(sentences()))
# The compressed bytes of a model's maps, at most.
HEAVIEST = {"heads_trained": 74_000, "heads_untrained": 63_000}

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
    # A byte for each weight, then one for each row.
    weights = LAYERS * HEADS * sum(n * n for n in trained["sizes"])
    rows = LAYERS * HEADS * sum(trained["sizes"])
    assert len(first) == len(second) == weights + rows
    assert first != second
    assert max(first[:weights]) < STEPS


def test_the_script_has_the_sentences_of_the_file_and_a_word_to_begin_with():
    script = (HERE / "trained_heads_numbers.js").read_text(encoding="utf-8")
    pattern = r"^export const SENTENCES = \[\n(.*?)^\];"
    table = re.search(pattern, script, re.MULTILINE | re.DOTALL)[1]
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
        assert len(gzip.compress(script.encode(), 6)) <= HEAVIEST[name]
        found = re.fullmatch(rf"\(globalThis\.liveData \|\|= \{{\}}\)\.{name} = (.*);\n", script)
        assert json.loads(found[1]) == loaded


def test_the_page_itself_stays_small():
    assert len(TrainedHeads().static_html()) < 3000
    assert len(gzip.compress(script_of("trained_heads").encode(), 6)) < 8500


# --- the numbers --------------------------------------------------------------------------------


def test_the_even_share_is_that_of_equal_weights():
    figure = TrainedHeads()
    numbers = figure.numbers()
    assert (figure.tokens[5], figure.tokens[numbers["top"]]) == ("one", "step")
    assert numbers["even"] == pytest.approx(1 / 9)
    assert numbers["times"] == 7 == round(9 * numbers["most"])
    assert numbers["row"] == weights_at(0, trained=True)[3, 1, 5].tolist()
    figure.trained = False
    assert figure.numbers()["times"] == 1 == round(9 * figure.numbers()["most"])


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


# --- what is said of a row ----------------------------------------------------------------------


@pytest.fixture(scope="module", params=[True, False], ids=["trained", "untrained"])
def all_told(request, tmp_path_factory):
    return request.param, told(tmp_path_factory.mktemp("told"), trained=request.param)


def test_javascript_finds_the_same_winners_and_times_as_python_in_every_row(all_told):
    trained, found = all_told
    for sentence in ALL:
        top, word = leaders_at(sentence, trained=trained)
        steps = bytes_at(sentence, trained=trained).amax(dim=-1)
        length = len(tokens_of(sentence))
        for row in (row for row in rows() if row[0] == sentence):
            at = row[1:]
            expected = [top[at].item(), word[at].item(), times_of(steps[at].item(), length)]
            assert found[row][0] == expected, row


def test_a_winner_has_the_largest_step_of_its_row_and_of_the_words():
    shared = 0
    for trained in (True, False):
        for sentence in ALL:
            steps = bytes_at(sentence, trained=trained).long()
            top, word = leaders_at(sentence, trained=trained)
            assert torch.equal(steps.gather(-1, top[..., None])[..., 0], steps.amax(dim=-1))
            tokens = tokens_of(sentence)
            words = torch.tensor([token.isalpha() for token in tokens])
            known = steps.masked_fill(~words, -1)
            assert torch.equal(known.gather(-1, word[..., None])[..., 0], known.amax(dim=-1))
            shared += (leads_at(sentence, trained=trained) >= 16).sum().item()
    # Rows in which the winner is not the first of the largest step.
    assert shared > 900


def test_times_hold_for_every_weight_of_a_step():
    halves = 0
    for length in range(7, LONGEST + 1):
        for step in range(STEPS):
            found = times_of(step, length)
            low, high = step * length / STEPS, (step + 1) * length / STEPS
            if found == int(found):
                assert found - 0.5 <= low < high <= found + 0.5
            else:
                assert low < found < high < low + 0.07
                halves += 1
    assert halves > 50


@pytest.mark.parametrize("share", [0.02, 0.98])
def test_each_sentence_holds_at_both_ends_of_the_largest_step(all_told, share):
    """The winner's weight lies anywhere in its step; the sentence must be right for each."""
    trained, found = all_told
    wrong = []
    for row, (_, text) in found.items():
        sentence, *place, query = row
        weights = weights_at(sentence, trained=trained)[(*place, query)].clone()
        top, word = (leader[(*place, query)] for leader in leaders_at(sentence, trained=trained))
        weights[top] += (share - 0.5) / STEPS
        if share < 0.5:  # the others of its step lie below
            weights = weights.minimum(weights[top] - 1e-6).index_fill(0, top, weights[top])
        if word != top:
            weights[word] += 1e-7
        wrong += faults(text, weights.tolist(), tokens_of(sentence), query)
    assert wrong == []


WRONG = [
    ("about 7 times", "about 8 times", "times"),
    ("about 7 times", "less than twice", "times"),
    ("“step”", "“your”", "winner"),
    ("0.81", "0.82", "weight"),
    ("0.11", "0.12", "even share"),
    ("about 7", "roughly 7", "times"),
]


@pytest.mark.parametrize(("right", "changed", "fault"), WRONG)
def test_a_wrong_sentence_is_found(right, changed, fault):
    figure = TrainedHeads()
    text = "“one” looks most at “step”: 0.81, about 7 times the even share of 0.11."
    given = figure.row.tolist(), figure.tokens, 5
    assert faults(text, *given) == []
    found = faults(text.replace(right, changed), *given)
    assert [one.split(":")[0] for one in found] == [fault]


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
