"""sketches.py: the drawings of chapter 15 show what their arguments say."""

import pytest

pytest.importorskip("seaborn", reason="needs attention-core[plot]")

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg

from attention_core import TransformerConfig, causal_mask, window_mask
from attention_core.sketches import (
    draw_key_heads,
    draw_language_model,
    draw_masks,
    draw_swiglu,
    draw_turns,
)

SIZES = {"src_vocab_size": 11, "tgt_vocab_size": 11, "d_model": 12, "d_ff": 16}


pytestmark = pytest.mark.usefixtures("book_style")


def texts(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def test_the_model_names_its_sizes_its_text_and_the_answer():
    config = TransformerConfig(num_heads=6, num_kv_heads=2, num_layers=5, **SIZES)
    shown = texts(draw_language_model(config, tokens=["good", "mor"], answer="ning"))
    assert {"good mor", "ning", "2 key-value heads for 6 query heads", "layer × 5"} <= set(shown)
    parts = [text for text in shown if text in ("RMSNorm", "add", "causal attention", "SwiGLU")]
    assert parts == [
        "RMSNorm", "causal attention", "add", "RMSNorm", "SwiGLU", "add", "RMSNorm",
    ]  # fmt: skip


def test_no_texts_of_the_model_overlap():
    config = TransformerConfig(num_heads=6, num_kv_heads=2, num_layers=5, **SIZES)
    figure = draw_language_model(config, tokens=["good"], answer="morning")
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    assert not [1 for i, a in enumerate(boxes) for b in boxes[:i] if a.overlaps(b)]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)


def test_turned_arrows_end_at_the_turned_vectors():
    query, key = torch.tensor([2.0, 0.0]), torch.tensor([0.0, 1.0])
    figure = draw_turns(query, key, [(0, 0), (3, 1)])
    still, moved = figure.axes
    assert still.get_title() == "90.0°, score 0.0000"
    tips = [text.xy for text in moved.texts if text.get_text() == ""]
    angle = torch.tensor(3.0)
    expected = (2 * angle.cos().item(), 2 * angle.sin().item())
    assert any(tip == pytest.approx(expected, abs=1e-6) for tip in tips)
    assert {"q, 3", "k, 1"} <= set(texts(figure))


def test_the_arc_spans_the_angle_from_key_to_query():
    # The angle is 1 - 3 - pi/4 radians, seen from the key.
    figure = draw_turns(torch.tensor([2.0, 0.0]), torch.tensor([1.0, 1.0]), [(1, 3)])
    (ax,) = figure.axes
    assert ax.get_title() == "159.6°, score -2.6509"
    (arc,) = ax.patches
    assert arc.theta2 - arc.theta1 == pytest.approx(159.6, abs=0.05)
    assert arc.theta1 % 360 == pytest.approx(57.3, abs=0.05)  # where the query lies


def test_an_odd_number_of_panels_leaves_room_for_a_legend():
    figure = draw_turns(torch.ones(2), torch.ones(2), [(0, 0), (1, 1), (2, 2)])
    assert len(figure.axes) == 4
    assert "solid: after it" in figure.axes[3].texts[0].get_text()


def test_swiglu_shows_its_widths_and_the_three_curves():
    figure = draw_swiglu(6, 10)
    flow, curves = figure.axes
    shown = [text.get_text() for text in flow.texts]
    assert shown.count("10 numbers") == 3
    assert {"x: 6 numbers", "6 numbers", "$W_g$", "$W_1$", "$W_2$"} <= set(shown)
    lowest = {line.get_label(): min(line.get_ydata()) for line in curves.lines}
    assert lowest["ReLU"] == 0
    assert lowest["GELU"] == pytest.approx(-0.170, abs=1e-3)
    assert lowest["SiLU"] == pytest.approx(-0.278, abs=1e-3)


@pytest.mark.parametrize(("kv_heads", "kind"), [(6, "multi-head"), (2, "grouped"), (1, "multi-q")])
def test_each_query_head_has_one_line_to_its_key_head(kv_heads, kind):
    (ax,) = draw_key_heads(6, [kv_heads]).axes
    assert ax.get_title(loc="left").startswith(kind)
    ends = [line.get_xdata() for line in ax.lines]
    assert [end[0] for end in ends] == list(range(6))
    assert [round(end[1] - end[0], 1) for end in ends][: 6 // kv_heads] == [
        (6 // kv_heads - 1) / 2 - i for i in range(6 // kv_heads)
    ]
    assert len({end[1] for end in ends}) == kv_heads


def test_masks_are_drawn_cell_by_cell():
    masks = {"all before": causal_mask(5), "near": window_mask(5, 2, sinks=1)}
    figure = draw_masks(masks)
    for ax, (name, mask) in zip(figure.axes, masks.items(), strict=True):
        assert ax.get_title() == name
        assert ax.collections[0].get_array().reshape(5, 5).tolist() == mask.int().tolist()


def test_marked_cells_of_a_mask_have_a_colour_of_their_own():
    mask, first = window_mask(4, 2, sinks=1), torch.arange(4).expand(4, 4) == 0
    (ax,) = draw_masks({"near": mask}, marked={"near": first}).axes
    cells = ax.collections[0].get_array().reshape(4, 4).tolist()
    assert cells == [[2, 0, 0, 0], [2, 1, 0, 0], [2, 1, 1, 0], [2, 0, 1, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: draw_masks({"a": causal_mask(2)}, marked={"b": causal_mask(2)}),
            r"marked must have the names and shapes of masks, got 'b'",
        ),
        (lambda: draw_swiglu(0, 4), r"d_model must be at least 1, got 0"),
        (
            lambda: draw_turns(torch.zeros(2), torch.ones(2), [(0, 0)]),
            r"query must not be zero, since an arrow needs a direction",
        ),
        (lambda: draw_key_heads(6, [4]), r"kv_heads must divide num_heads=6, got 4"),
        (lambda: draw_key_heads(0, [1]), r"num_heads must be at least 1, got 0"),
        (lambda: draw_masks({}), r"masks must hold at least 1 mask, got none"),
        (lambda: draw_masks({"a": torch.ones(2).bool()}), r"mask 'a' must have shape \(L, S\)"),
        (
            lambda: draw_turns(torch.ones(3), torch.ones(2), [(0, 0)]),
            r"query must have shape \(2,\), got \(3,\)",
        ),
        (
            lambda: draw_turns(torch.ones(2), torch.ones(2), []),
            r"places must hold at least 1 pair of positions, got none",
        ),
    ],
)
def test_a_bad_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
