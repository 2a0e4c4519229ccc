"""Chapters 9 and later: the whole Transformer, or one half of it."""

import math
from collections.abc import Sequence
from itertools import pairwise

from attention_core.drawing.pen import WIDTH, Pen, Point, Row, Table, _n, math_text
from attention_core.drawing.scene import Scene, softmax_rows


def draw_machine(pen: Pen, scene: Scene) -> float:
    """Two stacks of layers; what the encoder knows goes to every layer of the decoder.

    Without a source the decoder stands alone. With the part ``pre`` norms stand before boxes.
    """
    S, L, pre = len(scene.source), len(scene.target) - 1, scene.has("pre")
    enc = _Stack(pen, "encoder", 0, [78 + 16.0 * j for j in range(S)], pre)
    dec = _Stack(pen, "decoder", 170, [252 + 24.0 * j for j in range(L)], pre)
    if S:
        enc.begin(scene.source, scene.width)
        enc.sublayer("encoder", ("self-", "attention"), _pattern(S, S))
        enc.sublayer("encoder", ("feed-", "forward"))
        enc.close(enc.lanes[-1] + 10, scene.layers)
    dec.begin(scene.target[:-1], scene.width)
    dec.sublayer("decoder", ("masked", "self-", "attention"), _pattern(L, L, causal=True))
    heart = dec.sublayer("cross", ("cross-", "attention"), _pattern(L, S)) if S else 0.0
    dec.sublayer("decoder", ("feed-", "forward"))
    dec.close(WIDTH, scene.layers)
    if S:
        with pen.part("memory"):
            y, start = enc.end + 26, enc.lanes[-1] + 8
            pen.lines(enc.lanes, enc.y, y - 15)
            for x in enc.lanes:
                pen.strip(x - 5.5, y - 15, 4, "", 11, 7.5)
            pen.noun(enc.lanes[0] - 11, y, "memory", f"({S}, {scene.width})", "end")
            for role, gap, off, x in (("k", 157.5, -6.0, 164.0), ("v", 163.5, 6.0, 168.0)):
                way = [(start, y + off), (gap, y + off), (gap, heart + off)]
                pen.line(*way, (173, heart + off), role=role)
                pen.text(x, heart + 2.5 * off, math_text(role), f"noun {role}", raw=True)
    with pen.part("output"):
        middle, y = (dec.lanes[0] + dec.lanes[-1]) / 2, dec.end
        pen.lines(dec.lanes, dec.y, y + 10)
        pen.rect("box paper", middle - 52, y + 10, 104, 20, 7)
        pen.text(middle, y + 20, "linear, softmax", "num")
        pen.noun(middle - 62, y + 20, "chances", f"({L}, {scene.vocab:,})", "end")
        for j, (x, word) in enumerate(zip(dec.lanes, scene.target[1:], strict=True)):
            pen.line((x, y + 31), (x, y + 45))
            pen.text(x, y + 53 + 14 * (j % 2), word, "num")
    if scene.has("loop"):
        with pen.part("loop"):
            x = dec.lanes[-1]
            pen.line((x, y + 76), (x, y + 88), (347, y + 88), (347, 53), (x + 7, 53))
            pen.verb(x - 9, y + 88, "append", "end")
    if scene.has("key"):
        with pen.part("key"):
            y = dec.end - 62
            pen.weights(4, y - 12, _pattern(3, 3), 8, 8)
            pen.feed(16, y + 17, 24, 22)
            pen.plus(16, y + 56, 6)
            pen.norm(16, y + 82, 18, 8)
            for at, name in (
                (0, "mixes tokens"),
                (28, "each token alone"),
                (56, "add"),
                (82, "norm"),
            ):
                pen.text(38, y + at, name, "start")
    return dec.end + (98 if scene.has("loop") else 76)


