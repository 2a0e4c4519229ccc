"""Choose which scripts and stylesheets of the theme a page loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .rewriting import Page, Rewriting, articles, everywhere

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

# Script and style files that no page needs, with the reason.
_NEVER = (
    r"fontawesome\.js",  # the icons also come as a font, at a fiftieth of the size
    r"sphinx-thebe\.js", r"sphinx-thebe\.css",  # runs cells on a server elsewhere
    r"togglebutton\.js", r"togglebutton\.css",  # disclosure.py writes <details> instead
)  # fmt: skip
# A string in each inline script that belongs to these files, and the pages that have the script.
_NEVER_INLINE = {
    "THEBE_JS_URL": everywhere, "kernelName =": articles, "x-thebe-config": articles,
    "togglebuttonSelector": everywhere, "toggleHintShow": everywhere,
    "toggleHintHide": everywhere, "toggleOpenOnPrint": everywhere,
}  # fmt: skip
# File -> strings in the page for which it is needed; a page with none of them does not load it.
USEFUL_WITH: dict[str, tuple[str, ...]] = {
    r"design-tabs\.js": ('class="sd-',),
    r"sphinx-design[\w.]*\.css": ('class="sd-',),
    r"mystnb[\w.]*\.css": ("cell_",),
    r"copybutton\.js": ('class="highlight',),
    r"copybutton\.css": ('class="highlight',),
    r"clipboard[\w.]*\.js": ('class="highlight',),
    # The theme loads these everywhere for its search-as-you-type, which is switched off.
    r"searchtools\.js": ('id="search-results"',),
    r"language_data\.js": ('id="search-results"',),
    r"searchindex\.js": ('id="search-results"',),
    # Marks chapters as read at their summaries, and shows the marks in the map.
    r"progress\.js": ('id="summary"', 'id="the-map"'),
}


def _file(name: str) -> str:
    """Return the pattern of a tag that loads the file ``name``."""
    return (
        rf'[ \t]*(?:<script\b[^>]*\ssrc="(?:[^"]*/)?{name}(?:\?[^"]*)?"[^>]*>\s*</script>'
        rf'|<link\b[^>]*\shref="(?:[^"]*/)?{name}(?:\?[^"]*)?"[^>]*>)\n?'
    )


def _inline(mark: str) -> str:
    """Return the pattern of an inline script that contains ``mark``."""
    inside = r"(?:(?!</script>).)*"
    return rf"[ \t]*<script(?![^>]*\ssrc=){inside}{mark}{inside}</script>\n?"


def _unless_useful(signs: tuple[str, ...]) -> Callable[[re.Match[str], Page], str]:
    return lambda match, page: match[0] if any(sign in page.body for sign in signs) else ""


ASSETS = (
    *(Rewriting(f"drop the file {name}", "page", _file(name), "") for name in _NEVER),
    *(
        Rewriting(f"drop the script with {mark}", "page", _inline(mark), "", needed)
        for mark, needed in _NEVER_INLINE.items()
    ),
    *(
        Rewriting(f"load {name} where it is of use", "page", _file(name), _unless_useful(signs))
        for name, signs in USEFUL_WITH.items()
    ),
)
