"""Run live figures on pages without a kernel: each page loads a bundle of its own figures.

The sources are the ES modules of ``attention_core/widgets``. A browser loads no module from a
page that was opened as a file. So the package's bundler writes one classic script for a page,
with its figures and what they import.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes

from .rewriting import replace
from .stored import StoredDirective, stored_html

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from sphinx.application import Sphinx

FOLDER = "live"
_PLACE = re.compile(r'<div class="live" data-live="(\w+)"')
# A comment in a module that names the data that it may load later, in a script of its own.
_ASKS = re.compile(r"^// asks for (\w+)\.js$", re.MULTILINE)


def sources(app: Sphinx) -> list[Path]:
    """List the sources of the figures' scripts: modules, stylesheet and bundler."""
    folder = widgets(app)
    return sorted([*folder.rglob("*.js"), *folder.glob("*.css"), folder / "bundle.py"])


def widgets(app: Sphinx) -> Path:
    return Path(app.srcdir) / "attention_core" / "widgets"


def bundler(folder: Path) -> ModuleType:
    """Load the package's bundler by its path: importing the package would load torch."""
    spec = importlib.util.spec_from_file_location("live_bundle", folder / "bundle.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


# The files of the package that each set of data is made from.
_MADE_FROM = {
    "dates": ("data/dates.pt", "widgets/dates_model.py"),
    "heads_trained": ("data/head_maps.json", "widgets/head_maps.py"),
    "heads_untrained": ("data/head_maps.json", "widgets/head_maps.py"),
}


def model_script(name: str) -> str:
    """Return a classic script that puts data of the package into ``liveData``.

    A page that was opened as a file may load scripts but cannot fetch data, so the numbers are
    text inside a script.
    """
    # These imports load torch; they run only if the script is missing or out of date.
    from attention_core.widgets import dates_model, head_maps

    packers: dict[str, Callable[[], tuple[dict[str, Any], bytes]]] = {
        "dates": dates_model.packed,
        "heads_trained": partial(head_maps.packed, trained=True),
        "heads_untrained": partial(head_maps.packed, trained=False),
    }
    manifest, data = packers[name]()
    whole = {**manifest, "base64": base64.b64encode(data).decode("ascii")}
    return f"(globalThis.liveData ||= {{}}).{name} = {json.dumps(whole)};\n"


def _write_model(app: Sphinx, name: str) -> None:
    """Write a script of data if its sources have changed or the script is missing."""
    package = Path(app.srcdir) / "attention_core"
    digest = hashlib.sha256()
    for path in _MADE_FROM[name]:
        digest.update((package / path).read_bytes())
    made = Path(app.outdir) / "_static" / FOLDER / f"{name}.js"
    note = Path(app.doctreedir) / f"model-{name}.txt"
    known = note.read_text(encoding="utf-8") if note.is_file() else ""
    if known == digest.hexdigest() and made.is_file():
        return
    made.write_text(model_script(name), encoding="utf-8")
    note.write_text(digest.hexdigest(), encoding="utf-8")


def stored_figure(notebook: Path, cell_id: str) -> str:
    """Return the stored HTML of the live figure that a cell of a notebook shows."""
    found = [text for text in stored_html(notebook, cell_id) if _PLACE.search(text)]
    if len(found) != 1:
        raise ValueError(f"{notebook.name} has no cell {cell_id!r} that shows one live figure")
    return found[0]


class LiveFigureDirective(StoredDirective):
    """Show the live figure of a chapter on a page that is not a notebook.

    Its argument names the notebook, from the book's root, and the id of the cell::

        ```{live-figure} chapters/02_simple_attention.ipynb#live-simple_attention
        ```
    """

    def run(self) -> list[nodes.Node]:
        # The box is that of the chapter's page; it scrolls where scripts do not run.
        box = f'<div class="output text_html">{self.stored(stored_figure)}</div>'
        return [nodes.raw("", box, format="html")]


def _on_build_finished(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    folder = widgets(app)
    bundle = bundler(folder)
    site = Path(app.outdir)
    static = site / "_static" / FOLDER
    for path in site.rglob("*.html"):
        if "_static" in path.parts:
            continue
        page = path.read_text(encoding="utf-8")
        names = sorted(set(_PLACE.findall(page)))
        if not names:
            continue
        static.mkdir(exist_ok=True)
        file = "-".join(names)
        modules = [folder / f"{name}.js" for name in names]
        code = "".join(module.read_text(encoding="utf-8") for module in modules)
        for model in sorted(set(_ASKS.findall(code))):
            _write_model(app, model)
        made = bundle.page_script(modules, folder / "host.js")
        (static / f"{file}.js").write_text(made, encoding="utf-8")
        stylesheet = (folder / "live.css").read_text(encoding="utf-8")
        (static / "live.css").write_text(stylesheet, encoding="utf-8")
        up = "../" * (len(path.relative_to(site).parts) - 1)
        tags = (
            f'  <link rel="stylesheet" href="{up}_static/{FOLDER}/live.css" />\n'
            f'    <script defer src="{up}_static/{FOLDER}/{file}.js"></script>\n  </head>'
        )
        if f"{FOLDER}/{file}.js" not in page:
            page = replace(page, "</head>", tags, "load the scripts of live figures")
            path.write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_directive("live-figure", LiveFigureDirective)
    app.connect("build-finished", _on_build_finished)
