"""The figure of chapter 5: which inputs reach which outputs through a painted mask."""

from __future__ import annotations

import random

import pytest
import torch
import traitlets

from attention_core import attention_weights, causal_mask, padding_mask
from attention_core.widgets import MaskPainter
from attention_core.widgets.mask_painter import NOISE

WORDS = MaskPainter().words

BAD = [
    (lambda: MaskPainter(mask=[[0.5]]), r"mask must hold only True and False, got \[\[0\.5\]\]"),
    (lambda: MaskPainter(mask=[[1, 0]]), r"mask must have shape \(n, n\), got \(1, 2\)"),
    (lambda: MaskPainter(mask=[[1]]), r"mask must have a row for each of the 6 words"),
    (lambda: MaskPainter(mask="all"), "mask must be a square table of True and False"),
    (lambda: MaskPainter(embeddings=[[1.0]]), "embeddings must have a row for each of the 6"),
    (lambda: MaskPainter(embeddings=[[]] * 6), r"embeddings .*got shape \(6, 0\)"),
    (lambda: MaskPainter(embeddings=[[5.0]] * 6), "embeddings must lie between -4 and 4"),
    (lambda: MaskPainter(layers=0), "layers"),
    (lambda: MaskPainter(layers=6), "layers"),
    (lambda: MaskPainter(words=["one"], mask=[[1]], embeddings=[[1.0]]), "words"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


def painter(mask, layers=1, seed=0):
    """A figure for a mask of any size, with vectors of moderate length."""
    g = torch.Generator().manual_seed(seed)
    size = len(mask)
    x = 2 * torch.rand(size, 3, generator=g, dtype=torch.float64) - 1
    words = [f"w{i}" for i in range(size)]
    return MaskPainter(words=words, embeddings=x, mask=mask, layers=layers)


def random_masks(number, *, size, share=(0.2, 0.5, 0.8)):
    draw = random.Random(size)
    for _ in range(number):
        p = draw.choice(share)
        yield torch.tensor([[draw.random() < p for _ in range(size)] for _ in range(size)])


def test_the_causal_mask_reaches_what_the_chapter_prints():
    printed = """
        2.00    0    0    0    0    0
        1.73 1.90    0    0    0    0
        1.48 1.52 1.92    0    0    0
        0.96 1.03 1.02 1.64    0    0
        0.73 0.77 0.77 0.60 1.50    0
        0.92 1.01 1.00 0.76 0.59 1.96"""
    rows = [[float(x) for x in line.split()] for line in printed.strip().splitlines()]
    figure = MaskPainter(mask=causal_mask(6))
    assert (figure.reach - torch.tensor(rows)).abs().max() <= 0.005
    assert figure.numbers()["future"] == 0


def test_padding_gets_nothing_from_the_words_of_the_chapter():
    real = padding_mask(torch.tensor([[1, 2, 3, 0, 0, 0]]), 0)[0, 0].expand(6, 6)
    weights = MaskPainter(mask=real).weights
    rows = torch.tensor([[0.34, 0.33, 0.33], [0.27, 0.37, 0.36], [0.27, 0.37, 0.36]])
    assert (weights[:3, :3] - rows).abs().max() <= 0.005
    assert not weights[:, 3:].any()


def test_the_mask_of_the_figure_can_be_given_to_the_package():
    figure = MaskPainter(mask=causal_mask(6))
    assert torch.equal(figure.mask, causal_mask(6))
    again = attention_weights(figure.embeddings, figure.embeddings, figure.mask)
    assert torch.equal(figure.weights, again)


def test_one_wrong_cell_leaks_the_future_to_more_outputs_with_each_layer():
    future = [MaskPainter(layers=n).numbers()["future"] for n in (1, 2, 3)]
    assert future == [1, 5, 6]
    assert MaskPainter().numbers()["sums"] == pytest.approx([1] * 6)


def test_a_window_of_one_back_reaches_one_further_with_each_layer():
    window = causal_mask(6).triu(-1)
    for layers in range(1, 6):
        reached = painter(window, layers).reach > NOISE
        assert torch.equal(reached, causal_mask(6).triu(-layers))


def test_a_causal_mask_stays_causal_through_all_layers():
    for layers in range(1, 6):
        assert painter(causal_mask(5), layers).numbers()["future"] == 0


def test_with_its_diagonal_the_reach_is_the_boolean_power_of_the_mask():
    for mask in random_masks(40, size=5):
        mask |= torch.eye(5, dtype=torch.bool)
        power = torch.eye(5)
        for layers in range(1, 4):
            power = (mask.float() @ power > 0).float()
            assert torch.equal(painter(mask, layers).reach > NOISE, power > 0)


def expected_reach(mask, layers):
    """Return which input must reach which output, by symbols, without computing numbers.

    A row that may look at equal vectors only returns that vector, whatever its query is. With
    different vectors the weights matter, and so does the query: its own input reaches the row
    even where the mask forbids it.
    """
    size = len(mask)
    rows = [("input", i) for i in range(size)]
    inputs = {("input", i): {i} for i in range(size)} | {"zero": set()}
    for _ in range(layers):
        mixed = []
        for i in range(size):
            keys = sorted(repr(rows[j]) for j in range(size) if mask[i][j])
            seen = {rows[j] for j in range(size) if mask[i][j]}
            if len(seen) < 2:
                mixed.append(next(iter(seen), "zero"))
                continue
            row = ("mix", repr(rows[i]), *keys)
            inputs[row] = inputs[rows[i]].union(*(inputs[key] for key in seen))
            mixed.append(row)
        rows = mixed
    return torch.tensor([[j in inputs[row] for j in range(size)] for row in rows])


def test_without_its_diagonal_a_query_still_reaches_its_own_output():
    blocked = causal_mask(4).tril(-1)
    assert (painter(blocked).reach > NOISE).int().tolist() == [
        [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]
    ]  # fmt: skip
    assert torch.equal(expected_reach(blocked, 1), painter(blocked).reach > NOISE)


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_reach_of_any_mask_follows_from_its_cells(size, layers):
    for seed, mask in enumerate(random_masks(40, size=size)):
        found = painter(mask, layers, seed).reach > NOISE
        assert torch.equal(found, expected_reach(mask, layers)), mask.int()


# --- painting in a browser: what a click at a single cell does not show -----------------------


@pytest.fixture
def tab(browser, address):
    context = browser.new_context(
        viewport={"width": 390, "height": 900}, has_touch=True, reduced_motion="reduce"
    )
    tab = context.new_page()
    tab.goto(address + "chapters/05_masks.html")
    tab.locator(".live-paint").scroll_into_view_if_needed()
    yield tab
    context.close()


def cell(tab, query, key):
    return tab.get_by_role("button", name=f"{query} may look at {key}", exact=True)


def changed(tab):
    now = tab.locator(".live-figure").evaluate("e => e.figure.state().mask")
    before = MaskPainter().mask
    return {tuple(pair) for pair in (torch.tensor(now).bool() != before).nonzero().tolist()}


def centre(tab, query, key):
    box = cell(tab, query, key).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_drag_sets_every_cell_to_the_new_value_of_the_first(tab):
    tab.mouse.move(*centre(tab, "Your", "starts"))
    tab.mouse.down()
    tab.mouse.move(*centre(tab, "Your", "step"), steps=12)
    tab.mouse.move(*centre(tab, "journey", "step"), steps=4)
    tab.mouse.up()
    # A drag sets cells and does not toggle them: the cell that was open stays open.
    tab.mouse.move(*centre(tab, "journey", "one"), steps=4)
    assert changed(tab) == {(0, 2), (0, 3), (0, 4), (0, 5), (1, 5)}


def test_a_finger_paints_and_does_not_scroll(tab):
    session = tab.context.new_cdp_session(tab)
    before = tab.evaluate("scrollY")
    path = [centre(tab, word, "Your") for word in WORDS[5:2:-1]]
    for kind, (x, y) in zip(("touchStart", "touchMove", "touchMove"), path, strict=True):
        event = {"type": kind, "touchPoints": [{"x": x, "y": y}]}
        session.send("Input.dispatchTouchEvent", event)
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert changed(tab) == {(5, 0), (4, 0), (3, 0)}
    assert tab.evaluate("scrollY") == before


def test_the_cells_are_one_stop_for_the_tab_key_and_arrows_move_inside(tab):
    assert tab.locator(".live-paint button[tabindex='0']").count() == 1
    cell(tab, "Your", "Your").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Space", "ArrowUp", "ArrowUp", "Enter"):
        tab.keyboard.press(key)  # the last ArrowUp stops at the edge
    assert changed(tab) == {(1, 2), (0, 2)}
    tab.keyboard.press("End")
    assert cell(tab, "Your", "step").evaluate("e => e === document.activeElement")
    assert tab.locator(".live-paint button[tabindex='0']").count() == 1
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.closest('.live-paint')") is None


def test_a_click_without_a_pointer_toggles_a_cell(tab):
    """What assistive technology sends, also after a drag that ended elsewhere."""
    tab.mouse.move(*centre(tab, "Your", "starts"))
    tab.mouse.down()
    tab.mouse.move(*centre(tab, "Your", "with"), steps=4)
    tab.mouse.up()
    cell(tab, "step", "step").evaluate("e => e.click()")
    assert changed(tab) == {(0, 2), (0, 3), (5, 5)}


def test_presets_are_masks_of_the_package(tab):
    wanted = {
        "all": torch.ones(6, 6, dtype=torch.bool),
        "causal": causal_mask(6),
        "padding": padding_mask(torch.tensor([[1, 2, 3, 0, 0, 0]]), 0)[0, 0].expand(6, 6),
        "window": causal_mask(6).triu(-1),
    }
    for name, mask in wanted.items():
        button = tab.locator(".live-figure").get_by_role("button", name=name, exact=True)
        button.click()
        state = tab.locator(".live-figure").evaluate("e => e.figure.state().mask")
        assert torch.equal(torch.tensor(state).bool(), mask)
        assert button.get_attribute("aria-pressed") == "true"
