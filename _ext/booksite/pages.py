"""Rewrite the HTML of written pages: what each page loads, and its accessibility.

The theme and Jupyter Book load the same files on every page, some from other hosts. Each
rewriting has a name, and the build stops if one no longer finds what it rewrites.
"""

from __future__ import annotations

import html
import re
import struct
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import rewriting, scripts
from .assets import ASSETS
from .describe import INSIDE_TAG, describe, plain
from .rewriting import Page, Rewriting, articles, having

if TYPE_CHECKING:
    from collections.abc import Callable

    from sphinx.application import Sphinx

    from .rewriting import Size

# Chinese characters and punctuation: the unicode-range of the Chinese font in book.css.
CHINESE = re.compile("[\u2e80-\u2fdf\u3000-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
# Text of more characters than this may not fit on a phone: see mathml.FITS_A_PHONE.
FITS_A_PHONE = 36

_ATTRIBUTE = r"""\s([\w-]+)=(?:"([^"]*)"|'([^']*)')"""
_MAY_SCROLL = '<div class="(?:pst-scrollable-table-container|output text_html)"'
_SYSTEM_THEME = '(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")'


def _in_head(new: str | Callable[[Page], str], name: str) -> Rewriting:
    """Return a rewriting that puts an inline script at the end of the head."""

    def put(_: re.Match[str], page: Page) -> str:
        script = new if isinstance(new, str) else new(page)
        return f"  <script>{script}</script>\n  </head>" if script else "</head>"

    return Rewriting(name, "head", "</head>", put)


def _viewport(match: re.Match[str], _page: Page) -> str:
    first, _, rest = match[0].partition(">")
    return f"{first}>" + re.sub(r'<meta name="viewport"[^>]*>', "", rest)


def _fonts(page: Page) -> str:
    names = {"Book Math": "a"} if "<math" in page.body else {}
    return scripts.fonts(names | ({"Book Chinese": "早"} if CHINESE.search(page.body) else {}))


def _mathml(page: Page) -> str:
    return scripts.MATHML if "<math" in page.body else ""


def _described(match: re.Match[str], page: Page) -> str:
    said = describe(page.body)
    tag = f'\n    <meta name="description" content="{html.escape(said)}" />' if said else ""
    return match[0] + tag


def _image(match: re.Match[str], page: Page) -> str:
    """Give an image its width and height, so that the layout does not shift when it loads.

    The attributes give the aspect ratio; the stylesheet lets the image shrink with the page.
    """
    given = {
        name: html.unescape(double or single)
        for name, double, single in re.findall(_ATTRIBUTE, match[0])
    }
    source = given.get("src", "")
    if given.get("width", "").isdigit() or ":" in source:
        return match[0]
    wide, high = page.size(source)
    declared = re.search(r"\bwidth:\s*(\d+)(?:\.\d+)?px", given.get("style", ""))
    if declared:
        high = round(high * int(declared[1]) / wide)
        wide = int(declared[1])
    tag = re.sub(_ATTRIBUTE, lambda m: "" if m[1] == "style" else m[0], match[0])
    return re.sub(r"\s*/?>$", f' width="{wide}" height="{high}" />', tag)


def _signature(match: re.Match[str], _: Page) -> str:
    """Write one line for each parameter of a long signature; Sphinx writes a <dl> without <dt>."""
    lines = match[0].replace("<dl>", '<span class="sig-lines">').replace("</dl>", "</span>")
    return lines.replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")


def _reach(label: str) -> str:
    """Return the attributes of a box that may scroll: a tab stop and an accessible name."""
    return f' tabindex="0" role="group" aria-label="{label}"'


def _preformatted(match: re.Match[str], _: Page) -> str:
    longest = max(map(len, plain(match[1]).split("\n")))
    if longest <= FITS_A_PHONE:
        return match[0]
    return f"<pre{_reach('Code or output')}>{match[1]}</pre>"


def _table(match: re.Match[str], _: Page) -> str:
    rows = re.findall(r"<tr\b.*?</tr>", match[2], flags=re.DOTALL)
    longest = max((len(" ".join(plain(row).split())) for row in rows), default=0)
    if longest <= FITS_A_PHONE:
        return match[0]
    return f"{match[1]}{_reach('Table')}>{match[2]}"


REWRITINGS = (
    *ASSETS,
    # The theme writes three viewport tags.
    Rewriting(
        "keep one viewport", "head",
        r'<meta name="viewport"[^>]*>.*<meta name="viewport"[^>]*>', _viewport,
    ),
    Rewriting("drop the marks of docsearch", "head", r'\s*<meta name="docsearch:[^>]*>', ""),
    Rewriting("drop comments", "head", r"\s*<!--.*?-->", ""),
    Rewriting(
        "say the title of the front page once", "head",
        r"<title>(.*?) &#8212; \1</title>", lambda match, _: f"<title>{match[1]}</title>",
        lambda page: page.name == "index",
    ),
    # If the reader has chosen no mode, the theme paints first and asks the system later.
    Rewriting(
        "follow the system's mode", "head",
        r'getItem\("mode"\) \|\| ""', 'getItem("mode") || "auto"',
    ),
    Rewriting(
        "follow the system's theme", "head",
        r'getItem\("theme"\) \|\| ""', f'getItem("theme") || {_SYSTEM_THEME}',
    ),
    Rewriting("describe the page", "head", "</title>", _described),
    # The theme's first stylesheet does nothing but import the basic one.
    Rewriting(
        "load the basic style at once", "head", r"_static/styles/theme\.css", "_static/basic.css"
    ),
    # After the charset, which must be in the first 1,024 bytes.
    Rewriting(
        "begin with the stand-in for storage", "head", '<meta charset="utf-8" />',
        lambda match, _: f"{match[0]}\n    <script>{scripts.STORAGE}</script>",
    ),
    _in_head(_fonts, "get fonts ready"),
    _in_head(_mathml, "show LaTeX where formulas are not drawn"),
    _in_head(scripts.PRINT, "print on white"),
    Rewriting(
        "drop the second title for the printer", "body",
        r'<div id="jb-print-docs-body".*?(?=<div id="searchbox">)', "", articles,
    ),
    Rewriting(
        "drop the marks of MathJax", "body",
        ' class="tex2jax_ignore mathjax_ignore"', "", having("mathjax_ignore"),
    ),
    # ARIA roles that are wrong for the bibliography's markup.
    Rewriting(
        "drop the role of the list of works", "body",
        ' role="list" class="citation-list"', ' class="citation-list"', having('"citation-list"'),
    ),
    Rewriting(
        "drop the roles of works", "body",
        ' role="doc-biblioentry"', "", having('"citation-list"'),
    ),
    # The toggles in the list of pages show an arrow only, so they need a name.
    Rewriting(
        "name the folds in the list of pages", "body", '<summary><span class="toctree-toggle"',
        '<summary aria-label="Its pages"><span class="toctree-toggle"',
    ),
    Rewriting(
        "set signatures in lines", "body",
        r'<dt class="sig (?:(?!</dt>).)*<dl>.*?</dt>', _signature,
        having('<dd><em class="sig-param"'),
    ),
    Rewriting(
        "drop links from pictures to themselves", "body",
        rf'<a class="[^"]*\binternal image-reference"[^>]*>(<img\b{INSIDE_TAG}>)\s*</a>',
        r"\1", having(" internal image-reference"),
    ),
    Rewriting("give pictures their size", "body", rf"<img\b{INSIDE_TAG}>", _image, having("<img")),
    Rewriting(
        "let the keyboard reach wide code", "body",
        r"<pre>(.*?)</pre>", _preformatted, having("<pre"),
    ),
    Rewriting(
        "let the keyboard reach wide tables", "body",
        # Up to the end of its own table: an output may be a drawing or a question without one.
        rf'({_MAY_SCROLL})>((?:(?!{_MAY_SCROLL}).)*?</table>)',
        _table, having("<table"),
    ),
)  # fmt: skip


def finished(text: str) -> bool:
    """Return whether a page is finished: a rebuild does not write every page again."""
    return scripts.STORAGE in text


def finish(text: str, size: Size, name: str = "") -> str:
    """Return the finished HTML of a page; ``size`` gives the size of an image by its URL."""
    if finished(text):
        return text
    page = Page.of(text, size, name)
    rewriting.rewrite(page, REWRITINGS)
    return page.text


def finish_site(site: Path) -> None:
    """Finish all pages of a site, or raise an error that names the rewritings without a match."""
    missing: dict[str, list[str]] = defaultdict(list)
    found: Counter[str] = Counter()
    descriptions: dict[str, str] = {}
    made: dict[Path, str] = {}
    whole = True
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.parts:
            continue
        name = path.relative_to(site).as_posix().removesuffix(".html")
        text = path.read_text(encoding="utf-8")
        if finished(text):
            whole = False
        else:
            page = Page.of(text, partial(_size_beside, path), name)
            for lacking in rewriting.rewrite(page, REWRITINGS):
                missing[lacking].append(name)
            found += page.matches
            made[path] = text = page.text
        if said := _meta_description(text):
            descriptions[name] = said
    if whole:
        for step in REWRITINGS:
            if not found[step.name] and step.name not in missing:
                missing[step.name] = ["the whole site"]
    # Raise before any page is written, so that the next build raises as well.
    rewriting.complain(missing)
    if (search := site / "search.html") in made:
        tag = f"  <script>{scripts.excerpts(descriptions)}</script>\n  </head>"
        name = "say in the search what pages are about"
        made[search] = rewriting.replace(made[search], "</head>", tag, name)
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")


def _meta_description(text: str) -> str:
    said = re.search(r'<meta name="description" content="([^"]*)"', text)
    return html.unescape(said[1]) if said else ""


def image_size(path: Path) -> tuple[int, int]:
    """Return the width and height of a PNG, or of an SVG that declares them."""
    data = path.read_bytes()
    if data.startswith(b"\x89PNG"):
        wide, high = struct.unpack(">II", data[16:24])
        return wide, high
    root = re.search(rb"<svg\b[^>]*>", data)
    width = root and re.search(rb'\bwidth="([\d.]+)', root[0])
    height = root and re.search(rb'\bheight="([\d.]+)', root[0])
    if not (width and height):
        raise ValueError(f"{path}: neither a PNG nor an SVG with a width and a height")
    return round(float(width[1])), round(float(height[1]))


def _size_beside(page: Path, source: str) -> tuple[int, int]:
    return image_size(page.parent / source)


def _on_build_finished(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    finish_site(site)
    # GitHub Pages would otherwise leave out folders whose names begin with an underscore.
    (site / ".nojekyll").touch()


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _on_build_finished)
