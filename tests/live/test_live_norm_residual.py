"""The live figure of chapter 8: how five ways of joining fade, explode or keep a slope."""

from __future__ import annotations

import pytest
import torch
import traitlets

from attention_core.widgets import NormResidual
from attention_core.widgets.norm_residual import JOINS


def measures(**state):
    """Size, spread and slope by the name of the way of joining, and at the start."""
    n = NormResidual(**state).numbers()
    rows = zip(n["size"], n["spread"], [1.0, *n["slope"]], strict=True)
    return dict(zip(["start", *JOINS], rows, strict=True))


def test_both_tokens_are_centred_and_the_first_is_that_of_the_chapter():
    tokens = NormResidual().tokens
    assert tokens.sum(dim=1).tolist() == [0.0, 0.0]
    assert (tokens[0] + 5).tolist() == [0.0, 6.0, 6.0, 8.0]


@pytest.mark.parametrize(("strength", "plus"), [(0.5, 129.7463), (-0.5, 1 / 4096)])
def test_twelve_parts_have_the_slopes_of_the_chapter(strength, plus):
    found = measures(strength=strength, parts=12)
    assert found["f(x)"][2] == pytest.approx(1 / 4096)
    assert found["x + f(x)"][2] == pytest.approx(plus, abs=5e-5)


def test_slopes_are_those_of_a_small_step():
    figure = NormResidual(parts=5, strength=0.35, offset=1.5)
    push = torch.zeros(2, 4, dtype=torch.float64)
    push[:, 0] = 1e-6
    for stack, slope in zip(figure.stacks.values(), figure.numbers()["slope"], strict=True):
        moved = stack(figure.start + push) - stack(figure.start - push)
        assert (moved.norm() / (2 * push.norm())).item() == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("parts", [1, 6, 12])
@pytest.mark.parametrize("strength", [0.1, 0.5])
def test_of_centred_tokens_post_norm_keeps_the_spread_of_the_bare_sum(parts, strength):
    found = measures(parts=parts, strength=strength)
    bare, post, pre = (found[name] for name in JOINS[2:])
    assert post[1] == pytest.approx(bare[1], abs=0.012)
    assert pre[1] > bare[1]
    assert post[0] == pytest.approx(1, abs=1e-5)
    assert pre[0] < bare[0]


@pytest.mark.parametrize("parts", [6, 12])
def test_an_offset_lowers_the_spread_of_the_bare_sum_and_post_norm_takes_it_off(parts):
    centred, shifted = (measures(parts=parts, offset=offset) for offset in (0.0, 5.0))
    assert shifted["norm(x + f(x))"] == pytest.approx(centred["norm(x + f(x))"])
    assert shifted["x + f(x)"][1] < centred["x + f(x)"][1] / 2
    assert shifted["x + f(x)"][2] == pytest.approx(centred["x + f(x)"][2])


def test_without_the_plus_both_tokens_end_alike():
    found = measures(parts=12)
    for name, (_, spread, _) in found.items():
        assert (spread < 0.001) == (name in ("f(x)", "norm(f(x))")), name


BAD = [
    (
        lambda: NormResidual(tokens=[[1, 2, 3]] * 2),
        r"tokens must have shape \(2, 4\), got \(2, 3\)",
    ),
    (lambda: NormResidual(tokens=[[0, 0, 0, 21]] * 2), "tokens must lie between -20 and 20"),
    (lambda: NormResidual(tokens=[[0, 0, 0, float("inf")]] * 2), "tokens must be finite"),
    (lambda: NormResidual(parts=13), "parts"),
    (lambda: NormResidual(parts=0), "parts"),
    (lambda: NormResidual(strength=0.6), "strength"),
    (lambda: NormResidual(offset=-1), "offset"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_table_fits_without_scrolling(browser, site, width):
    tab = browser.new_page(viewport={"width": width, "height": 900})
    tab.goto((site / "chapters" / "08_layers.html").as_uri())
    cut = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth + 1).length"
    assert tab.locator("[data-live=norm_residual] .live-scroll").count() == 1
    assert tab.locator("[data-live=norm_residual] .live-scroll").evaluate_all(cut) == 0
    tab.close()


def test_a_phone_shows_all_controls_and_the_result_on_one_screen(browser, site):
    tab = browser.new_page(viewport={"width": 390, "height": 844})
    tab.goto((site / "chapters" / "08_layers.html").as_uri())
    figure = tab.locator("[data-live=norm_residual] .live-figure")
    figure.wait_for()
    assert figure.bounding_box()["height"] < 700
    tab.close()
