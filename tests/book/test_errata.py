"""The errata: all mistakes stand there, each with the place that corrects it."""

from __future__ import annotations

import re

from chapter_sections import BOOK, CHAPTERS, sections, slug

TEXT = (BOOK / "errata.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ") and "Where |" not in line]
ALL = {number: "".join(sections(path).values()) for number, path in CHAPTERS.items()}
LINK = re.compile(r"\]\(chapters/(\d\d)_\w+\.ipynb#([^)]+)\)")


def test_no_mistake_was_lost():
    assert len(ROWS) == 51


def test_each_row_leads_to_sections_that_exist():
    for row in ROWS:
        where = row.split(" | ")[-1]
        links = LINK.findall(where)
        assert links, row
        for number, anchor in links:
            title = ALL[int(number)].splitlines()[0]
            assert anchor in {*sections(CHAPTERS[int(number)]), slug(title.removeprefix("# "))}, row
