"""The API reference: nothing public is missing, and every entry leads to the book."""

from __future__ import annotations

import html
import importlib
import inspect
import pkgutil
import re
import types

import pytest
import site_checks as checks
from chapter_sections import BOOK

import attention_core

PAGES = sorted((BOOK / "reference").glob("*.md"))

# Explained and used in no chapter: tools around the book, types for annotations, and
# colours. A name that a chapter should show does not belong here.
OUTSIDE = """
published.tables published.load_table cache.LayerCache cache.Pair
dot_products.draw_shadows dot_products.draw_softmax exercises.torch_calls
decoding.Translator training.Batches functional.AttentionFunction
layers.FeedForwardFactory
load_checkpoint save_checkpoint load_training save_training
training.save_trained
distributed.processes
dates.SPLITS dates.FIRST dates.LAST dates.DAY_FORMS dates.join dates.chinese_date
train.MODELS train.NUM_HEADS train.WARMUP train.REPORTS train.FREE_OPTIONS train.CannotResume
train.arguments train.train train.main
plotting.readable_labels plotting.ROLE_COLORS_DARK plotting.PAPER
plotting.INK_DARK plotting.PAPER_DARK plotting.WIDTH
distributed.sharing.Share distributed.sharing.Traffic distributed.sharing.example
distributed.sharing.difference distributed.sharing.report distributed.sharing.main
distributed.loopback museum.law museum.find museum.Law museum.Exhibit museum.Learned
drawing.show drawing.svg drawing.description diagram.draw_transformer
alternatives.KINDS widgets.LiveFigure widgets.figure.Table
questions.number questions.choice questions.cells questions.Question
plotting.DIVERGING plotting.heatmap encoder_layer_parameters feed_forward_parameters
"""

# Functions that modules of the package share among themselves; readers have no use for them.
SHARED = """
dates.forms.check_examples masks.has_id training.loop.check_pair
training.files.check_can_write training.files.other_file training.files.read_saved
training.files.write_whole
"""


def public_names() -> set[str]:
    """Return the full names that the package exports, and those that only its modules have."""
    found = {f"attention_core.{name}" for name in attention_core.__all__}
    there = {id(getattr(attention_core, name)) for name in attention_core.__all__}
    # A package exports the names in its __init__; its modules add only names not exported there.
    modules = [m.name for m in pkgutil.walk_packages(attention_core.__path__, "attention_core.")]
    hidden = {"attention_core.museum.mistakes"}  # readers should not call the mistakes
    for name in sorted(set(modules) - hidden, key=lambda name: (name.count("."), name)):
        if re.search(r"\._|\.widgets\.", name):
            continue
        module = importlib.import_module(name)
        names = getattr(module, "__all__", None) or [
            key
            for key, value in vars(module).items()
            if not key.startswith("_")
            and not isinstance(value, types.ModuleType)
            and _made_in(module, key, value)
        ]
        # An exported object needs no second name.
        own = [n for n in names if id(getattr(module, n)) not in there]
        found |= {f"{module.__name__}.{n}" for n in own}
        there |= {id(getattr(module, n)) for n in own}
    return found


def _made_in(module: types.ModuleType, name: str, value: object) -> bool:
    if isinstance(value, type | types.FunctionType) or hasattr(value, "__wrapped__"):
        return value.__module__ == module.__name__
    source = inspect.getsource(module)
    return bool(re.search(rf"^(?:\w+, )*{name}\b(?:, \w+)*(?::[^=]+)? = ", source, re.MULTILINE))


def documented_names() -> list[str]:
    found, module = [], ""
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            if match := re.match(r"\.\. auto\w+:: (\w+)", line):
                found.append(f"{module}.{match[1]}")
    return found


def test_every_public_name_is_in_the_reference():
    shared = {f"attention_core.{name}" for name in SHARED.split()}
    missing = public_names() - set(documented_names())
    assert missing - shared == set(), "add these to reference/*.md"
    assert shared - missing == set(), "these are documented, or no longer there"


def test_names_in_the_reference_are_unique_and_exist():
    names = documented_names()
    assert sorted(names) == sorted(set(names))
    for name in names:
        module, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(module), last), name


@pytest.fixture(scope="session")
def entries(site) -> dict[str, str]:
    """Name -> the HTML of its entry."""
    found = {}
    for path in (site / "reference").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        parts = re.split(r'<dt class="sig sig-object py" id="(attention_core\.[\w.]+)">', text)
        # An entry ends where a section of text begins.
        ends = [re.split("</?section", part)[0] for part in parts[2::2]]
        found |= dict(zip(parts[1::2], ends, strict=True))
    return found


def test_the_overview_page_links_every_name(site):
    page = checks.Page.read(site / "reference.html")
    linked = {link.partition("#")[2] for link in page.links}
    assert set(documented_names()) - linked == set()


def test_every_entry_says_its_module(entries):
    for name in documented_names():
        text = html.unescape(re.sub(r"<[^>]+>", "", entries[name]))
        assert re.search(r"Module:\s+attention_core\.", text), name


def test_every_name_is_in_a_chapter_or_listed_as_outside(entries):
    # A class's methods follow it; the chapters stand before them.
    outside = {
        name.removeprefix("attention_core.")
        for name in documented_names()
        if not re.search(r'href="\.\./chapters/\d\d_', entries[name])
    }
    assert outside == set(OUTSIDE.split())


def test_an_entry_shows_its_shapes_and_its_chapters(entries):
    entry = entries["attention_core.attention_scores"]
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", "", entry)).split())
    assert text.startswith("attention_scores(q: Tensor, k: Tensor) → Tensor")
    assert "Shape: q: (..., L, d_k) k: (..., S, d_k) returns: (..., L, S)" in text
    assert 'href="../chapters/04_scaling.html#with-attention-core">chapter 4, With' in entry
    assert 'href="../chapters/01_dot_products.html">chapter 1</a>' in entry


def test_signatures_name_types_without_their_modules(entries):
    for name, entry in entries.items():
        signature = html.unescape(re.sub(r"<[^>]+>", "", entry.partition("</dt>")[0]))
        signature = re.sub(r"= torch\.\w+", "", signature)  # a default, as its user writes it
        assert not re.search(r"torch\.\w|attention_core|typing", signature), name


def test_chapters_link_to_the_reference(site):
    chapter = (site / "chapters" / "05_masks.html").read_text(encoding="utf-8")
    for name in ("masked_softmax", "causal_mask", "reach_matrix"):
        link = f'href="../reference/attention.html#attention_core.{name}"'
        assert link in chapter, name
    assert "In the reference: <a" in chapter


def test_every_page_says_what_it_is_about(site):
    for page in checks.pages_of(site):
        if page.path.name != "search.html":
            (said,) = re.findall(r'<meta name="description" content="([^"]+)"', page.text)
            assert 30 < len(html.unescape(said)) < 300, page.path.name
