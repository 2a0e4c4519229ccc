"""Translate an English date into Chinese with the trained model, character by character."""

import math
from collections.abc import Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor

from attention_core.dates import SOURCE, TARGET
from attention_core.widgets.dates_model import MOST, packed, run_of
from attention_core.widgets.figure import LiveFigure, Numbers, Table
from attention_core.widgets.traits import CountTrait

#: How many of the likeliest tokens, and of the largest weights, are shown with their numbers.
BEST = 3
EXAMPLES = ["24 November 2026", "2021-03-16", "from 28 May to 3 June 2026"]


class Translator(LiveFigure):
    """Type a date, and the package's model translates it, character by character.

    On a page the model runs in the browser, which loads the parameters when the reader first
    types. Until then the page can show one translation only, that of the initial text.

    Args:
        source: the text to translate: at most 40 characters, all in the model's vocabulary
        layer: the layer whose cross-attention is shown, counted from 0
        head: the head, counted from 0; None for the mean over all heads
        written: the number of characters written so far; a larger number means all
        opening: the translation of the initial text, for the page; the figure fills it

    >>> figure = Translator(source="3 May 2026", written=4)
    >>> figure.translation
    '二〇二六年五月三日'
    >>> figure.weights.shape, round(figure.numbers()["chances"][0], 4)
    (torch.Size([5, 10]), 0.9051)
    """

    module = "translator"
    heights = (549, 928)

    source = traitlets.Unicode("3 May 2026").tag(sync=True)
    layer = CountTrait(1, least=0, most=1)
    head = CountTrait(1, least=0, most=3, allow_none=True)
    written = CountTrait(MOST)
    opening = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        if not self.opening:
            self.opening = _opening(self.source)
        self.on_msg(self._answer)

    @traitlets.validate("source")
    def _check_source(self, proposal: Any) -> str:
        try:
            ids = SOURCE.encode(proposal["value"])
        except ValueError as error:
            raise traitlets.TraitError(f"source: {error}") from None
        if len(ids) > MOST:
            raise traitlets.TraitError(
                f"source must have at most {MOST} characters, got {len(ids)}"
            )
        return SOURCE.decode(ids)  # in the Unicode normal form of the vocabulary

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """Send the parameters of the model to a page that asks for them."""
        if content == {"wants": "dates"}:
            manifest, data = packed()
            self.send({"data": "dates", **manifest}, buffers=[data])

    @property
    def translation(self) -> str:
        """The whole translation, not only what is written so far."""
        return TARGET.decode(run_of(self.source).ids)

    @property
    def weights(self) -> Tensor:
        """The cross-attention so far, (written + 1, S); its last row belongs to the next token."""
        run = run_of(self.source)
        cross = run.cross[self.layer, :, : self._step() + 1]
        return cross.mean(dim=0) if self.head is None else cross[self.head].clone()

    @property
    def chances(self) -> Tensor:
        """The probability of each target token to come next, (V,)."""
        return run_of(self.source).logits[self._step()].softmax(dim=-1)

    def _step(self) -> int:
        return min(self.written, len(run_of(self.source).logits) - 1)

    def _ended(self) -> bool:
        run = run_of(self.source)
        return len(run.ids) <= self.written and len(run.ids) < len(run.logits)

    def numbers(self) -> Numbers:
        ids = run_of(self.source).ids[: self.written]
        chances = run_of(self.source).logits.softmax(dim=-1)
        said = [chances[n, token].item() for n, token in enumerate(ids)]
        # A complete text includes its EOS, so EOS counts as well.
        end = chances[len(ids), TARGET.EOS].item() if self._ended() else 1.0
        places = _best(self.weights[-1])
        tokens = _best(self.chances)
        row = self.weights[-1].tolist()
        return {
            "weights": self.weights.tolist(),
            "places": [*places, *[-1] * (BEST - len(places))],
            "looks": [*[row[n] for n in places], *[float("nan")] * (BEST - len(places))],
            "next": tokens,
            "chances": [self.chances[token].item() for token in tokens],
            "ids": ids,
            "said": said,
            "whole": math.prod(said) * end,
            "count": len(ids),
        }

    def table(self) -> Table:
        rows = []
        for source in EXAMPLES:
            run = run_of(source)
            chance = run.logits.softmax(dim=-1).amax(dim=-1).prod().item()
            rows.append([source, TARGET.decode(run.ids), chance])
        return Table(
            "Three dates, what the model makes of them, and the chance it gives the whole text",
            ["English", "Chinese", "chance"],
            rows,
        )

    def __repr__(self) -> str:
        return f"Translator(source={self.source!r})"


def _best(values: Tensor) -> list[int]:
    """Return the indices of the largest values; among equal ones, the first comes first."""
    order: Sequence[int] = torch.sort(values, descending=True, stable=True).indices.tolist()
    return list(order[:BEST])


def _opening(source: str) -> dict[str, Any]:
    """Return one run as plain data, with 7 decimals: enough to show 4."""
    run = run_of(source)

    def plain(x: Any) -> Any:
        return [plain(inner) for inner in x] if isinstance(x, list) else round(x, 7)

    chances = run.logits.softmax(dim=-1)
    return {
        "source": source,
        "ids": run.ids,
        "chances": plain(chances.tolist()),
        # The steps come first, as in a run of the model in the browser.
        "cross": plain(run.cross.permute(2, 0, 1, 3).tolist()),
    }
