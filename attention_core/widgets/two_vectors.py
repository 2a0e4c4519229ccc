"""Two vectors to drag: what a dot product measures, and what it does not."""

import math
from typing import Any

import torch
from torch import Tensor

from attention_core.widgets.figure import LiveFigure, Numbers, Table
from attention_core.widgets.traits import TensorTrait


class TwoVectors(LiveFigure):
    """Two vectors in the plane; drag their tips.

    The figure shows the dot product as a product of three numbers: the length of k, the cosine
    of the angle, and the length of q. The first two make k's shadow on q, its projection. It
    also shows the dot product of q with itself, which is lower than that of q with k exactly if
    the shadow reaches beyond the tip of q. Buttons turn k without changing its length, and
    change the length of either without turning it.

    Args:
        q, k: the two vectors, two numbers each, between -4 and 4

    >>> figure = TwoVectors(q=[4, 0], k=[1.5, 2])
    >>> [round(figure.numbers()[name], 4) for name in ("dot", "cosine", "projection")]
    [6.0, 0.6, 1.5]
    >>> figure.k = 2 * figure.k
    >>> figure.dot
    tensor(12., dtype=torch.float64)
    """

    module = "two_vectors"
    heights = (512, 752)

    q = TensorTrait([2.0, 0.0], shape=(2,), bounds=(-4, 4))
    k = TensorTrait([1.2, 1.6], shape=(2,), bounds=(-4, 4))

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @property
    def dot(self) -> Tensor:
        """The dot product of q and k."""
        return torch.dot(self.q, self.k)

    @property
    def cosine(self) -> Tensor:
        """The cosine of the angle between q and k; nan if one of them has length 0."""
        return torch.tensor(self.numbers()["cosine"], dtype=torch.float64)

    def numbers(self) -> Numbers:
        q, k = self.q, self.k
        dot = self.dot.item()
        length_q, length_k = q.norm().item(), k.norm().item()
        # A vector of length 0 has no direction, so angle and cosine are not defined.
        cosine = angle = math.nan
        if length_q and length_k:
            cosine = max(-1.0, min(1.0, dot / (length_q * length_k)))
            # More accurate than acos, which is steep at both ends.
            across = abs(q[0] * k[1] - q[1] * k[0]).item()
            angle = math.degrees(math.atan2(across, dot))
        return {
            "q": q.tolist(),
            "k": k.tolist(),
            "length_q": length_q,
            "length_k": length_k,
            "dot": dot,
            "own": torch.dot(q, q).item(),
            "cosine": cosine,
            "angle": angle,
            "projection": dot / length_q if length_q else math.nan,
        }

    def table(self) -> Table:
        n = self.numbers()
        names = {
            "angle in degrees": "angle",
            "length of k": "length_k",
            "cosine of the angle": "cosine",
            "shadow of k on q": "projection",
            "length of q": "length_q",
            "dot product of q and k": "dot",
            "dot product of q with itself": "own",
        }
        rows = [[label, n[name]] for label, name in names.items()]
        q, k = (", ".join(f"{x:g}" for x in vector) for vector in (n["q"], n["k"]))
        return Table(f"q = ({q}), k = ({k})", ["", "number"], rows)

    def __repr__(self) -> str:
        q, k = (", ".join(f"{x:.2f}" for x in vector.tolist()) for vector in (self.q, self.k))
        return f"TwoVectors(q=[{q}], k=[{k}])"
