"""Chapters 1 to 5: what happens inside one attention."""

from attention_core.drawing._pen import Pen, Table
from attention_core.drawing._scene import Numbers, Scene, sum_to_show
from attention_core.drawing._text import math_text


def draw_inside(pen: Pen, scene: Scene) -> float:
    """Draw one attention; return the height of the drawing."""
    return _Attention(pen, scene).draw()


class _Attention:
    """Queries from the left, keys from above; below their crossing the values are mixed."""

    def __init__(self, pen: Pen, scene: Scene) -> None:
        self.pen, self.scene, self.N = pen, scene, Numbers(scene)
        N, n = self.N, len(scene.tokens)
        self.one = scene.has("one")
        self.own = scene.has("project")  # queries, keys, values of their own
        self.roles = self.own or scene.has("roles")
        self.f = 0 if self.one else scene.focus
        self.asking = scene.tokens[scene.focus : scene.focus + 1] if self.one else scene.tokens
        self.rows, self.d, self.dv = len(N.q), len(N.q[0]), len(N.v[0])
        self.square = f"({self.rows}, {n})"
        self.row, self.cell = (30.0 if self.one else 22.0), 17.0
        if pen.tight:  # long words and decimals: narrow lanes, words on two levels
            self.pitch, self.key, self.query, self.q_end, self.left = 31.0, 27.0, 25.0, 77.0, 92.0
        else:
            self.pitch, self.key, self.q_end, self.left = 38.0, 24.0, 128.0, 146.0
            self.query = 24.0 if self.own else 18.0
        self.right = self.left + self.pitch * n + (7 if pen.tight else 12)
        self.middle = self.left + self.pitch * n / 2
        self.lanes = [self.left + self.pitch * (j + 0.5) for j in range(n)]
        self.top = (36 if pen.tight else 24) + self.cell * len(scene.x[0])
        self.y = self.top + 22  # where the drawing has arrived

    def draw(self) -> float:
        if self.own:
            self.tokens()
        self.keys()
        self.queries()
        self.scores()
        if self.scene.has("divide"):
            self.inputs()
        self.softmax()
        self.values()
        return self.mix()

    def lane_words(self, y: float, away: int) -> None:
        for j, (x, word) in enumerate(zip(self.lanes, self.scene.tokens, strict=True)):
            step = 14 * away if self.pen.tight and j % 2 else 0
            self.pen.text(x, y + step, word, "num" if self.pen.tight else "word")

    def row_words(self, x: float) -> None:
        for i, word in enumerate(self.asking):
            kind = "word bold" if i == self.f else "word"
            self.pen.text(x, self.y + self.row * (i + 0.5), word, kind)

    def tokens(self) -> None:
        """X in the corner that chapters 1 and 2 left free, and two of the three matrices."""
        pen, scene, top, n = self.pen, self.scene, self.top, len(self.scene.tokens)
        with pen.part("tokens"):
            pen.rect("panel", 1, 19, 24 * n + 8, top - 14, 7)  # all tokens go through the matrices
            for j, (word, row) in enumerate(zip(scene.tokens, scene.x, strict=True)):
                pen.text(17 + 24 * j, 9, word, "word bold")
                pen.strip(7 + 24 * j, 24, row, "", 20, self.cell)
            pen.noun(17 + 24 * n, 38, math_text("X^⊤"), f"({len(scene.x[0])}, {n})", "start")
        q_mid, k_mid = self.y + self.row * self.rows / 2, top - self.cell * self.d / 2
        with pen.part("matrices"):
            pen.line((40, top + 5), (40, top + 9), role="q", tip=False)
            end = self.q_end - self.query * self.d - 25
            pen.line((40, top + 29), (40, q_mid), (end, q_mid), role="q")
            pen.line((9 + 24 * n, k_mid), (98, k_mid), role="k", tip=False)
            pen.line((131, k_mid), (self.lanes[0] - self.key / 2 - 2, k_mid), role="k")
            with pen.leading("matrices", "W^q, W^k, W^v"):
                pen.chip(40, top + 19, math_text("W^q"), 33, "q")
                pen.chip(114.5, k_mid, math_text("W^k"), 33, "k")

    def keys(self) -> None:
        pen, role = self.pen, "k" if self.roles else ""
        high = self.cell * self.d
        with pen.part("keys"):
            self.lane_words(self.top - high - 12, -1)
            for j, (x, row) in enumerate(zip(self.lanes, self.N.k, strict=True)):
                met = j == 0 and not self.roles  # by the row whose sum is written out
                at = (x - self.key / 2, self.top - high)
                pen.strip(*at, row, role, self.key, self.cell, focus=met)
                pen.line((x, self.top + 2), (x, self.top + 20), role=role)
            name = "keys " + math_text("K^⊤") if role else math_text("X^⊤")
            shape = f"({self.d}, {len(self.lanes)})"
            pen.noun(self.right, self.top - high / 2, name, shape, f"start {role}")

    def queries(self) -> None:
        pen, role = self.pen, "q" if self.roles else ""
        start, bottom = self.q_end - self.query * self.d, self.y + self.row * self.rows
        with pen.part("queries"):
            if pen.tight:
                pen.text((start + self.q_end) / 2, self.y - 12, self.asking[0], "bold")
            else:
                self.row_words(start - 13)
            for i, row in enumerate(self.N.q):
                mid = self.y + self.row * (i + 0.5)
                focus = i == self.f and self.rows > 1
                pen.strip(start, mid - 9, row, role, self.query, 18, across=True, focus=focus)
                pen.line((self.q_end + 2, mid), (self.left - 1, mid), role=role)
            name = math_text("X")
            if role:
                name = "query " + math_text("q") if self.one else "queries " + math_text("Q")
            at, shape = (self.q_end, bottom + (18 if pen.tight else 11)), f"({self.rows}, {self.d})"
            pen.noun(*at, name, shape, f"end {role}", flat=not pen.tight)

    def numbers(self, rows: Table, role: str, name: str) -> None:
        """A table at its place in the column of tables, with its noun."""
        size = (self.pitch, self.row)
        self.pen.table(self.left, self.y, rows, role, *size, self.f)
        mid = self.y + self.row * self.rows / 2
        self.pen.noun(self.right, mid, name, self.square, f"start {role}")

    def scores(self) -> None:
        pen, N, f = self.pen, self.N, self.f
        with pen.part("scores"):
            self.numbers(N.scores, "s", "scores")
            with pen.leading("compare", "compare"):
                pen.verb(self.right, self.top + 11, "compare")
            if not self.roles:
                pairs = list(zip(N.q[f], N.k[0], strict=True))
                pen.total(self.q_end, self.top - 26, pairs, N.scores[f][0], 3)
                pen.rect("edge focus", self.left, self.y + self.row * f, self.pitch, self.row, 3)
        self.y += self.row * self.rows

    def inputs(self) -> None:
        """From the scores to what softmax gets: the division, and perhaps the mask."""
        pen, masked = self.pen, self.scene.has("mask")
        with pen.part("division"):
            with pen.leading("division", "divide"):
                pen.down(self.middle, self.y + 1, self.y + 47, math_text("÷ √d_k"), 58)
                pen.verb(self.right, self.y + 14, "divide")
            root = f"√{self.d} ≈ {self.d**0.5:.2f}"
            pen.text(self.right, self.y + 31, root, "shape start")
        self.y += 48
        if masked:
            with pen.part("mask"), pen.leading("mask", "mask, hide"):
                pen.down(self.middle, self.y - 1, self.y + 45, "mask", 54)
                pen.verb(self.right, self.y + 20, "hide")
            self.y += 46
        with pen.part("mask" if masked else "division"):
            self.numbers(self.N.inputs, "s", "masked" if masked else "scaled")
        self.y += self.row * self.rows

    def softmax(self) -> None:
        pen = self.pen
        with pen.part("softmax"), pen.leading("share", "softmax, share out"):
            pen.down(self.middle, self.y + 1, self.y + 47, "softmax", 70)
            pen.verb(self.right, self.y + 22, "share" if pen.tight else "share out")
        self.y += 48
        with pen.part("weights"):
            self.numbers(self.N.weights, "w", "weights")
            if not pen.tight:
                self.row_words(self.left - 15)
        self.y += self.row * self.rows + (62 if self.rows > 1 else 22)

    def values(self) -> None:
        pen, role, first = self.pen, "v" if self.roles else "", self.lanes[0] - self.key / 2
        mid, low = self.y + self.cell * self.dv / 2, self.y + self.cell * self.dv
        if self.own:
            with pen.part("matrices"):
                pen.line((10, self.top + 5), (10, mid), (60, mid), role="v", tip=False)
                pen.line((93, mid), (first - 2, mid), role="v")
                with pen.leading("matrices", "W^q, W^k, W^v"):
                    pen.chip(76.5, mid, math_text("W^v"), 33, "v")
        with pen.part("values"):
            self.lane_words(low + 13, 1)
            for x, row in zip(self.lanes, self.N.v, strict=True):
                pen.strip(x - self.key / 2, self.y, row, role, self.key, self.cell)
            name = "values " + math_text("V^⊤") if role else math_text("X^⊤")
            at = (self.q_end, mid) if pen.tight else (self.lanes[0] - 18, low + 14)
            shape = f"({self.dv}, {len(self.lanes)})"
            pen.noun(*at, name, shape, f"end {role}", flat=not pen.tight)

    def hand_down(self) -> None:
        """The weights of one row, taken out of the table, each above the column it multiplies."""
        pen, row = self.pen, self.row
        end, rail = self.left + self.pitch * len(self.lanes), self.y - 52
        start = self.y - 62 - row * (self.rows - self.f - 0.5)
        first, *others = self.lanes
        path = (end + 1, start), (end + 7, start), (end + 7, rail), (first, rail)
        pen.line(*path, (first, rail + 10), role="w", tip=False)
        for lane in others:
            pen.line((lane, rail), (lane, rail + 10), role="w", tip=False)
        for lane, weight in zip(self.lanes, self.N.weights[self.f], strict=True):
            pen.strip(lane - 16, rail + 10, [weight], "w", 32, 20)

    def mix(self) -> float:
        """Weights times values, added up; behind it what the other queries get."""
        pen, N, f, several = self.pen, self.N, self.f, self.rows > 1
        high, x = self.cell * self.dv, self.right + 20
        mid, low = self.y + high / 2, self.y + high
        with pen.part("mix"):
            if several:
                self.hand_down()
            for lane in self.lanes:
                pen.line((lane, self.y - 20), (lane, self.y - 2), role="w")
            with pen.leading("mix", "mix"):
                pen.verb(self.right, self.y - 11, "mix")
            for lane in () if pen.tight else self.lanes[:-1]:
                pen.text(lane + self.pitch / 2, mid, "+")
            pen.text(self.right + 6, mid, "=")
            for off in (8, 4) if several else ():
                pen.rect("edge paper", x + off, self.y + off, 36, high, 3)
            pen.rect("paper", x, self.y, 36, high, 3)
            pen.strip(x, self.y, N.mixture[f], "", 36, self.cell, decimals=2)
            if several:
                pen.text(x + 20, low + 20, f"new {self.asking[f]}", "bold")
            else:
                pen.text(x + 18, low + 13, "new", "bold")
                pen.text(x + 18, low + 27, self.asking[f], "bold")
            if not self.roles:
                pairs, result, row = sum_to_show(N.weights[f], N.v)
                pen.total(self.q_end, mid, pairs, result, 2)
                at, size = self.y + self.cell * row, self.cell
                for lane in self.lanes:
                    pen.rect("edge focus", lane - self.key / 2, at, self.key, size, 3)
                pen.rect("edge focus", x, at, 36, size, 3)
        return low + (34 if pen.tight else 30)
