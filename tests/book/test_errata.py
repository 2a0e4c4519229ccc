"""The errata: each article has its mistakes, and each mistake the place that corrects it."""

from __future__ import annotations

import re

from chapter_sections import BOOK, CHAPTERS, sections, slug

TEXT = (BOOK / "errata.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and "Where |" not in line]
ALL = {number: "".join(sections(path).values()) for number, path in CHAPTERS.items()}
LINK = re.compile(r"\]\(chapters/(\d\d)_\w+\.ipynb#([^)]+)\)")


def test_each_of_the_cited_articles_has_a_table_of_its_mistakes():
    articles = set(re.findall(r"@\w+\{(zh-[\w-]+),", (BOOK / "references.bib").read_text("utf-8")))
    parts = re.split(r"^## .*\{cite\}`([\w-]+)`.*$", TEXT, flags=re.MULTILINE)
    tables = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert set(tables) == articles
    for article, text in tables.items():
        assert [row for row in ROWS if row in text], article


def test_each_mistake_stands_once_with_its_correction_and_its_place():
    cells = [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in ROWS]
    for row in cells:
        assert len(row) == 3, row
        assert all(row), row
    mistakes = [mistake for mistake, _, _ in cells]
    assert sorted(mistakes) == sorted(set(mistakes))


def test_each_row_leads_to_sections_that_exist():
    for row in ROWS:
        where = row.split(" | ")[-1]
        links = LINK.findall(where)
        assert links, row
        for number, anchor in links:
            title = ALL[int(number)].splitlines()[0]
            assert anchor in {*sections(CHAPTERS[int(number)]), slug(title.removeprefix("# "))}, row
