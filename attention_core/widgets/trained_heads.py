"""Show where each head of a published model looks, on a dozen sentences, and its control."""

from typing import Any

import traitlets
from torch import Tensor

from attention_core.widgets.figure import LiveFigure, Numbers, Table, number_text
from attention_core.widgets.head_maps import (
    HEADS,
    LAYERS,
    LONGEST,
    bytes_at,
    packed,
    sentences,
    tokens_of,
    weights_at,
)
from attention_core.widgets.traits import CountTrait

#: The data that a page may ask for, and whether they are those of the trained model.
ASKED = {"heads_trained": True, "heads_untrained": False}


class TrainedHeads(LiveFigure):
    """Pick one of 72 heads of all-MiniLM-L6-v2, then a word: the figure shows where it looks.

    The weights are those of twelve sentences, stored in 8 bits: each is off by at most 0.0025,
    and its two decimals are right. The untrained model is the same machine with random
    parameters, as a control. A page shows the first map at once, and loads the others when the
    reader asks for one of them.

    Args:
        sentence: the number of the sentence, from 0; `head_maps.sentences` lists them
        layer, head: counted from 0
        trained: whether the published parameters are shown, or random ones
        query: the token whose weights are shown, from 0; a shorter sentence uses its last
        opening: the map of the initial state, for the page; the figure fills it

    >>> figure = TrainedHeads()
    >>> figure.tokens[5], figure.tokens[6], round(figure.row[6].item(), 2)
    ('one', 'step', 0.81)
    >>> figure.query = 6
    >>> round(figure.row[5].item(), 2)
    0.01
    """

    module = "trained_heads"
    heights = (410, 686)

    sentence = CountTrait(0, most=11)
    layer = CountTrait(3, most=LAYERS - 1)
    head = CountTrait(1, most=HEADS - 1)
    trained = traitlets.Bool(True).tag(sync=True)
    query = CountTrait(5, most=LONGEST - 1)
    opening = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        if not self.opening:
            self.opening = self._first()
        self.on_msg(self._answer)

    def _first(self) -> dict[str, Any]:
        """Return the maps of the picked head, trained and untrained, as the page reads them."""
        both = {
            name: bytes_at(self.sentence, trained=trained)[self.layer, self.head].tolist()
            for name, trained in (("trained", True), ("untrained", False))
        }
        return {"sentence": self.sentence, "layer": self.layer, "head": self.head, **both}

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """Send the maps to a page that asks for them."""
        wants = content.get("wants") if isinstance(content, dict) else None
        if wants in ASKED:
            manifest, data = packed(trained=ASKED[wants])
            self.send({"data": wants, **manifest}, buffers=[data])

    @property
    def tokens(self) -> list[str]:
        """The tokens of the sentence; the first and the last mark its ends."""
        return tokens_of(self.sentence)

    @property
    def weights(self) -> Tensor:
        """The weights of the picked head, (L, L)."""
        return weights_at(self.sentence, trained=self.trained)[self.layer, self.head]

    @property
    def row(self) -> Tensor:
        """The weights that the picked token gives to all tokens, (L,)."""
        weights = self.weights
        return weights[min(self.query, len(weights) - 1)]

    def numbers(self) -> Numbers:
        row = self.row
        most = row.max().item()
        return {
            "row": row.tolist(),
            "top": int(row.argmax()),
            "most": most,
            "even": 1 / len(row),
            "times": most * len(row),
        }

    def table(self) -> Table:
        rows = []
        for word, row in zip(self.tokens, self.weights, strict=True):
            rows.append([word, self.tokens[int(row.argmax())], number_text(row.max().item(), 2)])
        kind = "trained" if self.trained else "untrained"
        return Table(
            f"“{sentences()[self.sentence]}” Where each token looks most: layer {self.layer}, "
            f"head {self.head}, {kind}; an even share is {1 / len(rows):.2f}",
            ["token", "looks most at", "weight"],
            rows,
        )

    def __repr__(self) -> str:
        shown = f"sentence={self.sentence}, layer={self.layer}, head={self.head}"
        return f"TrainedHeads({shown}{'' if self.trained else ', trained=False'})"
