"""Chapters 9, 10 and 12: the whole Transformer, how it learns and writes, where bugs sit."""

import math
from collections import Counter
from collections.abc import Sequence

from attention_core.drawing._pen import WIDTH, Pen, Point, Row, Table, bridge
from attention_core.drawing._scene import Scene, softmax_rows
from attention_core.drawing._text import math_text

#: The parts of the package, and the group of mistakes to which each belongs.
_GROUPS = {
    "masks": "masks",
    "transformer": "masks",  # where a model makes its masks
    "layers.DecoderLayer": "masks",  # which mask goes to which attention
    "layers.LayerNorm": "norm",
    "positional": "positions",
    "training": "training",
    "decoding": "decoding",
    "relative": "loading weights",
    "recording": "loading weights",
    "_conversion": "loading weights",
    "functional": "attention",
    "attention": "attention",
}


def draw_machine(pen: Pen, scene: Scene) -> float:
    """Draw two stacks of layers; what the encoder knows goes to every layer of the decoder."""
    return _Machine(pen, scene).draw()


class _Machine:
    """The encoder on the left, the decoder on the right."""

    def __init__(self, pen: Pen, scene: Scene) -> None:
        self.pen, self.scene = pen, scene
        self.S, self.L = len(scene.source), len(scene.target) - 1
        self.enc = _Stack(pen, "encoder", 0, [78 + 16.0 * j for j in range(self.S)])
        self.dec = _Stack(pen, "decoder", 170, [252 + 24.0 * j for j in range(self.L)])

    def draw(self) -> float:
        enc, dec, scene, S, L = self.enc, self.dec, self.scene, self.S, self.L
        enc.begin(scene.source, scene.width)
        own = enc.sublayer("encoder", "heads", ("self-", "attention"), pattern(S, S))
        enc.sublayer("encoder", "feed-forward", ("feed-", "forward"))
        enc.close(enc.lanes[-1] + 10, scene.layers)
        dec.begin(scene.target[:-1], scene.width)
        masked = dec.sublayer(
            "decoder", "mask", ("masked", "self-", "attention"), pattern(L, L, causal=True)
        )
        heart = dec.sublayer("cross", "cross", ("cross-", "attention"), crossing(L, S))
        dec.sublayer("decoder", "feed-forward", ("feed-", "forward"))
        dec.close(WIDTH, scene.layers)
        self.memory(heart)
        self.output()
        low = dec.end + 76
        if scene.has("loops"):
            low = self.loops()
        if scene.has("key"):
            self.key(dec.end - 62)
        if scene.has("marks"):
            self.marks(own, masked)
        return low

    def memory(self, heart: float) -> None:
        """Draw what the encoder hands over, and its way to the cross-attention."""
        pen, lanes, y = self.pen, self.enc.lanes, self.enc.end + 26
        with pen.part("memory"):
            pen.lines(lanes, self.enc.end, y - 15)
            for x in lanes:
                pen.strip(x - 5.5, y - 15, 4, "", 11, 7.5)
            pen.noun(lanes[0] - 11, y, "memory", f"({self.S}, {self.scene.width})", "end")
            for role, gap, off, x in (("k", 157.5, -6.0, 164.0), ("v", 163.5, 6.0, 168.0)):
                way = [(lanes[-1] + 8, y + off), (gap, y + off), (gap, heart + off)]
                pen.line(*way, (173, heart + off), role=role)
                pen.text(x, heart + 2.5 * off, math_text(role), f"noun {role}", raw=True)

    def output(self) -> None:
        """Draw the probabilities, and below each lane the token that should come next."""
        pen, dec, y = self.pen, self.dec, self.dec.end
        middle = (dec.lanes[0] + dec.lanes[-1]) / 2
        with pen.part("output"):
            pen.lines(dec.lanes, dec.y, y + 10)
            pen.rect("box paper", middle - 52, y + 10, 104, 20, 7)
            pen.text(middle, y + 20, "linear, softmax", "num")
            shape = f"({self.L}, {self.scene.vocab:,})"
            pen.noun(middle - 62, y + 20, "probabilities", shape, "end")
            for j, (x, word) in enumerate(zip(dec.lanes, self.scene.target[1:], strict=True)):
                pen.line((x, y + 31), (x, y + 45))
                pen.text(x, y + 53 + 14 * (j % 2), word, "num")

    def loops(self) -> float:
        """Draw what goes back: on the left when it learns, on the right when it writes."""
        pen, first, last = self.pen, self.dec.lanes[0], self.dec.lanes[-1]
        y = self.dec.end + 88
        with pen.part("learning"):
            up = self.enc.end + 66
            pen.line((first, y - 12), (first, y), (40, y), (40, up))
            pen.chip(148, y, "loss", 46)
            pen.text(50, y - 22, "gradients", "start bold")
            pen.verb(40, up - 14, "learn", "")
        with pen.part("writing"):
            pen.line((last, y - 12), (last, y), (347, y), (347, 53), (last + 7, 53))
            pen.verb(last - 9, y, "append", "end")
        return y + 12

    def key(self, y: float) -> None:
        """Draw the signs and their meaning, in the corner that the encoder leaves free."""
        pen = self.pen
        with pen.part("key"):
            pen.weights(4, y - 12, pattern(3, 3), 8, 8)
            pen.feed(16, y + 17, 24, 22)
            pen.plus([16], y + 56, 6)
            pen.norm([16], y + 82, 18, 8)
            names = ("mixes tokens", "each token alone", "add", "norm")
            for at, name in zip((0, 28, 56, 82), names, strict=True):
                pen.text(38, y + at, name, "start")

    def marks(self, own: float, masked: float) -> None:
        """Mark the parts that published mistakes break, each with the number of mistakes."""
        counts, enc, dec = count_mistakes(), self.enc, self.dec
        places = {
            "attention": (68.0, own - 40),
            "masks": (240.0, masked - 47),
            "norm": (enc.lanes[-1] + 16, enc.norms[0]),
            "positions": (enc.lanes[-1] + 16, 86.0),
            "training": (343.0, dec.end + 44),
            "decoding": (dec.lanes[0] - 34, dec.end + 57),
            "loading weights": (46.0, enc.end - 13),
        }
        with self.pen.part("marks"):
            y = enc.end + 64
            for i, (name, count) in enumerate(counts.most_common()):
                for x, at in (places[name], (12.0, y + 23 * i)):
                    self.pen.disc(x, at, str(count))
                self.pen.text(30, y + 23 * i, name, "start bold")


