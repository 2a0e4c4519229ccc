"""The written pages, finished: what each loads, and what a reader's software needs.

The theme and Jupyter Book load the same files on every page, some from other hosts.  ``finish``
works on the text of one page and changes nothing the second time, so a rebuild may run it on
pages that it has seen before.
"""

from __future__ import annotations

import html
import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sphinx.application import Sphinx

    Size = Callable[[str], tuple[int, int]]

# Chinese characters and their punctuation: the range that book.css gives the font.
CHINESE = re.compile("[\u2e80-\u2fdf\u3000-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
# Text of more characters than this may not fit on a phone: see mathml.FITS_A_PHONE.
FITS_A_PHONE = 36
DESCRIPTION = 200  # characters that lists of pages show at most

# Script and style files that no page needs, with the reason.
_NEVER = (
    "fontawesome.js",  # the icons also come as a font, at a fiftieth of the size
    "thebe",  # runs cells on a server elsewhere
    "togglebutton",  # disclosure.py writes <details> instead
)
# Marks of the short scripts that belong to these.
_NEVER_INLINE = (
    "x-thebe-config", "THEBE_JS_URL", "kernelName =",
    "togglebuttonSelector", "toggleHint", "toggleOpenOnPrint",
)  # fmt: skip
# File -> one of these must stand in the page for the file to be of use.
_WHEN: dict[str, tuple[str, ...]] = {
    "design-tabs": ('class="sd-',),
    "sphinx-design": ('class="sd-',),
    "mystnb": ("cell_",),
    "copybutton": ('class="highlight',),
    "clipboard": ('class="highlight',),
    # The theme loads these everywhere for a search-as-you-type that is off.
    "searchtools": ('id="search-results"',),
    "language_data": ('id="search-results"',),
    "searchindex": ('id="search-results"',),
    # Marks chapters as read at their summaries, and shows the marks in the map.
    "progress.js": ('id="summary"', 'id="the-map"'),
}

_SYSTEM_THEME = '(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")'
# Paper is white.
_PRINT = """\
(root => {
  let theme;
  addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
  });
  addEventListener("afterprint", () => { root.dataset.theme = theme; });
})(document.documentElement);"""


def finish(page: str, size: Size) -> str:
    """Return the finished text of a page; ``size`` gives the pixels of an image by its address."""
    head, start, body = page.partition("<body")
    body = start + body
    head = _assets(head, body)
    # The theme says it three times.
    viewport = re.findall(r'<meta name="viewport"[^>]*>', head)
    for tag in viewport[1:]:
        at = head.rindex(tag)
        head = head[:at] + head[at + len(tag) :]
    head = re.sub(r'\s*<meta name="docsearch:[^>]*>', "", head)
    head = re.sub(r"\s*<!--.*?-->", "", head, flags=re.DOTALL)
    head = re.sub(r"<title>(.*?) &#8212; \1</title>", r"<title>\1</title>", head)  # front page
    # Without a choice of the reader's, the theme paints first and asks the system later.
    head = head.replace('getItem("mode") || ""', 'getItem("mode") || "auto"')
    head = head.replace('getItem("theme") || ""', f'getItem("theme") || {_SYSTEM_THEME}')
    head = _early_fonts(_described(head, body), body)
    if "beforeprint" not in head:
        head = head.replace("</head>", f"  <script>{_PRINT}</script>\n  </head>")
    body = _assets(body, body)
    # A second title and table of contents for the printer; the page has both.
    body = re.sub(
        r'<div id="jb-print-docs-body".*?(?=<div id="searchbox">)', "", body, flags=re.DOTALL
    )
    body = body.replace(' class="tex2jax_ignore mathjax_ignore"', "")
    # Roles that the bibliography's markup does not live up to.
    body = body.replace(' role="list" class="citation-list"', ' class="citation-list"')
    body = body.replace(' role="doc-biblioentry"', "")
    # A fold in the list of pages; its arrow has no words.
    body = body.replace(
        '<summary><span class="toctree-toggle"',
        '<summary aria-label="Its pages"><span class="toctree-toggle"',
    )
    body = re.sub(r'<dt class="sig .*?</dt>', _signature, body, flags=re.DOTALL)
    body = re.sub(r'<a class="[^"]*image-reference"[^>]*>(<img[^>]*>)\s*</a>', r"\1", body)
    body = re.sub(r"<img [^>]*>", lambda m: _image(m[0], size), body)
    body = re.sub(r"<pre>(.*?)</pre>", _preformatted, body, flags=re.DOTALL)
    body = re.sub(
        r'(<div class="(?:pst-scrollable-table-container|output text_html)")>(.*?</table>)',
        _table,
        body,
        flags=re.DOTALL,
    )
    return head + body


def _described(head: str, body: str) -> str:
    """Say what the page is about, for those who meet it in a list: its first sentences."""
    first = re.search(r"<article\b.*?<p>(.*?)</p>", body, flags=re.DOTALL)
    if first is None or 'name="description"' in head:
        return head
    plain = re.sub(r"<(?:sup|msup)\b.*?</(?:sup|msup)>", _raised, first[1], flags=re.DOTALL)
    text = re.sub(r" \[[\d, ]+\]", "", " ".join(_text(plain).split()))  # citations
    text = text.replace("et al..", "et al.")
    sentences = re.split(r"(?<=[.?!]) ", text)
    said = sentences[0]
    for sentence in sentences[1:]:
        if len(said) + len(sentence) >= DESCRIPTION:
            break
        said += " " + sentence
    tag = f'<meta name="description" content="{html.escape(said)}" />'
    return head.replace("</title>", f"</title>\n    {tag}", 1)


def _raised(match: re.Match[str]) -> str:
    """A power in plain text: its digits and letters raised, as far as there are such."""
    parts = re.findall(r"<m\w+[^>]*>([^<]*)</m\w+>|<sup>([^<]*)</sup>", match[0])
    if not parts:
        return _text(match[0])
    *base, power = [first or second for first, second in parts]
    return "".join(base) + power.translate(str.maketrans("0123456789nT", "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿᵀ"))


def _early_fonts(head: str, body: str) -> str:
    """Have the fonts of the stylesheet made ready at once.

    Left to their first use they are ready after the first paint, and move the page.
    """
    wanted = {
        "Book Math": ("a", "<math" in body),
        "Book Chinese": ("早", bool(CHINESE.search(body))),
    }
    calls = "".join(
        f"document.fonts.load('1em \"{name}\"', '{sample}');"
        for name, (sample, used) in wanted.items()
        if used
    )
    if not calls or "fonts.load" in head:
        return head
    return head.replace("</head>", f"  <script>{calls}</script>\n  </head>")


def _assets(part: str, body: str) -> str:
    def keep(match: re.Match[str]) -> str:
        tag = match[0]
        opening = tag.partition(">")[0]
        address = _attribute(opening, "src") or _attribute(opening, "href")
        if address is None:
            return "" if any(mark in tag for mark in _NEVER_INLINE) else tag
        unused = any(name in address for name in _NEVER) or any(
            name in address and not any(sign in body for sign in signs)
            for name, signs in _WHEN.items()
        )
        return "" if unused else tag

    part = re.sub(r"[ \t]*<script\b[^>]*>.*?</script>\n?", keep, part, flags=re.DOTALL)
    return re.sub(r'[ \t]*<link rel="stylesheet"[^>]*>\n?', keep, part)


def _attribute(tag: str, name: str) -> str | None:
    match = re.search(rf'\s{name}="([^"]*)"', tag)
    return html.unescape(match[1]) if match else None


def _image(tag: str, size: Size) -> str:
    """Give an image its width and height, so that nothing moves when it arrives.

    The attributes give the shape; the stylesheet lets the image shrink with the page.
    """
    source = _attribute(tag, "src") or ""
    if re.search(r'\swidth="\d+"', tag) or ":" in source:
        return tag
    wide, high = size(source)
    style = _attribute(tag, "style") or ""
    declared = re.search(r"\bwidth:\s*(\d+)(?:\.\d+)?px", style)
    if declared:
        high = round(high * int(declared[1]) / wide)
        wide = int(declared[1])
    tag = re.sub(r'\sstyle="[^"]*"', "", tag)
    return re.sub(r"\s*/?>$", f' width="{wide}" height="{high}" />', tag)


def _signature(match: re.Match[str]) -> str:
    """A long signature has its parameters in lines; Sphinx makes a list without terms of them."""
    lines = match[0].replace("<dl>", '<span class="sig-lines">').replace("</dl>", "</span>")
    return lines.replace("<dd>", '<span class="sig-line">').replace("</dd>", "</span>")


def _reach(label: str) -> str:
    """Attributes of a box that may scroll: the keyboard must reach it, and it needs a name."""
    return f' tabindex="0" role="group" aria-label="{label}"'


def _text(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def _preformatted(match: re.Match[str]) -> str:
    longest = max(map(len, _text(match[1]).split("\n")))
    if longest <= FITS_A_PHONE:
        return match[0]
    return f"<pre{_reach('Code or output')}>{match[1]}</pre>"


def _table(match: re.Match[str]) -> str:
    rows = re.findall(r"<tr\b.*?</tr>", match[2], flags=re.DOTALL)
    longest = max((len(" ".join(_text(row).split())) for row in rows), default=0)
    if longest <= FITS_A_PHONE:
        return match[0]
    return f"{match[1]}{_reach('Table')}>{match[2]}"


def image_size(path: Path) -> tuple[int, int]:
    """Return the width and height of a PNG, or of an SVG that declares them."""
    data = path.read_bytes()
    if data.startswith(b"\x89PNG"):
        return struct.unpack(">II", data[16:24])
    root = re.search(rb"<svg\b[^>]*>", data)
    wide = root and re.search(rb'\bwidth="([\d.]+)', root[0])
    high = root and re.search(rb'\bheight="([\d.]+)', root[0])
    if not (wide and high):
        raise ValueError(f"{path}: neither a PNG nor an SVG with a width and a height")
    return round(float(wide[1])), round(float(high[1]))


def _on_build_finished(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    for path in site.rglob("*.html"):
        if "_static" in path.parts:
            continue
        before = path.read_text(encoding="utf-8")
        after = finish(before, lambda source, at=path: image_size(at.parent / source))
        if after != before:
            path.write_text(after, encoding="utf-8")
    # GitHub Pages would otherwise leave out folders whose names begin with an underscore.
    (site / ".nojekyll").touch()


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _on_build_finished)
