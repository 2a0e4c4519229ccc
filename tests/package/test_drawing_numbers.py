"""The numbers in the drawing that grows are those of attention, by a reference without torch."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import oracle
import pytest
import torch

from attention_core import drawing
from attention_core.drawing import _blocks, _book, _machine, _scene
from attention_core.drawing._pen import Pen
from attention_core.drawing._text import math_text, number, rounded
from attention_core.museum import EXHIBITS
from attention_core.published import load_table

SVG = "{http://www.w3.org/2000/svg}"
INSIDE = [1, 2, 3, 4, 5]


def shown(chapter):
    """The texts of a drawing, in order, with a plain minus."""
    root = ElementTree.fromstring(drawing.svg(chapter))
    return ["".join(t.itertext()).replace("−", "-") for t in root.iter(f"{SVG}text")]


def reference(chapter):
    """Queries, keys, values, weights and mixtures of a scene, in NumPy."""
    scene = _book.SCENES[chapter]
    x = np.array(scene.x, dtype=float)
    q, k, v = (x if w is None else x @ np.array(w) for w in (scene.w_q, scene.w_k, scene.w_v))
    if scene.has("one"):
        q = q[scene.focus : scene.focus + 1]
    mask = np.tri(len(q), dtype=bool) if scene.has("mask") else None
    scale = 1 if scene.has("divide") or scene.view == "blocks" else math.sqrt(k.shape[1])
    weights, mixture = oracle.attention(q * scale, k, v, mask)
    return q, k, v, weights, mixture


@pytest.mark.parametrize("chapter", INSIDE)
def test_the_steps_of_attention_agree_with_a_reference_without_torch(chapter):
    steps, (q, k, v, weights, mixture) = _scene.Numbers(_book.SCENES[chapter]), reference(chapter)
    for mine, theirs in zip((steps.q, steps.k, steps.v), (q, k, v), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
    np.testing.assert_allclose(steps.scores, q @ k.T, atol=1e-12)
    np.testing.assert_allclose(steps.weights, weights, atol=1e-12)
    np.testing.assert_allclose(steps.mixture, mixture, atol=1e-12)


@pytest.mark.parametrize("chapter", INSIDE)
def test_the_drawing_shows_each_number_rounded(chapter):
    q, k, v, weights, mixture = reference(chapter)
    scene, tight = _book.SCENES[chapter], chapter == 2
    texts = shown(chapter)
    inputs = q @ k.T / (math.sqrt(k.shape[1]) if scene.has("divide") else 1)
    row = 0 if scene.has("one") else scene.focus
    for table in (q @ k.T, weights, k, v, inputs if not scene.has("mask") else weights):
        for x in np.ravel(table):
            said = number(float(x), tight=tight).replace("−", "-")
            assert texts.count(said) >= 1, said
    wanted = [number(x, 2, tight=tight) for x in mixture[row]]
    assert any(texts[i : i + len(wanted)] == wanted for i in range(len(texts)))
    assert texts.count("-∞") == (3 if scene.has("mask") else 0)


def test_the_sums_on_paper_are_right_with_the_numbers_that_stand_there():
    texts = " ".join(shown(1))
    score = re.search(r"((?:\d·\d \+? ?\+? ?)+)= 11", texts)[1]
    pairs = re.findall(r"(\d)·(\d)", score)
    assert len(pairs) == 5
    assert sum(int(a) * int(b) for a, b in pairs) == 11
    pairs = re.findall(r"(0\.\d\d)·(\d)", texts)
    assert number(sum(float(a) * int(b) for a, b in pairs)) == "1.42"
    assert "= 1.42" in texts


@pytest.mark.parametrize("chapter", [3, 4, 5])
def test_rounded_weights_add_up_to_1_and_give_the_rounded_mixtures(chapter):
    steps = _scene.Numbers(_book.SCENES[chapter])
    weights = np.array([[float(number(w)) for w in row] for row in steps.weights])
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-9)
    row = _book.SCENES[chapter].focus
    mixed = weights[row] @ np.array(steps.v)
    assert [number(x, 2) for x in mixed] == [number(x, 2) for x in steps.mixture[row]]


def test_the_captions_say_what_the_numbers_are():
    third, fourth, fifth = (_scene.Numbers(_book.SCENES[n]).weights for n in (3, 4, 5))
    said = _book.SCENES[3].about
    scores = _scene.Numbers(_book.SCENES[3]).scores
    assert f"早 gives 上 {scores[0][1]:.0f}, and 上 gives 早 {scores[1][0]:.0f}." in said
    # Chapter 4: the weights are more even. Chapter 5: 上 sees only 早 and itself.
    for before, after in zip(third, fourth, strict=True):
        assert max(after) < max(before)
        assert min(after) > min(before)
    assert [w > 0 for w in fifth[1]] == [True, True, False]
    # Chapter 14: each token, but the first, looks at the one before it.
    map_02 = load_table("journey")["map_0.2"]
    assert map_02[1:].argmax(dim=1).tolist() == list(range(len(map_02) - 1))


def test_a_sum_that_would_not_come_out_on_paper_is_refused():
    assert _scene.sum_to_show([0.25, 0.75], [[1.0], [2.0]])[1] == 1.75
    with pytest.raises(ValueError, match="weights must give their mixture when both are rounded"):
        _scene.sum_to_show([1 / 3, 1 / 3, 1 / 3], [[1.0], [1.0], [1.0]])


def test_blocks_give_the_mixture_of_chapter_4():
    steps, (_, _, _, _, mixture) = _blocks.Blocks(_book.SCENES[13]), reference(13)
    np.testing.assert_allclose(steps.new, mixture[0], atol=1e-12)
    assert steps.new == pytest.approx(_scene.Numbers(_book.SCENES[4]).mixture[0])
    scores = reference(4)[0][0] @ reference(4)[1].T / math.sqrt(2)
    m = scores[:2].max()
    powers = np.exp(scores[:2] - m)
    values = reference(4)[2]
    wanted = [m, powers.sum(), *(powers @ values[:2])]
    assert _blocks.cells(steps.summaries[0]) == pytest.approx(wanted)
    texts = shown(13)
    for x in [*wanted, *_blocks.cells(steps.summaries[1]), *_blocks.cells(steps.merged)]:
        assert number(float(x)) in texts


def test_the_places_of_chapter_7_are_sines_and_cosines():
    texts = shown(7)
    for place in range(3):
        for angle in (place, place / 100):
            assert number(math.sin(angle)).replace("−", "-") in texts
            assert number(math.cos(angle)).replace("−", "-") in texts


def shades(svg):
    """The places of the cells of weights, in order, each with its opacity."""
    cells = {}
    for shade, data in re.findall(r'class="dr-fill dr-w" style="--o:([\d.]+)" d="([^"]*)"', svg):
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)", data):
            cells[float(y), float(x)] = float(shade)
    return [shade for _, shade in sorted(cells.items())]


def test_the_tables_of_chapter_14_are_recorded_weights():
    table = load_table("journey")
    wanted = []
    for rows in zip(*(table[f"map_{name}"].tolist() for name in ("0.2", "3.1")), strict=True):
        for row in rows:  # the two tables stand side by side
            wanted += [0.06 + 0.62 * w / max(row) for w in row]
    assert shades(drawing.svg(14)) == pytest.approx(wanted, abs=0.011)


def test_each_mistake_of_the_museum_is_counted_at_one_place():
    counts = _machine.count_mistakes()
    assert counts.total() == len(EXHIBITS)
    assert counts["norm"] == sum(e.target.startswith("layers.LayerNorm") for e in EXHIBITS)
    texts = shown(12)
    for name, count in counts.items():
        assert texts[texts.index(name) - 1] == str(count)
    assert f"{len(EXHIBITS)} in all. Attention itself holds {counts['attention']}" in (
        _book.scene_of(12).about
    )


def test_masked_weights_are_left_out_and_the_rest_of_a_row_adds_up_to_1():
    triangle = torch.tensor(_machine.pattern(4, 4, causal=True))
    assert torch.equal(triangle == 0, torch.ones(4, 4, dtype=torch.bool).triu(1))
    for table in (triangle, torch.tensor(_machine.crossing(4, 5))):
        torch.testing.assert_close(table.sum(dim=1), torch.ones(len(table)))
    pen = Pen("all", {})
    pen.weights(0, 0, triangle.tolist(), 8, 8)
    assert len(shades("".join(pen.out))) == 10


@pytest.mark.parametrize(
    ("x", "text"),
    [(1.495, "1.50"), (1.4949999999999999, "1.50"), (-0.004, "0.00"), (0.0, "0"), (2.0, "2"),
     (0.9999999999, "1"), (-0.416, "−0.42"), (math.inf, "∞"), (-math.inf, "−∞")],
)  # fmt: skip
def test_numbers_are_rounded_half_up_and_never_show_a_signed_zero(x, text):
    assert number(x) == text
    assert rounded(-0.0001, 2) == "0.00"


def test_a_raised_letter_does_not_move_what_follows():
    drops = [float(d) for d in re.findall(r'dy="(-?[\d.]+)"', math_text("W^q W^k d_k x"))]
    assert sum(drops) == 0
    assert math_text("a < b").count("&lt;") == 1
