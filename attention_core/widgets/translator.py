"""The trained model at work: a date in English becomes Chinese, character by character."""

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

#: As many chances, and places of the source, are shown with their numbers.
BEST = 3
EXAMPLES = ["24 November 2026", "2021-03-16", "from 28 May to 3 June 2026"]


class Translator(LiveFigure):
    """Type a date; the package's model reads it and writes, one character after the other.

    On a page the model runs in the browser; its numbers come when the reader first types.
    Before that the page knows one text, the one that it opens with.

    Args:
        source: the text to translate, of at most 40 of the characters that the model knows
        layer: whose cross-attention is shown, counted from 0
        head: which head, counted from 0; None for the mean of all
        written: how many characters stand there already; more than there are means all
        opening: what the page knows at first; filled by the figure

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
        return SOURCE.decode(ids)  # in the normal form

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        """The page asks for the model's numbers, and gets them."""
        if content == {"wants": "dates"}:
            manifest, data = packed()
            self.send({"data": "dates", **manifest}, buffers=[data])

    @property
    def translation(self) -> str:
        """The whole translation, whatever is written so far."""
        return TARGET.decode(run_of(self.source).ids)

    @property
    def weights(self) -> Tensor:
        """The cross-attention so far, (written + 1, S): its last row chooses the next."""
        run = run_of(self.source)
        cross = run.cross[self.layer, :, : self._step() + 1]
        return cross.mean(dim=0) if self.head is None else cross[self.head].clone()

    @property
    def chances(self) -> Tensor:
        """The chance of each token of the target language to come next, (V,)."""
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
        # The text is whole only with its end.
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
    """Where the largest are, the first of equal ones first."""
    order: Sequence[int] = torch.sort(values, descending=True, stable=True).indices.tolist()
    return list(order[:BEST])


def _opening(source: str) -> dict[str, Any]:
    """One run as plain data, with the decimals that four shown ones need."""
    run = run_of(source)

    def plain(x: Any) -> Any:
        return [plain(inner) for inner in x] if isinstance(x, list) else round(x, 7)

    chances = run.logits.softmax(dim=-1)
    return {
        "source": source,
        "ids": run.ids,
        "chances": plain(chances.tolist()),
        # Step by step, as the page gets it from the model.
        "cross": plain(run.cross.permute(2, 0, 1, 3).tolist()),
    }
