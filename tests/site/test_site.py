"""The website: built strictly from the committed notebooks, then read and opened.

``SITE_DIR`` names a site that is already built; otherwise one is built here.
``REQUIRE_BROWSER=1`` makes a missing browser a failure instead of a skip.
"""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path

import pytest
import site_checks as checks
from booksite import fonts, palette, wheel
from fontTools.ttLib import TTFont
from site_browser import PHONE, WIDE, search, visit, without_scripts

BOOK = Path(__file__).parents[2]
PLAIN_LIMIT, CHAPTER_LIMIT, REQUEST_LIMIT = 195_000, 340_000, 30


@pytest.fixture(scope="session")
def pages(site: Path) -> list[checks.Page]:
    found = checks.pages_of(site)
    assert len(found) >= 3, f"the site has only {len(found)} pages"
    return found


def report(pages: list[checks.Page], check) -> None:
    problems = {page.path.name: found for page in pages if (found := check(page))}
    assert not problems, "\n".join(f"{name}: {p}" for name, ps in problems.items() for p in ps)


# --- the built files --------------------------------------------------------------------------


def test_nothing_comes_from_another_host(site, pages):
    report(pages, lambda page: checks.other_hosts(page, site))


def test_links_anchors_and_files_exist(site, pages):
    ids = {page.path.resolve(): set(page.ids) for page in pages}
    report(pages, lambda page: checks.broken_addresses(page, site, ids))
    for path in site.rglob("*.css"):
        for url in checks.stylesheet_urls(path.read_text(encoding="utf-8")):
            assert url.startswith("data:") or (path.parent / url.split("?")[0]).is_file(), url


def test_images_have_alternative_text_and_a_size(pages):
    report(pages, checks.poor_images)


def test_formulas_are_mathml(pages):
    assert any("<math" in page.text for page in pages)
    report(pages, checks.raw_latex)


def test_ids_are_unique(pages):
    report(pages, checks.repeated_ids)


def test_citations_have_the_numbers_of_the_bibliography(pages):
    assert checks.stale_citations(pages) == []
    assert sum(page.text.count('class="bibtex-citation"') for page in pages) > 50


def test_pages_declare_their_language(pages):
    report(pages, lambda page: [] if page.language == "en" else [f"lang={page.language}"])


def test_tracebacks_appear_only_where_they_are_expected(pages):
    report(pages, lambda page: ["an unannounced traceback"] * page.tracebacks)


def test_pages_stay_within_the_limits_of_size_and_requests(pages):
    def heavy(page):
        size, requests = checks.weight(page)
        # The search page carries the words of the whole book.
        rich = page.images or "cell_input" in page.text or page.path.name == "search.html"
        limit = CHAPTER_LIMIT if rich else PLAIN_LIMIT
        found = f"{size} bytes, {requests} requests"
        return [found] if size > limit or requests > REQUEST_LIMIT else []

    report(pages, heavy)


def test_site_is_complete(site):
    assert (site / ".nojekyll").exists()
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert '"softmax"' in index


