"""Turn and stretch W_q and W_k and choose W_v: how queries, keys and values do their work."""

from typing import Any

from torch import Tensor

from attention_core.functional import (
    attention_scores,
    attention_weights,
    scaled_dot_product_attention,
)
from attention_core.widgets.figure import LiveFigure, Numbers, Table
from attention_core.widgets.traits import TensorTrait

#: Four stalls on a ring, clockwise from the top, and what they sell.
GOODS = ["tea", "rice", "salt", "oil"]
#: Their rows: right, up, price.
MARKET = [[0.0, 1.0, 2.0], [1.0, 0.0, 7.0], [0.0, -1.0, 4.0], [-1.0, 0.0, 5.0]]
#: Cosine and sine of the 25 degrees between queries and keys at the start, doubled.
C, S = 1.812615574073, 0.845236523481


class QueryKeyValue(LiveFigure):
    """Four stalls on a ring; each wants to know the price of the next one, clockwise.

    A stall is a row of three numbers: its coordinates (right, up) and its price. Three matrices
    project it to a query and a key of two numbers each, and to a value of one number. The tips
    of stall 1's query and key can be dragged. That turns and stretches the matrix, and with it
    the queries or keys of all stalls. Radio buttons choose which of the three numbers is the
    value.

    Args:
        market: the stalls, (4, 3)
        W_q, W_k: (3, 2), between -4 and 4
        W_v: (3, 1), between -4 and 4

    >>> figure = QueryKeyValue()
    >>> figure.scores[0]
    tensor([ 2.5634, -1.1953, -2.5634,  1.1953], dtype=torch.float64)
    >>> figure.answers
    tensor([2.6950, 5.9447, 4.6038, 4.7565], dtype=torch.float64)
    """

    module = "query_key_value"
    heights = (484, 858)

    market = TensorTrait(MARKET, shape=(4, 3))
    # The keys are the coordinates, doubled. The queries are turned a little, anticlockwise, so
    # that all eight arrows are seen.
    W_q = TensorTrait([[C, S], [-S, C], [0.0, 0.0]], shape=(3, 2), bounds=(-4, 4))
    W_k = TensorTrait([[2.0, 0.0], [0.0, 2.0], [0.0, 0.0]], shape=(3, 2), bounds=(-4, 4))
    W_v = TensorTrait([[0.0], [0.0], [1.0]], shape=(3, 1), bounds=(-4, 4))

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    def _faces(self) -> tuple[Tensor, Tensor, Tensor]:
        x = self.market
        return x @ self.W_q, x @ self.W_k, x @ self.W_v

    @property
    def scores(self) -> Tensor:
        """The dot product of every query with every key, divided by √2, (4, 4)."""
        q, k, _ = self._faces()
        return attention_scores(q, k)

    @property
    def weights(self) -> Tensor:
        """The attention weights, a row for each query, (4, 4)."""
        q, k, _ = self._faces()
        return attention_weights(q, k)

    @property
    def answers(self) -> Tensor:
        """The output of attention for each stall, (4,)."""
        q, k, v = self._faces()
        return scaled_dot_product_attention(q, k, v)[:, 0]

    def numbers(self) -> Numbers:
        q, k, v = self._faces()
        wanted = self.market[:, 2].roll(-1)
        return {
            "W_q": self.W_q.tolist(),
            "W_k": self.W_k.tolist(),
            "W_v": self.W_v.tolist(),
            "queries": q.tolist(),
            "keys": k.tolist(),
            "values": v[:, 0].tolist(),
            "scores": self.scores.tolist(),
            "weights": self.weights.tolist(),
            "answers": self.answers.tolist(),
            "wanted": wanted.tolist(),
            "error": (self.answers - wanted).square().mean().item(),
        }

    def table(self) -> Table:
        n = self.numbers()
        rows = [
            [f"{i + 1} {good}", *n["weights"][i], n["answers"][i], n["wanted"][i]]
            for i, good in enumerate(GOODS)
        ]
        rows.append(["value", *n["values"], "", ""])
        return Table(
            "How much each stall listens to each, and what it hears",
            ["", "to 1", "to 2", "to 3", "to 4", "hears", "wants"],
            rows,
        )

    def __repr__(self) -> str:
        return f"QueryKeyValue(error={self.numbers()['error']:.2f})"
