"""Evaluate the numeric equations in a formula and tell whether they hold as printed.

A formula is a chain of sides: ``a = b \\approx c``. Sides with letters are skipped; each
numeric side must agree with the numeric side before it:

- ``=`` means equal, where a side that is just a decimal stands for its printed digits;
- ``\\approx`` also lets an integer be a rounded number, and decimals inside an expression
  carry their own rounding into a result that has no more digits than they have.

    >>> check(r"w_1 = \\frac{e}{2e + 1} \\approx 0.4223").problems
    []
    >>> check(r"1\\cdot 1 + 2\\cdot 1 = 4").problems
    ['1\\\\cdot 1 + 2\\\\cdot 1 = 4: the sides are 3 and 4']
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from latex_parser import COMMANDS_TO_SKIP, Opaque, Parser, Unreadable, Value, text, tokenize

RELATIONS = {"=": "=", r"\approx": "≈", r"\simeq": "≈", r"\doteq": "≈"}
ORDER = {
    "<": np.less, ">": np.greater,
    r"\lt": np.less, r"\gt": np.greater,
    r"\le": np.less_equal, r"\leq": np.less_equal,
    r"\ge": np.greater_equal, r"\geq": np.greater_equal,
    r"\ne": np.not_equal, r"\neq": np.not_equal,
}  # fmt: skip
# These part a formula into statements of their own.
BREAKS = {",", ";", r"\quad", r"\qquad", r"\to", r"\mapsto", r"\Rightarrow", r"\implies",
          r"\iff", r"\in", r"\propto", r"\equiv", r"\sim", r"\mid", r"\colon", ":"}  # fmt: skip
OPENING = {"(", "[", "{", r"\{", r"\lVert", r"\lvert", r"\lfloor", r"\langle"}
CLOSING = {")", "]", "}", r"\}", r"\rVert", r"\rvert", r"\rfloor", r"\rangle"}
JOINING = {"+", "-", r"\cdot", r"\times", "/"}
LAYOUT = {"aligned", "align", "align*", "gathered", "gather", "gather*", "split", "equation",
          "equation*"}  # fmt: skip


@dataclass
class Checked:
    """The result of checking one formula."""

    problems: list[str] = field(default_factory=list)
    #: Numbers, as printed, that an equation vouches for: all in an equality, where changing
    #: any would break it; the result of an approximation, which may bear a changed operand.
    established: set[str] = field(default_factory=set)
    #: Vectors and matrices that are stated and not computed: (text, value, half units).
    stated: list[tuple[str, Value, Value]] = field(default_factory=list)


@dataclass
class Side:
    tokens: list[str]
    value: Value | None = None  # None where the side has letters
    literals: list[str] = field(default_factory=list)

    def evaluate(self) -> None:
        parser = Parser(self.tokens)
        try:
            self.value = parser.parse()
        except Opaque:
            return
        self.literals = parser.literals

    @property
    def is_plain(self) -> bool:
        """Return whether this side only states digits (a number, a vector, d.dd \\cdot 10^k)."""
        tokens = [t for t in self.tokens if t not in {"{", "}"}]
        if len(tokens) >= 5 and tokens[1] in {r"\cdot", r"\times"} and tokens[2:4] == ["10", "^"]:
            tokens = tokens[:1]
        allowed = {"-", "+", "[", "]", "(", ")", ",", "&", "\\\\", r"\%"}
        ends = {"]", ")", r"\%"}
        after_value = [b for a, b in pairwise(tokens) if a[-1].isdigit() or a in ends]
        values = sum(t.startswith("\\begin") or t in {"(", "["} for t in tokens)
        nested = tokens[:1] == ["["] and "(" not in tokens
        if {"+", "-"} & set(after_value) or (values > 1 and not nested) or "][" in "".join(tokens):
            return False
        return all(
            t[0].isdigit() or t in allowed or t.startswith(("\\begin", "\\end")) for t in tokens
        )

    @property
    def decimals(self) -> int:
        return max((_decimals(literal) for literal in self.literals), default=0)

    def slack(self, *, integers: bool, decimals: int = 0) -> Value:
        """Return how far the rounding of its printed numbers can move this side.

        Numbers of fewer decimals than asked for are taken to be exact.
        """
        assert self.value is not None
        total = np.zeros_like(self.value)
        for place, literal in enumerate(self.literals):
            unit = half_unit(literal, integers=integers)
            if unit and _decimals(literal) >= decimals:
                moved = Parser(self.tokens, nudge={place: unit}).parse()
                total = total + np.abs(moved - self.value)
        return total


def _decimals(literal: str) -> int:
    return len(literal.partition(".")[2])


def half_unit(literal: str, *, integers: bool) -> float:
    """Return half a unit of the last printed digit."""
    if "." in literal:
        return 0.5 * 10.0 ** -_decimals(literal)
    if not integers:
        return 0.0
    # A long row of zeros is a rounded number ("about 63,000,000"); a short one may be exact.
    zeros = len(literal) - len(literal.rstrip("0"))
    return 0.5 * 10.0**zeros if zeros >= 3 else 0.5


def check(latex: str) -> Checked:
    """Check every pair of neighbouring numeric sides in one formula."""
    result = Checked()
    for chain in _chains(tokenize(latex)):
        last: Side | None = None
        relation = ""
        for sign, tokens in chain:
            side = Side(tokens)
            try:
                side.evaluate()
            except Unreadable as error:
                result.problems.append(f"{text(tokens)}: cannot be read: {error}")
                break
            relation = _combine(relation, sign) if last else sign
            if side.value is None:
                continue
            if side.is_plain and side.value.size > 1:
                stated = (text(tokens), side.value, side.slack(integers=False))
                result.stated.append(stated)
            if last and relation:
                _check_pair(last, relation, side, result)
            last, relation = side, "="
    return result


def _combine(before: str, sign: str) -> str:
    """Return the relation of two sides with others between; "" across an inequality."""
    if before in ORDER or not before:
        return ""
    if sign in ORDER:
        return sign if before == "=" else ""
    return "≈" if "≈" in (before, sign) else "="


def _check_pair(a: Side, relation: str, b: Side, result: Checked) -> None:
    assert a.value is not None
    assert b.value is not None
    shown = f"{text(a.tokens)} {relation} {text(b.tokens)}"
    x, y = np.squeeze(a.value), np.squeeze(b.value)
    if x.shape != y.shape:
        result.problems.append(f"{shown}: the sides have shapes {x.shape} and {y.shape}")
        return
    if relation in ORDER:
        if not ORDER[relation](x, y).all():
            result.problems.append(f"{shown}: the sides are {_show(x)} and {_show(y)}")
        return
    near = relation == "≈"
    rounding = 1e-9 * (1 + np.abs(x))
    strict = rounding + sum(
        np.squeeze(side.slack(integers=near)) for side in (a, b) if side.is_plain
    )
    if (np.abs(x - y) <= strict).all():
        if not (a.is_plain and b.is_plain):
            for side in (a, b):
                if side.is_plain or not near:
                    result.established.update(side.literals)
                result.stated = [s for s in result.stated if s[1] is not side.value]
        return
    digits = max((side.decimals for side in (a, b) if side.is_plain), default=0)
    loose = strict + sum(
        np.squeeze(side.slack(integers=False, decimals=digits))
        for side in (a, b)
        if not side.is_plain
    )
    if not (near and (np.abs(x - y) <= loose).all()):
        result.problems.append(f"{shown}: the sides are {_show(x)} and {_show(y)}")


def _show(value: Value) -> str:
    return np.array2string(value, precision=7, separator=", ") if value.ndim else f"{value:.9g}"


def _chains(tokens: list[str]) -> list[list[tuple[str, list[str]]]]:
    """Split a formula into chains of (relation before the side, tokens of the side)."""
    chains: list[list[tuple[str, list[str]]]] = [[("", [])]]
    depth = 0
    for place, token in enumerate(tokens):
        if token.startswith(("\\begin{", "\\end{")):
            if token.split("{")[1].rstrip("}") in LAYOUT:
                continue
            depth += 1 if token.startswith("\\begin") else -1
        depth += (token in OPENING) - (token in CLOSING)
        if depth or token in CLOSING or token.startswith("\\end{"):
            chains[-1][-1][1].append(token)
        elif token in RELATIONS or token in ORDER:
            chains[-1].append((RELATIONS.get(token, token), []))
        elif token in BREAKS:
            chains.append([("", [])])
        elif token == "\\\\":
            following = [t for t in tokens[place + 1 :] if t != "&"][:1]
            if not following or following[0] not in {*RELATIONS, *ORDER, *JOINING}:
                chains.append([("", [])])
        elif token not in COMMANDS_TO_SKIP and token != "&":
            chains[-1][-1][1].append(token)
    # A sentence may end inside the formula.
    for chain in chains:
        for _, side in chain:
            while side and side[-1] == ".":
                side.pop()
    return [[(sign, side) for sign, side in chain if side] for chain in chains]
