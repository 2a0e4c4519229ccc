"""Show the self-attention of one chosen word: scores, weights, and the context as a sum."""

from typing import Any

import torch
import torch.nn.functional as F
import traitlets
from torch import Tensor

from attention_core.functional import attention_weights, scaled_dot_product_attention
from attention_core.widgets.figure import (
    TOGETHER,
    LiveFigure,
    Numbers,
    Table,
    number_text,
)
from attention_core.widgets.traits import CountTrait, NumberTrait, TensorTrait

WORDS = ["Your", "journey", "starts", "with", "one", "step"]
EMBEDDINGS = [
    [0.43, 0.15, 0.89],
    [0.55, 0.87, 0.66],
    [0.57, 0.85, 0.64],
    [0.22, 0.58, 0.33],
    [0.77, 0.25, 0.10],
    [0.05, 0.80, 0.55],
]


class SimpleAttention(LiveFigure):
    """The self-attention of chapter 2 for one word of a sentence, which the reader chooses.

    The scores are dot products. Before softmax they are divided by the temperature: a low one
    makes the weights sharp, a high one makes them nearly equal. With ``cosine`` the rows are
    scaled to length 1 before they are compared, so that only directions count. The context is
    still a mixture of the rows themselves.

    Args:
        words: the words, at least one
        embeddings: their numbers, (number of words, width)
        query: the index of the word that is the query, from 0
        temperature: between 0.05 and 5
        cosine: whether the scores are cosines, so that lengths do not count

    >>> figure = SimpleAttention(query=1)
    >>> [round(number, 4) for number in figure.context.tolist()]
    [0.4419, 0.6515, 0.5683]
    """

    module = "simple_attention"
    heights = (588, 718)

    words = traitlets.List(traitlets.Unicode(), WORDS, minlen=1).tag(sync=True)
    embeddings = TensorTrait(EMBEDDINGS, shape=(None, None))
    query = CountTrait(1)
    temperature = NumberTrait(1.0, least=0.05, most=5.0)
    cosine = traitlets.Bool(False).tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @traitlets.validate("query")
    def _check_query(self, proposal: Any) -> int:
        self._check_inside(proposal["value"], self.words)
        return int(proposal["value"])

    @traitlets.validate("embeddings", "words")
    def _check_rows(self, proposal: Any) -> Any:
        value = proposal["value"]
        x, words = (value, self.words) if isinstance(value, Tensor) else (self.embeddings, value)
        if len(x) != len(words) or not x.shape[1]:
            raise traitlets.TraitError(
                f"embeddings must have a row for each of the {len(words)} words, "
                f"got shape {tuple(x.shape)}{TOGETHER}"
            )
        self._check_inside(self.query, words)
        return value

    def _check_inside(self, query: int, words: list[str]) -> None:
        if query >= len(words):
            raise traitlets.TraitError(
                f"query must be below the number of words, {len(words)}, got {query}"
            )

    @property
    def _compared(self) -> Tensor:
        """The rows that are compared; with ``cosine``, a row of zeros stays zero."""
        x: Tensor = self.embeddings
        return F.normalize(x, dim=-1, eps=1e-300) if self.cosine else x

    @property
    def scores(self) -> Tensor:
        """The score of each word for the query, (words,)."""
        return self._compared @ self._compared[self.query]

    @property
    def _query_row(self) -> Tensor:
        # attention_weights divides the scores by the root of the width; the factor cancels that.
        sharpness: float = self.embeddings.shape[-1] ** 0.5 / self.temperature
        return self._compared[self.query][None] * sharpness

    @property
    def weights(self) -> Tensor:
        """The attention weights of the query, (words,)."""
        return attention_weights(self._query_row, self._compared)[0]

    @property
    def context(self) -> Tensor:
        """The sum of the embeddings, each times its weight, (width,)."""
        return scaled_dot_product_attention(self._query_row, self._compared, self.embeddings)[0]

    def numbers(self) -> Numbers:
        x, weights = self.embeddings, self.weights
        table = self._compared @ self._compared.mT
        return {
            "scores": self.scores.tolist(),
            "weights": weights.tolist(),
            "sums": torch.cumsum(weights[:, None] * x, dim=0).tolist(),
            "context": self.context.tolist(),
            "mean": x.mean(dim=0).tolist(),
            "lengths": x.norm(dim=-1).tolist(),
            # The number of words that score no other word higher than themselves.
            "loyal": int((table.diag() >= table.amax(dim=-1) - 1e-9).sum()),
        }

    def table(self) -> Table:
        n = self.numbers()
        rows = [
            [word, score, weight, ", ".join(number_text(x) for x in total)]
            for word, score, weight, total in zip(
                self.words, n["scores"], n["weights"], n["sums"], strict=True
            )
        ]
        by = ", by cosine" if self.cosine else ""
        return Table(
            f"What “{self.words[self.query]}” sees, temperature {self.temperature:g}{by}",
            ["word", "score", "weight", "sum so far"],
            rows,
        )

    def __repr__(self) -> str:
        by = ", cosine=True" if self.cosine else ""
        return f"SimpleAttention(query={self.query}, temperature={self.temperature:g}{by})"
