"""The live figure of chapter 6: where each way of making heads puts words and numbers."""

from __future__ import annotations

import pytest
import torch
import traitlets

from attention_core import merge_heads, reach_matrix, scaled_dot_product_attention, split_heads
from attention_core.widgets import Heads

WRONG = {"reshape": ("pairs", "of_pairs"), "forgotten": ("home", "of_home")}


@pytest.mark.parametrize("num_heads", [2, 3, 6])
@pytest.mark.parametrize("way", ["transpose", "reshape", "stack", "forgotten"])
def test_each_wrong_way_fails_one_check_and_passes_the_other(way, num_heads):
    numbers = Heads(way=way, num_heads=num_heads).numbers()
    failed = {(a, b) for a, b in WRONG.values() if numbers[a] < numbers[b]}
    assert failed == ({WRONG[way]} if way in WRONG else set())


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6])
def test_stacking_heads_equals_splitting_and_transposing(num_heads):
    one, other = (Heads(way=way, num_heads=num_heads) for way in ("transpose", "stack"))
    assert one.heads.tolist() == other.heads.tolist() == split_heads(one.x, num_heads).tolist()
    assert one.merged.tolist() == other.merged.tolist() == one.x.tolist()
    torch.testing.assert_close(one.heard, torch.full((3, 3), 1 / 3, dtype=torch.float64))
    torch.testing.assert_close(one.heard, other.heard)


def test_with_one_head_all_ways_are_the_same():
    shown = [Heads(way=way, num_heads=1, picked=9).numbers() for way in Heads.way.values]
    for numbers in shown:
        assert numbers | {"path": 0} == shown[0] | {"path": 0}
        assert {step["place"] for step in numbers["path"] if step["place"] >= 0} == {9}


def test_a_picked_number_is_followed_through_every_shape():
    numbers = Heads(picked=3).numbers()
    assert numbers["followed"] == 14
    assert [step["place"] for step in numbers["path"]] == [3, 3, 9, 3, 3]
    assert [step["index"] for step in numbers["path"][1:3]] == [[0, 1, 0], [1, 0, 0]]
    numbers = Heads(picked=3, way="forgotten").numbers()
    assert numbers["path"][4] == {"shape": [3, 6], "index": [1, 3], "place": 9}


def test_attention_between_words_agrees_with_reach_matrix():
    g = torch.Generator().manual_seed(6)
    x = torch.randn(6, 6, generator=g, dtype=torch.float64)
    figure = Heads(words=list("abcdef"), x=x, num_heads=3, way="reshape", picked=0)

    def dealt_out(x):
        heads = x.reshape(3, 6, 2)
        return scaled_dot_product_attention(heads, heads, heads).reshape(x.shape)

    def right(x):
        heads = split_heads(x, 3)
        return merge_heads(scaled_dot_product_attention(heads, heads, heads))

    for way, function, pairs in (("reshape", dealt_out, 12), ("transpose", right, 36)):
        figure.way = way
        assert figure.numbers()["pairs"] == pairs
        assert torch.equal(figure.heard > 0, reach_matrix(function, x) > 0)
        torch.testing.assert_close(figure.heard.sum(dim=-1), torch.ones(6, dtype=torch.float64))


BAD = [
    (lambda: Heads(num_heads=4), "num_heads must divide the width of x, 6, got 4"),
    (lambda: Heads(num_heads=0), "num_heads"),
    (lambda: Heads(picked=18), r"picked must be less than x\.numel\(\), 18, got 18"),
    (lambda: Heads(picked=-1), "picked"),
    (lambda: Heads(way="view"), "way"),
    (lambda: Heads(x=[[1, 2]]), r"x must have a row of numbers for each of the 3 words"),
    (lambda: Heads(x=[[], [], []]), r"3 words, got shape \(3, 0\)"),
    (lambda: Heads(x=[1, 2, 3]), r"x must have shape \(any, any\), got \(3,\)"),
    (lambda: Heads(words=[]), "words"),
    (lambda: setattr(Heads(), "words", ["he"]), r"the 1 words, got shape \(3, 6\)"),
    (
        lambda: setattr(Heads(), "x", [[1]] * 3),
        r"a multiple of num_heads, 2, .* got shape \(3, 1\)",
    ),
    (lambda: setattr(Heads(picked=9), "x", [[1, 2]] * 3), "more numbers than picked, 9, got shape"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()
