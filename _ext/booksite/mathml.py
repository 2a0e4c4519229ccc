"""The Sphinx math renderer: formulas become MathML while the page is written."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

from .latex import FormulaError, convert, width

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)

# A display formula of more characters than this may not fit on a phone.  It then scrolls in its
# own box, which the keyboard must reach; shorter ones are not worth a tab stop.
FITS_A_PHONE = 16


def _translate(node: nodes.Element, *, display: bool) -> str:
    latex = node.astext()
    try:
        return convert(latex, display=display)
    except FormulaError as error:
        shown = " ".join(latex.split())
        logger.warning("formula: %s, in %s", error, shown, location=node, type="formula")
        return f"<code>{html.escape(shown)}</code>"


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
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
