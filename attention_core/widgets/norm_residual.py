"""Compare LayerNorm on one token, and five ways to join a sublayer in a stack of layers."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core.layers import LayerNorm, _Residual
from attention_core.widgets.figure import LiveFigure, Numbers, Table, number_text
from attention_core.widgets.traits import CountTrait, NumberTrait, TensorTrait

#: Fixed attention weights: 0.75 on the token itself, 0.25 on the other.
WEIGHTS = [[0.75, 0.25], [0.25, 0.75]]
JOINS = ["f(x)", "norm(f(x))", "x + f(x)", "norm(x + f(x))", "x + f(norm(x))"]


class NormResidual(LiveFigure):
    """The stacks of chapter 8 on two tokens of four numbers; the reader changes the first.

    The figure shows the token's mean and variance, its `LayerNorm`, and both tokens after some
    layers. The sublayer f mixes three quarters of each token with a quarter of the other, and
    multiplies by a strength. It is joined in five ways: alone; then a norm; added to its input;
    added, then a norm (post-norm); added, with a norm before f (pre-norm). Each way has the two
    measures of chapter 8, size and spread.

    Args:
        x: the token that the reader changes, four numbers between -20 and 20
        other: the other token, four numbers between -20 and 20
        strength: the factor of the sublayer, between 0 and 1
        layers: the number of layers, 1 to 12

    >>> figure = NormResidual(x=[0, 6, 6, 8])
    >>> [round(number, 4) for number in figure.normed.tolist()]
    [-1.6667, 0.3333, 0.3333, 1.0]
    >>> figure.x = 2 * figure.x + 3
    >>> [round(number, 4) for number in figure.normed.tolist()]
    [-1.6667, 0.3333, 0.3333, 1.0]
    """

    module = "norm_residual"
    heights = (522, 872)

    x = TensorTrait([0.0, 6.0, 6.0, 8.0], shape=(4,), bounds=(-20, 20))
    other = TensorTrait([5.0, 1.0, 4.0, 2.0], shape=(4,), bounds=(-20, 20))
    strength = NumberTrait(0.5, least=0.0, most=1.0)
    layers = CountTrait(6, least=1, most=12)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @property
    def normed(self) -> Tensor:
        """The first token after `LayerNorm`, with gain 1 and bias 0."""
        return _norm(self.x)

    @property
    def streams(self) -> dict[str, Tensor]:
        """Both tokens after all layers, (2, 4), for each way of joining."""
        weights = torch.tensor(WEIGHTS, dtype=torch.float64)

        def f(x: Tensor) -> Tensor:
            return self.strength * (weights @ x)

        post, pre = (_Residual(0.0, norm_first) for norm_first in (False, True))
        joins: dict[str, Callable[[Tensor], Tensor]] = {
            "f(x)": f,
            "norm(f(x))": lambda x: _norm(f(x)),
            "x + f(x)": lambda x: x + f(x),
            "norm(x + f(x))": lambda x: post.add(x, _NORM, f),
            "x + f(norm(x))": lambda x: pre.add(x, _NORM, f),
        }
        found = {}
        for name in JOINS:
            x = torch.stack([self.x, self.other])
            for _ in range(self.layers):
                x = joins[name](x).detach()
            found[name] = x
        return found

    def numbers(self) -> Numbers:
        start = torch.stack([self.x, self.other])
        normed = self.normed
        stacks = [start, *self.streams.values()]
        return {
            "x": self.x.tolist(),
            "mean": self.x.mean().item(),
            "variance": self.x.var(correction=0).item(),
            "normed": normed.tolist(),
            "normed_mean": normed.mean().item(),
            "normed_variance": normed.var(correction=0).item(),
            "streams": [x.tolist() for x in stacks],
            "size": [x.square().mean().sqrt().item() for x in stacks],
            "spread": [_spread(x) for x in stacks],
        }

    def table(self) -> Table:
        n = self.numbers()
        names = ["at the start", *JOINS]
        rows = [
            [name, *(", ".join(number_text(v, 2) for v in token) for token in x), size, spread]
            for name, x, size, spread in zip(
                names, n["streams"], n["size"], n["spread"], strict=True
            )
        ]
        normed = ", ".join(number_text(v) for v in n["normed"])
        rows.insert(1, ["norm(x) of your token", normed, "–", "–", "–"])
        layers = "1 layer" if self.layers == 1 else f"{self.layers} layers"
        return Table(
            f"Two tokens after {layers}, strength {self.strength:g}",
            ["", "your token", "the other", "size", "spread"],
            rows,
        )

    def __repr__(self) -> str:
        return f"NormResidual(layers={self.layers}, strength={self.strength:g})"


_NORM = LayerNorm(4).double().requires_grad_(False)


def _norm(x: Tensor) -> Tensor:
    normed: Tensor = _NORM(x)
    return normed


def _spread(x: Tensor) -> float:
    """Return the spread of chapter 8: the norm of the tokens minus their mean, over their norm."""
    return float((x - x.mean(dim=0, keepdim=True)).norm() / x.norm())
