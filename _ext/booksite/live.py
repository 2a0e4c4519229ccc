"""Live figures on pages without a kernel: each page gets the scripts of its own figures.

The sources are the ES modules of ``attention_core/widgets``. A browser loads no module from a
page that was opened as a file, so each becomes a classic script: the one ``export default`` a
name in a table, everything inside a function of its own.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = "live"
_PLACE = re.compile(r'<div class="live" data-live="(\w+)"')
_EXPORT = re.compile(r"^export default ", re.MULTILINE)
_FOREIGN = re.compile(r"^(?:import\b|export (?!default))", re.MULTILINE)


def sources(app: Sphinx) -> list[Path]:
    """The modules, the host and the stylesheet."""
    folder = Path(app.srcdir) / "attention_core" / "widgets"
    return sorted([*folder.glob("*.js"), *folder.glob("*.css")])


def script(shared: str, modules: dict[str, str], host: str) -> str:
    """One classic script from what figures share, their modules and the page's host."""
    parts = ["(() => {", '"use strict";', shared, "const modules = {};"]
    for name, text in modules.items():
        if len(_EXPORT.findall(text)) != 1 or re.search(
            r"^(import|export (?!default))", text, re.M
        ):
            raise ValueError(f"{name}.js must have one `export default` and import nothing")
        parts.append("{\n" + _EXPORT.sub(f"modules.{name} = ", text) + "\n}")
    return "\n".join([*parts, host, "host(modules);", "})();", ""])


def _on_build_finished(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    text = {path.name: path.read_text(encoding="utf-8") for path in sources(app)}
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
        modules = {name: text[f"{name}.js"] for name in names}
        made = script(text["shared.js"], modules, text["host.js"])
        (static / f"{file}.js").write_text(made, encoding="utf-8")
        (static / "live.css").write_text(text["live.css"], encoding="utf-8")
        up = "../" * (len(path.relative_to(site).parts) - 1)
        tags = (
            f'  <link rel="stylesheet" href="{up}_static/{FOLDER}/live.css" />\n'
            f'    <script defer src="{up}_static/{FOLDER}/{file}.js"></script>\n  </head>'
        )
        if f"{FOLDER}/{file}.js" not in page:
            path.write_text(page.replace("</head>", tags, 1), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _on_build_finished)
