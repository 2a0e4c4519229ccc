"""Click a word: its scores, its weights, and its context as the sum grows."""

from typing import Any

import torch
import traitlets

from attention_core.functional import attention_weights
from attention_core.widgets.figure import LiveFigure, Numbers, Table, TensorTrait, number_text

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
    """One word looks at all words of a sentence: chapter 2's self-attention, word by word.

    Scores are dot products, divided by the temperature before softmax: a small one makes
    the weights sharp, a large one makes them alike.

    Args:
        words: the words, at least one
        embeddings: their numbers, (number of words, width)
        query: which word looks, counted from 0
        temperature: between 0.05 and 5

    >>> figure = SimpleAttention(query=1)
    >>> [round(number, 4) for number in figure.numbers()["context"]]
    [0.4419, 0.6515, 0.5683]
    """

    module = "simple_attention"
    heights = (432, 464)

    words = traitlets.List(traitlets.Unicode(), WORDS, minlen=1).tag(sync=True)
    embeddings = TensorTrait(EMBEDDINGS, shape=(None, None))
    query = traitlets.Int(1, min=0).tag(sync=True)
    temperature = traitlets.Float(1.0, min=0.05, max=5.0).tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @traitlets.validate("query")
    def _check_query(self, proposal: Any) -> int:
        if proposal["value"] >= len(self.words):
            raise traitlets.TraitError(
                f"query must be below the number of words, {len(self.words)}, "
                f"got {proposal['value']}"
            )
        return int(proposal["value"])

    @traitlets.validate("embeddings")
    def _check_embeddings(self, proposal: Any) -> Any:
        if len(proposal["value"]) != len(self.words):
            raise traitlets.TraitError(
                f"embeddings must have a row for each of the {len(self.words)} words, "
                f"got shape {tuple(proposal['value'].shape)}"
            )
        return proposal["value"]

    def numbers(self) -> Numbers:
        x = self.embeddings
        q = x[self.query]
        # The package divides by the root of the width; this takes it out again.
        sharpness = x.shape[-1] ** 0.5 / self.temperature
        weights = attention_weights(q[None] * sharpness, x)[0]
        parts = weights[:, None] * x
        return {
            "scores": (x @ q).tolist(),
            "weights": weights.tolist(),
            "parts": parts.tolist(),
            "sums": torch.cumsum(parts, dim=0).tolist(),
            "context": (weights @ x).tolist(),
        }

    def table(self) -> Table:
        n = self.numbers()
        rows = [
            [word, score, weight, ", ".join(number_text(x) for x in total)]
            for word, score, weight, total in zip(
                self.words, n["scores"], n["weights"], n["sums"], strict=True
            )
        ]
        return Table(
            f"What “{self.words[self.query]}” sees, temperature {self.temperature:g}",
            ["word", "score", "weight", "sum so far"],
            rows,
        )

    def __repr__(self) -> str:
        return f"SimpleAttention(query={self.query}, temperature={self.temperature:g})"
