"""The live figure of chapter 7: what turns with the position, and what does not."""

from __future__ import annotations

import pytest
import torch
import traitlets

from attention_core import sinusoidal_encoding, sinusoidal_shift
from attention_core.widgets import Positions


@pytest.mark.parametrize("position", [10, 100])
def test_dot_products_are_those_that_the_chapter_prints(position):
    dots = Positions(position=position).dots[:6].tolist()
    assert [round(x, 4) for x in dots] == [4.0, 3.5353, 2.5637, 1.9649, 2.2666, 3.16]


@pytest.mark.parametrize("base", [10.0, 10_000.0])
@pytest.mark.parametrize("d_model", [2, 8, 16])
def test_dot_products_depend_only_on_the_offset(d_model, base):
    options = {"d_model": d_model, "base": base, "offset": 44}
    figures = [Positions(position=position, **options) for position in (0, 7, 200)]
    for figure in figures:
        torch.testing.assert_close(figure.dots, figures[0].dots)
        for name in ("parts", "curve", "matrix", "turn", "dot"):
            found, wanted = (torch.tensor(f.numbers()[name]) for f in (figure, figures[0]))
            torch.testing.assert_close(found, wanted, equal_nan=True)
    assert not torch.allclose(figures[0].here, figures[1].here)


def test_the_rotation_of_a_pair_is_its_block_of_the_shift_matrix():
    figure = Positions(position=33, offset=2, pair=1)
    numbers = figure.numbers()
    assert numbers["matrix"] == sinusoidal_shift(2, 8, dtype=torch.float64)[2:4, 2:4].tolist()
    assert [round(x, 4) for row in numbers["matrix"] for x in row] == [
        0.9801,
        -0.1987,
        0.1987,
        0.9801,
    ]
    table = sinusoidal_encoding(36, 8, dtype=torch.float64)
    torch.testing.assert_close(figure.here @ figure.shift, table[35])
    torch.testing.assert_close(figure.there, table[35])
    torch.testing.assert_close(torch.tensor(numbers["there"]), table[35, 2:4].to(torch.float32))


def test_the_parts_add_up_to_the_product():
    numbers = Positions(position=3, offset=6).numbers()
    parts = torch.tensor(numbers["parts"], dtype=torch.float64)
    assert parts.isnan().tolist() == [False] * 4 + [True] * 4
    assert parts.nansum().item() == pytest.approx(numbers["dot"])
    # As the page says of offset 6: the fastest pair has almost come round, the second has not.
    assert [round(x, 2) for x in numbers["parts"][:4]] == [0.96, 0.83, 1.0, 1.0]


def test_the_longest_wavelength_is_the_answer_of_exercise_1():
    assert round(Positions(pair=3).numbers()["wavelength"], 1) == 6283.2


BAD = [
    (lambda: Positions(d_model=5), "d_model must be even, got 5"),
    (lambda: Positions(d_model=18), "d_model"),
    (lambda: Positions(pair=4), "pair must be below the number of pairs, 4, got 4"),
    (lambda: Positions(pair=-1), "pair"),
    (lambda: Positions(position=201), "position"),
    (lambda: Positions(offset=-1), "offset"),
    (lambda: Positions(offset=2.5), "offset"),
    (lambda: Positions(base=1.0), "base"),
    (lambda: Positions(base=float("nan")), "base"),
    (lambda: Positions(base=float("inf")), "base"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


def test_d_model_cannot_become_too_small_for_the_picked_pair():
    figure = Positions(pair=3)
    with pytest.raises(traitlets.TraitError, match=r"greater than 2 \* pair, 6, got 4"):
        figure.d_model = 4
    figure.pair = 1
    figure.d_model = 4
    assert figure.numbers()["most"] == 2
