"""What the live figure of chapter 3 lets a reader find: matrices that solve a small task."""

from __future__ import annotations

import math

import pytest
import torch
import traitlets
from live_pages import figure_on, reading

from attention_core.widgets import QueryKeyValue

PRICE, RIGHT = [[0.0], [0.0], [1.0]], [[1.0], [0.0], [0.0]]


def turned(degrees: float, length: float = 1.0) -> torch.Tensor:
    """A matrix that turns places clockwise and leaves the price out."""
    c, s = (length * f(math.radians(degrees)) for f in (math.cos, math.sin))
    return torch.tensor([[c, -s], [s, c], [0.0, 0.0]], dtype=torch.float64)


def test_the_figure_opens_with_queries_a_little_beside_the_keys():
    figure = QueryKeyValue()
    torch.testing.assert_close(figure.W_q, turned(-25, 2))
    torch.testing.assert_close(figure.W_k, turned(0, 2))
    assert figure.weights.argmax(dim=-1).tolist() == [0, 1, 2, 3]
    assert figure.numbers()["error"] > 7


def test_a_quarter_turn_a_long_query_and_prices_as_values_solve_the_task():
    figure = QueryKeyValue(W_q=turned(90, 4), W_v=PRICE)
    loud = 4 * 2 / 2**0.5
    assert figure.scores[0].tolist() == pytest.approx([0, loud, 0, -loud])
    assert figure.weights.argmax(dim=-1).tolist() == [1, 2, 3, 0]
    assert (figure.scores - figure.scores.mT).abs().max() == pytest.approx(2 * loud)
    torch.testing.assert_close(
        figure.answers, torch.tensor([7.0, 4, 5, 2]).double(), atol=0.15, rtol=0
    )
    assert figure.numbers()["error"] < 0.05


def test_only_the_angle_and_the_lengths_of_query_and_key_matter():
    figure = QueryKeyValue(W_q=turned(90, 4))
    scores = figure.scores
    figure.W_q, figure.W_k = turned(125, 4), turned(35, 2)
    torch.testing.assert_close(figure.scores, scores)
    # Turning the key back gives the same scores as turning the query forward.
    figure.W_q, figure.W_k = turned(0, 2), turned(-90, 4)
    torch.testing.assert_close(figure.scores, scores)


@pytest.mark.parametrize("degrees", [0, 35, 180])
def test_equal_directions_of_query_and_key_cannot_solve_the_task(degrees):
    figure = QueryKeyValue(W_q=turned(degrees, 4), W_k=turned(degrees), W_v=PRICE)
    assert figure.weights.argmax(dim=-1).tolist() == [0, 1, 2, 3]
    assert figure.numbers()["error"] > 5


def test_a_query_of_zeros_answers_with_the_mean():
    figure = QueryKeyValue(W_q=torch.zeros(3, 2), W_v=PRICE)
    assert figure.answers.tolist() == pytest.approx([4.5] * 4)


BAD = [
    (lambda: QueryKeyValue(W_q=[[1, 2]]), r"W_q must have shape \(3, 2\), got \(1, 2\)"),
    (lambda: QueryKeyValue(W_v=[1, 2, 3]), r"W_v must have shape \(3, 1\), got \(3,\)"),
    (lambda: QueryKeyValue(W_k=torch.full((3, 2), 5)), "W_k must lie between -4 and 4, got 5 to 5"),
    (lambda: QueryKeyValue(market=[[0, 0, 0]]), r"market must have shape \(4, 3\), got \(1, 3\)"),
    (lambda: QueryKeyValue(market=[["a"] * 3] * 4), "market must be a tensor or nested lists"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


# --- on the page ------------------------------------------------------------------------------


def as_lists(**matrices):
    return {name: torch.as_tensor(matrix).tolist() for name, matrix in matrices.items()}


SAID = [
    (as_lists(W_q=turned(0, 2)), "the scores are symmetric, and each stall listens most to itself"),
    (as_lists(W_q=turned(30, 2)), "the scores are not symmetric"),
    (as_lists(W_q=turned(45, 2)), "looking for and being found differ"),
    (as_lists(W_q=turned(90, 2), W_v=RIGHT), "no price"),
    (as_lists(W_v=PRICE), "Goal reached"),
    (as_lists(W_q=turned(90, 1)), "but is short: stretch it"),
    (as_lists(W_q=turned(90, 4)), "Goal reached"),
    (as_lists(W_q=turned(180, 4)), "opposite"),
    (as_lists(W_q=turned(-90, 4)), "the wrong one: anticlockwise"),
    (as_lists(W_q=turned(-90, 4), W_k=turned(-90)), "turned alike"),
    (as_lists(W_q=turned(110, 4), W_k=turned(90)), "The key is turned, too"),
    (as_lists(W_q=torch.zeros(3, 2)), "hears the mean"),
]


def test_the_sentence_says_what_the_numbers_mean(browser, site):
    root = figure_on(browser, site, "03_query_key_value")
    for state, text in SAID:
        assert text in reading(root, state)
    root.page.close()


def test_the_handles_of_stall_1_reach_the_solution_by_keyboard(browser, site):
    """By keyboard alone, from the first state to the solution."""
    root = figure_on(browser, site, "03_query_key_value")
    keyboard = root.page.keyboard
    root.get_by_role("radio", name="price").press("Space")
    root.get_by_role("slider", name="query of stall 1").focus()
    quarter = ["Shift+ArrowRight", "Shift+ArrowRight"]
    for key in (*["ArrowRight"] * 5, *quarter, "Shift+ArrowUp", "Shift+ArrowUp"):
        keyboard.press(key)
    state = root.evaluate("root => root.figure.state()")
    assert state["W_q"] == [[0, -4], [4, 0], [0, 0]]
    assert "Goal reached" in root.locator(".live-reading").inner_text()
    # Turning the key by the same angle undoes it. A tip at the origin can still be moved.
    root.get_by_role("slider", name="key of stall 1").focus()
    for key in quarter:
        keyboard.press(key)
    assert "turned alike" in root.locator(".live-reading").inner_text()
    keyboard.press("Shift+ArrowDown")
    keyboard.press("Shift+ArrowDown")
    assert "hears the mean" in root.locator(".live-reading").inner_text()
    keyboard.press("Shift+ArrowUp")
    assert root.evaluate("root => root.figure.state().W_k") == [[0, -1], [1, 0], [0, 0]]
    root.page.close()


def test_a_matrix_that_is_no_rotation_is_turned_and_not_replaced(browser, site):
    """A matrix that the kernel has set, here a reflection, is turned and not replaced."""
    root = figure_on(browser, site, "03_query_key_value")
    root.evaluate("root => root.figure.set('W_q', [[-1, 0], [0, 1], [0.5, 0]])")
    root.get_by_role("slider", name="query of stall 1").focus()
    root.page.keyboard.press("ArrowUp")
    matrix = torch.tensor(root.evaluate("root => root.figure.state().W_q"))
    assert torch.linalg.det(matrix[:2]) < 0
    assert matrix[2].norm() > 0.4
    root.page.close()
