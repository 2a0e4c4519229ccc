"""Trace each number in the text to an output, an equation or the code.

Every decimal number, and every integer of two or more digits, must be a number that a code
cell prints, a number in the code, or the outcome of an equation that holds. A number of
fewer digits is an approximation, and must say so: "about 0.42" for 0.4223.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from typing import Any

import latex_numbers
import numpy as np
from nbformat import NotebookNode

Table = np.ndarray[Any, Any]

NUMBER = re.compile(
    r"(?<![\w.\\])(?P<digits>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:e(?P<exponent>[+-]?\d+))?(?P<percent>\s?\\?%|\spercent\b)?(?![\d_])"
)
# A minus sign of the number, not of a subtraction: no left operand comes before it.
SIGN = re.compile(r"(?:^|[\s(\[,;:=|{$*`≈])[-−]$")
ROUGHLY = re.compile(
    r"(?:\b(?:about|roughly|nearly|almost|around|some)|≈|~|\\approx)\s*[$`]?[-−]?$"
)

FORMULA = re.compile(
    r"^```+\{math\}.*?\n(?P<fence>.*?)^```+|\$\$(?P<display>.+?)\$\$"
    r"|(?<![\\$])\$(?P<inline>[^$\n]+?)(?<!\\)\$|(?P<environment>\\begin\{align\*?\}.+?\\end\{align\*?\})",
    re.DOTALL | re.MULTILINE,
)

FENCE = re.compile(r"^(?P<mark>```+)(?P<info>[^\n]*)\n.*?^(?P=mark)\s*$", re.DOTALL | re.MULTILINE)

# References and markup: their numbers are not statements of the chapter.
EXEMPT = [
    re.compile(r"^```+\{(?:literalinclude|bibliography)\}.*?^```+\s*$", re.DOTALL | re.MULTILINE),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^\([\w-]+\)=\s*$", re.MULTILINE),  # a label
    re.compile(r"^\s*:[\w-]+:.*$", re.MULTILINE),  # an option of a directive
    re.compile(r"^\s*(?:```+|:::+)\{(?:image|figure|include|raw)\}.*$", re.MULTILINE),
    re.compile(r"\\textcolor\{#[0-9A-Fa-f]{6}\}"),
    re.compile(r"\{(?:ref|numref|eq|doc|term|cite(?::\w+)?)\}`[^`]*`"),
    re.compile(r"\[(?P<keep>[^\]]*)\]\((?P<target>[^)\s]*)\)"),  # of a link, its text stays
    re.compile(r"<?https?://[^\s>)]+>?"),
    re.compile(r"\barXiv:\d{4}\.\d{4,5}\b"),
    re.compile(r"</?[a-z][^<>]*>"),
    re.compile(r"^\s*\d+[.)]\s", re.MULTILINE),  # the mark of a numbered list
    re.compile(r"§\s?\d+(?:\.\d+)*"),
    re.compile(r"\bversion \d+(?:\.\d+)+"),
    re.compile(
        r"\b(?:sections?|chapters?|exercises?|equations?|eqs?\.|figures?|tables?|appendix)\s"
        r"\(?\d+(?:\.\d+)*\)?(?:(?:, | and | to |–)\(?\d+(?:\.\d+)*\)?)*",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:et al\.,?|and colleagues) \(?(?:19|20)\d\d\)?"),
]
YEAR = re.compile(r"\b(?:19|20)\d\d\b")
POWER_OF_TEN = re.compile(r"(\d(?:\.\d+)?)\s?(?:\\cdot|\\times|×|·)\s?10\^\{?([-−]?\d+)\}?")


@dataclass
class Sources:
    """The numbers that a text may state."""

    printed: set[Decimal] = field(default_factory=set)
    #: Literals in code are exact: 0.5 is also 0.50.
    exact: set[Decimal] = field(default_factory=set)
    #: Parts of equations that hold, as they are written.
    established: set[str] = field(default_factory=set)

    #: Tables: lists in code and printed tensors.
    tables: list[Table] = field(default_factory=list)

    def have(self, shown: Decimal, *, roughly: bool) -> bool:
        printed = {v for v in self.printed if _digits(v) >= _digits(shown) or v == int(v)}
        if roughly:
            return any(_rounds_to(value, shown) for value in printed | self.exact)
        return shown in printed or shown in self.exact

    def have_table(self, value: Table, half_units: Table) -> bool:
        """Return whether a table, or a row or a column of it, equals these numbers."""
        value, half_units = np.squeeze(value), np.squeeze(half_units)
        for table in self.tables:
            lines = [*table, *table.T] if table.ndim == 2 else []
            for candidate in (table, table.T, *lines):
                same_shape = candidate.shape == value.shape
                if same_shape and (np.abs(candidate - value) <= half_units + 1e-9).all():
                    return True
        return False


def _digits(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _rounds_to(value: Decimal, shown: Decimal) -> bool:
    unit = Decimal((0, (1,), shown.as_tuple().exponent))  # type: ignore[arg-type]
    # A printed tie (0.125) was rounded from a number on either side of it.
    return any(
        value.quantize(unit, rounding=way) == shown for way in (ROUND_HALF_UP, ROUND_HALF_DOWN)
    )


def formulas(markdown: str) -> Iterator[str]:
    for match in FORMULA.finditer(_without_code(markdown)):
        yield next(part for part in match.groups() if part is not None)


def _without_code(markdown: str) -> str:
    """Remove code, where dollars are not formulas, but keep the text of directives."""
    text = FENCE.sub(lambda m: m[0] if m["info"].startswith("{") else "", markdown)
    text = re.sub(r"^:[\w-]+:.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]+`(?!`)", "", text)


def unsupported(text: str, sources: Sources) -> list[str]:
    """Return each number that has no source, with its sentence."""
    for pattern in EXEMPT:
        text = pattern.sub(_replacement, text)
    text = POWER_OF_TEN.sub(lambda m: f"{m[1]}e{m[2].replace('−', '-')}", text).replace("{,}", ",")
    problems = []
    for match in NUMBER.finditer(text):
        digits, exponent = match["digits"].replace(",", ""), match["exponent"]
        if len(digits) == 1 and not exponent:
            continue
        before = text[max(0, match.start() - 12) : match.start()]
        sign = "-" if SIGN.search(before) else ""
        shown = Decimal(f"{sign}{digits}e{exponent or 0}")
        candidates = [shown, shown.scaleb(-2)] if match["percent"] else [shown]
        roughly = bool(ROUGHLY.search(before))
        if digits not in sources.established and not any(
            sources.have(number, roughly=roughly) for number in candidates
        ):
            problems.append(f"{sign}{match[0].strip()} in {_sentence(text, match.start())!r}")
    return problems


def _replacement(match: re.Match[str]) -> str:
    keep = match.groupdict().get("keep")
    return "" if keep is None else YEAR.sub("", keep)


def _sentence(text: str, place: int) -> str:
    start = max(text.rfind(". ", 0, place) + 1, text.rfind("\n\n", 0, place) + 1)
    ends = [end for end in (text.find(". ", place), text.find("\n\n", place)) if end > 0]
    return " ".join(text[start : min(ends, default=len(text))].split())[:160]


def numbers_in(text: str) -> set[Decimal]:
    """Return all numbers in printed output, with their signs and printed digits."""
    pattern = r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d*)?(?:e[+-]?\d+)?(?![\d_])"
    return {Decimal(number.replace(",", "")) for number in re.findall(pattern, text)}


def numbers_in_code(source: str) -> set[Decimal]:
    found = set()
    for node in ast.walk(ast.parse(source)):
        negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        constant = node.operand if negative else node
        if isinstance(constant, ast.Constant) and type(constant.value) in (int, float):
            value = Decimal(str(constant.value))
            found.add(-value if negative else value)
    return found


def tables_in_code(source: str) -> list[Table]:
    """Return all lists of numbers with one or two axes."""
    tables = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.List | ast.Tuple):
            try:
                table = np.array(ast.literal_eval(node), dtype=float)
            except (ValueError, TypeError):
                continue  # names or texts in it, or rows of several lengths
            if table.ndim in (1, 2) and table.size > 1:
                tables.append(table)
    return tables


def sources_of(notebook: NotebookNode) -> Sources:
    """Collect the numbers in the outputs and the code of a chapter; equations are added later."""
    sources = Sources()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        sources.exact |= numbers_in_code(cell.source)
        sources.tables += tables_in_code(cell.source)
        for output in cell.outputs:
            data = output.get("data", {})
            # A picture's text is its description: a claim, not a computed value.
            described = "image/png" in data
            shown = [output.get("text", ""), output.get("evalue", "")]
            shown += [] if described else [data.get("text/plain", "")]
            sources.printed |= numbers_in("\n".join(shown))
            for tensor in re.findall(r"tensor\((\[[-\d.,e\s\[\]]*\])", "\n".join(shown)):
                sources.tables += tables_in_code(re.sub(r"\s+", " ", tensor))
    return sources


def claims_in_code(source: str) -> Iterable[str]:
    """Return the text in code that is not computed: comments and alternative texts."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "alt":
            yield " ".join(_constant_text(node.value))


def _constant_text(node: ast.AST) -> Iterator[str]:
    """Return the literal parts of a string; the other parts of an f-string are computed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.FormattedValue):
        yield "…"
    else:
        for child in ast.iter_child_nodes(node):
            yield from _constant_text(child)


def check_equations(markdown: str, sources: Sources) -> list[str]:
    """Check all formulas of a text; numbers of the equations that hold become sources."""
    problems = []
    for formula in formulas(markdown):
        checked = latex_numbers.check(formula)
        problems += checked.problems
        sources.established |= checked.established
        problems += [
            f"{shown}: no list in the code and no printed tensor holds these numbers"
            for shown, value, half_units in checked.stated
            if not sources.have_table(value, half_units)
        ]
    return problems
