"""Chapter 6: several attentions side by side."""

from attention_core.drawing._pen import WIDTH, Pen
from attention_core.drawing._scene import Scene
from attention_core.drawing._text import math_text


def draw_heads(pen: Pen, scene: Scene) -> float:
    """Draw two heads with queries, keys, values and weights of their own, and what joins them."""
    n, d, middle, ch = len(scene.tokens), scene.width // 2, WIDTH / 2, 11.0
    lanes = [middle + 26 * (j - (n - 1) / 2) for j in range(n)]
    card_w, card_h, w, h = 166.0, 180.0, 24.0, 22.0
    corners = (1.0, WIDTH - card_w - 1)
    high, shape = ch * scene.width, f"({n}, {scene.width})"
    with pen.part("tokens"):
        for x, word in zip(lanes, scene.tokens, strict=True):
            pen.text(x, 12, word, "word bold")
            pen.strip(x - 9, 24, scene.width, "", 18, ch)
        pen.noun(lanes[-1] + 20, 24 + high / 2, math_text("X"), shape, "start")
    y = 26 + high
    top = y + 54
    for i, (x0, rows) in enumerate(zip(corners, scene.heads, strict=True)):
        left, high_grid, mid = x0 + 58, top + 62, x0 + card_w / 2
        bottom, end = high_grid + h * n, left + w * n
        with pen.part("heads"):
            pen.line((middle, y), (middle, y + 11), (mid, y + 11), (mid, top - 1))
            pen.chip(mid, y + 32, math_text("W^q W^k W^v"), 88)
            pen.rect("box", x0, top, card_w, card_h, 10)
            pen.verb(x0 + 12, top + 16, f"head {i}")
        with pen.part("attention"):
            for j in range(n):
                x, at = left + w * (j + 0.5), high_grid + h * (j + 0.5)
                pen.strip(x - 6, high_grid - 32, d, "k", 12, 12)
                pen.line((x, high_grid - 8), (x, high_grid - 1), role="k", tip=False)
                pen.strip(left - 34, at - 6, d, "q", 12, 12, across=True)
                pen.line((left - 10, at), (left - 1, at), role="q", tip=False)
                pen.strip(x - 6, bottom + 18, d, "v", 12, 12)
                pen.line((x, bottom + 2), (x, bottom + 16), role="w")
            with pen.leading("matrices", f"attention (head {i})"):
                pen.verb(x0 + card_w - 11, top + 16, "attention", "end")
            pen.text(left - 45, (high_grid + bottom) / 2, math_text("Q"), "noun q", raw=True)
            pen.text(end + 14, high_grid - 20, math_text("K"), "noun k", raw=True)
            pen.text(end + 14, bottom + 30, math_text("V"), "noun v", raw=True)
        with pen.part("heads"):
            pen.weights(left, high_grid, rows, w, h)
    y = top + card_h
    out = y + 36
    with pen.part("concat"):
        for i, x0 in enumerate(corners):
            mid, level = x0 + card_w / 2, out + ch * d * (i + 0.5)
            end = (lanes[0] - 11, lanes[-1] + 11)[i]
            pen.line((mid, y), (mid, level), (end, level))
            pen.text(mid + (8, -8)[i], y + 14, f"({n}, {d})", "shape " + ("start", "end")[i])
        for x in lanes:
            pen.rect("fill", x - 9, out, 18, ch * d, shade=0.22)
            pen.strip(x - 9, out, scene.width, "", 18, ch)
            pen.line((x - 9, out + ch * d), (x + 9, out + ch * d), tip=False)
        pen.verb(middle, out - 14, "concat", "")
    y = out + high
    with pen.part("output"):
        pen.down(middle, y + 2, y + 50, math_text("W^O"), 40)
        pen.verb(middle + 46, y + 24, "project")
        for x, word in zip(lanes, scene.tokens, strict=True):
            pen.strip(x - 9, y + 52, scene.width, "", 18, ch)
            pen.text(x, y + 52 + high + 13, word, "word")
        pen.noun(middle + 46, y + 52 + high / 2, "output", shape, "start")
    return y + 52 + high + 26
