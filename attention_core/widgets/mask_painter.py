"""Paint a mask, and see which inputs reach which outputs through several layers."""

from typing import Any

import traitlets
from torch import Tensor

from attention_core.functional import attention_weights, scaled_dot_product_attention
from attention_core.reach import reach_matrix
from attention_core.widgets.figure import (
    TOGETHER,
    LiveFigure,
    Numbers,
    Table,
    number_text,
)
from attention_core.widgets.simple_attention import EMBEDDINGS, WORDS
from attention_core.widgets.traits import CountTrait, TensorTrait

# The causal mask with one cell too many: "journey" may look at "one".
MASK = [[j <= i or (i, j) == (1, 4) for j in range(6)] for i in range(6)]
NOISE = 1e-9  # rounding errors stay below it; a changed word moves an output far more


class MaskTrait(TensorTrait):
    """A square bool mask; 0 and 1 are read as False and True.

    >>> class Pair(traitlets.HasTraits):
    ...     m = MaskTrait([[True]])
    >>> Pair(m=[[1, 0], [0, 1]]).m
    tensor([[ True, False],
            [False,  True]])
    >>> Pair(m=[[0.5]])
    Traceback (most recent call last):
    traitlets.traitlets.TraitError: m must hold only True and False, got [[0.5]]
    """

    info_text = "a square table of True and False"

    def __init__(self, default: Any) -> None:
        super().__init__(default, shape=("n", "n"))
        self.default_value = self.default_value.bool()

    def validate(self, obj: Any, value: Any) -> Tensor:
        tensor = super().validate(obj, value)
        if not ((tensor == 0) | (tensor == 1)).all():
            raise traitlets.TraitError(
                f"{self.name} must hold only True and False, got {tensor.tolist()}"
            )
        return tensor.bool()


class MaskPainter(LiveFigure):
    """A mask to paint by hand, with its attention weights and its effect after several layers.

    The layers are those of chapter 5: each row serves as query, key and value, and the contexts
    of one layer are the inputs of the next. Beside the mask the figure shows how far each
    output moves when one input is changed, as computed by `attention_core.reach_matrix`.

    Args:
        words: the words, 2 to 8
        embeddings: their numbers, (number of words, width)
        mask: True = may look, (number of words, number of words); row i is the row of query i
        layers: the number of layers, 1 to 5

    >>> from attention_core import causal_mask
    >>> figure = MaskPainter(mask=causal_mask(6))
    >>> [round(x, 2) for x in figure.reach[1].tolist()]
    [1.73, 1.9, 0.0, 0.0, 0.0, 0.0]
    >>> MaskPainter(layers=2).numbers()["future"]  # one wrong cell, and five after two layers
    5
    """

    module = "mask_painter"
    heights = (575, 850)

    words = traitlets.List(traitlets.Unicode(), WORDS, minlen=2, maxlen=8).tag(sync=True)
    embeddings = TensorTrait(EMBEDDINGS, shape=(None, None), bounds=(-4, 4))
    mask = MaskTrait(MASK)
    layers = CountTrait(1, least=1, most=5)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @traitlets.validate("embeddings", "mask", "words")
    def _check_length(self, proposal: Any) -> Any:
        value, changed = proposal["value"], proposal["trait"].name
        now: dict[str, Any] = {
            "words": self.words,
            "embeddings": self.embeddings,
            "mask": self.mask,
        }
        now[changed] = value
        for name in ("embeddings", "mask") if changed == "words" else (changed,):
            if len(now[name]) != len(now["words"]) or now[name].shape[-1] == 0:
                raise traitlets.TraitError(
                    f"{name} must have a row for each of the {len(now['words'])} words, "
                    f"got shape {tuple(now[name].shape)}{TOGETHER}"
                )
        return value

    @property
    def weights(self) -> Tensor:
        """The weights of the first layer, (words, words)."""
        return attention_weights(self.embeddings, self.embeddings, self.mask)

    @property
    def reach(self) -> Tensor:
        """How far output i moves when input j is changed, (words, words)."""
        return reach_matrix(self._stack, self.embeddings)

    def _stack(self, x: Tensor) -> Tensor:
        for _ in range(self.layers):
            x = scaled_dot_product_attention(x, x, x, self.mask)
        return x

    def numbers(self) -> Numbers:
        weights, reach = self.weights, self.reach
        reached = reach > NOISE
        return {
            "weights": weights.tolist(),
            "sums": weights.sum(dim=-1).tolist(),
            "reach": reach.tolist(),
            "permitted": int(self.mask.sum()),
            "reached": int(reached.sum()),
            "future": int(reached.triu(1).sum()),
        }

    def table(self) -> Table:
        n = self.numbers()
        rows = [
            [
                word,
                " ".join(w for w, may in zip(self.words, permitted, strict=True) if may) or "none",
                ", ".join(number_text(x, 2) for x in weights),
                ", ".join(number_text(x, 2) for x in reach),
            ]
            for word, permitted, weights, reach in zip(
                self.words, self.mask.tolist(), n["weights"], n["reach"], strict=True
            )
        ]
        return Table(
            f"What each word may look at, its weights, and how far its output moves "
            f"when each input is changed (layers: {self.layers})",
            ["word", "may look at", "weights", "moves"],
            rows,
        )

    def __repr__(self) -> str:
        permitted = int(self.mask.sum())
        return f"MaskPainter(layers={self.layers}, permitted={permitted} of {self.mask.numel()})"
