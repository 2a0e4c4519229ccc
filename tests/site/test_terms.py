"""Rows of the glossary as entries of the search index."""

from pathlib import Path

from booksite.terms import GLOSSARY, terms

ROOT = Path(__file__).parents[2]


def test_a_row_gives_its_terms_in_both_languages():
    rows = (
        '| BOS, EOS | <span lang="zh">起始符、结束符</span> | first, last | '
        "[9](chapters/09_a.ipynb#the-picture) |\n"
        "| BLEU | BLEU | a score | [6](chapters/06_b.ipynb) |\n"
        '| $d_k$ | <span lang="zh">键宽</span> | width | [3](chapters/03_c.ipynb#x) |\n'
    )
    assert terms(rows) == [
        ("BOS", "chapters/09_a", "the-picture"),
        ("EOS", "chapters/09_a", "the-picture"),
        ("起始符", "chapters/09_a", "the-picture"),
        ("结束符", "chapters/09_a", "the-picture"),
        ("BLEU", "chapters/06_b", ""),
        ("键宽", "chapters/03_c", "x"),
    ]


def test_every_row_of_the_glossary_is_read():
    text = (ROOT / GLOSSARY).read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if "](chapters/" in line and line[0] == "|"]
    found = terms(text)
    assert len(rows) > 90
    for row in rows:
        names = [name for name in row.split(" | ")[0].strip("| ").split(", ") if "$" not in name]
        assert {name for name, _, _ in found} >= set(names), row
