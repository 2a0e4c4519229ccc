"""Split Markdown cells into headings, words and included code."""

from __future__ import annotations

import re
from collections.abc import Iterator

FENCED = re.compile(
    r"^(?P<mark>```+|:::+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=mark)\s*$", re.DOTALL | re.MULTILINE
)
HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*$", re.MULTILINE)
INCLUDE = re.compile(
    r"^```+\{literalinclude\}\s*(?P<target>\S+)[ \t]*\n(?P<options>(?::.*\n)*)", re.MULTILINE
)
MARKUP = re.compile(
    r"\$\$.*?\$\$|\$[^$\n]+\$|`[^`\n]*`|</?[a-z][^>]*>|\]\([^)]*\)|\{[a-z:]+\}", re.DOTALL
)


def headings(markdown: str) -> Iterator[tuple[int, str]]:
    """Return (level, title) of each heading outside code."""
    for marks, title in HEADING.findall(FENCED.sub("", markdown)):
        yield len(marks), title


def words(markdown: str) -> int:
    """Return the words of the prose, without code, formulas and markup."""
    return len(re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*", MARKUP.sub(" ", _prose(markdown))))


def without_folds(markdown: str) -> str:
    """Return the text without the parts that a page shows folded."""

    def keep(match: re.Match[str]) -> str:
        options = match["body"].partition("\n\n")[0]
        folded = match["info"].startswith("{dropdown}") or re.search(
            r"^:class:.*\bdropdown\b", options, re.M
        )
        return "" if folded else match[0]

    return FENCED.sub(keep, markdown)


def literal_includes(markdown: str) -> Iterator[tuple[str, str]]:
    """Return (file, object or "") of each literalinclude, also inside admonitions."""
    for match in INCLUDE.finditer(markdown):
        pyobject = re.search(r"^:pyobject:\s*(\S+)", match["options"], re.MULTILINE)
        yield match["target"], pyobject[1] if pyobject else ""


def _prose(markdown: str) -> str:
    """Return the text without fenced code, but with the text of directives."""

    def keep(match: re.Match[str]) -> str:
        info = match["info"].strip()
        if not info.startswith("{") or info.startswith(("{literalinclude}", "{math}", "{code")):
            return ""
        title = info.partition("}")[2]
        body = re.sub(r"^:[\w-]+:.*\n", "", match["body"], flags=re.MULTILINE)
        return f"{title}\n{_prose(body)}"

    return FENCED.sub(keep, markdown)
