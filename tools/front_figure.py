"""Draw the figure of the front page: what one step of attention does to the word *bark*.

    python tools/front_page.py

writes it, as SVG that stands in the page: it takes the page's font and its colours, light or
dark. The numbers are the table ``bark`` of published numbers, which chapter 2 works with.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attention_core.published import load_table

PATH = Path(__file__).resolve().parent.parent / "_static" / "bark.svg"
# Pairs that differ in one word. The table has more sentences; these need the fewest words.
SHOWN = (
    "The hound has a rough bark.",
    "The birch has a rough bark.",
    "That bark came from the wolf.",
    "That bark came from the pine.",
)
CHANGED = "hound", "birch", "wolf", "pine"
LEFT, RIGHT = "dog, puppy, howl, growl", "tree, trunk, wood, leaf"

WIDTH, TOP, ROW, GAP = 354, 34, 44, 8  # in CSS pixels on a phone
FIRST, LAST = 50, 342  # where the smallest and the largest number stand


@dataclass(frozen=True)
class Move:
    """Where a sentence puts *bark*: how much closer to tree words than to dog words.

    Once by attention, and once by the plain mean, in which all words weigh the same.
    """

    sentence: str
    closer_to_tree: float
    plain_mean: float


def moves() -> tuple[float, list[Move]]:
    """Return where *bark* stands alone, and in each sentence."""
    table = load_table("bark")
    rows = {" ".join(row["tokens"]): row for row in table["sentences"]}

    def move(text: str) -> Move:
        row = rows[text.lower().rstrip(".")]
        return Move(text, _closer(row), _closer(row, "even_"))

    return _closer(table["alone"]), [move(text) for text in SHOWN]


def _closer(row: dict[str, Any], prefix: str = "") -> float:
    return float(row[f"{prefix}tree"] - row[f"{prefix}dog"])


def described() -> str:
    """Say what the figure shows, for readers who do not see it."""
    alone, found = moves()
    said = [
        f"“{move.sentence}” moves it towards the "
        f"{'tree' if move.closer_to_tree > alone else 'dog'} words, to {move.closer_to_tree:.2f}; "
        f"the plain mean is at {move.plain_mean:.2f}."
        for move in found
    ]
    return (
        f"Where the word bark lies between the words {LEFT} on the left and the words {RIGHT} "
        f"on the right; at 0 it is equally near to both. Alone it stands at {alone:.2f}. "
        + " ".join(said)
    ).replace("-", "−")


def figure() -> str:
    """Return the figure as SVG."""
    alone, found = moves()
    numbers = [alone, 0.0]
    for move in found:
        numbers += [move.closer_to_tree, move.plain_mean]
    least, largest = min(numbers), max(numbers)

    def x(number: float) -> float:
        return FIRST + (LAST - FIRST) * (number - least) / (largest - least)

    bottom = TOP + len(found) * ROW + len(found) // 2 * GAP + 4
    parts = [
        _text(0, 12, "← dog words", "small"),
        _text(x(0), 12, "halfway: 0", "small", "middle"),
        _text(WIDTH, 12, "tree words →", "small", "end"),
    ]
    for i, move in enumerate(found):
        y = TOP + i * ROW + i // 2 * GAP + 6
        words = html.escape(move.sentence)
        for word in ("bark", CHANGED[i]):
            kind = "word" if word == "bark" else "changed"
            words = words.replace(word, f'<tspan class="{kind}">{word}</tspan>')
        parts += [
            _text(0, y, words, "said"),
            f'<path class="even" d="M{x(0):.1f} {y + 7}v16"/>',
            f'<path class="mean" d="M{x(move.plain_mean):.1f} {y + 6}v18"/>',
            _arrow(x(alone), x(move.closer_to_tree), y + 15),
            _number(x(move.closer_to_tree), y + 19, move.closer_to_tree, alone),
        ]
    alone_said = f'<tspan class="word">bark</tspan> alone: {alone:.2f}'.replace("-", "−")
    parts += [
        f'<circle class="dot" cx="{x(alone):.1f}" cy="{bottom}" r="4"/>',
        _text(x(alone) + 10, bottom + 4, alone_said, "small"),
        f'<path class="mean" d="M244 {bottom - 9}v18"/>',
        _text(252, bottom + 4, "the plain mean", "small"),
    ]
    inside = "\n".join(parts)
    return (
        f'<svg class="front-figure" viewBox="0 0 {WIDTH} {bottom + 12}" role="img" '
        f'aria-label="{html.escape(described())}">\n{inside}\n</svg>\n'
    )


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{x:.1f}" y="{y}"{end}>{words}</text>'


def _number(x: float, y: float, number: float, start: float) -> str:
    """Return the number at the head of an arrow that begins at ``start``."""
    said = f"{number:.2f}".replace("-", "−")
    if number > start:
        return _text(x + 5, y, said, "said")
    return _text(x - 5, y, said, "said", "end")


def _arrow(start: float, end: float, y: float) -> str:
    way = 1 if end > start else -1
    return (
        f'<circle class="dot" cx="{start:.1f}" cy="{y}" r="4"/>'
        f'<path class="way" d="M{start + 4 * way:.1f} {y}H{end - 6 * way:.1f}"/>'
        f'<path class="tip" d="M{end:.1f} {y}l{-9 * way} -5v10z"/>'
    )
