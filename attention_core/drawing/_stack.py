"""Chapters 14 and 15: one stack of a published model, with its sizes."""

from collections.abc import Sequence

from attention_core.drawing._machine import pattern
from attention_core.drawing._pen import WIDTH, Pen, Point, Row, bridge
from attention_core.drawing._scene import Scene
from attention_core.published import load_table

_WIDE, _MIDDLE = 190.0, 96.0  # a box, and where it stands


def draw_encoder(pen: Pen, scene: Scene) -> float:
    """Draw the encoder of a sentence encoder, with the weights of two of its heads."""
    table = load_table("journey")
    words, n = table["tokens"], len(table["tokens"])
    stack = _Stack(pen, [213 + 15.5 * j for j in range(n)])
    with pen.part("tokens"):
        for x, word in zip(stack.lanes, words, strict=True):
            pen.text(x, 46, word, "num start", turn=True)
    stack.tokens(52, "sizes", f"({n}, {scene.width})")
    stack.positions(stack.y + 18)
    box = stack.sublayer("attention", "self-attention", 156, "heads")
    for i, name in enumerate(("0.2", "3.1")):
        with pen.part("weights"):
            x, y = _MIDDLE - 86 + 90.0 * i, box + 46
            pen.text(x + 41, y - 11, f"head {name}", "bold")
            pen.weights(x, y, table[f"map_{name}"].tolist(), 9, 9)
    with pen.part("sizes"):
        pen.text(_MIDDLE, box + 143, "12 heads in each layer")
    box = stack.sublayer("feed-forward", "feed-forward", 62, "feed-forward")
    with pen.part("feed-forward"):
        for j in range(n):
            pen.feed(_MIDDLE + 17 * (j - (n - 1) / 2), box + 28, 14, 24)
    stack.close(scene.layers)
    y, last = stack.y + 28, stack.lanes[-1]
    with pen.part("tokens"):
        pen.lines(stack.lanes, stack.y, y)
    with pen.part("sentence"):
        pen.line((last, y), (_MIDDLE + 74, y), tip=False)
        pen.chip(_MIDDLE + 47, y, "mean", 52)
        pen.line((_MIDDLE + 20, y), (_MIDDLE + 1, y))
        pen.strip(_MIDDLE - 16, y - 22, 4, "", 14, 11)
        pen.noun(_MIDDLE - 24, y, "sentence", f"({scene.width})", "end")
    return y + 28


def draw_decoder(pen: Pen, scene: Scene) -> float:
    """Draw a decoder alone; the parts that have changed since the Transformer can be lit."""
    words, n = scene.target, len(scene.target) - 1
    stack = _Stack(pen, [224 + 25.0 * j for j in range(n)])
    stack.stepped(words[:-1], 26, -14)
    stack.tokens(38, "sizes", f"({n}, {scene.width})")
    box = stack.sublayer("attention", "masked self-attention", 130, "mask", pre="RMSNorm")
    with pen.part("attention"):
        pen.weights(12, box + 46, pattern(n, n, causal=True), 13, 13)
    _rotary(pen, 88, box + 44)
    _shared_heads(pen, 88, box + 72)
    box = stack.sublayer("feed-forward", "feed-forward", 104, "feed-forward", pre="RMSNorm")
    _swiglu(pen, _MIDDLE, box + 28)
    stack.close(scene.layers)
    with pen.part("norm"):
        pen.lines(stack.lanes, stack.y, stack.y + 30)
        pen.norm(stack.lanes, stack.y + 12, 12, 8)
        pen.text(stack.lanes[0] - 14, stack.y + 12, "RMSNorm", "bold end")
    y = stack.y + 30
    with pen.part("output"):
        middle = (stack.lanes[0] + stack.lanes[-1]) / 2
        pen.rect("box paper", middle - 56, y, 112, 20, 7)
        pen.text(middle, y + 10, "linear, softmax", "num")
        shape = f"({n}, {scene.vocab:,})"
        pen.noun(middle - 66, y + 10, "probabilities", shape, "end")
        for x in stack.lanes:
            pen.line((x, y + 21), (x, y + 35))
        stack.stepped(words[1:], y + 43, 14)
    return y + 66


def _rotary(pen: Pen, x: float, y: float) -> None:
    """Draw the rotation of queries and keys."""
    with pen.part("rotary"):
        pen.path("line", "M", x + 4, y, "a", 7, 7, 0, 1, 1, 4, 6.3)
        pen.line((x + 12, y + 7), (x + 6, y + 6.6))
        pen.text(x + 26, y, "RoPE", "start bold")


