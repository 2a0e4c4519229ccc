"""The glossary: every row leads to a section in which the term occurs."""

from __future__ import annotations

import re

import pytest
from chapter_sections import BOOK, CHAPTERS, sections

ROW = re.compile(r"\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|")
LINK = re.compile(r"\[(\d+)\]\(chapters/([\w.]+)(?:#([^)]+))?\)")


def rows() -> list[tuple[str, str, str, str]]:
    text = (BOOK / "notation.md").read_text(encoding="utf-8").partition("## Glossary")[2]
    found = [match.groups() for line in text.splitlines() if (match := ROW.fullmatch(line))]
    return [row for row in found if row[0] != "English"]


def stems(term: str) -> list[str]:
    """Return the stem of each word: the part that a plural or another ending keeps."""
    words = re.findall(r"\w+", re.sub(r"\(.*\)", "", term).lower())
    return [word if len(word) < 6 else word[: max(5, len(word) - 3)] for word in words]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_row_leads_to_a_section_in_which_the_term_occurs(row):
    term, _, _, where = row
    link = LINK.fullmatch(where)
    assert link, f"{where} is not a link to a section of a chapter"
    number, name, anchor = link.groups()
    assert CHAPTERS[int(number)].name == name
    section = sections(CHAPTERS[int(number)])[anchor or ""].lower()
    assert [stem for stem in stems(term) if stem not in section] == []


def test_the_glossary_is_alphabetical_and_has_no_term_twice():
    terms = [term.lower() for term, *_ in rows()]
    assert terms == sorted(set(terms))
    assert len(terms) > 100


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_a_row_explains_in_one_sentence_and_marks_its_chinese(row):
    term, chinese, meaning, _ = row
    assert not meaning.endswith(".")
    assert ". " not in meaning
    marked = re.sub(r'<span lang="zh">[^<]+</span>', "", f"{term} {chinese} {meaning}")
    assert not re.search("[\u4e00-\u9fff]", marked)
    assert "<span" in chinese or re.fullmatch(r"[\w ]+", chinese)


def test_stems_find_a_term_that_occurs_and_miss_one_that_does_not():
    section = sections(CHAPTERS[1])["by-hand"].lower()
    assert all(stem in section for stem in stems("dot products"))
    assert any(stem not in section for stem in stems("residual connection"))