def count_mistakes() -> Counter[str]:
    """Count the exhibits of the museum by the part of the machine that they break.

    >>> count_mistakes()["norm"]
    2
    """
    from attention_core.museum import EXHIBITS

    counts: Counter[str] = Counter()
    for exhibit in EXHIBITS:
        (group,) = {g for part, g in _GROUPS.items() if f"{exhibit.target}.".startswith(f"{part}.")}
        counts[group] += 1
    return counts


class _Stack:
    """One half of the machine, drawn downwards; ``y`` is where its lanes have arrived."""

    def __init__(self, pen: Pen, name: str, x: float, lanes: Row) -> None:
        self.pen, self.name, self.x, self.lanes = pen, name, x, lanes
        self.middle, self.y, self.end = x + 35, 0.0, 0.0
        self.norms: list[float] = []

    def bring(self, y: float, *start: Point) -> None:
        """Draw what comes in from the left and is added to each lane."""
        self.pen.line(*start, (self.lanes[0] - 6, y))
        bridge(self.pen, self.lanes, y, 5)
        self.pen.plus(self.lanes, y, 5)

    def begin(self, words: Sequence[str], width: int) -> None:
        """Draw the tokens and their positions."""
        pen, lanes = self.pen, self.lanes
        with pen.part(self.name):
            pen.verb(self.x, 12, self.name)
            for j, (x, word) in enumerate(zip(lanes, words, strict=True)):
                high = 14 * (j % 2) if max(map(len, words)) > 1 else 0
                pen.text(x, 26 - high, word, "verb" if len(word) == 1 else "num")
                pen.strip(x - 5.5, 38, 4, "", 11, 7.5)
            pen.noun(lanes[0] - 11, 52, "tokens", f"({len(words)}, {width})", "end")
            pen.lines(lanes, 68, 81)
        with pen.part("positions"):
            with pen.leading("positions", f"position ({self.name})"):
                pen.rect("box paper", self.middle - 31, 76.5, 62, 19, 7)
                pen.text(self.middle, 86, "position", "num")
            self.bring(86, (self.middle + 31, 86))
        self.y, self.mark = 91.0, len(pen.out)

    def sublayer(
        self, part: str, lead: str, title: Sequence[str], rows: Table | None = None
    ) -> float:
        """Draw a box beside the lanes, add what it finds, and the norm; return its middle."""
        pen, lanes, mid = self.pen, self.lanes, self.middle
        fork, box = self.y + 17, self.y + 28
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
            pen.rect("box paper", mid - 31, box, 62, tall, 7)
            with pen.leading(lead, f"{''.join(title)} ({self.name})"):
                for i, line in enumerate(title):
                    pen.text(mid, box + 12 + 13 * i, line, "num")
            if rows:
                pen.weights(mid - 4 * len(rows[0]), low - 8 * len(rows), rows, 8, 8)
            else:
                for j in range(len(lanes)):
                    pen.feed(mid + 11 * (j - (len(lanes) - 1) / 2), low - 21, 9, 20)
            self.bring(add, (mid, box + tall), (mid, add))
            pen.lines(lanes, add + 5, add + 12)
            pen.norm(lanes, add + 15, 10, 7)
        self.norms.append(add + 15)
        self.y = add + 18.5
        return box + tall / 2

    def close(self, right: float, layers: int) -> None:
        """Draw the panel behind the layers, under all that was drawn since the beginning."""
        pen = self.pen
        self.end = self.y + 8
        above, pen.out = pen.out[self.mark :], pen.out[: self.mark]
        with pen.part(self.name):
            pen.rect("panel", self.x, 98, right - self.x, self.end - 98, 10)
        pen.out += above
        with pen.part(self.name):
            pen.verb(self.x + 8, self.end - 13, f"× {layers}")


def pattern(rows: int, columns: int, *, causal: bool = False) -> Table:
    """Return weights that only stand for weights: each row adds up to 1."""
    return softmax_rows(
        [
            [
                -math.inf if causal and j > i else (5 * i + 3 * j + i * j) % 7 / 2
                for j in range(columns)
            ]
            for i in range(rows)
        ]
    )


def crossing(rows: int, columns: int) -> Table:
    """Return weights that stand for a translation that begins at the end of its source."""
    slope = (columns - 1) / (rows - 1)
    return softmax_rows(
        [[-1.2 * abs(columns - 1 - j - slope * i) for j in range(columns)] for i in range(rows)]
    )
