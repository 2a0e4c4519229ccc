"""dot_products.py: places in a plane from dot products, and drawings of shadows."""

import math

import pytest

pytest.importorskip("seaborn", reason="needs attention-core[plot]")

import torch

from attention_core.dot_products import draw_shadows, draw_softmax, places_from_products

pytestmark = pytest.mark.usefixtures("book_style")


def random(*size, seed=0):
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_plane_is_that_of_the_two_largest_principal_components():
    x = random(7, 11)
    centred = x - x.mean(0)
    axes = torch.linalg.svd(centred, full_matrices=False)[2][:2]
    projected, places = centred @ axes.T, places_from_products(x @ x.T)
    torch.testing.assert_close(torch.cdist(places, places), torch.cdist(projected, projected))


def test_points_of_a_plane_keep_their_shape_wherever_they_lie():
    x = random(5, 2)
    products = (x + 3) @ (x + 3).T
    torch.testing.assert_close(
        torch.cdist(*[places_from_products(products)] * 2), torch.cdist(x, x)
    )


def test_turned_and_mirrored_vectors_get_the_same_places():
    x = random(7, 11)
    turn = torch.linalg.qr(random(11, 11, seed=1))[0]
    turned = x @ turn
    torch.testing.assert_close(
        places_from_products(turned @ turned.T), places_from_products(x @ x.T)
    )


def test_the_first_place_is_up_and_the_second_on_the_right():
    for seed in range(5):
        x = random(3, 5, seed=seed)
        places = places_from_products(x @ x.T)
        assert places[0, 0].item() == pytest.approx(0)
        assert places[0, 1] > 0
        assert places[1, 0] > 0


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (5,), (3, 3, 3)])
def test_products_of_another_shape_are_refused(shape):
    match = r"products must have (shape \(n, n\)|at least 2 axes)"
    with pytest.raises(ValueError, match=match):
        places_from_products(torch.ones(shape))


def test_integer_products_are_refused():
    with pytest.raises(TypeError, match="products must be a floating-point tensor"):
        places_from_products(torch.ones(3, 3, dtype=torch.int64))


def test_arrows_and_shadow_have_the_lengths_of_the_vectors():
    vectors = {"a": torch.tensor([3.0, 0, 4]), "b": torch.tensor([0.0, 2, 5])}
    figure = draw_shadows(vectors, [("a", "b"), ("b", "a")])
    for ax, (query, key) in zip(figure.axes, [("a", "b"), ("b", "a")], strict=True):
        q, k = vectors[query], vectors[key]
        tips = [text.xy for text in ax.texts if hasattr(text, "xy")]
        assert [math.hypot(*tip) for tip in tips] == pytest.approx(
            [float(k.norm()), float(q.norm())]
        )
        shadow = float(q @ k / q.norm())
        assert ax.lines[2].get_xdata()[1] == pytest.approx(shadow)
        shown = {text.get_text() for text in ax.texts}
        assert f"shadow {shadow:.2f}" in shown
        assert f"{key} {k.norm():.2f}" in shown
        assert ax.get_title() == "score 20"


def test_a_shadow_that_falls_backwards_is_negative():
    vectors = {"a": torch.tensor([1.0, 0]), "b": torch.tensor([-2.0, 1])}
    ax = draw_shadows(vectors, [("a", "b")]).axes[0]
    assert "shadow −2.00" in {text.get_text() for text in ax.texts}
    assert ax.get_xlim()[0] < -2


def test_no_pairs_and_vectors_of_length_0_are_refused():
    with pytest.raises(ValueError, match="pairs must hold at least 1 pair of names, got none"):
        draw_shadows({}, [])
    vectors = {"a": torch.ones(2), "b": torch.zeros(2)}
    with pytest.raises(ValueError, match="vector 'b' must not be zero"):
        draw_shadows(vectors, [("a", "b")])


def test_the_bars_of_softmax_have_the_heights_and_shares_of_the_scores():
    scores = torch.tensor([11.0, 11.0, 10.0], dtype=torch.float64)
    left, right = draw_softmax(scores, ["a", "b", "c"], minus=10).axes
    heights = [bar.get_height() for bar in left.patches]
    assert heights == pytest.approx(torch.exp(scores - 10).tolist())
    middles = [bar.get_x() + bar.get_width() / 2 for bar in left.patches]
    assert middles == pytest.approx([10.85, 11.15, 10.0])  # equal scores stand side by side
    shares = torch.softmax(scores, 0).tolist()
    assert [bar.get_height() for bar in right.patches] == pytest.approx(shares[::-1])
    assert [text.get_text() for text in right.texts] == ["c 0.16", "b 0.42", "a 0.42"]
    last = right.patches[-1]
    assert last.get_y() + last.get_height() == pytest.approx(1)


def test_what_is_taken_off_the_scores_stands_over_the_curve():
    scores = torch.tensor([3.0, 1.0])
    for minus, shown in ((0, "score"), (2, "score − 2"), (-1.5, "score + 1.5")):
        title = draw_softmax(scores, ["a", "b"], minus=minus).axes[0].get_title()
        assert f"{{{shown}}}" in title


def test_scores_that_do_not_fit_the_names_are_refused():
    with pytest.raises(ValueError, match=r"scores must have shape \(S,\) = \(1,\), one for each"):
        draw_softmax(torch.ones(2), ["a"])
    with pytest.raises(TypeError, match="scores must be a floating-point tensor"):
        draw_softmax(torch.tensor([1, 2]), ["a", "b"])
