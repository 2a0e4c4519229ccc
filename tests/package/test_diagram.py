"""diagram.py: the right shapes in the right places, and nothing on top of anything else."""

import re
from itertools import combinations

import pytest

pytest.importorskip("seaborn", reason="needs attention-core[plot]")

import matplotlib as mpl
import matplotlib.pyplot as plt
from contrast import contrast, dark_theme
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from attention_core import TransformerConfig, plotting
from attention_core.diagram import draw_transformer

SMALL = {"src_vocab_size": 11, "tgt_vocab_size": 11, "d_model": 4, "num_heads": 2}
SMALL |= {"num_layers": 2, "d_ff": 16, "tie_embeddings": True}
BASE = {"src_vocab_size": 32_000, "tgt_vocab_size": 37_000}  # the rest as in the paper
MORNING = {
    "source": ["大", "家", "早", "上", "好"],
    "target": ["BOS", "good", "morning", "everyone", "EOS"],
}
SHORT = {"source": ["hi"], "target": ["BOS", "EOS"]}
LONG = {
    "source": ["internationalisation" * 5, *["word"] * 800],
    "target": ["BOS", *["一二三四五六七八九十" * 3] * 1200],
}


@pytest.fixture(autouse=True)
def no_figure_stays(book_style):
    yield
    assert not plt.get_fignums(), "a figure that pyplot keeps would be shown twice"


def draw(sizes, sentences):
    return draw_transformer(TransformerConfig(**sizes), **sentences)


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def patches(figure, kind):
    return [patch for patch in figure.axes[0].patches if isinstance(patch, kind)]


def extents(figure, artists):
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    return [artist.get_window_extent(renderer) for artist in artists]


# ----------------------------------------------------------------------- texts


@pytest.mark.parametrize(
    ("sizes", "sentences", "wanted"),
    [
        (
            SMALL,
            MORNING,
            """source | 大 家 早 上 好 | embedding × √4 + position | (5, 4) | encoder × 2
            self-attention weights (5, 5) | feed-forward 4 → 16 → 4
            memory (5, 4) for each decoder layer
            target, shifted right | BOS good morning everyone | (4, 4) | decoder × 2
            masked self-attention weights (4, 4) | cross-attention weights (4, 5)
            projection, softmax chances (4, 11) | to be said: | good morning everyone EOS
            mixes tokens | each token alone | E | one table (11, 4)""",
        ),
        (
            BASE,
            SHORT,
            """source | hi | embedding × √512 + position | (1, 512) | encoder × 6
            self-attention weights (1, 1) | feed-forward 512 → 2048 → 512
            memory (1, 512) for each decoder layer
            target, shifted right | BOS | (1, 512) | decoder × 6
            masked self-attention weights (1, 1) | cross-attention weights (1, 1)
            projection, softmax chances (1, 37000) | to be said: | EOS
            mixes tokens | each token alone""",
        ),
    ],
    ids=["small", "base"],
)
def test_the_shapes_are_those_of_the_config_and_the_sentences(sizes, sentences, wanted):
    found = {" ".join(text.split()) for text in texts(draw(sizes, sentences))}
    assert found - {"q", "k", "v", "add & norm"} == {
        part.strip() for part in re.split(r"[|\n]", wanted)
    }


def test_shared_embeddings_are_marked_at_each_use():
    marked = draw(SMALL, MORNING)
    circles = patches(marked, Circle)
    assert texts(marked).count("E") == len(circles) == 4  # the last explains the others
    for (_, y), text in zip(
        sorted((c.center for c in circles[:3]), key=lambda center: center[1]),
        ("embedding", "embedding", "projection"),
        strict=True,
    ):
        below = [t for t in marked.axes[0].texts if t.get_text().startswith(text)]
        assert min(y - t.get_position()[1] for t in below) == pytest.approx(0.31)
    untied = draw(SMALL | {"tie_embeddings": False}, MORNING)
    assert not patches(untied, Circle)
    assert not any("E" in text.split() or "table" in text for text in texts(untied))


@pytest.mark.parametrize(
    ("norm_first", "counts"),
    [
        (False, {"add & norm": 5, "add": 0, "norm": 0}),
        # Five in the layers, and one after each stack.
        (True, {"add & norm": 0, "add": 5, "norm": 7}),
    ],
)
def test_norms_stand_where_the_config_has_them(norm_first, counts):
    found = texts(draw(SMALL | {"norm_first": norm_first}, MORNING))
    assert {text: found.count(text) for text in counts} == counts


