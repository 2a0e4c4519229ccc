"""Chapters 6 to 8: several attentions side by side, and what surrounds them in a layer."""

from itertools import pairwise

from attention_core.drawing.pen import WIDTH, Pen, Point, math_text
from attention_core.drawing.scene import Scene


def draw_heads(pen: Pen, scene: Scene) -> float:
    """Two heads with queries, keys, values and weights of their own, and what joins them."""
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
    top = y + 28
    for i, (x0, rows) in enumerate(zip(corners, scene.heads, strict=True)):
        left, high_grid, mid = x0 + 58, top + 62, x0 + card_w / 2
        bottom, end = high_grid + h * n, left + w * n
        with pen.part("heads"):
            pen.line((middle, y), (middle, y + 11), (mid, y + 11), (mid, top - 1))
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
        pen.verb(middle + 46, y + 24, "join")
        for x, word in zip(lanes, scene.tokens, strict=True):
            pen.strip(x - 9, y + 52, scene.width, "", 18, ch)
            pen.text(x, y + 52 + high + 13, word, "word")
        pen.noun(middle + 46, y + 52 + high / 2, "output", shape, "start")
    return y + 52 + high + 26


def draw_layer(pen: Pen, scene: Scene) -> float:
    """Positions and attention; with the part ``layer`` all that surrounds them as well."""
    n, ch, whole = len(scene.tokens), 11.0, scene.has("layer")
    lanes = [204 + 34.0 * j for j in range(n)]
    right, left, wide = lanes[-1] + 20, 1.0, 164.0
    middle, high, shape = left + wide / 2, ch * scene.width, f"({n}, {scene.width})"

    def tips(y: float, end: float) -> None:
        for x in lanes:
            pen.line((x, y), (x, end))

    def bring(y: float, *start: Point) -> None:
        """What comes in from the left is added to one lane after the other."""
        pen.line(*start, (lanes[0] - 8, y))
        for a, b in pairwise(lanes):
            pen.line((a + 7, y), (b - 8, y))

    with pen.part("tokens"):
        for x, word in zip(lanes, scene.tokens, strict=True):
            pen.text(x, 12, word, "word bold")
            pen.strip(x - 9, 24, scene.width, "", 18, ch)
        pen.noun(right, 24 + high / 2, math_text("X"), shape, "start")
    y = 25 + high
    with pen.part("positions"):
        pen.lines(lanes, y, y + 15)
        with pen.leading("positions"):
            pen.chip(middle, y + 22, "positions", 84)
        bring(y + 22, (middle + 42, y + 22))
        for x in lanes:
            pen.plus(x, y + 22)
        pen.verb(right, y + 22, "add")
        pen.lines(lanes, y + 29, y + 45)
    fork = y + 45
    boxes = [("attention", "multi-head attention", "mixes tokens", 88.0)]
    boxes += [("feed-forward", "feed-forward", "each token alone", 84.0)] if whole else []
    for part, title, note, tall in boxes:
        box = fork + 14
        add = box + tall + 15
        with pen.part(part):
            pen.line((lanes[-1], fork), (middle, fork), (middle, box - 1))
            pen.dots(lanes, fork, 2.8)
            pen.rect("box", left, box, wide, tall, 10)
            with pen.leading(title):
                pen.text(middle, box + 16, title, "bold")
            if part == "attention":
                for i, rows in enumerate(scene.heads):
                    pen.weights(middle - 52 + 62 * i, box + 29, rows, 14, 12)
            else:
                for j in range(n):
                    pen.feed(middle + 44 * (j - (n - 1) / 2), box + 28, 32, 32)
            pen.text(middle, box + tall - 12, note, "shape")
            if whole:
                bring(add, (middle, box + tall), (middle, add))
            else:
                way = [(middle, box + tall), (middle, add), (lanes[-1], add)]
                pen.line(*way, (lanes[-1], add + 16))
                for x in lanes[:-1]:
                    pen.line((x, add), (x, add + 16))
        y = add + 18
        if whole:
            with pen.part("residual"):
                tips(fork, add - 8)
                for x in lanes:
                    pen.plus(x, add)
                pen.text(right, (fork + add) / 2, "residual", "noun start")
                pen.verb(right, add, "add")
            with pen.part("norm"):
                pen.lines(lanes, add + 7, add + 19)
                for x in lanes:
                    pen.norm(x, add + 24, 20, 10)
                pen.verb(right, add + 24, "norm")
                if part == "attention":
                    pen.lines(lanes, add + 29, add + 45)
                else:
                    tips(add + 29, add + 45)
            fork, y = add + 45, add + 47
    with pen.part("norm" if whole else "attention"):
        for x, word in zip(lanes, scene.tokens, strict=True):
            pen.strip(x - 9, y, scene.width, "", 18, ch)
            pen.text(x, y + high + 13, word, "word")
        pen.noun(right, y + high / 2, "output", shape, "start")
    return y + high + 26
