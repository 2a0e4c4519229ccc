"""Docstrings become pages, and names become links: on small examples, and in a small site."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from booksite import docstrings, pages, uses
from booksite.uses import Index
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

# --- docstrings -------------------------------------------------------------------------------


def test_each_shape_has_its_own_line():
    made = docstrings.as_rest(
        ["Split.", "", "Shape:", "    q: (..., L)    k: (B, S, d_k) ids", "    returns: (L, S); or"]
    )
    assert made == [
        "Split.", "", ":Shape:", "    ``q``: ``(..., L)``", "",
        "    ``k``: ``(B, S, d_k)`` ids", "", "    returns: ``(L, S)``; or", "",
    ]  # fmt: skip


def test_a_shape_may_lack_a_name_and_hold_inline_code():
    made = docstrings.as_rest(["Shape:", "    (..., L) -> (..., L), with ``f(a, b)``"])
    assert made[1] == "    ``(..., L)`` → ``(..., L)``, with ``f(a, b)``"


def test_arguments_may_share_an_entry_and_continue_on_the_next_line():
    made = docstrings.as_rest(
        ["Args:", "    d_model, d_ff: widths", "        of `x`", "Raises:", "    ValueError: no"]
    )
    assert made == [
        ":Arguments:", "    ``d_model``, ``d_ff``: widths of ``x``", "", ":Raises:",
        "    ``ValueError``: no", "",
    ]  # fmt: skip


def test_a_source_is_a_paragraph_and_an_example_is_left_alone():
    lines = ["Source: A, 2017;", "and B.", "", ">>> f('`a`')", "'`a`'"]
    made = docstrings.as_rest(lines)
    assert made[:3] == [":Source:", "    A, 2017; and B.", ""]
    assert ">>> f('`a`')" in made


def test_a_block_may_have_text_after_its_colon():
    assert docstrings.as_rest(["Args: as `f`."])[1] == "    as ``f``."


# --- names ------------------------------------------------------------------------------------


@pytest.fixture
def index():
    found = Index.__new__(Index)
    names = ["fit", "Transformer", "Transformer.encode", "dates.write", "widgets.Shapes",
             "plotting.show", "decoding.Translator", "widgets.Translator"]  # fmt: skip
    found.places = {f"attention_core.{name}": ("reference", name) for name in names}
    return found


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("fit", "fit"),
        ("fit()", "fit"),
        ("fit(model, steps)", "fit"),
        ("attention_core.fit", "fit"),
        ("Transformer.encode", "Transformer.encode"),
        ("plotting.show", "plotting.show"),
        ("attention_core.plotting.show", "plotting.show"),
        ("fit + 1", None),
        ("fitting", None),
        ("torch.fit", None),
        ("write", None),
        ("encode", None),
        ("Translator", None),
        ("attention_core", None),
        ("attention_core.write", None),
    ],
)
def test_inline_code_is_matched_to_documented_names(index, code, name):
    assert index.mentioned(code, set()) == (name and f"attention_core.{name}")


def test_a_short_name_is_matched_where_it_is_imported_or_in_the_same_class(index):
    scope = index.scope([uses.Use("import", "attention_core.dates.write", "", "")])
    assert index.mentioned("write", scope) == "attention_core.dates.write"
    assert index.scope([uses.Use("import", "attention_core.plotting", "", "")]) == {
        "attention_core.plotting.show"
    }
    near = index.mentioned("encode", set(), "attention_core.Transformer.decode")
    assert near == "attention_core.Transformer.encode"
    assert index.mentioned("Shapes", {"*"}) == "attention_core.widgets.Shapes"
    assert index.mentioned("Translator", {"*"}) is None


def test_shown_source_of_a_method_belongs_to_its_class(index):
    assert index.shown("transformer.Transformer.forward") == "attention_core.Transformer"
    assert index.shown("dates.write") == "attention_core.dates.write"
    assert index.shown("layers._Residual.add") is None


def test_imported_and_used_names_of_a_cell_are_found():
    code = "from attention_core.dates import write\nimport torch\nplotting.show(write(x))"
    found = set(uses.names_in(code))
    assert ("import", "attention_core.dates.write") in found
    assert {("code", "write"), ("code", "plotting.show")} < found
    assert not any("torch" in name for _, name in found)
    assert list(uses.names_in("%magic")) == []


# --- a small site -----------------------------------------------------------------------------

CHAPTER = """
Scores
======

By hand
-------

First ``attention_scores``, then ``attention_scores`` again, and ``torch.nn``.

.. literalinclude:: masks.py
   :pyobject: causal_mask

In code
-------

.. code-block:: python

   from attention_core import split_heads
   split_heads(x, 2)
"""
REFERENCE = """
Reference
=========

See ``split_heads``.

.. currentmodule:: attention_core

