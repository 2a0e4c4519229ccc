"""Text and data inside of HTML: escaped for the place where they stand."""

import html
import json
import re
from typing import Any

#: Chinese characters and punctuation: marked with their language, for the font and the voice.
CHINESE = re.compile("[\u3007\u3400-\u9fff\uff00-\uffef]+")


def script_json(value: Any) -> str:
    """Return plain data as JSON that is safe inside a script element.

    HTML entities are not decoded inside a script. A string with ``</script>`` would end it, and
    ``<!--`` can hide its end tag. So each ``<`` is escaped as ``\\u003c``, which JSON reads as
    ``<`` and HTML does not read as a tag.

    >>> print(script_json({"words": ["</script>"]}))
    {"words": ["\\u003c/script>"]}
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    return text.replace("<", "\\u003c")


def marked(text: str) -> str:
    """Escape text for HTML; mark Chinese with its language."""
    return CHINESE.sub(r'<span lang="zh">\g<0></span>', html.escape(text))
