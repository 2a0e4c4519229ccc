"""Two vectors to drag: what a dot product measures, and what it does not."""

import math
from typing import Any

import torch

from attention_core.widgets.figure import LiveFigure, Numbers, Table, TensorTrait


class TwoVectors(LiveFigure):
    """Two vectors in the plane; drag their tips.

    Shown are both lengths, the angle between them, the length of q's shadow on k (its
    projection), the dot product, and the cosine. The dot product is the shadow times the
    length of k, whatever the angle.

    Args:
        q, k: the two vectors, two numbers each, between -4 and 4

    >>> figure = TwoVectors(q=[3, 4], k=[2, 0])
    >>> [round(figure.numbers()[name], 4) for name in ("dot", "cosine", "projection")]
    [6.0, 0.6, 3.0]
    """

    module = "two_vectors"
    heights = (432, 664)

    q = TensorTrait([1.0, 3.0], shape=(2,), bounds=(-4, 4))
    k = TensorTrait([3.0, 1.0], shape=(2,), bounds=(-4, 4))

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    def numbers(self) -> Numbers:
        q, k = self.q, self.k
        dot = torch.dot(q, k).item()
        length_q, length_k = q.norm().item(), k.norm().item()
        # A vector of length 0 has no direction: angle, cosine and shadow are not defined.
        cosine = dot / (length_q * length_k) if length_q and length_k else math.nan
        cosine = max(-1.0, min(1.0, cosine)) if cosine == cosine else cosine
        return {
            "q": q.tolist(),
            "k": k.tolist(),
            "length_q": length_q,
            "length_k": length_k,
            "dot": dot,
            "cosine": cosine,
            "angle": math.degrees(math.acos(cosine)) if cosine == cosine else math.nan,
            "projection": dot / length_k if length_k else math.nan,
        }

    def table(self) -> Table:
        n = self.numbers()
        names = {
            "length of q": "length_q",
            "length of k": "length_k",
            "angle in degrees": "angle",
            "cosine of the angle": "cosine",
            "shadow of q on k": "projection",
            "dot product": "dot",
        }
        rows = [[label, n[name]] for label, name in names.items()]
        q, k = (", ".join(f"{x:g}" for x in vector) for vector in (n["q"], n["k"]))
        return Table(f"q = ({q}), k = ({k})", ["", "number"], rows)
