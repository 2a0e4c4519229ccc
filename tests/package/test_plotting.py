"""plotting.py: drawn as given, legible in both themes, no empty boxes for missing glyphs."""

import base64
import io
import warnings

import pytest

pytest.importorskip("seaborn", reason="needs attention-core[plot]")

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch
from contrast import contrast, dark_theme
from matplotlib.colors import to_rgb
from PIL import Image

from attention_core import plotting

TABLE = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]])


pytestmark = pytest.mark.usefixtures("book_style")


@pytest.fixture
def displayed(monkeypatch):
    """What `show` hands to the notebook: a list of (data, metadata)."""
    import IPython.display

    outputs = []
    monkeypatch.setattr(
        IPython.display, "display", lambda data, *, metadata, raw: outputs.append((data, metadata))
    )
    return outputs


def picture(displayed):
    data, _ = displayed[-1]
    return Image.open(io.BytesIO(base64.b64decode(data["image/png"]))).convert("RGB")


# ------------------------------------------------------------------- heat map


def test_rows_are_queries_and_columns_are_keys():
    ax = plotting.heatmap(TABLE, ["q1", "q2"], ["k1", "k2", "k3"], decimals=3)
    ax.figure.draw_without_rendering()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["q1", "q2"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["k1", "k2", "k3"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    # The cells show the table, row by row from the top.
    assert [t.get_text() for t in ax.texts] == [f"{x:.3f}" for x in TABLE.flatten()]
    positions = [tuple(t.get_position()) for t in ax.texts]
    assert positions == [(c + 0.5, r + 0.5) for r in range(2) for c in range(3)]
    assert ax.yaxis_inverted()


def test_a_cell_that_rounds_to_zero_has_no_sign():
    ax = plotting.heatmap(torch.tensor([[-0.04, 0.04]]), ["a"], ["b", "c"], decimals=1)
    assert [text.get_text() for text in ax.texts] == ["0.0", "0.0"]


def test_a_darker_cell_is_a_larger_number():
    ax = plotting.heatmap(TABLE, ["a", "b"], ["c", "d", "e"])
    colors = ax.collections[0].get_facecolor()
    darkness = [contrast("white", tuple(c)) for c in colors]
    numbers = TABLE.flatten().tolist()
    assert sorted(range(6), key=darkness.__getitem__) == sorted(range(6), key=numbers.__getitem__)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("diverging", [False, True])
def test_every_number_is_legible_on_its_cell(dark, diverging):
    plotting.use_book_style(dark=dark)
    table = torch.linspace(-1.0 if diverging else 0.0, 1.0, 36).view(6, 6)
    ax = plotting.heatmap(table, "abcdef", "abcdef", diverging=diverging)
    for text, cell in zip(ax.texts, ax.collections[0].get_facecolor(), strict=True):
        ink, paper = text.get_color(), tuple(cell)
        assert contrast(ink, paper) >= 4.5
        assert contrast(dark_theme(ink), dark_theme(paper)) >= 4.5


def test_a_diverging_map_is_white_at_zero():
    ax = plotting.heatmap(torch.tensor([[-1.0, 0.0, 0.5]]), "q", "abc", diverging=True)
    # 256 colours have no exact middle: the two next to it are almost white.
    assert ax.collections[0].get_facecolor()[1] == pytest.approx([1, 1, 1, 1], abs=0.02)
    assert ax.collections[0].get_clim() == (-1.0, 1.0)


def test_a_table_of_zeros_can_be_drawn():
    ax = plotting.heatmap(torch.zeros(1, 2), "q", "kl")
    assert ax.collections[0].get_clim() == (0.0, 1.0)


@pytest.mark.parametrize(
    ("table", "error", "text"),
    [
        (torch.zeros(3, 2), ValueError, r"\(2, 3\), got shape \(3, 2\)"),
        (torch.zeros(1, 2, 3), ValueError, r"\(2, 3\), got shape \(1, 2, 3\)"),
        (torch.zeros(2, 3).long(), TypeError, "table must be a floating-point tensor"),
    ],
)
def test_a_table_that_does_not_fit_its_labels_is_named(table, error, text):
    with pytest.raises(error, match=text):
        plotting.heatmap(table, ["q1", "q2"], ["k1", "k2", "k3"])


# ---------------------------------------------------------------------- fonts


def test_chinese_labels_are_drawn_without_a_warning(displayed):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        words = list("早上好注词码询键值头编译")
        assert plotting.readable_labels(words) == words
        assert plotting.readable_labels(["two\nlines"]) == ["two\nlines"]
        ax = plotting.heatmap(torch.ones(1, 12), ["−1"], words)
        plotting.show(ax.figure, alt="twelve Chinese characters in a row")
    assert "Noto Sans SC" in mpl.rcParams["font.family"]


def test_without_a_chinese_font_a_label_becomes_its_position_quietly(displayed, monkeypatch):
    monkeypatch.setattr(plotting, "_chinese_font", lambda: None)
    plotting.use_book_style()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plotting.readable_labels(["ok", "早", "好!"]) == ["ok", "token 2", "token 3"]
        ax = plotting.heatmap(torch.ones(1, 2), ["早"], ["早", "上"])
        plotting.show(ax.figure, alt="a heat map without a Chinese font")
    assert [t.get_text() for t in ax.get_xticklabels()] == ["token 1", "token 2"]


def test_a_missing_font_package_is_no_error(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pylopdf_fonts_zh_cn", None)
    assert plotting._chinese_font.__wrapped__() is None


# --------------------------------------------------------------------- colours


@pytest.mark.parametrize("role", plotting.ROLE_COLORS)
def test_role_colours_have_aa_contrast_in_every_theme(role):
    light, dark = plotting.ROLE_COLORS[role], plotting.ROLE_COLORS_DARK[role]
    assert contrast(light, plotting.PAPER) >= 4.5
    assert contrast(dark, plotting.PAPER_DARK) >= 4.5
    # The same picture seen through the dark theme's filter.
    assert contrast(dark_theme(light), dark_theme(plotting.PAPER)) >= 4.5


def test_contrast_agrees_with_the_definition():
    assert contrast("black", "white") == pytest.approx(21)
    assert contrast("#767676", "white") == pytest.approx(4.54, abs=0.01)
    assert contrast("red", "red") == 1


def test_the_dark_style_draws_on_dark_paper(displayed):
    plotting.use_book_style(dark=True)
    ax = plotting.heatmap(TABLE, ["q1", "q2"], ["k1", "k2", "k3"])
    assert contrast(ax.xaxis.label.get_color(), plotting.PAPER_DARK) >= 4.5
    plotting.show(ax.figure, alt="a heat map on a dark background")
    assert picture(displayed).getpixel((0, 0)) == tuple(
        round(255 * c) for c in to_rgb(plotting.PAPER_DARK)
    )


# ------------------------------------------------------------------------ show


def test_show_gives_one_picture_at_double_resolution_with_its_alt_text(displayed):
    fig, _ = plt.subplots(figsize=(4, 2))
    plotting.show(fig, alt="an empty pair\n   of axes, four by two")
    data, metadata = displayed[-1]
    assert data["text/plain"] == "an empty pair of axes, four by two"
    assert metadata == {"image/png": {"width": 400, "height": 200, "alt": data["text/plain"]}}
    assert picture(displayed).size == (800, 400)
    assert not plt.get_fignums(), "the figure must be closed, or it is shown twice"


def test_a_light_picture_has_the_same_size_and_fewer_bytes(displayed):
    for light in (False, True):
        fig = plotting.heatmap(TABLE, ["q1", "q2"], ["k1", "k2", "k3"]).figure
        plotting.show(fig, alt="the same heat map drawn twice", light=light)
    full, small = displayed
    assert small[1] == full[1]
    assert [2 * n for n in picture(displayed).size] == [1.5 * n for n in picture([full]).size]
    assert len(small[0]["image/png"]) < 0.75 * len(full[0]["image/png"])


def test_show_gives_the_same_bytes_each_time(displayed):
    for _ in range(2):
        ax = plotting.heatmap(TABLE, ["q1", "q2"], ["k1", "k2", "k3"])
        plotting.show(ax.figure, alt="the same heat map drawn twice")
    (first, _), (second, _) = displayed
    assert first == second


def test_show_requires_an_alt_text_of_20_characters(displayed):
    fig, _ = plt.subplots()
    with pytest.raises(ValueError, match="alt must say in at least 20 characters"):
        plotting.show(fig, alt="heat map")
    assert not displayed
