"""Show sinusoidal positions as rotating pairs, and the dot product of two positions."""

import math
from typing import Any

import torch
import traitlets
from torch import Tensor

from attention_core.positional import sinusoidal_encoding, sinusoidal_shift
from attention_core.widgets.figure import LiveFigure, Numbers, Table, number_text
from attention_core.widgets.traits import CountTrait, NumberTrait

LAST_POSITION, LAST_OFFSET, MOST_PAIRS = 200, 60, 8


class Positions(LiveFigure):
    """Two rows of the sinusoidal table, with each pair of columns drawn as a hand of a clock.

    The sine of a pair points right, its cosine up. A step of `offset` words turns the hand by
    an angle that depends on the offset only. So does the pair's contribution to the dot product
    of the two rows: the cosine of that angle.

    Args:
        position: where the first row stands, between 0 and 200
        offset: how many words later the second one stands, between 0 and 60
        pair: the index of the pair that is shown large; 0 turns fastest
        d_model: width of a row, even, between 2 and 16
        base: 10,000 in the paper, at least 2

    >>> figure = Positions(position=10, offset=3)
    >>> round(figure.numbers()["dot"], 4), torch.equal(figure.dots[3], figure.here @ figure.there)
    (1.9649, True)
    """

    module = "positions"
    heights = (726, 1048)

    position = CountTrait(10, least=0, most=LAST_POSITION)
    offset = CountTrait(3, least=0, most=LAST_OFFSET)
    pair = CountTrait(0)
    d_model = CountTrait(8, least=2, most=2 * MOST_PAIRS)
    base = NumberTrait(10_000.0, least=2.0)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @traitlets.validate("d_model")
    def _check_d_model(self, proposal: Any) -> int:
        if proposal["value"] % 2:
            raise traitlets.TraitError(f"d_model must be even, got {proposal['value']}")
        if proposal["value"] <= 2 * self.pair:
            raise traitlets.TraitError(
                f"d_model must be greater than 2 * pair, {2 * self.pair}, got {proposal['value']}"
            )
        return int(proposal["value"])

    @traitlets.validate("base")
    def _check_base(self, proposal: Any) -> float:
        if not math.isfinite(proposal["value"]):
            raise traitlets.TraitError(f"base must be finite, got {proposal['value']}")
        return float(proposal["value"])

    @traitlets.validate("pair")
    def _check_pair(self, proposal: Any) -> int:
        if proposal["value"] >= self.d_model // 2:
            raise traitlets.TraitError(
                f"pair must be below the number of pairs, {self.d_model // 2}, "
                f"got {proposal['value']}"
            )
        return int(proposal["value"])

    @property
    def _rows(self) -> Tensor:
        """The rows at offsets 0 to 60 from `position`, (61, d_model)."""
        length = self.position + LAST_OFFSET + 1
        table = sinusoidal_encoding(length, self.d_model, base=self.base, dtype=torch.float64)
        return table[self.position :]

    @property
    def here(self) -> Tensor:
        """The row at `position`, (d_model,)."""
        return self._rows[0]

    @property
    def there(self) -> Tensor:
        """The row `offset` words later, (d_model,)."""
        return self._rows[self.offset]

    @property
    def shift(self) -> Tensor:
        """The rotation that takes `here` to `there`, (d_model, d_model)."""
        return sinusoidal_shift(self.offset, self.d_model, base=self.base, dtype=torch.float64)

    @property
    def dots(self) -> Tensor:
        """Dot products of the row at `position` with itself and the 60 that follow, (61,)."""
        return self._rows @ self._rows[0]

    def numbers(self) -> Numbers:
        rows = self._rows.reshape(-1, self.d_model // 2, 2)  # (offsets, pairs, 2)
        pair = slice(2 * self.pair, 2 * self.pair + 2)
        step = sinusoidal_shift(1, self.d_model, base=self.base, dtype=torch.float64)[pair, pair]
        radians = torch.atan2(step[1, 0], step[0, 0]).item()
        parts = (rows * rows[0]).sum(dim=-1)  # (offsets, pairs)
        absent = [math.nan] * (MOST_PAIRS - self.d_model // 2)
        return {
            "here": self.here[pair].tolist(),
            "matrix": self.shift[pair, pair].tolist(),
            "there": (self.here @ self.shift)[pair].tolist(),
            "radians": radians,
            "wavelength": 2 * math.pi / radians,
            "turn": self.offset * radians,
            "turns": self.offset * radians / (2 * math.pi),
            # Both rows, pair by pair, and what each pair adds to the dot product at this offset.
            "hands": rows[[0, self.offset]].tolist(),
            "parts": parts[self.offset].tolist() + absent,
            "part": parts[self.offset, self.pair].item(),
            "dot": self.dots[self.offset].item(),
            # As functions of the offset: what this pair adds, and the sum over all pairs.
            "curve": parts[:, self.pair].tolist(),
            "dots": self.dots.tolist(),
            "most": self.d_model / 2,
        }

    def table(self) -> Table:
        n = self.numbers()
        # The angle of each pair per step, from the rotation by one step.
        step = sinusoidal_shift(1, self.d_model, base=self.base, dtype=torch.float64)
        radians = torch.atan2(step.diagonal(-1)[::2], step.diagonal()[::2]).tolist()
        rows: list[list[Any]] = [
            [f"pair {i}", number_text(2 * math.pi / angle, 1), *map(_text, pairs), part]
            for i, (angle, *pairs, part) in enumerate(
                zip(radians, *n["hands"], n["parts"], strict=False)
            )
        ]
        rows.append(["sum", "", "", "", n["dot"]])
        first, second = self.position, self.position + self.offset
        return Table(
            f"Sine and cosine at positions {first} and {second}, "
            f"width {self.d_model}, base {self.base:g}",
            ["", "wavelength", f"at {first}", f"at {second}", "dot product"],
            rows,
        )

    def __repr__(self) -> str:
        return (
            f"Positions(position={self.position}, offset={self.offset}, pair={self.pair}, "
            f"d_model={self.d_model}, base={self.base:g})"
        )


def _text(pair: list[float]) -> str:
    return ", ".join(map(number_text, pair))
