"""The notebooks that the site offers for download are plain Markdown, and otherwise the same."""

import inspect
import json
import re
from collections import defaultdict
from pathlib import Path

import first_cell
import pytest
from booksite.copies import copy, readable

from attention_core.functional import masked_softmax

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "chapters"
CHAPTERS = sorted(FOLDER.glob("*.ipynb"))
NUMBERS = {"vaswani2017": "30", "raschka": "2"}


def test_a_citation_shows_its_number():
    text = "See {cite}`vaswani2017` and {cite}`raschka,vaswani2017`."
    assert readable(text, FOLDER, "", NUMBERS) == "See [30] and [2, 30]."
    one, two = (f"[{n}](https://a.org/references.html)" for n in (30, 2))
    assert readable(text, FOLDER, "https://a.org/", NUMBERS) == f"See [{one}] and [{two}, {one}]."


def test_links_lead_to_the_site_if_its_address_is_known():
    text = "[a](05_masks.ipynb#the-long-way), [b](../errata.md), [c](https://example.org/x.md)"
    assert readable(text, FOLDER, "", {}) == text
    assert readable(text, FOLDER, "https://a.org/b/", {}) == (
        "[a](https://a.org/b/chapters/05_masks.html#the-long-way), "
        "[b](https://a.org/b/errata.html), [c](https://example.org/x.md)"
    )


def test_an_included_source_is_inserted():
    one = "```{literalinclude} ../attention_core/functional.py\n:pyobject: masked_softmax\n```"
    fold = "````{{admonition}} The source of {}\n:class: dropdown\n\n{}\n````"
    source = f"```python\n{inspect.getsource(masked_softmax).rstrip()}\n```"
    two, sources = f"{one}\n\n{one}", f"{source}\n\n{source}"
    text = f"Before.\n\n{fold.format('a', one)}\n\n{fold.format('b', two)}"
    details = "<details>\n<summary>The source of {}</summary>\n\n{}\n\n</details>"
    assert readable(text, FOLDER, "", {}) == (
        f"Before.\n\n{details.format('a', source)}\n\n{details.format('b', sources)}"
    )


@pytest.mark.parametrize(
    "text", ["{ref}`a`", "```{note}\nx\n```", ":::{tip}\nx\n:::", "{py:func}`a`"]
)
def test_a_directive_that_a_copy_cannot_show_stops_the_build(text):
    with pytest.raises(Exception, match="a notebook for download would show"):
        readable(text, FOLDER, "", {})


def test_an_included_object_that_is_missing_from_its_file_is_named():
    text = "```{literalinclude} ../attention_core/functional.py\n:pyobject: nobody\n```"
    with pytest.raises(Exception, match=r"functional\.py has no 'nobody'"):
        readable(text, FOLDER, "", {})


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_copy_changes_only_markdown_and_the_address_of_the_wheel(path):
    text = path.read_text(encoding="utf-8")
    numbers = defaultdict(lambda: "7")
    before = json.loads(text)
    after = json.loads(copy(text, FOLDER, "https://a.org/", numbers, "https://a.org/x.whl"))
    assert [cell["id"] for cell in after["cells"]] == [cell["id"] for cell in before["cells"]]
    for old, new in zip(before["cells"], after["cells"], strict=True):
        if old["cell_type"] == "markdown":
            words = "".join(new["source"])
            assert "{cite}" not in words
            assert "literalinclude" not in words
            assert ".ipynb" not in words
            assert old | {"source": ""} == new | {"source": ""}
        elif old["id"] == first_cell.ID:
            stamped = first_cell.SOURCE.replace('wheel = ""', 'wheel = "https://a.org/x.whl"')
            assert "".join(new["source"]) == stamped
        else:
            assert old == new


def test_a_copy_has_the_file_format_of_the_notebooks():
    """Cells without anything to translate keep their lines; so does all the rest."""
    text = CHAPTERS[0].read_text(encoding="utf-8")
    plain = re.sub(r"\{cite\}|\{literalinclude\}|\{admonition\}", "", text)
    assert copy(plain, FOLDER, "", {}, "") == plain


def test_a_first_cell_without_a_placeholder_for_the_address_is_refused():
    text = CHAPTERS[0].read_text(encoding="utf-8").replace(r"wheel = \"\"", r"wheel = \"x\"")
    with pytest.raises(Exception, match="no place for the address"):
        copy(text, FOLDER, "", defaultdict(lambda: "7"), "x")
