"""Compare five widths: which power of d_k makes softmax independent of the width?"""

import functools
from typing import Any

import torch
from torch import Tensor

from attention_core.functional import masked_softmax
from attention_core.widgets.figure import LiveFigure, Numbers, Table
from attention_core.widgets.traits import CountTrait, NumberTrait

WIDTHS = (4, 16, 64, 256, 1024)
QUERIES, KEYS = 1000, 16
SURE = 0.99  # a query that gives one key more than this has chosen
WORD = 32  # coins (bits) in one number of the generator


def _words(count: int, seed: int) -> Tensor:
    """Return the same 32-bit numbers as in JavaScript: MurmurHash3's finalizer, of a counter."""
    low = 0xFFFFFFFF
    h = (torch.arange(count) + seed * count + 1) * 0x9E3779B9 & low
    h = (h ^ h >> 16) * 0x85EBCA6B & low
    h = (h ^ h >> 13) * 0xC2B2AE35 & low
    return h ^ h >> 16


@functools.lru_cache(maxsize=8)
def _scores(seed: int) -> Tensor:
    """Return q · k for each width, query and key; a narrow vector is a prefix of a wide one."""
    size = WIDTHS[-1] // WORD
    words = _words(QUERIES * (1 + KEYS) * size, seed).view(QUERIES, 1 + KEYS, size)
    found = []
    for some in words.chunk(10):  # a hundred queries at a time need 13 MB
        bits = (some[..., None] >> torch.arange(WORD) & 1).flatten(-2)
        coins = bits.to(torch.float32) * 2 - 1  # sums of coins are exact in float32
        q, k = coins[:, :1], coins[:, 1:]
        found.append(torch.stack([(q[..., :d] @ k[..., :d].mT)[:, 0] for d in WIDTHS]))
    return torch.cat(found, dim=1).to(torch.float64)


class Scaling(LiveFigure):
    """Scores of five widths, divided by d_k to a power that the reader sets.

    The entries of the vectors are the coins of chapter 4, +1 or -1. Each of 1,000 queries has
    16 keys of its own. For each width the figure shows the divisor, the variance of the divided
    scores, the mean weights (largest first), and how many of the 1,000 queries give one key more
    than 0.99. Power 0 divides by 1, power 0.5 by the root of the width, and power 1 by the width.

    Args:
        power: the scores are divided by d_k to this power, between 0 and 1
        seed: which coins are tossed, between 0 and 99

    >>> [round(weights[0].item(), 2) for weights in Scaling(power=0).weights]
    [0.41, 0.65, 0.84, 0.91, 0.96]
    >>> [round(weights[0].item(), 2) for weights in Scaling(power=0.5).weights]
    [0.22, 0.23, 0.25, 0.25, 0.25]
    """

    module = "scaling"
    heights = (411, 471)

    power = NumberTrait(0.0, least=0.0, most=1.0)
    seed = CountTrait(0, least=0, most=99)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @property
    def divisors(self) -> Tensor:
        """d_k to the chosen power, for each width, (5,)."""
        return torch.tensor(WIDTHS, dtype=torch.float64) ** self.power

    @property
    def scores(self) -> Tensor:
        """The divided scores, (5 widths, 1,000 queries, 16 keys)."""
        return _scores(self.seed) / self.divisors[:, None, None]

    @property
    def weights(self) -> Tensor:
        """The sorted weights, largest first, averaged over the queries, (5 widths, 16)."""
        return masked_softmax(self.scores).sort(dim=-1, descending=True).values.mean(dim=1)

    def numbers(self) -> Numbers:
        scores = self.scores
        w = masked_softmax(scores)
        rows = zip(
            WIDTHS,
            self.divisors.tolist(),
            scores.flatten(1).var(dim=-1).tolist(),
            (w.amax(dim=-1) > SURE).sum(dim=-1).tolist(),
            self.weights.tolist(),
            strict=True,
        )
        names = ("width", "divisor", "variance", "sure", "weights")
        return {"rows": [dict(zip(names, row, strict=True)) for row in rows]}

    def table(self) -> Table:
        rows = [
            [row["width"], row["divisor"], row["variance"], row["weights"][0], row["sure"]]
            for row in self.numbers()["rows"]
        ]
        return Table(
            f"Scores of 16 keys, divided by the width to the power {self.power:g}",
            ["width", "divided by", "variance", "largest weight", "above 0.99"],
            rows,
        )

    def __repr__(self) -> str:
        return f"Scaling(power={self.power:g}, seed={self.seed})"
