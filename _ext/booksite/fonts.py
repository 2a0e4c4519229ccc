"""Subset the fonts to the characters and icons that the site shows.

The fonts come from packages that the project installs anyway. A subset is made again only when
its set of characters changes; between builds it is cached beside Sphinx's doctrees.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import shutil
import unicodedata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.errors import ExtensionError
from sphinx.util import logging

from . import drawing, palette
from .pages import CHINESE
from .rewriting import replace, sub
from .tidy import alphabet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)

_PRIVATE = re.compile("[\ue000-\uf8ff]")
# In the theme's stylesheet: .fa-sun:before{content:"\f185"}
_ICON_RULE = re.compile(r'((?:\.fa-[a-z0-9-]+:before,?)+)\{content:"(?:\\([0-9a-f]+)|(.))"\}')


def math_characters(page: str) -> set[str]:
    """Return the characters that a browser draws for the formulas of a page."""
    used: set[str] = set()
    for formula in re.findall(r"<math\b.*?</math>", page, flags=re.DOTALL):
        for tag, attributes, text in re.findall(r"<(m\w+)([^>]*)>([^<]+)", formula):
            text = html.unescape(text)
            used.update(text)
            # Browsers draw a single letter in <mi> from the italic alphabet.
            alone = tag == "mi" and len(text) == 1 and "mathvariant" not in attributes
            if alone and text.isalpha():
                try:
                    used.add(alphabet(text, "italic"))
                except (ValueError, KeyError):
                    logger.debug("no italic for %r", text)
    return {c for c in used if not unicodedata.category(c).startswith("C")}


def chinese_characters(page: str) -> set[str]:
    return set(CHINESE.findall(html.unescape(page)))


def narrow_roots(font: TTFont) -> None:
    """Make the tall root signs 8 % wider than the small one.

    Chromium reserves the width of the widest sign for every root, which leaves a gap after
    the small ones: 0.4 em in this font.
    """
    sign = font.getBestCmap()[ord("√")]
    variants = font["MATH"].table.MathVariants
    built = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(sign)]
    names = {record.VariantGlyph for record in built.MathGlyphVariantRecord}
    names |= {part.glyph for part in built.GlyphAssembly.PartRecords}
    goal = font["hmtx"][sign][0] * 1.08
    for name in names - {sign}:
        width, left = font["hmtx"][name]
        scale = goal / width
        glyph = font["glyf"][name]
        glyph.coordinates.scale((scale, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = (round(width * scale), round(left * scale))


def cut(
    source: Path,
    characters: Iterable[str],
    cache: Path,
    *,
    features: Iterable[str] = (),
    alter: Callable[[TTFont], None] | None = None,
) -> Path:
    """Return a WOFF2 subset of a font, from ``cache`` if it has been made before."""
    wanted = "".join(sorted(set(characters)))
    stat = source.stat()
    method = [sorted(features), alter and alter.__name__, Path(__file__).stat().st_mtime_ns]
    key = f"{source.name} {stat.st_size} {stat.st_mtime_ns} {method} {wanted}"
    target = cache / f"{source.stem}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.woff2"
    if target.exists():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    options = subset.Options(
        flavor="woff2",
        layout_features=list(features),
        hinting=False,
        desubroutinize=True,
        notdef_outline=True,
        name_IDs=[0, 13, 14],  # copyright and licence travel with the font
        # The same characters give the same file: no timestamp of the build.
        recalc_timestamp=False,
    )
    with TTFont(source, lazy=True, recalcTimestamp=False) as font:
        if alter:
            alter(font)
        cutter = subset.Subsetter(options)
        cutter.populate(text=wanted)
        cutter.subset(font)
        subset.save_font(font, target, options)
    for old in cache.glob(f"{source.stem}-*.woff2"):
        if old != target:
            old.unlink()
    return target


def _package_file(package: str, name: str) -> Path | None:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / name


def _data(font: Path) -> str:
    """Return a font as a data URL.

    In the stylesheet it is there at the first paint. A font that arrives later shifts the layout,
    and a preload does not work on a page that was opened as a file.
    """
    return f"data:font/woff2;base64,{base64.b64encode(font.read_bytes()).decode()}"


def _stylesheet(source: Path, site: Path, pages: list[str], cache: Path) -> None:
    """Write book.css with fonts and role colours inserted and comments removed."""
    # Read the source: the copy in the site has the fonts of the last build already.
    css = (source / "_static" / "book.css").read_text(encoding="utf-8")
    css = replace(css, palette.PLACE, palette.css(), "write the role colours")
    css = replace(css, drawing.PLACE, drawing.css(), "write the style of the drawing")
    css = re.sub(r"/\*.*?\*/\n*", "", css, flags=re.DOTALL)
    stix = _package_file("ziamath", "fonts/STIXTwoMath-Regular.ttf")
    if stix is None:
        raise ExtensionError("ziamath, which brings the font of the formulas, is not installed")
    formulas: set[str] = set().union(*map(math_characters, pages))
    # The commonest signs cost little. <msqrt> draws the root sign, which no text contains.
    formulas |= set("0123456789+−=()[],.√")
    font = cut(stix, formulas, cache, alter=narrow_roots)
    css = replace(css, "fonts/math.woff2", _data(font), "put the font of the formulas in")
    noto = _package_file("pylopdf_fonts_zh_cn", "NotoSansSC-Regular.otf")
    # Characters that a live figure may write are in its script, not on a page.
    scripts = (site / "_static" / "live").glob("*.js")
    written = [path.read_text(encoding="utf-8") for path in scripts]
    chinese: set[str] = set().union(*map(chinese_characters, [*pages, *written]))
    name = "put the Chinese font in"
    if noto and chinese:
        css = replace(css, "fonts/chinese.woff2", _data(cut(noto, chinese, cache)), name)
    else:
        logger.info("no Chinese font is made; readers see their system's")
        css = sub(r"@font-face\s*\{[^}]*chinese\.woff2[^}]*\}", "", css, name)
    (site / "_static" / "book.css").write_text(css, encoding="utf-8")


def _icons(site: Path, pages: list[str], cache: Path) -> None:
    """Keep the icons that pages, scripts and stylesheets name; remove the rest of Font Awesome."""
    static = site / "_static"
    # Read the theme's own files: after a partial rebuild those in the site may be subsets.
    theme = _package_file("pydata_sphinx_theme", "theme/pydata_sphinx_theme/static")
    if theme is None:
        raise ExtensionError("pydata_sphinx_theme, which brings the icons, is not installed")
    css = (theme / "styles" / "pydata-sphinx-theme.css").read_text(encoding="utf-8")
    scripts = [path.read_text(encoding="utf-8") for path in (theme / "scripts").glob("pydata*.js")]
    named = set(re.findall(r"\bfa-[a-z0-9-]+", " ".join([*pages, *scripts])))
    characters: set[str] = set()

    def rule(match: re.Match[str]) -> str:
        if named.isdisjoint(re.findall(r"\.(fa-[a-z0-9-]+):", match[1])):
            return ""
        characters.add(chr(int(match[2], 16)) if match[2] else match[3])
        return match[0]

    slim = sub(_ICON_RULE, rule, css, "keep the icons that are named")
    if not characters:
        raise ExtensionError("no page, script or stylesheet names an icon of Font Awesome")
    # Admonitions and the like take their icons from custom properties.
    others = [path.read_text(encoding="utf-8") for path in static.rglob("*book*.css")]
    for text in (slim, *others):
        characters.update(_PRIVATE.findall(text))
        characters.update(chr(int(code, 16)) for code in re.findall(r'"\\([ef][0-9a-f]{3})"', text))
    ttf = r',\s*url\([^)]*\.ttf[^)]*\)\s*format\("truetype"\)'
    slim = sub(ttf, "", slim, "drop the older form of the icons")
    for source in (theme / "vendor" / "fontawesome" / "webfonts").glob("*.woff2"):
        address = f"../vendor/fontawesome/webfonts/{source.name}"
        slim = replace(slim, address, _data(cut(source, characters, cache)), "put the icons in")
    (static / "styles" / "pydata-sphinx-theme.css").write_text(slim, encoding="utf-8")
    shutil.rmtree(static / "vendor", ignore_errors=True)


def _sweep(site: Path) -> None:
    """Delete files that the theme copies and no page loads."""
    static = site / "_static"
    for pattern in ("**/*.map", "**/fontawesome.js*", "*thebe*",
                    "*toggle*", "images/logo_*"):  # fmt: skip
        for path in static.glob(pattern):
            path.unlink()
    shutil.rmtree(static / "locales", ignore_errors=True)


def _on_build_finished(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    pages = [
        path.read_text(encoding="utf-8")
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    ]
    cache = Path(app.doctreedir) / "fonts"
    _stylesheet(Path(app.srcdir), site, pages, cache)
    _icons(site, pages, cache)
    _sweep(site)


def setup(app: Sphinx) -> None:
    app.connect("build-finished", _on_build_finished)
