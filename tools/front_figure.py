"""Draw the figure of the front page: where a head of a trained model looks from *she* and *he*.

    python tools/front_page.py

writes it, as HTML with SVG that stands in the page: it takes the page's font and its colours,
light or dark. The reader chooses a pronoun and an order by radio buttons, and book.css shows the
drawing of both; there is no script. The weights are the rows ``told`` of the table ``rates`` of
published numbers.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path

from attention_core.published import load_table

PATH = Path(__file__).resolve().parent / "front_figure.html"
PRONOUNS = {"she": "girl", "he": "king"}  # and whom they fit
ORDERS = ("king", "girl"), ("girl", "king")
START, STOP, END = "start", ".", "end"  # shown for [CLS], the full stop, and [SEP]

WIDTH, HEIGHT, BASE = 354, 142, 112  # in CSS pixels on a phone; BASE is where the words stand
WIDEST = 20  # the thickness of an arc for a weight of 1
NARROW, BROAD, BOLD = "fijlrt.", "mwTM", {*PRONOUNS, *PRONOUNS.values()}


@dataclass(frozen=True)
class State:
    """One sentence, and the weights that its pronoun gives to all tokens."""

    pronoun: str
    first: str
    second: str
    weights: list[float]

    @property
    def tokens(self) -> list[str]:
        """What is drawn, from left to right."""
        words = f"The {self.first} told the {self.second} that {self.pronoun} was tired".split()
        return [START, *words, STOP, END]

    @property
    def asking(self) -> int:
        """The place of the pronoun."""
        return self.tokens.index(self.pronoun)

    @property
    def person(self) -> str:
        """The one whom the pronoun fits."""
        return PRONOUNS[self.pronoun]

    @property
    def other(self) -> str:
        return self.first if self.person == self.second else self.second

    def weight(self, token: str) -> float:
        return self.weights[self.tokens.index(token)]


def states() -> list[State]:
    """Return the four sentences in the order of the table: she and he, in both orders."""
    rows = load_table("rates")["told"].tolist()
    cases = [(pronoun, *order) for order in ORDERS for pronoun in PRONOUNS]
    return [State(*case, row) for case, row in zip(cases, rows, strict=True)]


def said(weight: float) -> str:
    """Return a weight with two digits."""
    return f"{weight:.2f}"


def result(state: State) -> str:
    """Say in a sentence where the pronoun looks."""
    person, other = (said(state.weight(name)) for name in (state.person, state.other))
    return (
        f"<em>{state.pronoun}</em> looks at <em>{state.person}</em>: it gives this word "
        f'<span class="weights">{person}</span> of its attention, and '
        f"<em>{state.other}</em> {other}."
    )


def described() -> str:
    """Say what the picture shows, for readers who do not see it."""
    rows = "; ".join(
        f"“The {s.first} told the {s.second} that {s.pronoun} was tired.”: "
        f"{s.person} {said(s.weight(s.person))}, {s.other} {said(s.weight(s.other))}, "
        f"start mark {said(s.weight(START))}"
        for s in states()
    )
    return (
        "The sentence that is chosen, with an arc from its pronoun to each word. The thicker the "
        f"arc, the larger the weight. {rows}."
    )


def figure() -> str:
    """Return the figure: the choices, the picture, and the result."""
    choices = [_choice("told-she", "she", "<b>she</b> was tired", checked=True)]
    choices.append(_choice("told-he", "he", "<b>he</b> was tired"))
    orders = [
        _choice(f"told-{first}", first, f"<b>The {first}</b> told…", checked=first == "king")
        for first, _ in ORDERS
    ]
    results = [f'<span class="case n{n}">{result(s)}</span>' for n, s in enumerate(states(), 1)]
    return "\n".join(
        [
            '<fieldset class="front-figure">',
            "<legend>Change one word. Then change the order.</legend>",
            '<div class="front-play">',
            *choices,
            *orders,
            _picture(),
            f'<p class="result" aria-live="polite">{"".join(results)}</p>',
            "</div>",
            "</fieldset>\n",
        ]
    )


def _choice(name: str, value: str, label: str, *, checked: bool = False) -> str:
    group = "pronoun" if value in PRONOUNS else "order"
    on = " checked" if checked else ""
    return f'<input type="radio" name="{group}" id="{name}"{on}><label for="{name}">{label}</label>'


def _width(token: str) -> float:
    """Return about how wide a word is, in pixels."""
    if token in (START, END):
        return 28.0  # of the number below
    em = sum(0.33 if c in NARROW else 0.85 if c in BROAD else 0.62 for c in token)
    return 13 * em * (1.12 if token in BOLD else 1.0)


def _places(tokens: list[str]) -> list[float]:
    """Return the middle of each word in a line that fills the width."""
    widths = [_width(token) for token in tokens]
    gap = (WIDTH - sum(widths)) / (len(tokens) - 1)
    middles, x = [], 0.0
    for width in widths:
        middles.append(x + width / 2)
        x += width + gap
    return middles


def _picture() -> str:
    parts = []
    for number, state in enumerate(states(), 1):
        parts += [f'<g class="case n{number}">', *_drawn(state), "</g>"]
    inside = "\n".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html.escape(described())}">\n{inside}\n</svg>'
    )


def _drawn(state: State) -> list[str]:
    """Return one sentence with its arcs; that to the person comes last, above the others."""
    tokens, places, start = state.tokens, _places(state.tokens), state.asking
    arcs, words = [], []
    for token, x, weight in zip(tokens, places, state.weights, strict=True):
        kind = "told" if token == state.person else "arc"
        arcs.append((kind, _arc(kind, places[start], x, weight)))
        style = {START: "small", END: "small", state.pronoun: "query", state.person: "told"}
        words.append(_text(x, BASE + 12, token, style.get(token, "")))
        if token in (START, state.first, state.second):
            words.append(_text(x, BASE + 28, said(weight), f"said {kind}"))
    return [path for _, path in sorted(arcs)] + words


def _arc(kind: str, start: float, end: float, weight: float) -> str:
    top = BASE - 5
    if start == end:  # the word and itself: a small loop
        way = f"M{start - 4:.1f} {top}c-8 -20 16 -20 8 0"
    else:
        high = top - 0.56 * abs(end - start)
        way = f"M{start:.1f} {top}C{start:.1f} {high:.1f} {end:.1f} {high:.1f} {end:.1f} {top}"
    return f'<path class="{kind}" stroke-width="{WIDEST * weight:.2f}" d="{way}"/>'


def _text(x: float, y: float, words: str, kind: str) -> str:
    styled = f' class="{kind}"' if kind else ""
    return f'<text{styled} x="{x:.1f}" y="{y}">{words}</text>'
