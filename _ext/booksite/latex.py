"""Translate LaTeX to MathML; raise an error for what cannot be translated faithfully.

latex2mathml does the parsing. ``convert`` prepares the source, checks the result, and calls
``tidy`` to rewrite it as MathML Core, which browsers draw.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import tostring

from latex2mathml.converter import convert_to_element

from .palette import ROLE_COLORS
from .tidy import FormulaError, tidy

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# Commands that latex2mathml accepts but treats differently from TeX, and what to write instead.
_REFUSED = {
    r"\color": r"write \textcolor{#hex}{...}, which colours its argument only",
    r"\tag": "write a (label) after the closing $$",
    r"\label": "write a (label) after the closing $$",
    r"\ref": "use the {eq} role",
    r"\def": "macros are not supported",
    r"\newcommand": "macros are not supported",
    r"\hline": "rules in arrays are not supported",
}
# Environments that differ only in numbering, which Sphinx does, or in the surrounding text.
_ALIGNED = r"\\(begin|end)\{(?:aligned|align\*?|split|gathered|gather\*?|eqnarray\*?)\}"
_OUTER = r"\\(?:begin|end)\{(?:equation|displaymath|math)\*?\}"
_ENVIRONMENTS = {"split", "cases", "array", "smallmatrix", "matrix"} | {
    f"{letter}matrix" for letter in "bpvBV"
}
_ARGUMENTS = {
    "mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2,
    "msubsup": 3, "munderover": 3,
}  # fmt: skip
_ROLE_OF = {color.upper(): role for role, color in ROLE_COLORS.items()}


def convert(latex: str, *, display: bool = False) -> str:
    """Return ``latex`` as one ``<math>`` element.

    Raises:
        FormulaError: the formula cannot be translated faithfully
    """
    source = _prepare(latex.strip())
    try:
        root = convert_to_element(source, display="block" if display else "inline")
    except Exception as error:  # its parser raises exceptions of many types, also StopIteration
        raise FormulaError(f"latex2mathml: {type(error).__name__} {error}".strip()) from error
    root.attrib.pop("xmlns", None)
    if not display:
        root.attrib.pop("display", None)
    for element in root.iter():
        element.text = html.unescape(element.text or "")  # it writes character references as text
        _check(element)
    tidy(root, _ROLE_OF)
    # Not ``alttext``: that becomes the formula's accessible name, and screen readers, which can
    # read MathML, would speak LaTeX instead.
    root.set("data-tex", " ".join(latex.split()))
    return tostring(root, encoding="unicode")


def _prepare(source: str) -> str:
    for command, advice in _REFUSED.items():
        if re.search(re.escape(command) + r"(?![A-Za-z])", source):
            raise FormulaError(f"{command} is not supported: {advice}")
    _check_braces(source)
    source = re.sub(_OUTER, "", source)
    source = re.sub(_ALIGNED, r"\\\1{split}", source)
    opened = re.findall(r"\\begin\{([^}]*)\}", source)
    if unknown := set(opened) - _ENVIRONMENTS:
        raise FormulaError(f"unknown environment {min(unknown)}")
    if sorted(opened) != sorted(re.findall(r"\\end\{([^}]*)\}", source)):
        raise FormulaError(r"\begin and \end do not match")
    # A blank line, or \\ outside an environment, starts a new row.
    rows = [part for part in re.split(r"\n\s*\n", source) if part.strip()]
    if len(rows) > 1 or (not opened and r"\\" in source):
        source = r"\begin{split}" + r"\\".join(rows) + r"\end{split}"
    # In latex2mathml \operatorname takes plain text only, so thin spaces become characters.
    source = re.sub(r"\\operatorname(\*?)\s*\{([^{}]*)\}", _operator_name, source)
    # latex2mathml writes a single upright letter as plain <mi>, which browsers draw in italics.
    return re.sub(r"\\(?:mathrm|rm|textrm)\s*\{([A-Za-z0-9]+)\}", r"\\text{\1}", source)


def _check_braces(source: str) -> None:
    depth = 0
    for brace in re.findall(r"[{}]", re.sub(r"\\[\\{}]", "", source)):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            break
    if depth:
        raise FormulaError("the braces do not balance")


def _operator_name(match: re.Match[str]) -> str:
    name = re.sub(r"\\[,; ]|~", "\u2009", match[2]).strip()
    if "\\" in name:
        raise FormulaError(f"{match[0]} holds a command")
    return rf"\operatorname{match[1]}{{{name}}}"


def _check(element: Element) -> None:
    text, tag = element.text or "", element.tag
    # \left. makes an empty fence on purpose.
    if tag == "mo" and not text and "fence" not in element.attrib:
        raise FormulaError("an empty operator")
    if re.search(r"[\\&$]", text):
        raise FormulaError(f"left untranslated: {text!r}")
    if element.get("linebreak"):
        raise FormulaError(r"\\ outside an environment")
    if len(element) != _ARGUMENTS.get(tag, len(element)):
        raise FormulaError(f"{tag} has {len(element)} arguments, not {_ARGUMENTS[tag]}")
    color = element.get("mathcolor")
    if color and color.upper() not in _ROLE_OF:
        raise FormulaError(f"{color} is not the colour of a role: {ROLE_COLORS}")


def width(mathml: str) -> int:
    """Return roughly how many characters wide the formula is drawn."""
    spaced = re.sub(r'<mtd\b|<mspace width="[12]em"', r"__\g<0>", mathml)
    rows = re.sub(r"<[^>]*>", "", spaced.replace("</mtr>", "\n")).split("\n")
    return max(len(html.unescape(row)) for row in rows)
