"""Chapters 7 and 8: tokens run down in lanes, and what a box finds is added to them."""

from attention_core.drawing._pen import Pen, Point, bridge
from attention_core.drawing._scene import Scene
from attention_core.drawing._text import math_text
from attention_core.positional import sinusoidal_encoding

_WIDE = 164.0  # a box
_CELL = 11.0  # the height of an empty cell


def draw_layer(pen: Pen, scene: Scene) -> float:
    """Draw positions and attention; with the part ``layer`` all that surrounds them as well."""
    return _Layer(pen, scene).draw()


class _Layer:
    """A layer, drawn downwards; ``y`` is where its lanes have arrived."""

    def __init__(self, pen: Pen, scene: Scene) -> None:
        self.pen, self.scene, self.whole = pen, scene, scene.has("layer")
        self.lanes = [204 + 34.0 * j for j in range(len(scene.tokens))]
        self.right, self.middle = self.lanes[-1] + 20, 1 + _WIDE / 2
        self.high = _CELL * scene.width
        self.shape = f"({len(scene.tokens)}, {scene.width})"
        self.y = 25 + self.high

    def draw(self) -> float:
        self.tokens(12, 24, math_text("X"), "tokens", bold=True)
        self.positions()
        self.sublayer("attention", "multi-head attention", "mixes tokens", 88.0)
        if self.whole:
            self.sublayer("feed-forward", "feed-forward", "each token alone", 84.0)
        part = "norm" if self.whole else "attention"
        self.tokens(self.y + self.high + 13, self.y, "output", part)
        return self.y + self.high + 26

    def tokens(self, words: float, y: float, name: str, part: str, *, bold: bool = False) -> None:
        """Draw the words and a column of cells for each."""
        with self.pen.part(part):
            for x, word in zip(self.lanes, self.scene.tokens, strict=True):
                self.pen.text(x, words, word, "word bold" if bold else "word")
                self.pen.strip(x - 9, y, self.scene.width, "", 18, _CELL)
            self.pen.noun(self.right, y + self.high / 2, name, self.shape, "start")

    def bring(self, y: float, *start: Point) -> None:
        """Draw what comes in from the left and is added to each lane."""
        self.pen.line(*start, (self.lanes[0] - 8, y))
        bridge(self.pen, self.lanes, y, 7)
        self.pen.plus(self.lanes, y)

    def positions(self) -> None:
        """Draw the vectors of the places; where they are known, only their name."""
        pen = self.pen
        new = "positions" in pen.lit
        add = self.y + (66 if new else 22)
        with pen.part("positions"):
            pen.lines(self.lanes, self.y, add - 7)
            start = (126.0, add) if new else (self.middle + 42, add)
            if new:
                self.table_of_places(add)
            else:
                with pen.leading("positions", "positions"):
                    pen.chip(self.middle, add, "positions", 84)
            self.bring(add, start)
            pen.verb(self.right, add, "add")
            end = add + (66 if new else 23)
            pen.lines(self.lanes, add + 7, end)
        self.y = end

    def table_of_places(self, add: float) -> None:
        pen, rows = self.pen, sinusoidal_encoding(len(self.lanes), self.scene.width).tolist()
        top = add - 17 * self.scene.width / 2
        for j, row in enumerate(rows):
            x = 2 + 41.0 * j
            pen.text(x + 19, top - 11, str(j), "bold")
            pen.strip(x, top, row, "", 38, 17)
        pen.noun(2, add + 47, "positions " + math_text("P"), self.shape, "start", flat=True)

    def sublayer(self, part: str, title: str, note: str, tall: float) -> None:
        """Draw a box, and, in a whole layer, the residual and the norm around it."""
        pen, fork, box = self.pen, self.y, self.y + 14
        add = box + tall + 15
        with pen.part(part):
            pen.line((self.lanes[-1], fork), (self.middle, fork), (self.middle, box - 1))
            pen.dots(self.lanes, fork, 2.8)
            pen.rect("box", 1, box, _WIDE, tall, 10)
            with pen.leading("heads" if part == "attention" else part, title):
                pen.text(self.middle, box + 16, title, "bold")
            if part == "attention":
                for i, rows in enumerate(self.scene.heads):
                    pen.weights(self.middle - 52 + 62 * i, box + 29, rows, 14, 12)
            else:
                n = len(self.lanes)
                for j in range(n):
                    pen.feed(self.middle + 44 * (j - (n - 1) / 2), box + 28, 32, 32)
            pen.text(self.middle, box + tall - 12, note, "shape")
            way = [(self.middle, box + tall), (self.middle, add)]
            if self.whole:
                self.bring(add, *way)
            else:
                last = self.lanes[-1]
                pen.line(*way, (last, add), (last, add + 16))
                for x in self.lanes[:-1]:
                    pen.line((x, add), (x, add + 16))
        self.y = add + 18
        if self.whole:
            self.around(fork, add, last=part != "attention")

    def around(self, fork: float, add: float, *, last: bool) -> None:
        """Draw the lane past the box, the sum, and the norm behind it."""
        pen = self.pen
        with pen.part("residual"):
            for x in self.lanes:
                pen.line((x, fork), (x, add - 8))
            pen.plus(self.lanes, add)
            pen.text(self.right, (fork + add) / 2, "residual", "noun start")
            pen.verb(self.right, add, "add")
        with pen.part("norm"):
            pen.lines(self.lanes, add + 7, add + 19)
            pen.norm(self.lanes, add + 24, 20, 10)
            pen.verb(self.right, add + 24, "norm")
            if last:
                for x in self.lanes:
                    pen.line((x, add + 29), (x, add + 45))
            else:
                pen.lines(self.lanes, add + 29, add + 45)
        self.y = add + (47 if last else 45)
