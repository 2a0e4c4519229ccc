"""What the book adds to Jupyter Book: formulas, fonts and pages that need no other host.

``mathml``       formulas as MathML, translated while the book is built
``disclosure``   folded admonitions as <details>, which work without JavaScript
``pages``        each written page: what it loads, and what a reader's software needs
``fonts``        fonts cut down to the characters and icons that the site shows
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from . import disclosure, fonts, mathml, pages

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config


def _note_changes(app: Sphinx, config: Config) -> None:
    """Have all pages written again when this extension or a stylesheet changes."""
    digest = hashlib.sha256()
    here, static = Path(__file__).parent, Path(app.srcdir) / "_static"
    for path in sorted([*here.glob("*.py"), *static.glob("*.css")]):
        digest.update(path.read_bytes())
    config.booksite_digest = digest.hexdigest()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("booksite_digest", "", "html")
    app.connect("config-inited", _note_changes)
    mathml.setup(app)
    disclosure.setup(app)
    pages.setup(app)
    fonts.setup(app)  # after pages: it reads the finished pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
