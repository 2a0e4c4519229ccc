"""Read a numeric LaTeX expression: numbers, vectors, matrices and the usual functions.

``Opaque`` means that the expression has letters, so it has no value; ``Unreadable`` means
that it has no letters and still cannot be evaluated, which is an error of the author.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

Value = np.ndarray[Any, Any]

TOKEN = re.compile(
    r"\\(?:begin|end)\{[a-z]+\*?\}|\\[A-Za-z]+|\\.|\d+(?:\{,\}\d{3})*(?:\.\d+)?|\S", re.DOTALL
)
# \textcolor{red}{x} and the like: what they show is their last argument.
WRAPPERS = re.compile(r"\\(?:textcolor|class|htmlClass|cssId|colorbox)\{[^{}]*\}(?=\{)")
PLAIN_WRAPPERS = {r"\boxed", r"\mathbf", r"\boldsymbol", r"\bm", r"\underbrace", r"\overbrace"}
NAMES = re.compile(r"\\(?:text|mathrm|operatorname\*?|mathsf|mathit|textrm)\{([^{}]*)\}")
COMMANDS_TO_SKIP = {
    r"\,", r"\;", r"\:", r"\!", "\\ ", "~", r"\left", r"\right", r"\big", r"\Big", r"\bigl",
    r"\bigr", r"\Bigl", r"\Bigr", r"\displaystyle", r"\textstyle", r"\notag", r"\nonumber",
}  # fmt: skip


def _softmax(x: Value) -> Value:
    shares = np.exp(x - x.max())
    return np.asarray(shares / shares.sum())


FUNCTIONS: dict[str, Callable[[Value], Any]] = {
    "exp": np.exp, "ln": np.log, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "tanh": np.tanh, "arccos": np.arccos, "arcsin": np.arcsin, "arctan": np.arctan,
    "max": np.max, "min": np.min, "softmax": _softmax, "ReLU": lambda x: np.maximum(x, 0),
}  # fmt: skip


class Opaque(Exception):
    """An expression that has letters."""


class Unreadable(Exception):
    """An expression without letters that has no value."""


def tokenize(latex: str) -> list[str]:
    latex = re.sub(r"(?<!\\)%.*", "", latex)
    latex = re.sub(r"\\(?:label|tag)\{[^{}]*\}|\\color\{[^{}]*\}", " ", latex)
    latex = WRAPPERS.sub(" ", latex)
    latex = re.sub(r"\\[td]frac\b", lambda _: r"\frac", latex)
    latex = NAMES.sub(lambda m: f"\\{m[1]} " if m[1] in FUNCTIONS else r"\name ", latex)
    tokens = [t.replace("{,}", "") if t[0].isdigit() else t for t in TOKEN.findall(latex)]
    return [t for t in tokens if t not in COMMANDS_TO_SKIP]


def text(tokens: list[str]) -> str:
    """Return the tokens as LaTeX, for messages."""
    joined = ""
    for token in tokens:
        joined += (" " if token in "+-" else "") + token
        joined += " " if token in "+-" or re.fullmatch(r"\\[A-Za-z]+", token) else ""
    return joined.strip()


class Parser:
    """Recursive descent; ``nudge`` adds to the n-th number, to see what its rounding does."""

    def __init__(self, tokens: list[str], nudge: dict[int, float] | None = None) -> None:
        self.tokens = tokens
        self.place = 0
        self.nudge = nudge or {}
        self.literals: list[str] = []

    def parse(self) -> Value:
        try:
            value = self.sum()
            if self.peek():
                raise Unreadable(f"unexpected {self.peek()!r}")
        except Unreadable:
            if any(_is_letter(token) for token in self.tokens):
                raise Opaque from None
            raise
        return np.asarray(value, dtype=float)

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            raise Unreadable(f"expected {expected or 'a number'}, found {token or 'the end'!r}")
        self.place += 1
        return token

    def sum(self) -> Any:
        value = self.product()
        while self.peek() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            value = value + sign * self.product()
        return value

    def product(self) -> Any:
        value = self.signed()
        while True:
            token = self.peek()
            if token in (r"\cdot", r"\times", "*", "·", "×"):
                self.take()
                value = _multiply(value, self.signed())
            elif token in ("/", r"\div"):
                self.take()
                value = value / self.signed()
            elif token == r"\odot":
                self.take()
                value = np.asarray(value) * self.signed()
            elif token and self.starts_atom(token):
                value = _multiply(value, self.power())
            else:
                return value

    @staticmethod
    def starts_atom(token: str) -> bool:
        return (
            token[0].isalnum()
            or token in ("(", "[", "{")
            or token.startswith("\\begin")
            or (bool(re.fullmatch(r"\\[A-Za-z]+", token)) and not token.startswith("\\r"))
        )

    def signed(self) -> Any:
        if self.peek() in ("+", "-"):
            return (1 if self.take() == "+" else -1) * self.signed()
        return self.power()

    def power(self) -> Any:
        value = self.atom()
        while self.peek() in ("^", "_", r"\%", "!"):
            sign = self.take()
            if sign == "_":
                raise Opaque
            if sign == r"\%":
                value = value / 100
            elif sign == "!":
                value = math.factorial(int(value))
            elif self.take_mark(r"\top", "T", r"\name"):
                value = np.transpose(np.asarray(value))
            elif self.take_mark(r"\circ"):
                value = value * math.pi / 180
            else:
                exponent = self.argument()
                try:
                    value = value**exponent
                except OverflowError:
                    raise Opaque from None
        return value

    def take_mark(self, *marks: str) -> bool:
        """Read an exponent that is a sign and not a number, with or without braces."""
        for mark in marks:
            for form in ([mark], ["{", mark, "}"]):
                if self.tokens[self.place : self.place + len(form)] == form:
                    self.place += len(form)
                    return True
        return False

    def argument(self) -> Any:
        """Read a group in braces, or a single character as TeX does."""
        if self.peek()[:1].isdigit() and len(self.peek()) > 1:
            raise Unreadable(f"TeX takes only the first digit of {self.peek()}; add braces")
        return self.atom()

    def atom(self) -> Any:
        token = self.take()
        if token[0].isdigit():
            self.literals.append(token)
            return float(token) + self.nudge.get(len(self.literals) - 1, 0.0)
        if token in ("(", "["):
            items = self.items(")" if token == "(" else "]")
            return np.stack(items) if token == "[" or len(items) > 1 else items[0]
        if token == "{":
            return self.until("}")
        if token in (r"\lVert", r"\lvert"):
            value = self.until(token.replace("\\l", "\\r"))
            return np.linalg.norm(value) if token == r"\lVert" else np.abs(value)
        if token == r"\frac":
            if re.fullmatch(r"\d\d", self.peek()):  # \frac12
                self.tokens = [
                    *self.tokens[: self.place],
                    *self.peek(),
                    *self.tokens[self.place + 1 :],
                ]
            return self.argument() / self.argument()
        if token == r"\sqrt":
            root = 2.0
            if self.peek() == "[":
                self.take()
                root = self.until("]")
            return self.argument() ** (1 / root)
        if token.startswith("\\begin{"):
            return self.matrix(token[len("\\begin{") : -1])
        if token in PLAIN_WRAPPERS:
            return self.argument()
        if token[1:] in FUNCTIONS:
            return self.function(token[1:])
        if token in ("e", r"\pi"):
            return math.e if token == "e" else math.pi
        if _is_letter(token):
            raise Opaque
        raise Unreadable(f"unexpected {token!r}")

    def function(self, name: str) -> Any:
        scale = 1.0
        if name == "log" and self.peek() == "_":
            self.take()
            scale = math.log(self.argument())
        return FUNCTIONS[name](np.asarray(self.power())) / scale

    def until(self, closing: str) -> Any:
        value = self.sum()
        self.take(closing)
        return value

    def items(self, closing: str) -> list[Any]:
        found = [self.sum()]
        while self.peek() == ",":
            self.take()
            found.append(self.sum())
        self.take(closing)
        return found

    def matrix(self, name: str) -> Any:
        if name not in ("bmatrix", "pmatrix", "matrix", "smallmatrix"):
            raise Opaque
        rows: list[list[Any]] = [[]]
        end = f"\\end{{{name}}}"
        while True:
            rows[-1].append(self.sum())
            sign = self.take()
            if sign == "\\\\" and self.peek() != end:
                rows.append([])
            elif sign == "\\\\":
                self.take(end)
                return np.array(rows)
            elif sign == end:
                return np.array(rows)
            elif sign != "&":
                raise Unreadable(f"unexpected {sign!r} in a matrix")


def _is_letter(token: str) -> bool:
    if token in COMMANDS_TO_SKIP or token == "e":
        return False
    known = {r"\frac", r"\sqrt", r"\cdot", r"\times", r"\div", r"\odot", r"\pi", r"\circ", r"\top",
             r"\lVert", r"\rVert", r"\lvert", r"\rvert", *PLAIN_WRAPPERS}  # fmt: skip
    if token.startswith(("\\begin{", "\\end{")):
        return "matrix" not in token
    if token.startswith("\\"):
        return token[1:].isalpha() and token not in known and token[1:] not in FUNCTIONS
    return token.isalpha() or token in ("?", "…")


def _multiply(a: Any, b: Any) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    if not (a.ndim and b.ndim):
        return a * b
    if a.ndim == b.ndim == 2 and a.shape == b.shape and a.shape[1] == 1:
        a = a.T  # two columns with a dot between them: their dot product
    try:
        product = a @ b
    except ValueError:
        raise Unreadable(f"shapes {a.shape} and {b.shape} do not multiply") from None
    return product.reshape(()) if product.size == 1 else product
