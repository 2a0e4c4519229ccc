"""Questions in the page: their script and stylesheet, on the pages that have them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .live import bundler, widgets
from .rewriting import replace

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = "questions"
_SIGN = "data-question="


def add_scripts(site: Path, sources: Path) -> None:
    """Write the script and the stylesheet, and load them on each page that has a question."""
    static = site / "_static" / FOLDER
    tagged = {}
    for path in site.rglob("*.html"):
        if "_static" in path.parts or _SIGN not in (page := path.read_text(encoding="utf-8")):
            continue
        up = "../" * (len(path.relative_to(site).parts) - 1)
        tags = (
            f'  <link rel="stylesheet" href="{up}_static/{FOLDER}/question.css" />\n'
            f'    <script defer src="{up}_static/{FOLDER}/question.js"></script>\n  </head>'
        )
        if f"{FOLDER}/question.js" not in page:
            page = replace(page, "</head>", tags, "load the script of questions")
        tagged[path] = page
    if not tagged:
        return
    static.mkdir(exist_ok=True)
    script = bundler(sources).page_script([], sources / "question.js")
    (static / "question.js").write_text(script, encoding="utf-8")
    style = (sources / "question.css").read_text(encoding="utf-8")
    (static / "question.css").write_text(style, encoding="utf-8")
    for path, page in tagged.items():
        path.write_text(page, encoding="utf-8")


def _on_build_finished(app: Sphinx, exception: Exception | None) -> None:
    if not exception and app.builder.format == "html":
        add_scripts(Path(app.outdir), widgets(app))


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _on_build_finished)
