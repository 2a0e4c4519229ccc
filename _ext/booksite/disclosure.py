"""Turn admonitions of class ``dropdown`` into ``<details>``.

The browser opens them, with the keyboard as well, and needs no JavaScript.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


class details(nodes.General, nodes.Element):
    pass


class summary(nodes.General, nodes.TextElement):
    pass


class FoldDropdowns(SphinxPostTransform):
    default_priority = 400
    formats = ("html",)

    def run(self, **_: object) -> None:
        for admonition in list(self.document.findall(nodes.Admonition)):
            if "dropdown" not in admonition.get("classes", ()):
                continue
            title = admonition[0]
            folded = details("", *admonition[1:], **admonition.attributes)
            folded["classes"] = ["admonition", *admonition["classes"]]
            folded.insert(0, summary("", "", *title.children, classes=["admonition-title"]))
            admonition.replace_self(folded)


def _visit(self: HTML5Translator, node: nodes.Element) -> None:
    attributes = {"open": "open"} if "open" in node["classes"] else {}
    self.body.append(self.starttag(node, node.tagname, "", **attributes))


def _depart(self: HTML5Translator, node: nodes.Element) -> None:
    self.body.append(f"</{node.tagname}>\n")


def _pass(self: object, node: nodes.Element) -> None:
    """Write the content without a box, for builders other than HTML."""


def setup(app: Sphinx) -> None:
    for node in (details, summary):
        app.add_node(node, html=(_visit, _depart), latex=(_pass, _pass), text=(_pass, _pass))
    app.add_post_transform(FoldDropdowns)
