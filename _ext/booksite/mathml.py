"""Render formulas as MathML while Sphinx writes a page."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from .latex import convert, width
from .tidy import FormulaError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

# A display formula of more characters than this may not fit on a phone. Then it scrolls in its
# own box, which gets a tab stop for the keyboard; shorter formulas need none.
FITS_A_PHONE = 16


def _translate(node: nodes.Element, *, display: bool) -> str:
    latex = node.astext()
    try:
        return convert(latex, display=display)
    except FormulaError as error:
        shown = " ".join(latex.split())
        logger.warning("formula: %s, in %s", error, shown, location=node, type="formula")
        return f"<code>{html.escape(shown)}</code>"


class BindPunctuation(SphinxPostTransform):
    """Keep a formula in the text and the comma or bracket beside it on one line."""

    default_priority = 400
    formats = ("html",)
    before, after = re.compile(r"[(\[“‘\"]+$"), re.compile(r"^[.,;:!?)\]”’\"]+")

    def run(self, **_: object) -> None:
        for math in list(self.document.findall(nodes.math)):
            parent = math.parent
            place = parent.index(math)
            left = self._cut(parent, place - 1, self.before) if place else ""
            right = self._cut(parent, place + 1, self.after) if place + 1 < len(parent) else ""
            if left or right:
                bound = nodes.inline("", "", classes=["bound"])
                parent[parent.index(math)] = bound
                bound += [nodes.Text(left), math, nodes.Text(right)]

    @staticmethod
    def _cut(parent: nodes.Element, place: int, pattern: re.Pattern[str]) -> str:
        """Remove the punctuation from the text at this place, and return it."""
        text = parent[place]
        found = pattern.search(text.astext()) if isinstance(text, nodes.Text) else None
        if found is None:
            return ""
        parent[place] = nodes.Text(pattern.sub("", text.astext()))
        return found[0]


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    self.body.append(_translate(node, display=False) + "</span>")
    raise nodes.SkipNode


def visit_displaymath(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    formula = _translate(node, display=True)
    reach = ""
    if width(formula) > FITS_A_PHONE:
        reach = ' tabindex="0" role="group" aria-label="Formula"'
    self.body.append(f'<div class="formula"{reach}>{formula}</div>')
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_post_transform(BindPunctuation)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
