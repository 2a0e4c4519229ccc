"""Split a small table into heads, merge it again, and follow one number through the steps."""

import math
from typing import Any

import torch
import traitlets
from torch import Tensor

from attention_core.functional import merge_heads, scaled_dot_product_attention, split_heads
from attention_core.widgets.figure import (
    TOGETHER,
    LiveFigure,
    Numbers,
    Table,
    number_text,
)
from attention_core.widgets.traits import CountTrait, TensorTrait

WORDS = ["lost", "her", "ring"]
WAYS = ["transpose", "reshape", "stack", "forgotten"]
#: The first digit is the number of the word, the second that of the column.
TABLE = [[10.0 * word + column for column in range(1, 7)] for word in range(1, 4)]


class Heads(LiveFigure):
    """Split a table of tokens into heads and merge it again, in one of four ways.

    "transpose" splits with `view`, exchanges two axes, and undoes both. "stack" splits the
    columns and concatenates the heads on the batch axis, as the TensorFlow code does.
    "reshape" reshapes to the shape of the heads, and back. "forgotten" splits correctly, but
    merges with `reshape` alone. The figure shows which numbers return to their place, and
    which words contribute to each row if all rows of a head get equal weights.

    Args:
        words: the tokens, at least one
        x: their numbers, (number of words, d_model)
        num_heads: how many heads; must divide d_model
        way: "transpose", "reshape", "stack" or "forgotten"
        picked: the number to follow, by its place in memory, from 0

    >>> figure = Heads(way="reshape", num_heads=3)
    >>> figure.heads[0]
    tensor([[11., 12.],
            [13., 14.],
            [15., 16.]], dtype=torch.float64)
    >>> figure.numbers()["home"], figure.numbers()["pairs"]
    (18, 3)
    """

    module = "heads"
    heights = (550, 757)

    words = traitlets.List(traitlets.Unicode(), WORDS, minlen=1).tag(sync=True)
    x = TensorTrait(TABLE, shape=(None, None))
    num_heads = CountTrait(2, least=1)
    way = traitlets.Enum(WAYS, "transpose").tag(sync=True)
    picked = CountTrait(3)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @traitlets.validate("x", "words")
    def _check_x(self, proposal: Any) -> Any:
        value = proposal["value"]
        x, words = (value, self.words) if isinstance(value, Tensor) else (self.x, value)
        if len(x) != len(words) or not x.shape[1]:
            raise traitlets.TraitError(
                f"x must have a row of numbers for each of the {len(words)} words, "
                f"got shape {tuple(x.shape)}{TOGETHER}"
            )
        if x.shape[1] % self.num_heads or x.numel() <= self.picked:
            raise traitlets.TraitError(
                f"the width of x must be a multiple of num_heads, {self.num_heads}, and x must "
                f"have more numbers than picked, {self.picked}, got shape {tuple(x.shape)}"
            )
        return value

    @traitlets.validate("num_heads")
    def _check_num_heads(self, proposal: Any) -> int:
        width = self.x.shape[1]
        if width % proposal["value"]:
            raise traitlets.TraitError(
                f"num_heads must divide the width of x, {width}, got {proposal['value']}"
            )
        return int(proposal["value"])

    @traitlets.validate("picked")
    def _check_picked(self, proposal: Any) -> int:
        if proposal["value"] >= self.x.numel():
            raise traitlets.TraitError(
                f"picked must be less than x.numel(), {self.x.numel()}, got {proposal['value']}"
            )
        return int(proposal["value"])

    @property
    def heads(self) -> Tensor:
        """The part of x that each head gets, (H, L, d_k)."""
        return self._split(self.x)

    @property
    def merged(self) -> Tensor:
        """The heads merged again, unchanged by attention, (L, d_model)."""
        return self._merge(self.heads)

    @property
    def heard(self) -> Tensor:
        """The share of each word (column) in each row of the result, with equal weights, (L, L)."""
        (length, width), columns = self.x.shape, []
        for word in torch.eye(length, dtype=torch.float64):
            v = self._split(word[:, None].expand(length, width).contiguous())
            alike = torch.zeros_like(v)
            mixed = scaled_dot_product_attention(alike, alike, v)
            columns.append(self._merge(mixed).mean(dim=-1))
        return torch.stack(columns, dim=-1)

    def _split(self, x: Tensor) -> Tensor:
        heads, width = self.num_heads, x.shape[1] // self.num_heads
        if self.way == "reshape":
            return x.reshape(heads, len(x), width)
        if self.way == "stack":
            return torch.cat(torch.split(x[None], width, dim=2), dim=0)
        return split_heads(x, heads)

    def _merge(self, heads: Tensor) -> Tensor:
        if self.way == "transpose":
            return merge_heads(heads)
        if self.way == "stack":
            return torch.cat(torch.split(heads, 1, dim=0), dim=2)[0]
        return heads.reshape(self.x.shape)

    def _stations(self) -> list[Tensor | None]:
        """Return the places in memory after each step; None for a step that this way lacks."""
        places = torch.arange(self.x.numel(), dtype=torch.float64).view(self.x.shape)
        heads = self._split(places)
        merged = self._merge(heads)
        cut = places.view(len(places), self.num_heads, -1)
        return [
            places,
            cut if self.way in ("transpose", "forgotten") else None,
            heads,
            heads.transpose(0, 1) if self.way == "transpose" else None,
            merged,
        ]

    def _path(self) -> list[dict[str, Any]]:
        path: list[dict[str, Any]] = []
        for station in self._stations():
            if station is None:
                path.append({"shape": [math.nan] * 3, "index": [math.nan] * 3, "place": math.nan})
                continue
            found = station == self.picked
            path.append(
                {
                    "shape": list(station.shape),
                    "index": found.nonzero()[0].tolist(),
                    "place": int(found.flatten().nonzero().item()),
                }
            )
        return path

    def numbers(self) -> Numbers:
        places, _, heads, _, merged = self._stations()
        assert places is not None
        assert heads is not None
        assert merged is not None
        heard = self.heard
        return {
            "x": self.x.tolist(),
            "followed": self.x.flatten()[self.picked].item(),
            # The heads side by side, as the figure draws them.
            "side": torch.cat([*self.heads], dim=-1).tolist(),
            "side_place": torch.cat([*heads], dim=-1).tolist(),
            "merged": self.merged.tolist(),
            "merged_place": merged.tolist(),
            "heard": heard.tolist(),
            "pairs": int((heard > 0).sum()),
            "of_pairs": heard.numel(),
            "home": int((merged == places).sum()),
            "of_home": places.numel(),
            "path": self._path(),
        }

    def table(self) -> Table:
        def row(numbers: Tensor) -> str:
            return " ".join(f"{x:g}" for x in numbers.tolist())

        rows = [
            [
                word,
                row(self.x[i]),
                " | ".join(row(head[i]) for head in self.heads),
                row(self.merged[i]),
                ", ".join(number_text(share, 2) for share in self.heard[i].tolist()),
            ]
            for i, word in enumerate(self.words)
        ]
        return Table(
            f"{self.num_heads} heads, way “{self.way}”; what each row hears of "
            f"{', '.join(self.words)} if all rows of a head weigh alike",
            ["row", "x", "heads, side by side", "put together", "hears"],
            rows,
        )

    def __repr__(self) -> str:
        return f"Heads(num_heads={self.num_heads}, way={self.way!r}, picked={self.picked})"
