"""Rewrite the output of latex2mathml for browsers.

latex2mathml writes the MathML of 2003. Browsers draw MathML Core, which lacks most values of
``mathvariant``, ``columnalign`` and the like, and their operator dictionary spaces signs in
another way than TeX.
"""

from __future__ import annotations

import itertools
import unicodedata
from xml.etree.ElementTree import Element


class FormulaError(ValueError):
    """A formula that cannot be translated faithfully."""


_ALPHABETS = {
    "bold": "BOLD", "italic": "ITALIC", "bold-italic": "BOLD ITALIC", "script": "SCRIPT",
    "double-struck": "DOUBLE-STRUCK", "fraktur": "FRAKTUR", "sans-serif": "SANS-SERIF",
    "bold-sans-serif": "SANS-SERIF BOLD", "bold-script": "BOLD SCRIPT", "monospace": "MONOSPACE",
}  # fmt: skip
_SCRIPTED = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
_UNDER_OVER = ("munder", "mover", "munderover")
_OPEN, _CLOSE, _BARS = "([{⟨⌊⌈", ")]}⟩⌋⌉", "|‖"
_SIGNS = ("−", "-", "+", "±", "∓")
_ORDINARY = "∞⊤⊥∂∇∅"  # operators with space around them in latex2mathml; letters in TeX
_LETTERLIKE = "%°∂∇∅"
_PRIMES = "′″‴"
_TIGHT = "…⋯!/" + _PRIMES  # signs that take no space of their own
_LIMITS = {"max", "min", "sup", "inf", "lim", "det", "gcd", "lim inf", "lim sup"}
# The accent over one letter, and the one over several, which stretches.
_ACCENTS = {"^": "ˆ\u0302", "~": "˜\u0303", "¯": "¯¯", "→": "→→", "˙": "˙˙", "¨": "¨¨"}


def tidy(parent: Element, roles: dict[str, str]) -> None:
    """Rewrite the descendants of ``parent``, innermost elements first."""
    for child in parent:
        tidy(child, roles)
        _attributes(child, roles)
        if child.tag in ("mi", "mo"):
            _token(child)
        elif child.tag in ("mover", "munder"):
            _accent(child)
        _scripts(child)
    if parent.tag in ("math", "mrow", "mtd", "mstyle", "mpadded", "msqrt"):
        _row(parent)
        _space_names(parent)
        _join_upright(parent)
    for index, child in enumerate(parent):
        # An <mrow> around a single element has no effect.
        while child.tag == "mrow" and len(child) == 1 and not child.attrib:
            child = child[0]
        parent[index] = child


def alphabet(letter: str, variant: str) -> str:
    """Return ``letter`` in a mathematical alphabet; MathML Core has no attribute for it."""
    style = _ALPHABETS[variant]
    name = unicodedata.name(letter)
    for word in ("LATIN ", "GREEK ", "LETTER "):
        name = name.replace(word, "")
    # Unicode has some of these letters outside the alphabets, from earlier versions.
    old = {"FRAKTUR": "BLACK-LETTER"}.get(style, style)
    for candidate in (f"MATHEMATICAL {style} {name}", f"{old} {name}"):
        try:
            return unicodedata.lookup(candidate)
        except KeyError:
            pass
    if (letter, variant) == ("h", "italic"):
        return "\u210e"
    raise FormulaError(f"there is no {variant} {letter!r}")


def _attributes(element: Element, roles: dict[str, str]) -> None:
    variant = element.attrib.pop("mathvariant", None)
    if variant == "normal" and element.tag == "mi":
        element.set("mathvariant", "normal")  # the only value in MathML Core
    elif variant and variant != "normal":
        element.text = "".join(
            alphabet(c, variant) if c.isalnum() and (c.isascii() or "bold" in variant) else c
            for c in element.text or ""
        )
    color = element.attrib.pop("mathcolor", None)
    if color:
        element.tag = "mrow"
        element.set("class", roles[color.upper()])
    align = element.attrib.pop("columnalign", None)
    if align in ("left", "right"):
        element.set("class", align)
    if element.get("width") == "negativethinmathspace":
        element.set("width", "-0.1667em")
    for ignored in ("columnspacing", "rowspacing", "fence"):
        element.attrib.pop(ignored, None)


