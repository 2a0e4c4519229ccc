"""What the live figures of chapters 1 and 2 let a reader find."""

from __future__ import annotations

import math

import pytest
import torch
from live_pages import figure_on, reading

from attention_core.widgets import SimpleAttention, TwoVectors

X = SimpleAttention().embeddings


def test_two_vectors_open_with_numbers_that_are_easy_by_hand():
    n = TwoVectors().numbers()
    names = ("length_q", "cosine", "projection", "length_k", "dot", "own")
    assert [n[name] for name in names] == pytest.approx([2, 0.6, 1.2, 2, 2.4, 4])


def test_a_longer_key_scores_higher_and_keeps_its_angle():
    figure = TwoVectors()
    before = figure.numbers()
    figure.k = 2 * figure.k
    after = figure.numbers()
    for name in ("dot", "projection"):
        assert after[name] == pytest.approx(2 * before[name])
    for name in ("cosine", "angle", "own"):
        assert after[name] == pytest.approx(before[name])
    assert figure.cosine.item() == after["cosine"]


@pytest.mark.parametrize(("which", "factor"), [("k", 2.0), ("q", 0.5)])
def test_a_longer_key_or_a_shorter_query_wins_against_the_query_itself(which, factor):
    figure = TwoVectors()
    assert figure.numbers()["dot"] < figure.numbers()["own"]
    setattr(figure, which, factor * getattr(figure, which))
    n = figure.numbers()
    assert n["dot"] > n["own"]
    assert n["projection"] > n["length_q"]  # the shadow reaches beyond the tip


def test_moving_k_at_a_right_angle_to_q_keeps_the_dot_product():
    figure = TwoVectors()
    before = figure.dot
    figure.k = figure.k + torch.tensor([0.0, 1.3])  # at a right angle to q
    torch.testing.assert_close(figure.dot, before)
    assert figure.numbers()["length_k"] > 3


@pytest.mark.parametrize(("turn", "angle"), [(0, 0), (90, 90), (180, 180), (1e-7, 1e-7)])
def test_angles_near_0_and_180_degrees_are_precise(turn, angle):
    k = torch.tensor([0.3, 1.7], dtype=torch.float64)
    a = math.radians(turn)
    turned = torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]]).double()
    assert TwoVectors(q=k @ turned, k=k).numbers()["angle"] == pytest.approx(angle, abs=1e-12)


def test_a_vector_of_length_0_has_no_angle():
    n = TwoVectors(q=[0, 0]).numbers()
    assert n["dot"] == 0
    assert math.isnan(n["angle"])
    assert math.isnan(n["cosine"])
    assert math.isnan(n["projection"])
    assert TwoVectors(k=[0, 0]).numbers()["projection"] == 0


def test_the_context_of_a_word_is_that_of_chapter_2():
    figure = SimpleAttention(query=1)
    weights = torch.softmax(X @ X[1], dim=0)
    torch.testing.assert_close(figure.weights, weights)
    torch.testing.assert_close(figure.context, weights @ X)
    assert figure.numbers()["sums"][-1] == pytest.approx(figure.context.tolist())


def test_with_cosine_similarity_every_word_looks_most_at_itself():
    figure = SimpleAttention()
    assert figure.numbers()["loyal"] == 2
    figure.cosine = True
    assert figure.numbers()["loyal"] == 6
    for query in range(6):
        figure.query = query
        assert figure.weights.argmax() == query
        assert figure.scores[query].item() == pytest.approx(1)


def test_a_low_temperature_gives_one_word_and_a_high_one_the_mean():
    hot, cold = SimpleAttention(temperature=5.0), SimpleAttention(temperature=0.05, cosine=True)
    assert (hot.weights - 1 / 6).abs().max() < 0.03
    torch.testing.assert_close(hot.context, X.mean(dim=0), atol=0.03, rtol=0)
    cold.query = 4
    assert cold.weights[4] > 0.99
    torch.testing.assert_close(cold.context, X[4], atol=0.01, rtol=0)


def test_a_word_of_zeros_weights_all_words_equally_by_cosine():
    figure = SimpleAttention(words=["a", "b"], embeddings=[[0, 0], [3, 4]], query=0, cosine=True)
    assert figure.weights.tolist() == [0.5, 0.5]
    assert figure.numbers()["loyal"] == 2


# --- on the page: what the sentence says ----------------------------------------------------


