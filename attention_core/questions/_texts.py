"""The texts of questions: plain words with a few marks, as HTML and as plain text.

``*emphasis*``, ```code```, and a word in the colour of its role, ``[scores]{scores}``.
Everything else is escaped, and Chinese is marked with its language.
"""

import html
import re

from attention_core._html import marked

_MARK = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\[(?P<word>[^\[\]]+)\]\{(?P<role>query|key|value|scores|weights)\}"
    r"|(?<![\w*])\*(?P<stressed>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])"
)


def tidy(text: str, name: str) -> str:
    """Return the text in one line, or raise an error that names the argument.

    >>> tidy("two\\n  lines", "text")
    'two lines'
    """
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{name} must be a text, got {text!r}")
    if "$" in text:
        raise ValueError(
            f"{name} must be plain text: formulas in questions are not translated, so write "
            f"q·k, √d or x² instead of LaTeX, got {text!r}"
        )
    return " ".join(text.split())


def to_html(text: str) -> str:
    """Return the text as HTML.

    >>> to_html("Is *a* < b, [q]{query}?")
    'Is <em>a</em> &lt; b, <span class="query">q</span>?'
    """
    made, end = "", 0
    for mark in _MARK.finditer(text):
        made += marked(text[end : mark.start()])
        if mark["code"]:
            made += f"<code>{html.escape(mark['code'])}</code>"
        elif mark["role"]:
            made += f'<span class="{mark["role"]}">{marked(mark["word"])}</span>'
        else:
            made += f"<em>{to_html(mark['stressed'])}</em>"
        end = mark.end()
    return made + marked(text[end:])


def to_plain(text: str) -> str:
    """Return the text without its marks.

    >>> to_plain("Is *a* < b, [q]{query}?")
    'Is a < b, q?'
    """
    return _MARK.sub(lambda mark: mark["code"] or mark["word"] or to_plain(mark["stressed"]), text)


def from_html(text: str) -> str:
    """Return the plain text of what `to_html` made, as a page shows it."""
    return html.unescape(re.sub(r"<[^>]+>", "", text))