def _shared_heads(pen: Pen, x: float, y: float) -> None:
    """Draw nine query heads above the three key-value heads that they share."""
    with pen.part("grouped-heads"):
        for head in range(9):
            at, to = x + 4 + 10.5 * head, x + 14.5 + 31.5 * (head // 3)
            pen.line((at, y + 8), (to, y + 20), tip=False)
            pen.rect("edge fill q", at - 4, y, 8, 8, 2)
        for group in range(3):
            at = x + 14.5 + 31.5 * group
            pen.rect("edge fill k", at - 9, y + 20, 8, 8, 2)
            pen.rect("edge fill v", at + 1, y + 20, 8, 8, 2)
        pen.text(x, y + 42, "9 q share 3 k, v", "num start")


def _swiglu(pen: Pen, x: float, y: float) -> None:
    """Draw two ways from narrow to wide, their product, and the way back to narrow."""
    with pen.part("swiglu"):
        for side in (-1, 1):
            at = x + 34.0 * side
            pen.path("edge fill", "M", at - 8, y, "h", 16, "l", 16, 22, "h", -48, "z")
            pen.line((at, y + 23), (at, y + 33), (x + 11 * side, y + 33))
        pen.path("edge fill", "M", x - 24, y + 45, "h", 48, "l", -16, 22, "h", -16, "z")
        pen.line((x, y + 38), (x, y + 45), tip=False)
        pen.text(x, y + 33, "×", "bold")
        pen.text(x - 60, y + 12, "gate", "end")
        pen.text(x + 34, y + 57, "SwiGLU", "start bold")


class _Stack:
    """Lanes on the right, boxes on the left; ``y`` is where the lanes have arrived."""

    def __init__(self, pen: Pen, lanes: Row) -> None:
        self.pen, self.lanes = pen, lanes
        self.y = self.top = 0.0
        self.mark = 0

    def stepped(self, words: Sequence[str], y: float, step: float) -> None:
        """Write words on two levels."""
        with self.pen.part("tokens"):
            for j, (x, word) in enumerate(zip(self.lanes, words, strict=True)):
                self.pen.text(x, y + step * (j % 2), word, "num")

    def tokens(self, y: float, part: str, shape: str) -> None:
        with self.pen.part("tokens"):
            for x in self.lanes:
                self.pen.strip(x - 5.5, y, 4, "", 11, 7.5)
        with self.pen.part(part):
            self.pen.noun(self.lanes[0] - 14, y + 15, "tokens", shape, "end")
        self.y = y + 31

    def positions(self, y: float) -> None:
        pen = self.pen
        with pen.part("positions"):
            pen.lines(self.lanes, self.y, y - 5)
            with pen.leading("positions", "positions"):
                pen.chip(_MIDDLE, y, "positions", 84)
            self.bring(y, (_MIDDLE + 42, y))
        self.y = y + 5

    def bring(self, y: float, *start: Point) -> None:
        """Draw what comes in from the left and is added to each lane."""
        self.pen.line(*start, (self.lanes[0] - 6, y))
        bridge(self.pen, self.lanes, y, 5)
        self.pen.plus(self.lanes, y, 5)

    def sublayer(self, part: str, title: str, tall: float, lead: str, *, pre: str = "") -> float:
        """Draw a box with its branch and norm, and return the top of the box.

        Args:
            lead: the part to whose chapter the title leads
            pre: the name of the norm on the branch; without it the norm stands behind the sum
        """
        pen, lanes = self.pen, self.lanes
        if not self.top:
            self.top, self.mark = self.y + 10, len(pen.out)
        fork = self.y + 22
        box = fork + (30 if pre else 12)
        add = box + tall + 12
        with pen.part(part):
            pen.lines(lanes, self.y, add - 5)
            pen.line((lanes[-1], fork), (_MIDDLE, fork), (_MIDDLE, box - 1))
            pen.dots(lanes, fork, 2.2)
            pen.rect("box paper", _MIDDLE - _WIDE / 2, box, _WIDE, tall, 10)
            with pen.leading(lead, title):
                pen.text(_MIDDLE, box + 16, title, "bold")
            self.bring(add, (_MIDDLE, box + tall), (_MIDDLE, add))
        with pen.part("norm"):
            if pre:
                pen.norm([_MIDDLE], fork + 14, 20, 8)
                pen.text(_MIDDLE + 18, fork + 14, pre, "bold start")
            else:
                pen.lines(lanes, add + 5, add + 12)
                pen.norm(lanes, add + 15.5, 10, 7)
        self.y = add + (5 if pre else 19)
        return box

    def close(self, layers: int) -> None:
        """Draw the panel behind the layers, under all that was drawn since they began."""
        pen, end = self.pen, self.y + 12
        above, pen.out = pen.out[self.mark :], pen.out[: self.mark]
        with pen.part("tokens"):
            pen.rect("panel", 0, self.top, WIDTH, end - self.top, 10)
        pen.out += above
        with pen.part("sizes"):
            pen.verb(8, end - 12, f"× {layers}")
        with pen.part("tokens"):
            pen.lines(self.lanes, self.y, end + 4)
        self.y = end + 4