def _token(element: Element) -> None:
    text = element.text or ""
    sign = len(text) == 1 and not text.isalnum()
    if sign and element.tag == "mo" and text in _ORDINARY:
        element.tag = "mi"
        element.attrib.clear()
        element.set("mathvariant", "normal")
    elif sign and element.tag == "mi" and text not in _LETTERLIKE:
        element.tag = "mo" if unicodedata.category(text)[0] in "SP" else "mi"
    if element.tag != "mo":
        return
    if text in _LIMITS:
        element.set("movablelimits", "true")
    if text[:1].isalpha() and element.get("movablelimits"):
        element.attrib.update(lspace="0", rspace="0")
    elif len(text) > 1 and text[0].isalpha() and text != "mod":
        element.tag = "mi"  # \operatorname: a name, without an operator's space
    elif sign and text in _TIGHT:
        element.attrib.update(lspace="0", rspace="0")
    elif sign and not {"stretchy", "minsize"} & set(element.attrib):
        # Only \left, \right and \big make a fence grow.
        if text in _BARS:
            element.attrib.update(stretchy="false", lspace="0", rspace="0")
        elif text in _OPEN + _CLOSE:
            element.set("stretchy", "false")


def _accent(element: Element) -> None:
    base, mark = element
    text = mark.text or ""
    wide = len(base) > 0 or len(base.text or "") > 1
    if mark.tag == "mo" and (text == "―" or (text == "¯" and wide)):
        # No browser stretches this font's bar, so the stylesheet draws a border.
        side = "overline" if element.tag == "mover" else "underline"
        element.tag = "mrow"
        element.attrib.clear()
        element.set("class", side)
        element.remove(mark)
    elif mark.tag == "mo" and text in _ACCENTS:
        mark.text = _ACCENTS[text][wide]
        mark.attrib.clear()
        # WebKit puts an accent too high if stretchy is false, so it is not set.
        if wide:
            mark.set("stretchy", "true")
        element.set("accent", "true")


def _scripts(element: Element) -> None:
    if element.tag == "msup" and (element[1].text or " ") in _PRIMES:
        element.tag = "mrow"  # the font's primes are raised already
    if element.tag in _SCRIPTED and element[0].get("movablelimits"):
        element.tag = _SCRIPTED[element.tag]


def _row(parent: Element) -> None:
    items = list(parent)
    for index, item in enumerate(items):
        before = items[index - 1] if index else None
        after = items[index + 1] if index + 1 < len(items) else None
        if item.tag == "mtable":
            _table(item, before, after)
        elif item.tag == "mo" and item.text in _SIGNS and (before is None or _opens(before)):
            item.set("form", "prefix")


def _table(table: Element, before: Element | None, after: Element | None) -> None:
    if any(cell.get("class") == "right" for cell in table.iter("mtd")):
        table.set("class", "aligned")
    if before is not None and before.text == "{":
        table.set("class", "cases")
    for fence in (before, after):
        if (
            fence is not None
            and fence.tag == "mo"
            and (fence.text or " ") in _OPEN + _CLOSE + _BARS
        ):
            fence.attrib.clear()
            fence.set("stretchy", "true")


def _space_names(parent: Element) -> None:
    """Put a thin space between a function name and its neighbours, as TeX does."""
    items = list(parent)
    for left, right in itertools.pairwise(items):
        applied = _is_name(left) and _is_atom(right)
        if applied or (_is_name(right) and (_is_atom(left) or _closes(left))):
            space = Element("mspace", width="0.1667em")
            parent.insert(list(parent).index(right), space)


def _join_upright(parent: Element) -> None:
    """Join adjacent upright letters into one <mi>, as the three of \\mathrm{a_{pos}}."""
    previous: Element | None = None
    for child in list(parent):
        letters = (
            child.tag == "mi"
            and child.get("mathvariant") == "normal"
            and (child.text or "").isalpha()
        )
        if letters and previous is not None:
            previous.text = (previous.text or "") + (child.text or "")
            parent.remove(child)
        else:
            previous = child if letters else None


def _base(element: Element) -> Element:
    while len(element) and (
        element.tag in _SCRIPTED
        or element.tag in _UNDER_OVER
        or (element.tag == "mrow" and len(element) == 1)
    ):
        element = element[0]
    return element


def _is_name(element: Element) -> bool:
    base = _base(element)
    text = base.text or ""
    return (base.tag == "mi" and len(text) > 1) or (base.tag == "mo" and text[:1].isalpha())


def _is_atom(element: Element) -> bool:
    return _base(element).tag not in ("mo", "mspace", "mtext")


def _closes(element: Element) -> bool:
    base = _base(element)
    return base.tag == "mo" and (base.text or " ") in _CLOSE


def _opens(element: Element) -> bool:
    """Return whether a plus or minus sign after ``element`` is a prefix."""
    return element.tag == "mo" and (element.text or "") not in (*_CLOSE, *_BARS, "!", "…")
