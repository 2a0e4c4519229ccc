"""Write the notebooks for download, in Markdown that Jupyter and Colab can show.

Without this book's extensions a citation shows its key in braces, an included source shows a
file name, and a link to another chapter is broken. In the copies a citation shows its number,
the source is inserted, and links lead to the site, if its URL is known. The first cell gets the
URL of the wheel. All other code and all outputs are the same to the byte.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError
from sphinx.pycode import ModuleAnalyzer

from . import wheel
from .address import site_url

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_CITED = re.compile(r"\{cite\}`([^`]+)`")
_FOLDED = re.compile(
    r"^(`{4,})\{admonition\} ([^\n]+)\n:class: dropdown\n\n(.*?)\n\1$", re.DOTALL | re.MULTILINE
)
_INCLUDED = re.compile(r"```\{literalinclude\} (\S+)\n:pyobject: (\S+)\n```")
_LINKED = re.compile(r"\]\((\.\./)?(\w+)\.(?:ipynb|md)(#[\w-]+)?\)")
_LEFT = re.compile(r"\{[a-z:-]+\}`|^[`:]{3,}\{", re.MULTILINE)
_EMPTY = 'wheel = ""'  # tools/first_cell.py writes it


def citations(env: BuildEnvironment) -> list[Any]:
    """Return the citations that sphinxcontrib-bibtex has collected."""
    domain: Any = env.domains["cite"]
    found: list[Any] = domain.citations
    return found


def _source(path: Path, name: str) -> str:
    """Return the source of a function or class, as literalinclude does with ``pyobject``."""
    analyzer = ModuleAnalyzer.for_file(str(path), "")
    try:
        _, first, last = analyzer.find_tags()[name]
    except KeyError:
        raise ExtensionError(f"{path.name} has no {name!r}") from None
    return "\n".join(analyzer.code.splitlines()[first - 1 : last])


def _fenced(source: str) -> str:
    """Return source as a fenced code block, with a fence longer than any in the source."""
    fence = "```"
    while fence in source:
        fence += "`"
    return f"{fence}python\n{source}\n{fence}"


def _details(match: re.Match[str]) -> str:
    title = html.escape(match[2], quote=False)
    return f"<details>\n<summary>{title}</summary>\n\n{match[3]}\n\n</details>"


def readable(text: str, folder: Path, site: str, numbers: dict[str, str]) -> str:
    """Translate a Markdown cell of a notebook in ``folder`` into plain Markdown.

    Raises:
        ExtensionError: a directive or role is left, or a source to include does not exist
    """

    def cited(match: re.Match[str]) -> str:
        said = [numbers[key.strip()] for key in match[1].split(",")]
        links = [f"[{number}]({site}references.html)" if site else number for number in said]
        return f"[{', '.join(links)}]"

    def linked(match: re.Match[str]) -> str:
        page = match[2] if match[1] else f"{folder.name}/{match[2]}"
        return f"]({site}{page}.html{match[3] or ''})" if site else match[0]

    text = _INCLUDED.sub(lambda m: _fenced(_source(folder / m[1], m[2])), text)
    text = _FOLDED.sub(_details, text)
    text = _LINKED.sub(linked, _CITED.sub(cited, text))
    if left := _LEFT.search(text):
        raise ExtensionError(f"a notebook for download would show {left[0]!r}")
    return text


def copy(notebook: str, folder: Path, site: str, numbers: dict[str, str], package: str) -> str:
    """Return the text of a notebook for download; ``package`` is the URL of the wheel."""
    content: dict[str, Any] = json.loads(notebook)
    for cell in content["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            text = readable(text, folder, site, numbers)
        elif cell["id"] == "first-cell":
            if text.count(_EMPTY) != 1:
                raise ExtensionError("the first cell has no place for the address of the wheel")
            text = text.replace(_EMPTY, f'wheel = "{package}"')
        cell["source"] = text.splitlines(keepends=True)
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _on_build_finished(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    root, url = Path(app.srcdir), site_url()
    package = wheel.address(root, url)
    numbers = {c.key: c.formatted_entry.label for c in citations(app.env)}
    for path in (Path(app.outdir) / "_sources" / "chapters").glob("*.ipynb"):
        source = root / "chapters" / path.name
        if source.is_file():
            text = copy(source.read_text(encoding="utf-8"), source.parent, url, numbers, package)
            path.write_text(text, encoding="utf-8", newline="\n")


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _on_build_finished)
