"""Describe a page by its first sentences, as plain text."""

from __future__ import annotations

import html
import re

# A > inside a quoted attribute value does not end the tag.
INSIDE_TAG = r"""(?:[^<>"']|"[^"]*"|'[^']*')*"""
TAG = rf"<{INSIDE_TAG}>"
LENGTH = 200  # characters; lists of pages cut longer descriptions


def plain(markup: str) -> str:
    """Return the text of a piece of HTML."""
    return html.unescape(re.sub(TAG, "", markup))


def describe(body: str) -> str:
    """Return the first sentences of a page, as its description in search results and previews."""
    first = re.search(r"<article\b.*?<p>(.*?)</p>", body, flags=re.DOTALL)
    if first is None:
        return ""
    raised = re.sub(r"<(?:sup|msup)\b.*?</(?:sup|msup)>", _raised, first[1], flags=re.DOTALL)
    text = re.sub(r" \[[\d, ]+\]", "", " ".join(plain(raised).split()))  # citations
    sentences = re.split(r"(?<=[.?!]) ", text.replace("et al..", "et al."))
    said = sentences[0]
    for sentence in sentences[1:]:
        if len(said) + len(sentence) >= LENGTH:
            break
        said += " " + sentence
    return said


def _raised(match: re.Match[str]) -> str:
    """Return a power as plain text, with Unicode superscripts for digits, n and T."""
    parts = re.findall(r"<m\w+[^>]*>([^<]*)</m\w+>|<sup>([^<]*)</sup>", match[0])
    if not parts:
        return plain(match[0])
    *base, power = [first or second for first, second in parts]
    raised: str = power.translate(str.maketrans("0123456789nT", "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿᵀ"))
    return "".join(base) + raised
