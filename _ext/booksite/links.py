"""Link the chapters and the API reference, both ways.

Links are added when a page is written. An edited chapter therefore leaves the reference as it
is, unless the names that it uses have changed.

sphinx-codeautolink was tried instead. It links names inside code cells, which this does not, but
not names in the text or sources that a chapter shows, and it does not list in the reference
where a chapter explains a name and where it uses it. It doubled the time of a build, and some
examples in docstrings made a strict build fail.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from . import uses
from .uses import CHAPTERS, PACKAGE, Index, up

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

REFERENCE = "reference"
_CHAPTER = re.compile(r"\bchapter (\d+)")
FEW = 4  # from this number of chapters on, their sections are left out


class LinkNames(SphinxPostTransform):
    """Make inline code that is a documented name a link; in the reference, list the chapters."""

    default_priority = 500
    formats = ("html",)

    def run(self, **_: object) -> None:
        self.page, self.index = self.env.docname, Index(self.env)
        self._link_names()
        self._name_shown_sources()
        if self.page.startswith(REFERENCE):
            self._link_chapters()
            self._list_chapters()

    def _link_names(self) -> None:
        everything = {"*"} if self.page.startswith(REFERENCE) else set()
        scope = everything | self.index.scope(uses.noted(self.env).get(self.page, []))
        seen = set()
        for code in list(self.document.findall(nodes.literal)):
            if up(code, nodes.reference) or up(code, nodes.title):
                continue
            entry = up(code, addnodes.desc)
            around = _name(entry) if entry else ""
            name = self.index.mentioned(code.astext(), scope, around)
            # Link a name once in each section, and not to the entry in which it stands.
            place = (name, entry or up(code, nodes.section))
            if name and name != around and place not in seen:
                seen.add(place)
                code.replace_self(self._to_name(name, code.deepcopy()))

    def _name_shown_sources(self) -> None:
        for block in list(self.document.findall(nodes.literal_block)):
            name = self.index.shown(block["shown"]) if "shown" in block else None
            if name:
                code = nodes.literal("", name.removeprefix(f"{PACKAGE}."))
                line = nodes.paragraph("", "In the reference: ", classes=["shown-source"])
                line += self._to_name(name, code)
                block.parent.insert(block.parent.index(block) + 1, line)

    def _link_chapters(self) -> None:
        """Turn "chapter 5" in docstrings into a link."""
        pages = {_number(page): page for page in self.env.found_docs if page.startswith(CHAPTERS)}
        for text in list(self.document.findall(nodes.Text)):
            parts = _CHAPTER.split(text.astext())
            if len(parts) == 1 or up(text, nodes.reference):
                continue
            made: list[nodes.Node] = [nodes.Text(parts[0])]
            for number, after in zip(parts[1::2], parts[2::2], strict=True):
                words, page = nodes.Text(f"chapter {number}"), pages.get(int(number))
                made += [self._to(page, "", words) if page else words, nodes.Text(after)]
            text.parent.replace(text, made)

    def _list_chapters(self) -> None:
        table = uses.chapters_of(self.env)
        for entry in self.document.findall(addnodes.desc):
            fields = nodes.field_list(classes=["chapters"])
            for word, chapters in table.get(_name(entry), {}).items():
                line = nodes.paragraph()
                for chapter, use in chapters.items():
                    section = f", {use.section}" if len(chapters) < FEW else ""
                    words = nodes.Text(f"chapter {_number(chapter)}{section}")
                    line += [
                        nodes.Text("; " if len(line) else ""),
                        self._to(chapter, use.anchor, words),
                    ]
                if chapters:
                    name = nodes.field_name("", f"{word.capitalize()} in")
                    fields += nodes.field("", name, nodes.field_body("", line))
            if len(fields):
                methods = entry[-1].first_child_matching_class(addnodes.desc)
                entry[-1].insert(len(entry[-1]) if methods is None else methods, fields)

    def _to(self, page: str, anchor: str, content: nodes.Node) -> nodes.reference:
        return make_refnode(self.app.builder, self.page, page, anchor, content)

    def _to_name(self, name: str, content: nodes.Node) -> nodes.reference:
        return self._to(*self.index.places[name], content)


def _number(chapter: str) -> int:
    return int(chapter.removeprefix(CHAPTERS)[:2])


def _name(entry: nodes.Element) -> str:
    return f"{entry[0]['module']}.{entry[0]['fullname']}" if "fullname" in entry[0] else ""


def _rewrite(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Return the pages to write again because the targets of their links have changed."""
    before = getattr(env, "booksite_links", None)
    now = (Index(env).places, uses.chapters_of(env))
    env.__dict__["booksite_links"] = now
    if before is None or before == now:
        return []
    everywhere = before[0] != now[0]
    return sorted(page for page in env.found_docs if everywhere or page.startswith(REFERENCE))


def setup(app: Sphinx) -> None:
    uses.setup(app)
    app.add_post_transform(LinkNames)
    app.connect("env-updated", _rewrite)