def test_the_boxes_stand_in_the_order_of_the_computation_from_bottom_to_top():
    by_height = sorted(draw(SMALL, MORNING).axes[0].texts, key=lambda t: t.get_position()[1])
    right = [t.get_text().split("\n")[0] for t in by_height if t.get_position()[0] == 4.83]
    assert right == [
        "target, shifted right",
        "BOS good morning everyone",
        "embedding × √4",
        "masked self-attention",
        "add & norm",
        "cross-attention",
        "add & norm",
        "feed-forward",
        "add & norm",
        "projection, softmax",
        "good morning everyone EOS",
        "to be said:",
    ]


def test_a_long_row_is_shortened_in_its_middle_and_a_long_token_at_its_end():
    found = texts(draw(SMALL, {"source": LONG["source"], "target": ["a"] * 60}))
    assert "internationalis… … word" in found
    (shown,) = {text for text in found if text.startswith("a a a")}
    assert 5 < len(shown) < 60
    assert shown.endswith("a … a")


def test_a_dollar_sign_is_drawn_as_it_is():
    figure = draw(SMALL, {"source": ["5$", "\\alpha", "6$"], "target": ["<s>", "$x^2$", "</s>"]})
    assert {"5$ \\alpha 6$", "<s> $x^2$", "$x^2$ </s>"} <= set(texts(figure))
    assert not any(text.get_parse_math() for text in figure.axes[0].texts)
    FigureCanvasAgg(figure).draw()


def test_a_token_that_no_font_can_draw_is_shown_by_its_position(monkeypatch):
    monkeypatch.setattr(plotting, "_chinese_font", lambda: None)
    plotting.use_book_style()
    figure = draw(SMALL, {"source": ["早", "好"], "target": ["BOS", "早", "EOS"]})
    assert {"token 1 token 2", "BOS token 2", "token 2 EOS"} <= set(texts(figure))
    FigureCanvasAgg(figure).draw()


# ----------------------------------------------------------------------- lines


def arrows(figure, role):
    color = to_rgb(plotting.ROLE_COLORS[role])
    lines = [a for a in patches(figure, FancyArrowPatch) if to_rgb(a.get_edgecolor()) == color]
    return [line._path_original.vertices for line in lines]


@pytest.mark.parametrize("norm_first", [False, True])
def test_queries_come_from_below_and_cross_attention_reads_the_memory(norm_first):
    figure = draw(SMALL | {"norm_first": norm_first}, MORNING)
    boxes = {
        text.get_text().split("\n")[0].split(" (")[0]: text.get_position()
        for text in figure.axes[0].texts
        if "attention" in text.get_text() or "memory" in text.get_text()
    }
    ends = {role: [tuple(line[-1]) for line in arrows(figure, role)] for role in ("key", "value")}
    ends["query"] = [tuple(line[-1]) for line in arrows(figure, "query")]
    for name, (x, y) in boxes.items():
        if name == "memory":
            continue
        for role, dx in (("query", 0.0), ("key", -0.65), ("value", 0.65)):
            crosses = name == "cross-attention" and role != "query"
            into = [
                (a, b)
                for a, b in ends[role]
                if abs(a - x) <= 1.26 and abs(b - y) <= 0.35  # the edge of this box
            ]
            assert len(into) == 1, (name, role)
            assert into[0][0] == pytest.approx(x - 1.25 if crosses else x + dx)
    memory_x, memory_y = boxes["memory"]
    (way,) = [
        line._path_original.vertices
        for line in patches(figure, FancyArrowPatch)
        if tuple(line._path_original.vertices[0]) == pytest.approx((memory_x + 1.25, memory_y))
    ]
    start = [line[0] for role in ("key", "value") for line in arrows(figure, role)]
    assert tuple(way[-1]) in {tuple(point) for point in start}
    assert texts(figure).count("k") == texts(figure).count("v") == texts(figure).count("q") == 3


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_residual_goes_around_every_sublayer(norm_first):
    figure = draw(SMALL | {"norm_first": norm_first}, MORNING)
    lines = [a._path_original.vertices for a in patches(figure, FancyArrowPatch)]
    detours = [line for line in lines if len(line) == 4]
    assert len(detours) == 5
    for start, corner, _, end in detours:
        assert abs(corner[0] - start[0]) > 1.25  # outside of the boxes
        sums = [t for t in figure.axes[0].texts if t.get_text() in ("add", "add & norm")]
        (goal,) = [t for t in sums if t.get_position()[1] == pytest.approx(end[1])
                   and abs(t.get_position()[0] - end[0]) == pytest.approx(1.25)]  # fmt: skip
        passed = [
            t.get_text()
            for t in figure.axes[0].texts
            if start[1] < t.get_position()[1] < end[1] and t.get_position()[0] == start[0]
        ]
        inside = [text for text in passed if text != "norm"]
        assert len(inside) == 1
        assert re.search("attention|feed", inside[0])
        assert ("norm" in passed) == norm_first
        assert goal.get_position()[0] == start[0]