class _Stack:
    """One half of the machine, drawn downwards; ``y`` is where its lanes have arrived."""

    def __init__(self, pen: Pen, name: str, x: float, lanes: Row, pre: bool) -> None:
        self.pen, self.name, self.x, self.lanes, self.pre = pen, name, x, lanes, pre
        self.middle, self.y, self.end = x + 35, 0.0, 0.0

    def bring(self, y: float, *start: Point) -> None:
        """What comes in from the left is added to each lane."""
        self.pen.line(*start, (self.lanes[0] - 6, y))
        pairs = pairwise(self.lanes)
        self.pen.tag(
            "path", "line", d="".join(f"M{_n(a + 5)} {_n(y)}H{_n(b - 5)}" for a, b in pairs)
        )
        for x in self.lanes:
            self.pen.plus(x, y, 5)

    def norms(self, y: float) -> None:
        self.pen.lines(self.lanes, y - 10, y - 3)
        for x in self.lanes:
            self.pen.norm(x, y, 10, 7)

    def begin(self, words: Sequence[str], width: int) -> None:
        """The tokens and their positions."""
        pen, lanes = self.pen, self.lanes
        with pen.part(self.name):
            pen.verb(self.x, 12, self.name)
            for j, (x, word) in enumerate(zip(lanes, words, strict=True)):
                high = 14 * (j % 2) if max(map(len, words)) > 1 else 0
                pen.text(x, 26 - high, word, "word bold" if len(word) == 1 else "num")
                pen.strip(x - 5.5, 38, 4, "", 11, 7.5)
            pen.noun(lanes[0] - 11, 52, "tokens", f"({len(words)}, {width})", "end")
            pen.lines(lanes, 68, 81)
        with pen.part("positions"):
            with pen.leading(f"position ({self.name})"):
                pen.rect("box paper", self.middle - 31, 76.5, 62, 19, 7)
                pen.text(self.middle, 86, "position", "num")
            self.bring(86, (self.middle + 31, 86))
        self.y, self.mark = 91.0, len(pen.out)

    def sublayer(self, part: str, title: Sequence[str], rows: Table | None = None) -> float:
        """A box beside the lanes, what it finds added to them, and the norm."""
        pen, lanes, mid = self.pen, self.lanes, self.middle
        fork = self.y + 17
        box = fork + (25 if self.pre else 11)
        tall = 13.0 * len(title) + 15 + (8 * len(rows) if rows else 22)
        add, low = box + tall + 11, box + tall - 8
        role = "q" if part == "cross" else ""
        with pen.part(part):
            pen.lines(lanes, self.y, add - 5)
            pen.line((lanes[-1], fork), (lanes[0], fork), tip=False)
            pen.line((lanes[0], fork), (mid, fork), (mid, box - 1), role=role)
            pen.dots(lanes, fork, 2.2)
            if role:
                pen.text(mid - 9, fork + 2, math_text(role), f"noun {role}", raw=True)
            if self.pre:
                pen.norm(mid, fork + 10, 18, 7)
            pen.rect("box paper", mid - 31, box, 62, tall, 7)
            for i, line in enumerate(title):
                pen.text(mid, box + 12 + 13 * i, line, "num")
            if rows:
                pen.weights(mid - 4 * len(rows[0]), low - 8 * len(rows), rows, 8, 8)
            else:
                for j in range(len(lanes)):
                    pen.feed(mid + 11 * (j - (len(lanes) - 1) / 2), low - 21, 9, 20)
            self.bring(add, (mid, box + tall), (mid, add))
            if not self.pre:
                self.norms(add + 15)
        self.y = add + (5 if self.pre else 18.5)
        return box + tall / 2

    def close(self, right: float, layers: int) -> None:
        """The panel behind the layers, put under all that was drawn since the beginning."""
        pen = self.pen
        self.end = self.y + 8
        if self.pre:  # the last norm stands behind the stack
            self.end += 10
        above, pen.out = pen.out[self.mark :], pen.out[: self.mark]
        with pen.part(self.name):
            pen.rect("panel", self.x, 98, right - self.x, self.end - 98, 10)
        pen.out += above
        with pen.part(self.name):
            pen.verb(self.x + 8, self.end - 13, f"× {layers}")
            if self.pre:
                pen.lines(self.lanes, self.y, self.end + 2)
                self.norms(self.end + 12)
                self.y, self.end = self.end + 15.5, self.end + 20


def _pattern(rows: int, columns: int, *, causal: bool = False) -> Table:
    """Weights that only stand for weights: each row adds up to 1."""
    return softmax_rows(
        [
            [
                -math.inf if causal and j > i else (5 * i + 3 * j + i * j) % 7 / 2
                for j in range(columns)
            ]
            for i in range(rows)
        ]
    )
