"""Chapter 13: one query meets the keys in blocks, and the table of weights is never kept."""

from collections.abc import Sequence

import torch

from attention_core.blockwise import Summary, merge, mixture, summarize
from attention_core.drawing._pen import Pen, Row
from attention_core.drawing._scene import Scene, project
from attention_core.drawing._text import math_text

_PITCH, _CELL, _ROW = 38.0, 17.0, 28.0
_LEFT, _CUT, _RIGHT = 86.0, 180.0, 250.0


def draw_blocks(pen: Pen, scene: Scene) -> float:
    """Draw two blocks with a cut between them, their summaries, and the merge."""
    N, focus = Blocks(scene), scene.tokens[scene.focus]
    first = _LEFT + _PITCH * len(N.keys[0])
    blocks = list(zip((_LEFT, _CUT + 18), (scene.tokens[:-1], scene.tokens[-1:]), strict=True))
    with pen.part("cut"):
        pen.path("line cut", "M", _CUT, 2, "V", 366)
    with pen.part("queries"):
        pen.text(18, 94, focus, "word bold")
        pen.strip(30, 85, N.q, "q", 24, 18, across=True)
        pen.line((80, 94), (_LEFT - 1, 94), role="q")
        pen.line((first + 2, 94), (_CUT + 17, 94), role="q")
        pen.noun(78, 116, "query " + math_text("q"), "", "end q", flat=True)
    for i, (left, words) in enumerate(blocks):
        lanes = [left + _PITCH * (j + 0.5) for j in range(len(words))]
        _block(pen, N, i, lanes, words)
    nouns = [
        ("keys", 41.0, "keys " + math_text("K^⊤"), "(2, 3)", "k"),
        ("scores", 94.0, "scaled", "(1, 3)", "s"),
        ("numerators", 170.0, "numerators", "exp(s − m)", "w"),
        ("values", 223.0, "values " + math_text("V^⊤"), "(2, 3)", "v"),
        ("summary", 320.0, "summary", "for each block", ""),
    ]
    for part, y, name, shape, role in nouns:
        with pen.part(part):
            pen.noun(_RIGHT, y, name, shape, f"start {role}")
    for part, y, name in (("scores", 69.0, "compare"), ("mix", 195.0, "mix")):
        with pen.part(part), pen.leading(name, name):
            pen.verb(_RIGHT, y, name)
    _merge(pen, N, [sum(_span(left, words)) / 2 for left, words in blocks])
    with pen.part("new"):
        pen.strip(270, 433, N.new, "", 38, _CELL, decimals=2)
        pen.text(289, 480, f"new {focus}", "bold")
    return 492


def _span(left: float, words: Sequence[str]) -> tuple[float, float]:
    return left, left + _PITCH * len(words)


def _block(pen: Pen, N: "Blocks", i: int, lanes: Row, words: Sequence[str]) -> None:
    """Draw the keys, scores, numerators and values of one block, and its summary."""
    left, middle = lanes[0] - _PITCH / 2, (lanes[0] + lanes[-1]) / 2
    for x, word, key, value in zip(lanes, words, N.keys[i], N.values[i], strict=True):
        with pen.part("keys"):
            pen.text(x, 12, word, "word")
            pen.strip(x - 12, 24, key, "k", 24, _CELL)
            pen.line((x, 60), (x, 78), role="k")
        with pen.part("values"):
            pen.strip(x - 12, 206, value, "v", 24, _CELL)
            pen.text(x, 253, word, "word")
        with pen.part("mix"):
            pen.line((x, 186), (x, 204), role="w")
    with pen.part("mix"):
        for x in lanes[:-1]:
            pen.text(x + _PITCH / 2, 223, "+")
    with pen.part("scores"):
        pen.table(left, 80, [N.scores[i]], "s", _PITCH, _ROW, 0)
    with pen.part("numerators"):
        pen.down(middle, 109, 155, "exp", 38)
        pen.table(left, 156, [N.powers[i]], "w", _PITCH, _ROW, 0)
    with pen.part("summary"):
        pen.line((middle, 263), (middle, 284))
        _letters(pen, middle - 19, 286, cells(N.summaries[i]))


def _letters(pen: Pen, x: float, y: float, numbers: Row) -> None:
    """Draw a summary: m, ℓ and o, one below the other."""
    pen.strip(x, y, numbers, "", 38, _CELL)
    for at, letter in ((0.5, "m"), (1.5, "ℓ"), (3.0, "o")):
        pen.text(x - 9, y + _CELL * at, f'<tspan class="dr-math">{letter}</tspan>', raw=True)


def _merge(pen: Pen, N: "Blocks", middles: Row) -> None:
    """Draw the merge of the summaries, and the division by their sum."""
    low, level = 286 + _CELL * 4, 384.0
    with pen.part("merge"):
        for x, side in zip(middles, (-28.0, 28.0), strict=True):
            pen.line((x, low + 2), (x, level), (_CUT + side, level))
        pen.chip(_CUT, level, "merge", 54)
        pen.line((_CUT, level + 11), (_CUT, 414))
        _letters(pen, _CUT - 19, 416, cells(N.merged))
        pen.line((_CUT + 21, 450), (218, 450), tip=False)
        pen.line((252, 450), (268, 450))
        pen.chip(235, 450, "÷ " + math_text("l").replace(">l<", ">ℓ<"), 34)


class Blocks:
    """The numbers of one query that meets two blocks of keys, the second of one key."""

    def __init__(self, scene: Scene) -> None:
        q, k, v = project(scene)
        q = q[scene.focus : scene.focus + 1]
        parts = [slice(0, len(k) - 1), slice(len(k) - 1, len(k))]
        self.summaries = [summarize(q, k[i], v[i]) for i in parts]
        self.merged = merge(*self.summaries)
        self.q, self.new = q[0].tolist(), mixture(self.merged)[0].tolist()
        self.keys = [k[i].tolist() for i in parts]
        self.values = [v[i].tolist() for i in parts]
        scores = [q @ k[i].mT / k.shape[-1] ** 0.5 for i in parts]
        self.scores = [x[0].tolist() for x in scores]
        pairs = zip(scores, self.summaries, strict=True)
        self.powers = [torch.exp(x - s.largest)[0].tolist() for x, s in pairs]


def cells(summary: Summary) -> list[float]:
    """Return what a block hands over: the largest score, the sum, and the weighted sum."""
    return [float(summary.largest), float(summary.total), *summary.mixed[0].tolist()]
