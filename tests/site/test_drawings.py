"""The drawing that grows, on the pages: where it stands, how it reads, and where it leads."""

from __future__ import annotations

import re
from pathlib import Path

import drawing_checks as checks
import pytest
from booksite import drawing as extension
from booksite import palette
from booksite.latex import convert
from chapter_form import read
from site_browser import PHONE, WIDE

from attention_core.drawing import _formulas
from attention_core.drawing._book import LINKS

BOOK = Path(__file__).parents[2]
CHAPTERS = sorted((BOOK / "chapters").glob("*.ipynb"))
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
SMALL = 360  # a narrow phone
FITS = 844 - 48  # what a phone of 390 by 844 pixels shows below the bar of the page


def page_of(site: Path, path: Path) -> Path:
    return site / "chapters" / f"{path.stem}.html"


def text_before(page: str) -> str:
    """The text of an article before its drawing, without folds."""
    article = page[page.index("<article") : page.index('<figure class="dr-figure"')]
    unseen = r"<(details|script|svg)\b.*?</\1>|<[^>]*>"
    return re.sub(unseen, " ", article, flags=re.DOTALL)


@each_chapter
def test_the_drawing_stands_near_the_top_of_its_chapter(site, path):
    (cell,) = (cell for cell in read(path).cells if cell.id == "drawing")
    number = int(path.stem[:2])
    assert cell.source.endswith(f"drawing.show({number})")
    assert cell.metadata.tags == ["remove-input"]
    page = page_of(site, path).read_text(encoding="utf-8")
    assert page.count('<figure class="dr-figure">') == 1
    assert f"You are here: chapter {number} of {len(CHAPTERS)} " in page
    assert len(text_before(page).split()) < 350


@each_chapter
def test_its_style_is_in_the_stylesheet_and_its_links_lead_to_pages(site, path):
    page = page_of(site, path).read_text(encoding="utf-8")
    drawn = page[page.index('<figure class="dr-figure">') :]
    drawn = drawn[: drawn.index("</figure>")]
    assert "<style" not in drawn
    for only_in_notebooks in (".ipynb", "xlink:href", "<div hidden", "dr-note"):
        assert only_in_notebooks not in drawn
    for target in re.findall(r'<a href="([^"]*)"', drawn):
        assert (site / "chapters" / target).is_file()
        assert target[:2] < path.stem[:2]
    css = (site / "_static" / "book.css").read_text(encoding="utf-8")
    rules = re.sub(r"/\*.*?\*/\n*", "", extension.css(), flags=re.DOTALL)
    assert rules in css


def test_links_name_the_chapters_by_their_titles():
    for page, title in LINKS.values():
        heading = read(BOOK / "chapters" / page).cells[0].source.splitlines()[0]
        asked = heading.removeprefix("# ").replace(r"$\sqrt{d_k}$", "√dₖ")
        assert title == f"Chapter {int(page[:2])}: {asked}"


@pytest.mark.parametrize("chapter", _formulas.LATEX)
def test_a_formula_says_what_its_latex_says(chapter):
    def content(mathml):
        return re.sub(r"<[^>]*>|\s", "", mathml)

    made = convert(_formulas.LATEX[chapter], display=True)
    assert content(_formulas.FORMULAS[chapter]) == content(made)


def test_the_role_colours_of_drawings_are_those_of_the_book():
    css = extension.css()
    for role, light in palette.ROLE_COLORS.items():
        assert f"var(--role-{role},{light})" in css
        assert f"--role-{role}:{palette.ROLE_COLORS_DARK[role]}" in css


# --- in a browser -----------------------------------------------------------------------------


@each_chapter
def test_no_text_touches_another_or_leaves_the_paper_in_any_font_or_on_a_phone(site, browser, path):
    tab = browser.new_page(viewport={"width": PHONE, "height": 844})
    tab.goto(page_of(site, path).as_uri())
    problems = []
    for width, least in ((SMALL, 10.5), (PHONE, 11.0)):
        tab.set_viewport_size({"width": width, "height": 844})
        measured = checks.measure(tab)
        assert len(measured["texts"]) > 10
        assert min(text["size"] for text in measured["texts"]) >= least
        assert tab.evaluate("document.scrollingElement.scrollWidth") <= width
        problems += [f"{width} px: {problem}" for problem in checks.touching(measured)]
        if int(path.stem[:2]) <= 8:
            assert measured["pixels"] <= FITS
    for font in checks.FONTS:
        checks.use_font(tab, font)
        problems += [f"{font}: {problem}" for problem in checks.touching(checks.measure(tab))]
    tab.close()
    assert not problems, "\n".join(problems)


@each_chapter
def test_each_text_stands_out_from_what_is_behind_it(site, browser, path):
    tab = browser.new_page(viewport={"width": PHONE, "height": 844}, reduced_motion="reduce")
    tab.goto(page_of(site, path).as_uri())
    faint = {}
    for theme in ("light", "dark"):
        tab.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        found = checks.contrasts(tab)
        assert len(found) > 8
        faint |= {(theme, text): ratio for text, ratio in found.items() if ratio < 4.5}
    tab.close()
    assert not faint


def test_the_caption_stands_beside_the_drawing_where_there_is_room(site, browser):
    page = page_of(site, CHAPTERS[8]).as_uri()
    for width, beside in ((WIDE, True), (PHONE, False)):
        tab = browser.new_page(viewport={"width": width, "height": 900})
        tab.goto(page)
        drawn, said = (
            tab.locator(f".dr-figure > {part}").bounding_box() for part in ("svg", "figcaption")
        )
        tab.close()
        assert (said["x"] >= drawn["x"] + drawn["width"]) == beside
        assert (said["y"] >= drawn["y"] + drawn["height"]) != beside


def test_its_text_can_be_selected_and_it_needs_no_script(site, browser):
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": WIDE, "height": 900}
    )
    tab = context.new_page()
    tab.goto(page_of(site, CHAPTERS[8]).as_uri())
    assert tab.locator("svg.dr").is_visible()
    assert tab.locator("svg.dr text", has_text="memory").text_content().startswith("memory")
    context.close()
    tab = browser.new_page()
    tab.goto(page_of(site, CHAPTERS[8]).as_uri())
    script = "s => { getSelection().selectAllChildren(s); return getSelection().toString(); }"
    selected = tab.locator("svg.dr").evaluate(script)
    tab.close()
    assert "cross-" in selected
    assert "memory" in selected


def test_it_is_printed_in_dark_ink(site, browser):
    context = browser.new_context(color_scheme="dark", viewport={"width": 718, "height": 1000})
    tab = context.new_page()
    tab.goto(page_of(site, CHAPTERS[4]).as_uri())
    dark = "getComputedStyle(document.querySelector('svg.dr text')).fill"
    before = tab.evaluate(dark)
    tab.evaluate(f"addEventListener('beforeprint', () => {{ window.ink = {dark}; }})")
    tab.pdf(format="A4")
    ink = tab.evaluate("window.ink")
    context.close()
    assert sum(map(int, re.findall(r"\d+", before)[:3])) > 450
    assert sum(map(int, re.findall(r"\d+", ink)[:3])) < 250
