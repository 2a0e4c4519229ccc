"""Draw the figure of the front page: what one step of attention does to the word *bark*.

    python tools/front_page.py

writes it, as HTML with SVG that stands in the page: it takes the page's font and its colours,
light or dark. The reader chooses a word by radio buttons, and book.css shows the arrow of the one
that is checked; there is no script. The numbers are the table ``bark`` of published numbers, which
chapter 2 works with.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

from attention_core.published import load_table

PATH = Path(__file__).resolve().parent / "front_figure.html"
ANIMALS = "wolf", "cat", "tiger", "fox"
TREES = "pine", "palm", "apple", "cherry"
FIRST_CHOICE = "pine"
LEFT, RIGHT = "dog, puppy, howl, growl", "tree, trunk, wood, leaf"

WIDTH, HEIGHT, AXIS = 354, 98, 58  # in CSS pixels on a phone
FIRST, LAST = 52, 350  # where the smallest and the largest number stand


@dataclass(frozen=True)
class Move:
    """Where a word at the end of the sentence puts *bark*: below 0 the dogs are nearer.

    Once by attention, and once by the plain mean, in which all words weigh the same.
    """

    word: str
    closer_to_tree: float
    plain_mean: float


def moves() -> tuple[float, list[Move]]:
    """Return where *bark* stands alone, and with each word."""
    table = load_table("bark")
    found = [Move(w, *(-n for n in table["known"][w])) for w in (*ANIMALS, *TREES)]
    return float(table["alone"]["tree"] - table["alone"]["dog"]), found


def said(number: float) -> str:
    """Return a number with two digits and a typographic minus sign."""
    return f"{number:.2f}".replace("-", "−")


def result(move: Move) -> str:
    """Say in a sentence where a word puts *bark*."""
    alone, _ = moves()
    if move.closer_to_tree > 0:
        where = "over to the tree side"
        if move.word in ANIMALS:
            where += ". Here the step goes wrong"
    elif move.closer_to_tree < alone:
        where = "further to the dog side"
    else:
        where = "and stays on the dog side"
    return (
        f"With <em>{move.word}</em>, <em>bark</em> moves to {said(move.closer_to_tree)}, {where}."
    )


def described() -> str:
    """Say what the picture shows, for readers who do not see it."""
    alone, found = moves()
    ends = "; ".join(
        f"{move.word}: {said(move.closer_to_tree)}, plain mean {said(move.plain_mean)}"
        for move in found
    )
    return (
        f"A line from the words {LEFT} on the left to the words {RIGHT} on the right; 0 is "
        f"halfway. The word bark alone stands at {said(alone)}. An arrow leads from there to "
        f"where the chosen word puts it. {ends}."
    )


def figure() -> str:
    """Return the figure: the words to choose from, the sentence, and the picture."""
    _, found = moves()
    choices, ends, results = [], [], []
    for number, move in enumerate(found, 1):
        checked = " checked" if move.word == FIRST_CHOICE else ""
        choices.append(
            f'<input type="radio" name="bark" id="bark-{move.word}"{checked}>'
            f'<label for="bark-{move.word}">{move.word}</label>'
        )
        ends.append(f'<b class="case n{number}"> {move.word}</b>')
        results.append(f'<span class="case n{number}"> {result(move)}</span>')
    return "\n".join(
        [
            '<fieldset class="front-figure">',
            "<legend>Choose a word. Which animal goes wrong?</legend>",
            '<div class="front-play">',
            *choices,
            f'<p class="sentence">That <b class="word">bark</b> came from the{"".join(ends)}.</p>',
            _picture(),
            f'<p class="result" aria-live="polite">{"".join(results)}</p>',
            "</div>",
            "</fieldset>\n",
        ]
    )


def _picture() -> str:
    alone, found = moves()
    numbers = [alone, 0.0]
    for move in found:
        numbers += [move.closer_to_tree, move.plain_mean]
    least, largest = min(numbers), max(numbers)

    def x(number: float) -> float:
        return FIRST + (LAST - FIRST) * (number - least) / (largest - least)

    start, top = x(alone), AXIS - 18
    parts = [
        _text(0, 12, "← dog words", "small"),
        _text(WIDTH, 12, "tree words →", "small", "end"),
        _text(
            start,
            top - 6,
            f'<tspan class="word">bark</tspan> alone: {said(alone)}',
            "small",
            "middle",
        ),
        _text(x(0) - 1, top - 6, "0: halfway", "small"),
        f'<path class="axis" d="M0 {AXIS}H{WIDTH}"/>',
        f'<path class="even" d="M{x(0):.1f} {top}v26"/>',
        f'<path class="alone" d="M{start:.1f} {top}v26"/>',
    ]
    for number, move in enumerate(found, 1):
        mean, end = x(move.plain_mean), x(move.closer_to_tree)
        beside = min(max(mean, 32), WIDTH - 34)
        parts += [
            f'<g class="case n{number}">',
            f'<path class="mean" d="M{mean:.1f} {AXIS + 8}v14"/>',
            _text(beside, AXIS + 35, "plain mean", "small", "middle"),
            _arrow(start, end),
            _number(end, move.closer_to_tree, alone),
            "</g>",
        ]
    inside = "\n".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html.escape(described())}">\n{inside}\n</svg>'
    )


def _text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{x:.1f}" y="{y}"{end}>{words}</text>'


def _number(x: float, number: float, start: float) -> str:
    """Return the number at the head of an arrow that begins at ``start``."""
    if number > start:
        return _text(x + 5, AXIS + 5, said(number), "said")
    return _text(x - 5, AXIS + 5, said(number), "said", "end")


def _arrow(start: float, end: float) -> str:
    way = 1 if end > start else -1
    tip = min(9, abs(end - start))
    return (
        f'<path class="way" d="M{start:.1f} {AXIS}H{end - way * tip:.1f}"/>'
        f'<path class="tip" d="M{end:.1f} {AXIS}l{-way * tip:.1f} -5.5v11z"/>'
    )
