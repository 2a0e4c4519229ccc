"""The figure of chapter 4: scores of five widths, divided by a power of the width."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
import traitlets

from attention_core import attention_scores
from attention_core.widgets import Scaling
from attention_core.widgets.scaling import QUERIES, WIDTHS

BAD = [
    (lambda: Scaling(power=-0.1), "power"),
    (lambda: Scaling(power=1.1), "power"),
    (lambda: Scaling(power="half"), "power"),
    (lambda: Scaling(seed=-1), "seed"),
    (lambda: Scaling(seed=100), "seed"),
]


@pytest.mark.parametrize(("call", "name"), BAD)
def test_an_error_names_the_invalid_trait(call, name):
    with pytest.raises(traitlets.TraitError, match=f"'?{name}'? "):
        call()


def largest(figure):
    return figure.weights[:, 0]


def column(figure, name):
    return torch.tensor([row[name] for row in figure.numbers()["rows"]])


def test_a_score_of_width_d_is_a_sum_of_d_coin_tosses():
    for scores, d in zip(Scaling().scores, WIDTHS, strict=True):
        assert torch.equal(scores, scores.round())
        assert (scores.abs() <= d).all()
        assert (scores % 2 == 0).all()  # a sum of an even number of 1 and -1


def test_sums_of_four_coins_have_the_frequencies_counted_by_hand():
    scores = Scaling(seed=5).scores[0]
    for value, ways in {-4: 1, -2: 4, 0: 6, 2: 4, 4: 1}.items():
        share = (scores == value).double().mean().item()
        assert share == pytest.approx(float(Fraction(ways, 16)), abs=0.02)


@pytest.mark.parametrize("seed", [0, 1, 42, 99])
def test_only_division_by_the_root_makes_all_widths_alike(seed):
    variance = column(Scaling(power=0.0, seed=seed), "variance")
    assert torch.allclose(variance, torch.tensor(WIDTHS, dtype=variance.dtype), rtol=0.06)
    root = Scaling(power=0.5, seed=seed)
    assert torch.allclose(column(root, "variance"), torch.ones(5), atol=0.06)
    assert (column(root, "sure") == 0).all()
    assert largest(root).max() - largest(root).min() < 0.04
    for power in (0.0, 0.25, 0.45):
        assert (largest(Scaling(power=power, seed=seed)).diff() > 0).all()
    for power in (0.6, 0.75, 1.0):
        assert (largest(Scaling(power=power, seed=seed)).diff() < 0).all()


def test_the_wider_the_vectors_the_more_queries_choose_one_key():
    figure = Scaling(power=0)
    sure = column(figure, "sure")
    assert sure.diff().min() > 20
    weights = torch.softmax(figure.scores[2], dim=-1)
    counted = sum(max(row) > 0.99 for row in weights.tolist())
    assert sure[2] == counted == pytest.approx(289, abs=40)  # as many as of normal numbers


def test_power_one_half_gives_the_scores_of_the_package():
    # With q of ones and k of raw / d_k, q @ k.mT is raw; the package divides it by the root.
    raw, root = Scaling(power=0).scores[1], Scaling(power=0.5).scores[1]
    q = torch.ones(QUERIES, 1, 16, dtype=torch.float64)
    k = (raw / 16)[..., None].expand(-1, -1, 16)
    torch.testing.assert_close(attention_scores(q, k)[:, 0], root)


def test_weights_add_up_to_1_in_descending_order():
    weights = Scaling(power=0.3, seed=8).weights
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(5, dtype=torch.float64))
    assert (weights.diff(dim=-1) <= 0).all()


def test_another_seed_tosses_other_coins_and_the_same_seed_the_same():
    first = Scaling(seed=1).scores
    first += 1  # a reader's change must not change the figure's own scores
    assert not torch.equal(Scaling(seed=1).scores, first)
    assert torch.equal(Scaling(seed=1).scores + 1, first)
    assert not torch.equal(Scaling(seed=2).scores, Scaling(seed=1).scores)
