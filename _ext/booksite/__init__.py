"""Extend Jupyter Book: MathML formulas, small fonts, and pages that load no external files.

``mathml``       formulas as MathML, translated while the book is built
``disclosure``   folded admonitions as <details>, which work without JavaScript
``pages``        the HTML of written pages: what they load, and accessibility; with
                 ``rewriting`` (a search and replace that must find a match), ``assets`` (files
                 of the theme), ``describe`` (descriptions of pages) and ``scripts`` (inline)
``live``         live figures: their scripts, on the pages that have them
``stored``       what a chapter has stored, on other pages: its live figure, its drawing
``questions``    questions in the page: their script, on the pages that have them
``palette``      the role colours, from the package into formulas and stylesheet
``drawing``      the drawing that grows: its style in the stylesheet, its links to pages
``docstrings``   the docstrings of the package, as autodoc wants them
``links``        links between chapters and reference, both ways; ``uses`` collects the names
``launch``       buttons that open a chapter in Binder or Colab, if the repository is known
``terms``        terms of the glossary as entries of the search index
``counts``       the role ``count``: how many cells, numbers and pictures are checked
``wheel``        the package for download
``copies``       the notebooks for download, in plain Markdown, with the URL of the wheel
``address``      canonical URLs, link previews and the sitemap, where BOOK_URL is set
``fonts``        fonts cut down to the characters and icons that the site shows
"""

from __future__ import annotations

import hashlib
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from . import (
    address,
    copies,
    counts,
    disclosure,
    docstrings,
    drawing,
    fonts,
    launch,
    links,
    live,
    mathml,
    pages,
    palette,
    questions,
    stored,
    terms,
    wheel,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment


def _note_changes(app: Sphinx, config: Config) -> None:
    """Rewrite all pages when this extension, a stylesheet or the palette changes."""
    digest = hashlib.sha256()
    here, static = Path(__file__).parent, Path(app.srcdir) / "_static"
    sources = [*here.glob("*.py"), *static.glob("*.css"), *live.sources(app)]
    sources += [palette.SOURCE, drawing.SOURCE]
    for path in sorted(sources):
        digest.update(path.read_bytes())
    config.booksite_digest = digest.hexdigest()


def _renumber_citations(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Rewrite all pages when the number of a citation changes.

    All cited works are numbered together, so a new citation on one page changes the numbers
    on others, which an incremental build would not write again.
    """
    cited = copies.citations(env)
    numbers = {c.key: (c.citation_id, c.formatted_entry.label) for c in cited}
    before = getattr(env, "booksite_citations", numbers)
    env.__dict__["booksite_citations"] = numbers
    return [] if numbers == before else sorted(env.found_docs)


def _print_anything() -> None:
    """Print escape codes for characters that the console cannot show, instead of failing.

    Jupyter Book prints the path of the book, which may hold any character.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def setup(app: Sphinx) -> dict[str, bool]:
    _print_anything()
    app.add_config_value("booksite_digest", "", "html")
    app.connect("config-inited", _note_changes)
    # After the domains, which number citations at the default priority, 500.
    app.connect("env-updated", _renumber_citations, priority=900)
    mathml.setup(app)
    disclosure.setup(app)
    docstrings.setup(app)
    drawing.setup(app)
    links.setup(app)
    terms.setup(app)
    counts.setup(app)
    launch.setup(app)
    wheel.setup(app)
    copies.setup(app)
    stored.setup(app)
    live.setup(app)  # before pages, which finishes the written HTML
    questions.setup(app)
    pages.setup(app)
    address.setup(app)  # after pages: it reads the title and description in the head
    fonts.setup(app)  # after pages: it reads the finished pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
