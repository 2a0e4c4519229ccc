"""Show where each head of a published model looks, on a dozen sentences, and its control."""

from typing import Any

import traitlets
from torch import Tensor

from attention_core.widgets.figure import LiveFigure, Numbers, Table, number_text
from attention_core.widgets.head_maps import (
    HEADS,
    LAYERS,
    LONGEST,
    STEPS,
    bytes_at,
    leaders_at,
    leads_at,
    packed,
    sentences,
    times_of,
    tokens_of,
    weights_at,
)
from attention_core.widgets.traits import CountTrait

#: The data that a page may ask for, and whether they are those of the trained model.
ASKED = {"heads_trained": True, "heads_untrained": False}


class TrainedHeads(LiveFigure):
    """Pick one of 72 heads of all-MiniLM-L6-v2, then a word: the figure shows where it looks.

    The weights are those of twelve sentences, stored in 8 bits: each is off by at most 0.0025,
    and its two decimals are right. Which token of a row has the largest weight is stored as well,
    since two weights may share a step. The untrained model is the same machine with random
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
        leads = {
            name: leads_at(self.sentence, trained=trained)[self.layer, self.head].tolist()
            for name, trained in (("trained", True), ("untrained", False))
        }
        place = {"sentence": self.sentence, "layer": self.layer, "head": self.head}
        return {**place, **both, "leads": leads}

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

    def _leaders(self) -> tuple[list[int], list[int]]:
        """Return for each token the token and the word to which it gives the largest weight."""
        top, word = leaders_at(self.sentence, trained=self.trained)
        return top[self.layer, self.head].tolist(), word[self.layer, self.head].tolist()

    def numbers(self) -> Numbers:
        row = self.row
        at = min(self.query, len(row) - 1)
        top, word = (leaders[at] for leaders in self._leaders())
        most = row[top].item()
        return {
            "row": row.tolist(),
            "top": top,
            "word": word,
            "most": most,
            "even": 1 / len(row),
            "times": times_of(int(most * STEPS), len(row)),
        }

    def table(self) -> Table:
        rows = []
        for token, row, top in zip(self.tokens, self.weights, self._leaders()[0], strict=True):
            rows.append([token, self.tokens[top], number_text(row[top].item(), 2)])
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