def read_code(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_each_chapter_offers_its_notebook_and_the_package(site, pages):
    name = wheel.name_of(BOOK)
    assert [path.name for path in site.glob("*.whl")] == [name]
    for source in (BOOK / "chapters").glob("*.ipynb"):
        (page,) = (page for page in pages if page.path.stem == source.stem)
        assert {f"../{name}", f"../_sources/chapters/{source.name}"} <= set(page.links)
        copy = (site / "_sources" / "chapters" / source.name).read_text(encoding="utf-8")
        assert "{cite}" not in copy
        assert "literalinclude" not in copy
        code = [c["source"] for c in json.loads(copy)["cells"] if c["cell_type"] == "code"]
        assert code[1:] == [c["source"] for c in read_code(source)][1:]
        assert "torch and numpy stay as they are" not in page.text


def test_fonts_have_all_characters_of_the_pages(site, pages):
    css = (site / "_static" / "book.css").read_text(encoding="utf-8")
    have = set()
    for inlined in re.findall(r"data:font/woff2;base64,([^\"]+)", css):
        with TTFont(io.BytesIO(base64.b64decode(inlined))) as font:
            have |= set(map(chr, font.getBestCmap()))
    if "Book Chinese" not in css.partition(":root")[0]:  # left to the reader's system
        have |= set().union(*(fonts.chinese_characters(page.text) for page in pages))
    have |= {"\u00a0", "\u2009"}
    report(
        pages,
        lambda page: sorted(
            (fonts.math_characters(page.text) | fonts.chinese_characters(page.text)) - have
        ),
    )


# --- the role colours -------------------------------------------------------------------------


def test_the_stylesheet_has_the_role_colours_of_the_pictures(site):
    from attention_core import plotting

    assert palette.ROLE_COLORS == plotting.ROLE_COLORS
    assert palette.ROLE_COLORS_DARK == plotting.ROLE_COLORS_DARK
    css = (site / "_static" / "book.css").read_text(encoding="utf-8")
    for where, colors in (
        ("html", plotting.ROLE_COLORS),
        ('html[data-theme="dark"]', plotting.ROLE_COLORS_DARK),
    ):
        (rule,) = re.findall(rf"^{re.escape(where)} {{ (--role-.*) }}$", css, re.MULTILINE)
        assert dict(re.findall(r"--role-(\w+): (#\w{6});", rule)) == colors


def test_role_colours_stand_in_one_place():
    """Only live.css repeats them: Jupyter knows no stylesheet of the book."""
    colors = {*palette.ROLE_COLORS.values(), *palette.ROLE_COLORS_DARK.values()}
    for folder, ending in (("_static", "*.css"), ("_ext", "*.py"), ("attention_core", "*.py")):
        for path in (BOOK / folder).rglob(ending):
            if path != palette.SOURCE:
                text = path.read_text(encoding="utf-8").upper().replace("TEXTCOLOR{#0072B2}", "")
                assert not [color for color in colors if color in text], path


@pytest.mark.parametrize("source", ["ROLES = {}", "ROLE_COLORS = make()", "ROLE_COLORS: dict"])
def test_a_palette_that_cannot_be_read_is_an_error(source):
    with pytest.raises(ValueError, match=r"plotting\.py must have a table ROLE_COLORS"):
        palette.read(source, "ROLE_COLORS")


def contrast(one: str, other: str) -> float:
    def luminance(color: str) -> float:
        channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("role", palette.ROLE_COLORS)
def test_role_colours_are_legible(role):
    assert contrast(palette.ROLE_COLORS[role], "#F6F7F8") >= 4.5
    assert contrast(palette.ROLE_COLORS_DARK[role], "#1D2127") >= 4.5


# --- in a browser -----------------------------------------------------------------------------


def test_pages_work_in_a_browser(site, pages, browser, address):
    problems = []
    for page in pages:
        name = page.path.relative_to(site).as_posix()
        for width in (WIDE, PHONE):
            found = visit(browser, address + name, width=width)
            problems += [f"{name}, {width} px: {problem}" for problem in found]
    assert not problems, "\n".join(problems)


def test_pages_work_when_opened_as_files(site, pages, browser):
    problems = []
    for page in pages:
        found = visit(browser, page.path.as_uri(), width=WIDE, thorough=False)
        problems += [f"{page.path.name}: {problem}" for problem in found]
    assert not problems, "\n".join(problems)


def test_pages_can_be_read_without_javascript(pages, browser):
    problems = []
    for page in pages:
        if page.path.name != "search.html":
            found = without_scripts(browser, page.path.as_uri())
            problems += [f"{page.path.name}: {problem}" for problem in found]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("words", "title"),
    [
        # A term of the glossary leads to the chapter that introduces it.
        ("mask", "5. What may a word look at?"),
        ("softmax", "1. What does X·Xᵀ mean?"),
        ("beam search", "10. Can it learn to translate?"),
        ("注意力", "1. What does X·Xᵀ mean?"),
        ("multi-head attention", "6. Why look several times?"),
        ("早上好", "1. What does X·Xᵀ mean?"),
        ("split_heads", "attention_core.split_heads"),
        ("beam", "attention_core.beam_search"),
    ],
)
def test_search_finds_pages(browser, address, words, title):
    tab = browser.new_page()
    try:
        assert search(tab, address, words)[0] == title
    finally:
        tab.close()


def test_pages_print_in_the_light_theme_without_closed_folds(browser, address):
    context = browser.new_context(color_scheme="dark", viewport={"width": 718, "height": 1000})
    tab = context.new_page()
    tab.goto(f"{address}chapters/02_simple_attention.html")
    theme = "document.documentElement.dataset.theme"
    assert tab.evaluate(theme) == "dark"
    tab.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {theme}; }})")
    tab.pdf(format="A4")
    assert tab.evaluate("window.printed") == "light"
    assert tab.evaluate(theme) == "dark"

    tab.emulate_media(media="print")
    for seen in (
        "article h1",
        "article img",
        "article .live table",
        "article .cell:not(.tag_hide-cell) .cell_output pre",
        "article math",
    ):
        assert tab.locator(seen).first.is_visible(), seen
    for unseen in (".bd-sidebar-primary", ".bd-header", ".bd-header-article", ".prev-next-footer"):
        assert not tab.locator(unseen).first.is_visible(), unseen
    folded = tab.locator("article details")
    assert folded.count() > 5
    assert not any(fold.is_visible() for fold in folded.all())
    folded.last.evaluate("fold => { fold.open = true; }")
    assert folded.last.is_visible()
    # Nothing is cut off at the edge of the paper.
    wide = "document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
    assert tab.evaluate(wide) <= 0
    cut = "[...document.querySelectorAll('article pre')].filter(p => p.scrollWidth > p.clientWidth)"
    assert tab.evaluate(f"{cut}.length") == 0
    context.close()
