"""Chapter 11: a recurrent network and attention on the same words."""

from attention_core.drawing._machine import pattern
from attention_core.drawing._pen import Pen
from attention_core.drawing._scene import Scene
from attention_core.drawing._text import math_text

_PITCH, _CELL, _RIGHT = 38.0, 11.0, 262.0


def draw_chain(pen: Pen, scene: Scene) -> float:
    """Draw the chain of states, and below it the table of weights; return the height."""
    words, n, d = scene.source, len(scene.source), scene.width
    lanes = [70 + _PITCH * j for j in range(n)]
    high = _CELL * d
    state, table = 42 + high + 14, 42 + 2 * high + 48
    size, left = 24.0, lanes[0] - _PITCH / 2
    with pen.part("tokens"):
        for x, word in zip(lanes, words, strict=True):
            pen.text(x, 12, word, "word bold")
            pen.strip(x - 9, 24, d, "", 18, _CELL)
            pen.line((x, 25 + high), (x, table - 2))
        pen.noun(_RIGHT, 24 + high / 2, math_text("X"), f"({n}, {d})", "start")
    with pen.part("states"):
        middle = state + high / 2
        for j, x in enumerate(lanes):
            at = x + _PITCH / 2
            pen.dots([x], state - 14, 2.8)
            pen.line((x, state - 14), (at, state - 14), (at, state - 1))
            pen.strip(at - 8, state, d, "", 16, _CELL)
            if j < n - 1:
                pen.line((at + 9, middle), (at + _PITCH - 9, middle))
        pen.verb(_RIGHT, state - 8, "one by one")
        pen.noun(_RIGHT, middle, "states", f"({n}, {d})", "start")
        pen.text(_RIGHT, state + high + 4, f"{n - 1} steps", "bold start")
    with pen.part("attention"):
        for i, word in enumerate(words):
            pen.text(left - 14, table + size * (i + 0.5), word, "word")
        pen.weights(left, table, pattern(n, n), _PITCH, size)
        with pen.leading("matrices", "attention"):
            pen.verb(_RIGHT, table + 8, "attention")
        pen.noun(_RIGHT, table + 2.1 * size, "weights", f"({n}, {n})", "start w")
    with pen.part("path"):
        at = table + size * (n - 1)
        pen.rect("edge focus", left, at, _PITCH, size, 3)
        pen.text(_RIGHT, at + size / 2, "1 step", "bold start")
    return table + size * n + 4
