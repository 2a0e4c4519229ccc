"""Find which chapters explain a name of the package, and which use it.

The names in a chapter are noted when Sphinx reads it. They are matched with those that the
reference documents when pages are written.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from docutils import nodes
from sphinx.directives.code import LiteralInclude

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

PACKAGE, CHAPTERS = "attention_core", "chapters/"
# A name, perhaps with its module or class before it and the parentheses of a call after it.
_CODE = re.compile(r"((?:[A-Za-z]\w*\.)*[A-Za-z]\w*)(?:\([^()]*\))?")


class Use(NamedTuple):
    """A name in a chapter: its source is shown, or the text, an import or code contains it."""

    kind: str
    name: str
    anchor: str
    section: str


class Index:
    """The names that the reference documents, with their pages and anchors."""

    def __init__(self, env: BuildEnvironment) -> None:
        self.places = {
            name: (entry.docname, entry.node_id)
            for name, entry in env.domains["py"].objects.items()
            if not entry.aliased
        }

    def mentioned(self, code: str, scope: set[str], around: str = "") -> str | None:
        """Return the full documented name that inline code stands for, or None.

        A bare name from a submodule is ambiguous, unless the page imports it (``scope``) or it
        is in the docstring of the same class or module (``around``).
        """
        match = _CODE.fullmatch(code)
        if match is None:
            return None
        name = match[1].removeprefix(f"{PACKAGE}.")
        while around:
            if f"{around}.{name}" in self.places:
                return f"{around}.{name}"
            around = around.rpartition(".")[0]
        if f"{PACKAGE}.{name}" in self.places:
            return f"{PACKAGE}.{name}"
        if name != match[1]:
            return None
        known = self.places if "." in name or "*" in scope else scope & set(self.places)
        found = [full for full in known if full.endswith(f".{name}")]
        return found[0] if len(found) == 1 else None

    def shown(self, name: str) -> str | None:
        """Return the documented name whose source ``module.name`` is; for a method, its class."""
        module, *parts = name.split(".")
        for path in (f"{PACKAGE}.{module}.{parts[0]}", f"{PACKAGE}.{parts[0]}"):
            if path in self.places:
                return path
        return None

    def scope(self, uses: list[Use]) -> set[str]:
        """Return the documented names that a chapter imports, one by one or by module."""
        names = {use.name for use in uses if use.kind == "import"}
        return {full for full in self.places if {full, full.rpartition(".")[0]} & names}

    def whole(self, name: str) -> str:
        """Return the class of a method, or the name itself."""
        parent = name.rpartition(".")[0]
        return parent if parent in self.places else name


class ShownSource(LiteralInclude):
    """A ``literalinclude`` that stores which object it shows."""

    def run(self) -> list[nodes.Node]:
        made = super().run()
        shown = self.options.get("pyobject")
        for block in made[0].findall(nodes.literal_block) if shown else ():
            block["shown"] = f"{self.arguments[0].rpartition('/')[2].removesuffix('.py')}.{shown}"
        return made


def names_in(code: str) -> Iterator[tuple[str, str]]:
    """Yield the full names that a cell imports from the package, and all names in its code."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            yield from (("import", f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield "code", f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Name):
            yield "code", node.id


def up(node: nodes.Node | None, kind: type[nodes.Element]) -> nodes.Element | None:
    while node is not None and not isinstance(node, kind):
        node = node.parent
    return node


def _uses(doctree: nodes.document) -> Iterator[Use]:
    for node in doctree.findall(lambda n: isinstance(n, (nodes.literal, nodes.literal_block))):
        section = up(node, nodes.section)
        if section is None or isinstance(node.parent, nodes.title):
            continue
        place = (section["ids"][0], section[0].astext())
        if "shown" in node:
            yield Use("source", node["shown"], *place)
        elif isinstance(node, nodes.literal_block):
            yield from (Use(*found, *place) for found in names_in(node.astext()))
        elif _CODE.fullmatch(node.astext()):
            yield Use("text", node.astext(), *place)


def _note(app: Sphinx, doctree: nodes.document) -> None:
    if app.env.docname.startswith(CHAPTERS):
        uses = list(dict.fromkeys(_uses(doctree)))
        known = {use.name.rpartition(".")[2] for use in uses if use.kind == "import"}
        noted(app.env)[app.env.docname] = [
            use for use in uses if use.kind != "code" or use.name.split(".")[0] in known
        ]


def noted(env: BuildEnvironment) -> dict[str, list[Use]]:
    """Return the uses noted so far, by chapter."""
    found: dict[str, list[Use]] = env.__dict__.setdefault("booksite_uses", {})
    return found


def _practised(use: Use) -> bool:
    return use.kind == "code" or use.section.startswith("Exercise")


def chapters_of(env: BuildEnvironment) -> dict[str, dict[str, dict[str, Use]]]:
    """Return the use that the reference links to, by name, by "explained" or "used", by chapter."""
    index = Index(env)
    table: dict[str, dict[str, dict[str, Use]]] = {}
    for chapter, uses in sorted(noted(env).items()):
        scope = index.scope(uses)
        for use in sorted(uses, key=lambda use: (_practised(use), use.kind == "text")):
            if use.kind == "source":
                name = index.shown(use.name)
            else:
                name = index.mentioned(use.name, scope) if use.kind != "import" else None
            if name:
                where = table.setdefault(index.whole(name), {"explained": {}, "used": {}})
                if chapter not in where["explained"]:
                    where["used" if _practised(use) else "explained"].setdefault(chapter, use)
    return table


def _purge(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    noted(env).pop(page, None)


def _merge(app: Sphinx, env: BuildEnvironment, pages: set[str], other: BuildEnvironment) -> None:
    noted(env).update({page: uses for page, uses in noted(other).items() if page in pages})


def setup(app: Sphinx) -> None:
    app.add_directive("literalinclude", ShownSource, override=True)
    app.connect("doctree-read", _note)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
