"""Compare five ways to join a part in a stack: sizes, spreads, and the slope of the stack."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.functional import jvp

from attention_core.layers import LayerNorm, _Residual
from attention_core.widgets.figure import LiveFigure, Numbers, Table, number_text
from attention_core.widgets.traits import CountTrait, NumberTrait, TensorTrait

#: Fixed attention weights: 0.75 on the token itself, 0.25 on the other.
WEIGHTS = [[0.75, 0.25], [0.25, 0.75]]
JOINS = ["f(x)", "norm(f(x))", "x + f(x)", "norm(x + f(x))", "x + f(norm(x))"]


class NormResidual(LiveFigure):
    """The stacks of chapter 8 on two tokens of four numbers, with the slope of each stack.

    A part f mixes three quarters of each token with a quarter of the other, and multiplies
    by a strength. It is joined in five ways: alone; then a norm; added to its input; added, then
    a norm (post-norm); added, with a norm before f (pre-norm). For each way the figure shows both
    tokens after all parts, with three measures. The size is the root of the mean square. The
    spread is how far the two tokens differ, as a share of their length. The slope says how far
    the result moves if the first numbers of both tokens are moved a little.

    Args:
        tokens: the two tokens, eight numbers between -20 and 20; each has mean 0 unless given
        offset: what the reader adds to all eight numbers, between 0 and 5
        strength: the factor of f, between -0.5 and 0.5
        parts: the number of parts, each f with its plus and its norm, 1 to 12

    >>> figure = NormResidual(parts=12, strength=0.5)
    >>> [round(slope, 4) for slope in figure.numbers()["slope"]][2]
    129.7463
    >>> figure.strength = -0.5
    >>> [round(slope, 4) for slope in figure.numbers()["slope"]][2]
    0.0002
    """

    module = "norm_residual"
    heights = (440, 480)

    tokens = TensorTrait([[-5, 1, 1, 3], [0, -2, 4, -2]], shape=(2, 4), bounds=(-20, 20))
    offset = NumberTrait(0.0, least=0.0, most=5.0)
    strength = NumberTrait(0.5, least=-0.5, most=0.5)
    parts = CountTrait(12, least=1, most=12)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @property
    def start(self) -> Tensor:
        """Both tokens with the offset, (2, 4)."""
        start: Tensor = self.tokens.double() + self.offset
        return start

    @property
    def stacks(self) -> dict[str, Callable[[Tensor], Tensor]]:
        """For each way of joining, a function from both tokens to the result of all parts."""
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

        def stack(join: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
            def through(x: Tensor) -> Tensor:
                for _ in range(self.parts):
                    x = join(x)
                return x

            return through

        return {name: stack(joins[name]) for name in JOINS}

    def numbers(self) -> Numbers:
        start, push = self.start, torch.zeros(2, 4, dtype=torch.float64)
        push[:, 0] = 1
        results, slopes = [start], []
        for stack in self.stacks.values():
            result, moved = jvp(stack, start, push)  # type: ignore[no-untyped-call]
            results.append(result)
            slopes.append((moved.norm() / push.norm()).item())
        return {
            "streams": [x.tolist() for x in results],
            "size": [x.square().mean().sqrt().item() for x in results],
            "spread": [_spread(x) for x in results],
            "slope": slopes,
        }

    def table(self) -> Table:
        n = self.numbers()
        names, slopes = ["at the start", *JOINS], ["–", *n["slope"]]
        rows = [
            [name, *(", ".join(number_text(v, 2) for v in token) for token in x), *measures]
            for name, x, *measures in zip(
                names, n["streams"], n["size"], n["spread"], slopes, strict=True
            )
        ]
        parts = "1 part" if self.parts == 1 else f"{self.parts} parts"
        return Table(
            f"Two tokens after {parts}, strength {self.strength:g}, offset {self.offset:g}",
            ["", "first token", "second token", "size", "spread", "slope"],
            rows,
        )

    def __repr__(self) -> str:
        return f"NormResidual(parts={self.parts}, strength={self.strength:g})"


_NORM = LayerNorm(4).double().requires_grad_(False)


def _norm(x: Tensor) -> Tensor:
    normed: Tensor = _NORM(x)
    return normed


def _spread(x: Tensor) -> float:
    """Return the length of the tokens minus their mean, divided by their length."""
    return float((x - x.mean(dim=0, keepdim=True)).norm() / x.norm())