# ------------------------------------------------------------------------ room


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize(
    ("sizes", "sentences"),
    [
        (SMALL, MORNING),
        (SMALL, SHORT),
        (BASE, LONG),
        (BASE | {"d_model": 16_384, "d_ff": 65_536, "num_layers": 1000}, LONG),
    ],
    ids=["small", "short", "long", "huge"],
)
def test_nothing_leaves_the_page_and_no_texts_overlap(sizes, sentences, norm_first):
    figure = draw(sizes | {"norm_first": norm_first}, sentences)
    page, labels = figure.bbox, figure.axes[0].texts
    assert page.width == plotting.WIDTH * figure.dpi
    artists = [*figure.axes[0].patches, *labels]
    where = dict(zip(artists, extents(figure, artists), strict=True))
    for artist, box in where.items():
        assert page.x0 <= box.x0 <= box.x1 <= page.x1, artist
        assert page.y0 <= box.y0 <= box.y1 <= page.y1, artist
    for a, b in combinations(labels, 2):
        assert not where[a].overlaps(where[b]), (a.get_text(), b.get_text())
    for label in labels:
        box, around = where[label], []
        if label.get_text() not in ("E", "q", "k", "v"):
            around = [f for f in patches(figure, FancyBboxPatch) if where[f].overlaps(box)]
        assert len(around) <= 1, label.get_text()
        for frame in (where[f] for f in around):
            assert frame.x0 <= box.x0 < box.x1 <= frame.x1, label.get_text()
            assert frame.y0 <= box.y0 < box.y1 <= frame.y1, label.get_text()


def test_the_text_of_the_picture_in_the_book_is_set_in_15_points():
    labels = draw(SMALL, MORNING).axes[0].texts
    assert {label.get_fontsize() for label in labels} == {15.0}


@pytest.mark.parametrize("dark", [False, True])
def test_every_letter_is_legible_on_its_box(dark):
    plotting.use_book_style(dark=dark)
    figure = draw(SMALL, MORNING)
    papers = {to_rgb(box.get_facecolor()) for box in patches(figure, FancyBboxPatch)}
    papers.add(to_rgb(figure.get_facecolor()))
    bands = {to_rgb(band.get_facecolor()) for band in patches(figure, Rectangle)}
    assert len(papers) == 3  # mixes tokens, each token alone, the page
    for text in figure.axes[0].texts:
        letter = text.get_text() in ("q", "k", "v")
        for paper in bands if letter else papers:
            ink = to_rgb(text.get_color())
            assert contrast(ink, paper) >= 4.5
            if not dark:
                assert contrast(dark_theme(ink), dark_theme(paper)) >= 4.5


def test_the_style_in_use_is_kept():
    before = dict(mpl.rcParams)
    draw(SMALL, MORNING)
    assert dict(mpl.rcParams) == before


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("sizes", "source", "target", "message"),
    [
        ({}, [], ["BOS", "EOS"], "source must have at least 1 token, got none"),
        ({}, ["a"], [], "target must have at least 2 tokens, got 0"),
        ({}, ["a"], ["BOS"], "target must have at least 2 tokens, got 1"),
        ({"max_len": 2}, ["a"] * 3, ["BOS", "EOS"], "source must give at most max_len=2 .*got 3"),
        ({"max_len": 2}, ["a"], ["BOS"] * 4, "target must give at most max_len=2 .*got 3"),
    ],
)
def test_sentences_that_the_model_could_not_read_are_refused(sizes, source, target, message):
    with pytest.raises(ValueError, match=message):
        draw(SMALL | sizes, {"source": source, "target": target})


def test_as_many_tokens_as_the_model_can_read_are_drawn():
    figure = draw(SMALL | {"max_len": 2}, {"source": ["a", "b"], "target": ["BOS", "c", "EOS"]})
    assert {"a b", "BOS c", "c EOS"} <= {*texts(figure)}