.. autofunction:: attention_scores
.. autofunction:: split_heads
.. autofunction:: causal_mask
"""


class Site:
    def __init__(self, root: Path) -> None:
        self.source, self.out = root / "source", root / "out"
        (self.source / "chapters").mkdir(parents=True)
        package = Path(__file__).parents[2] / "attention_core"
        masks = (package / "masks.py").read_text(encoding="utf-8")
        self.write("chapters/masks.py", masks)
        self.write("conf.py", "extensions = ['booksite.docstrings', 'booksite.links']\n")
        self.write(
            "index.rst", "Book\n====\n\n.. toctree::\n\n   chapters/04_scores\n   reference\n"
        )
        self.write("chapters/04_scores.rst", CHAPTER)
        self.write("reference.rst", REFERENCE)

    def write(self, name: str, text: str) -> None:
        (self.source / name).write_text(text, encoding="utf-8")

    def build(self) -> tuple[set[str], set[str]]:
        """The pages that were read, and those that were written."""
        time.sleep(0.01)
        source, out = str(self.source), str(self.out)
        read, written = set(), set()
        with docutils_namespace():  # drops afterwards what Sphinx registers
            app = Sphinx(source, source, out, f"{out}/doctrees", "html", status=None, warning=None)
            app.connect("doctree-read", lambda app, _: read.add(app.env.docname))
            app.connect("doctree-resolved", lambda _app, _tree, name: written.add(name))
            app.build()
        return read, written

    def page(self, name: str) -> str:
        return (self.out / f"{name}.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    site = Site(tmp_path_factory.mktemp("small"))
    site.build()
    return site


def test_a_name_is_a_link_once_in_each_section(small):
    chapter = small.page("chapters/04_scores")
    assert chapter.count("reference.html#attention_core.attention_scores") == 1
    assert "torch.nn</span></code></a>" not in chapter


def test_shown_source_links_to_the_reference(small):
    assert re.search(
        r'In the reference: <a class="reference internal" href="../reference.html#attention_core'
        r'.causal_mask"',
        small.page("chapters/04_scores"),
    )


def test_the_reference_names_the_chapters(small):
    reference = small.page("reference")
    explained = 'href="chapters/04_scores.html#by-hand">chapter 4, By hand</a>'
    assert reference.count(explained) == 2  # attention_scores, causal_mask
    assert 'href="chapters/04_scores.html#in-code">chapter 4, In code</a>' in reference
    assert reference.count("Explained in") == 2
    assert reference.count("Used in") == 1


def test_a_docstring_that_names_a_chapter_links_it(small):
    reference = small.page("reference")
    assert 'href="chapters/04_scores.html">chapter 4</a>' in reference
    assert "chapter 1 shows" in " ".join(reference.split())  # there is none here


def test_an_edited_chapter_never_rereads_the_reference_and_rewrites_it_only_if_needed(tmp_path):
    site = Site(tmp_path)
    site.build()
    site.write("chapters/04_scores.rst", CHAPTER.replace("First", "At first"))
    read, written = site.build()
    assert read == {"chapters/04_scores"}
    assert "reference" not in written
    site.write("chapters/04_scores.rst", CHAPTER.replace("``torch.nn``", "``split_heads``"))
    read, written = site.build()
    assert read == {"chapters/04_scores"}
    assert "reference" in written
    assert site.page("reference").count("Explained in") == 3


def test_a_name_removed_from_the_reference_rewrites_the_chapters(tmp_path):
    site = Site(tmp_path)
    site.build()
    site.write("reference.rst", REFERENCE.replace(".. autofunction:: attention_scores\n", ""))
    _, written = site.build()
    assert "chapters/04_scores" in written
    assert "attention_core.attention_scores" not in site.page("chapters/04_scores")


# --- the finished pages -----------------------------------------------------------------------


def finished(body: str) -> str:
    head = '<head><meta charset="utf-8" /><title>A</title></head>'
    page = f"<html>{head}<body><article>{body}</article></body></html>"
    once = pages.finish(page, lambda _: (1, 1))
    assert pages.finish(once, lambda _: (1, 1)) == once
    return once


def test_a_long_signature_is_set_in_lines_and_not_in_a_list():
    made = finished('<dl><dt class="sig x">f(<dl>\n<dd>a,</dd>\n</dl>)</dt><dd>text</dd></dl>')
    assert '(<span class="sig-lines">\n<span class="sig-line">a,</span>\n</span>)</dt>' in made
    assert made.count("<dl>") == made.count("<dd>") == 1


def test_a_page_is_described_by_its_first_sentences():
    made = finished(f"<h1>A</h1><p>One <b>&amp;</b> two [3]. Is it?</p><p>{'No. ' * 90}</p>")
    assert '<meta name="description" content="One &amp; two. Is it?" />' in made
    long = finished(f"<p>First. {'word ' * 60}.</p>")
    assert 'content="First."' in long


def test_the_toggle_in_the_list_of_pages_has_an_accessible_name():
    made = finished('<details><summary><span class="toctree-toggle"></span></summary></details>')
    assert '<summary aria-label="Its pages">' in made
