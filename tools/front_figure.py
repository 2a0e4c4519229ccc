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

WIDTH, TOP, ROW, GAP = 354, 30, 42, 10  # in CSS pixels on a phone
FIRST, LAST = 16, 338  # where the smallest and the largest number stand


@dataclass(frozen=True)
class Move:
    """What a sentence makes of *bark*: how much closer it is to tree words than to dog words."""

    sentence: str
    closer_to_tree: float


def moves() -> tuple[float, list[Move]]:
    """Return where *bark* stands alone, and in each sentence."""
    table = load_table("bark")

    def closer(row: dict[str, Any]) -> float:
        return float(row["tree"] - row["dog"])

    rows = {" ".join(row["tokens"]): row for row in table["sentences"]}
    found = [Move(text, closer(rows[text.lower().rstrip(".")])) for text in SHOWN]
    return closer(table["alone"]), found


def described() -> str:
    """Say what the figure shows, for readers who do not see it."""
    alone, found = moves()
    said = [
        f"“{move.sentence}” moves it towards the "
        f"{'tree' if move.closer_to_tree > alone else 'dog'} words, to {move.closer_to_tree:.2f}."
        for move in found
    ]
    return (
        f"Where the word bark lies between the words {LEFT} on the left and the words {RIGHT} "
        f"on the right; at 0 it is as close to these as to those. Alone it stands at {alone:.2f}. "
        + " ".join(said)
    ).replace("-", "−")


def figure() -> str:
    """Return the figure as SVG."""
    alone, found = moves()
    numbers = [alone, 0.0, *(move.closer_to_tree for move in found)]
    least, largest = min(numbers), max(numbers)

    def x(number: float) -> float:
        return FIRST + (LAST - FIRST) * (number - least) / (largest - least)

    pairs = len(found) // 2
    height = TOP + len(found) * ROW + pairs * GAP + 20
    parts = [
        _text(0, 14, f"← {LEFT}", "small"),
        _text(WIDTH, 14, f"{RIGHT} →", "small", anchor="end"),
    ]
    for i, move in enumerate(found):
        y = TOP + i * ROW + i // 2 * GAP + 14
        words = html.escape(move.sentence)
        for word in ("bark", CHANGED[i]):
            kind = "word" if word == "bark" else "changed"
            words = words.replace(word, f'<tspan class="{kind}">{word}</tspan>')
        parts += [
            _text(0, y, words, "said"),
            f'<path class="even" d="M{x(0):.1f} {y + 5}v16"/>',
            _arrow(x(alone), x(move.closer_to_tree), y + 13),
        ]
    parts += [
        f'<circle class="dot" cx="{x(alone):.1f}" cy="{height - 21}" r="4"/>',
        _text(x(alone), height - 4, '<tspan class="word">bark</tspan> alone', "small", "middle"),
        f'<path class="even" d="M{x(0):.1f} {height - 26}v10"/>',
        _text(x(0), height - 4, "as close to both", "small", "middle"),
    ]
    inside = "\n".join(parts)
    return (
        f'<svg class="front-figure" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{html.escape(described())}">\n{inside}\n</svg>\n'
    )


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{x:.1f}" y="{y}"{end}>{words}</text>'


def _arrow(start: float, end: float, y: float) -> str:
    way = 1 if end > start else -1
    return (
        f'<circle class="dot" cx="{start:.1f}" cy="{y}" r="4"/>'
        f'<path class="way" d="M{start + 4 * way:.1f} {y}H{end - 6 * way:.1f}"/>'
        f'<path class="tip" d="M{end:.1f} {y}l{-9 * way} -5v10z"/>'
    )
