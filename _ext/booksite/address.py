"""Write canonical URLs, link previews and a sitemap, if ``BOOK_URL`` gives the site's URL.

Each page names its canonical URL, other sites can show a preview beside a link, and search
engines get a sitemap. Without ``BOOK_URL`` none of this is written.
"""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree

from sphinx.errors import ExtensionError

from .pages import image_size
from .rewriting import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sphinx.application import Sphinx
    from sphinx.config import Config

# It is inserted into HTML, XML, Markdown and Python: no character may end a string or tag there.
_ADDRESS = re.compile(r"https?://[\w.~:/%@!&=+,;-]+", re.ASCII)
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
PREVIEW = "_static/preview.png"


def site_url(environment: Mapping[str, str] = os.environ) -> str:
    """Return the URL of the site with a trailing slash, or "" if ``BOOK_URL`` is not set.

    Raises:
        ExtensionError: BOOK_URL is not a plain URL that begins with http:// or https://
    """
    url = environment.get("BOOK_URL", "")
    if url and not _ADDRESS.fullmatch(url):
        raise ExtensionError(
            "BOOK_URL must be an address that begins with http, without a query or a fragment, "
            f"with other characters percent-encoded, got {url!r}"
        )
    return f"{url.rstrip('/')}/" if url else ""


def of_page(url: str, page: str) -> str:
    """Return the URL of a page; that of the front page is the URL of the site."""
    return url if page == "index" else f"{url}{quote(page)}.html"


def preview(text: str, url: str, page: str, *, size: tuple[int, int], book: str) -> str:
    """Return the Open Graph tags of a link preview, from the page's title and description."""
    found = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    if found is None:
        raise ExtensionError(f"{page} has no title")
    title = html.unescape(found[1]).strip()
    said = re.search(r'<meta name="description" content="([^"]*)"', text)
    about = {
        "og:type": "website" if page == "index" else "article",
        "og:site_name": book,
        "og:title": title.removesuffix(f" — {book}"),
        "og:description": html.unescape(said[1]) if said else "",
        "og:url": of_page(url, page),
        "og:image": f"{url}{PREVIEW}",
        "og:image:width": str(size[0]),
        "og:image:height": str(size[1]),
        "og:image:alt": f"{book}. Beside the title, a drawing of attention on three characters.",
    }
    tags = [
        f'<meta property="{name}" content="{html.escape(value)}" />'
        for name, value in about.items()
        if value
    ]
    return "\n    ".join([*tags, '<meta name="twitter:card" content="summary_large_image" />'])


def sitemap(url: str, pages: list[str]) -> bytes:
    """Return the sitemap of the pages as XML."""
    root = ElementTree.Element("urlset", xmlns=SITEMAP)
    for page in pages:
        ElementTree.SubElement(ElementTree.SubElement(root, "url"), "loc").text = of_page(url, page)
    ElementTree.indent(root)
    data: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _on_config(app: Sphinx, config: Config) -> None:
    config.html_baseurl = site_url()  # what makes Sphinx write canonical links


def _name(app: Sphinx, page: str, _t: str, context: dict[str, Any], _d: Any) -> None:
    if app.config.html_baseurl:
        context["pageurl"] = of_page(app.config.html_baseurl, page)


def _on_build_finished(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    url, site = app.config.html_baseurl, Path(app.outdir)
    if not url:
        (site / "sitemap.xml").unlink(missing_ok=True)
        return
    pages = sorted(app.env.found_docs)
    (site / "sitemap.xml").write_bytes(sitemap(url, pages))
    size = image_size(site / PREVIEW)
    for page in pages:
        path = site / f"{page}.html"
        text = path.read_text(encoding="utf-8")
        if "og:title" not in text:
            tags = preview(text, url, page, size=size, book=app.config.html_title)
            text = replace(text, "</head>", f"  {tags}\n  </head>", "describe a link to the page")
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("config-inited", _on_config)
    app.connect("html-page-context", _name)
    app.connect("build-finished", _on_build_finished)