TWO = [
    ({"q": [2, 0], "k": [1.2, 1.6]}, "acute"),
    ({"q": [2, 0], "k": [-3, 1]}, "obtuse"),
    ({"q": [2, 1.5], "k": [-1.5, 2]}, "right angle"),
    ({"q": [4, 3], "k": [2, 1.5]}, "Same direction"),
    ({"q": [2, 1.5], "k": [2, 1.5]}, "the same vector"),
    ({"q": [-4, -3], "k": [2, 1.5]}, "Opposite"),
    ({"q": [0, 3], "k": [4, 3]}, "exactly as high as itself"),
    ({"q": [1, 2], "k": [4, 3]}, "beyond the tip of q: q scores k higher than itself"),
    ({"q": [0, 0], "k": [4, 3]}, "points nowhere"),
]
SIMPLE = [
    ({"query": 1}, "with 0.24, and next at “starts”, with 0.23. 2 of 6 words"),
    ({"query": 3}, "“journey” is longer: 1.22 against 0.70"),
    ({"query": 3, "cosine": True}, "6 of 6 words put themselves first"),
    ({"query": 4, "cosine": True, "temperature": 0.05}, "hardly more than the word"),
    ({"query": 4, "cosine": True, "temperature": 5}, "nearly the plain mean"),
]


@pytest.mark.parametrize(
    ("name", "states"), [("01_dot_products", TWO), ("02_simple_attention", SIMPLE)]
)
def test_the_sentence_says_what_the_numbers_mean(browser, site, name, states):
    root = figure_on(browser, site, name)
    for state, text in states:
        assert text in reading(root, state)
    root.page.close()


def test_each_button_does_what_its_label_says(browser, site):
    root = figure_on(browser, site, "01_dot_products")

    def numbers():
        return root.evaluate("root => root.figure.numbers()")

    for label, angle in (("at 90°", 90), ("against q", 180), ("along q", 0)):
        root.get_by_role("button", name=label).click()
        assert numbers()["angle"] == pytest.approx(angle, abs=1e-6)
        assert numbers()["length_k"] == pytest.approx(2)
    for name in ("k", "q"):
        twice, half = (root.get_by_role("button", name=f"{name} {change} 2") for change in "×÷")
        twice.click()
        assert numbers()[f"length_{name}"] == pytest.approx(4)
        assert twice.is_disabled()  # twice 4 would leave the plane
        half.click()
        assert numbers()[f"length_{name}"] == pytest.approx(2)
    root.evaluate("root => root.figure.put({ q: [0, 0], k: [0, 0] })")
    assert all(button.is_disabled() for button in root.get_by_role("button").all())
    root.page.close()


def test_new_words_and_widths_rebuild_the_elements_of_the_figure(browser, site):
    root = figure_on(browser, site, "02_simple_attention")
    x = [[1.0, 0.0], [0.0, 2.0]]
    state = {"words": ["早", "b"], "embeddings": x, "query": 0, "temperature": 1, "cosine": False}
    root.evaluate("(root, state) => root.figure.put(state)", state)
    figure = SimpleAttention(**state)
    assert root.locator("[data-control='query']").all_inner_texts() == ["早", "b"]
    assert root.locator("[data-control='query'] [lang=zh]").inner_text() == "早"
    shown = root.locator(".live-answer [data-key^='context.']").all_inner_texts()
    assert [float(text) for text in shown] == pytest.approx(figure.context.tolist(), abs=5e-5)
    root.locator("[data-control='query']").nth(1).click()
    figure.query = 1
    shown = root.locator("tbody [data-key^='weights.']").all_inner_texts()
    assert [float(text) for text in shown] == pytest.approx(figure.weights.tolist(), abs=5e-5)
    root.page.close()


@pytest.mark.parametrize("chapter", ["01_dot_products", "03_query_key_value"])
def test_a_finger_that_drags_a_tip_down_moves_the_tip_and_not_the_page(browser, site, chapter):
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    tab = context.new_page()
    tab.goto((site / "chapters" / f"{chapter}.html").as_uri())
    root = tab.locator("div[data-live] > .live-figure").first
    tip = root.locator(".live-grip").last
    tip.scroll_into_view_if_needed()
    box = tip.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = context.new_cdp_session(tab)
    before = root.evaluate("root => root.figure.state()"), tab.evaluate("scrollY")
    for step in range(14):  # small steps, as of a hand: a browser may take them for scrolling
        kind = "touchMove" if step else "touchStart"
        points = [{"x": x + step / 9, "y": y + 4 * step}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert tab.evaluate("scrollY") == before[1]
    moved = tip.bounding_box()
    assert moved["y"] + moved["height"] / 2 == pytest.approx(y + 52, abs=12)
    assert root.evaluate("root => root.figure.state()") != before[0]
    context.close()
