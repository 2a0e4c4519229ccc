"""The live figure of chapter 8: what layer normalization removes and the residual keeps."""

from __future__ import annotations

import pytest
import torch
import traitlets
from torch.nn.functional import layer_norm

from attention_core.widgets import NormResidual


def test_the_token_of_the_chapter_is_normalized_as_by_hand():
    numbers = NormResidual().numbers()
    assert numbers["mean"] == 5
    assert numbers["variance"] == 9
    shown = [f"{number:.4f}" for number in numbers["normed"]]
    assert shown == ["-1.6667", "0.3333", "0.3333", "1.0000"]
    torch.testing.assert_close(NormResidual().normed, layer_norm(NormResidual().x, [4]))


@pytest.mark.parametrize(("factor", "shift", "same"), [(1, 7, 1), (2, 0, 1), (-1, 0, -1)])
def test_normalization_removes_a_shift_and_all_of_a_factor_but_its_sign(factor, shift, same):
    figure = NormResidual()
    before = figure.normed
    figure.x = factor * figure.x + shift
    torch.testing.assert_close(figure.normed, same * before, atol=1e-5, rtol=0)


def test_epsilon_reduces_the_variance_of_small_differences():
    assert NormResidual(x=[3, 3, 3.004, 3.004]).numbers()["normed_variance"] < 0.5
    assert NormResidual(x=[7.0] * 4).numbers()["normed"] == [0.0] * 4


def test_equal_tokens_shrink_and_grow_by_the_slopes_of_the_chapter():
    """12 layers leave (1/2)^12 of a token, and (3/2)^12 with residual connections."""
    token = [1.0, 2.0, 3.0, 4.0]
    size = NormResidual(x=token, other=token, strength=0.5, layers=12).numbers()["size"]
    assert size[1] / size[0] == pytest.approx(1 / 4096)
    assert size[3] / size[0] == pytest.approx(129.7463, abs=5e-5)


@pytest.mark.parametrize("layers", [6, 12])
def test_each_way_of_joining_has_the_size_and_spread_that_the_text_says(layers):
    n = NormResidual(layers=layers).numbers()
    start, alone, normed, bare, post, pre = zip(n["size"], n["spread"], strict=True)
    assert alone[0] < 0.1 < start[0] < pre[0] < bare[0] / 5
    assert normed[0] == pytest.approx(1, abs=1e-3)
    assert post[0] == pytest.approx(1, abs=1e-3)
    assert max(alone[1], normed[1]) < 0.05 < post[1]
    assert bare[1] < start[1] < pre[1]


def test_without_residual_connections_the_outputs_of_two_tokens_are_alike():
    figure = NormResidual(layers=12)
    before, figure.x = figure.streams, torch.tensor([-9.0, 4.0, 12.0, 1.0])
    for name, differ in (("f(x)", False), ("norm(x + f(x))", True), ("x + f(norm(x))", True)):
        # Do the outputs of the two tokens still differ?
        mine, other = figure.streams[name]
        assert (not torch.allclose(mine, other, atol=1e-2)) == differ, name
        assert not torch.equal(before[name], figure.streams[name])


BAD = [
    (lambda: NormResidual(x=[1, 2, 3]), r"x must have shape \(4,\), got \(3,\)"),
    (lambda: NormResidual(other=[0, 0, 0, 21]), "other must lie between -20 and 20, got 0 to 21"),
    (lambda: NormResidual(x=[0, 0, 0, float("inf")]), "x must be finite"),
    (lambda: NormResidual(layers=13), "layers"),
    (lambda: NormResidual(layers=0), "layers"),
    (lambda: NormResidual(strength=1.5), "strength"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_tables_fit_without_scrolling(browser, site, width):
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto((site / "chapters" / "08_layers.html").as_uri())
    cut = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth + 1).length"
    assert tab.locator("[data-live=norm_residual] .live-scroll").count() == 2
    assert tab.locator("[data-live=norm_residual] .live-scroll").evaluate_all(cut) == 0
    tab.close()
