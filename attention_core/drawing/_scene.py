"""What a drawing shows, and the numbers in it, computed by `attention_core`."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from attention_core.drawing._pen import Point, Row, Table
from attention_core.drawing._text import number
from attention_core.functional import masked_softmax
from attention_core.masks import causal_mask


@dataclass(frozen=True)
class Scene:
    """What the drawing of one chapter shows, and which of its parts are new.

    ``lit`` and ``parts`` are names with blanks between them; ``lit`` may be "all". ``about`` is
    the caption, ``alt`` the description where none is made of numbers. Without matrices, x is
    query, key and value.
    """

    view: str
    lit: str
    title: str
    about: str = ""
    alt: str = ""
    parts: str = ""
    tokens: Sequence[str] = ("早", "上", "好")
    x: Table = ((1, 2, 1, 2, 1), (1, 1, 3, 2, 1), (3, 1, 2, 1, 1))
    w_q: Table | None = None
    w_k: Table | None = None
    w_v: Table | None = None
    focus: int = 0
    heads: Sequence[Table] = ()
    source: Sequence[str] = ("大", "家", "早", "上", "好")
    target: Sequence[str] = ("BOS", "good", "morning", "everyone", "EOS")
    width: int = 4
    layers: int = 2
    vocab: int = 11

    def has(self, part: str) -> bool:
        """Return whether the scene has an optional part."""
        return part in self.parts.split()


def _tensor(table: Table) -> Tensor:
    return torch.tensor(table, dtype=torch.float64)


def project(scene: Scene) -> tuple[Tensor, Tensor, Tensor]:
    """Return the queries, keys and values of a scene."""
    x = _tensor(scene.x)
    q, k, v = (x if w is None else x @ _tensor(w) for w in (scene.w_q, scene.w_k, scene.w_v))
    return q, k, v


class Numbers:
    """The numbers of one attention, step by step.

    >>> Numbers(Scene("inside", lit="all", title="")).scores[0]
    [11.0, 11.0, 10.0]
    """

    def __init__(self, scene: Scene) -> None:
        q, k, v = project(scene)
        if scene.has("one"):  # one query looks, and not all
            q = q[scene.focus : scene.focus + 1]
        scores = q @ k.mT
        inputs = scores / k.shape[-1] ** 0.5 if scene.has("divide") else scores
        mask = causal_mask(len(scene.tokens)) if scene.has("mask") else None
        weights = masked_softmax(inputs, mask)
        if mask is not None:
            inputs = inputs.masked_fill(~mask, -torch.inf)
        self.q: list[list[float]] = q.tolist()
        self.k: list[list[float]] = k.tolist()
        self.v: list[list[float]] = v.tolist()
        self.scores: list[list[float]] = scores.tolist()
        self.inputs: list[list[float]] = inputs.tolist()
        self.weights: list[list[float]] = weights.tolist()
        self.mixture: list[list[float]] = (weights @ v).tolist()


def softmax_rows(scores: Table) -> Table:
    """Return the weights of scores that are given."""
    weights: Table = masked_softmax(_tensor(scores)).tolist()
    return weights


def sum_to_show(weights: Row, values: Table) -> tuple[list[Point], float, int]:
    """Return the products, the sum and the index of a column to write out.

    It is the first one whose rounded weights give the rounded mixture.

    Raises:
        ValueError: there is no such column, so the sum on paper would not come out
    """
    for index, column in enumerate(zip(*values, strict=True)):
        pairs = list(zip(weights, column, strict=True))
        exact = sum(w * v for w, v in pairs)
        if number(sum(float(number(w)) * v for w, v in pairs), 2) == number(exact, 2):
            return pairs, exact, index
    raise ValueError("weights must give their mixture when both are rounded to two decimals")
