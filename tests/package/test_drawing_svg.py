"""The drawing that grows is the same everywhere, small, named, and leads backwards."""

import gzip
import hashlib
import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from attention_core import drawing
from attention_core.drawing import _figure
from attention_core.drawing._book import LINKS, SCENES, scene_of
from attention_core.drawing._pen import Pen

CHAPTERS = range(1, 16)
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS)
SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"
LIMIT = 6 * 1024  # bytes of a drawing and its caption on a page, packed


def test_every_chapter_has_a_drawing():
    assert list(SCENES) == list(CHAPTERS)


DIGEST = """
import hashlib
from attention_core.drawing import _figure
whole = "".join(_figure.figure(n) + _figure.description(n) for n in range(1, 16))
print(hashlib.sha256(whole.encode()).hexdigest())
"""


@pytest.mark.parametrize("capability", ["default", "avx2"])
def test_another_processor_draws_the_same_bytes(capability):
    here = "".join(_figure.figure(n) + _figure.description(n) for n in CHAPTERS)
    environment = {**os.environ, "ATEN_CPU_CAPABILITY": capability, "PYTHONHASHSEED": "7"}
    run = subprocess.run(
        [sys.executable, "-c", DIGEST], env=environment, capture_output=True, encoding="utf-8"
    )
    assert run.stdout.strip() == hashlib.sha256(here.encode()).hexdigest(), run.stderr


@each_chapter
def test_a_drawing_is_small(chapter):
    whole = _figure.figure(chapter)
    on_a_page = re.sub(r"<style>.*?</style>", "", whole)
    assert len(gzip.compress(on_a_page.encode())) <= LIMIT
    assert len(gzip.compress(whole.encode())) <= LIMIT + 512


@each_chapter
def test_a_drawing_is_named_by_its_title_and_description(chapter):
    text = _figure.figure(chapter)
    svg = text[text.index("<svg") : text.index("</svg>") + 6]
    root = ElementTree.fromstring(svg)
    title, about = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("aria-labelledby") == f"{title.get('id')} {about.get('id')}"
    assert f"{title.text}. {about.text}" == drawing.description(chapter)
    assert len(about.text) > 60
    links = root.findall(f".//{SVG}a")
    assert root.get("role") == ("group" if links else "img")
    assert all(link.get("aria-label") for link in links)
    # Numbers are for the eye only where the description says them.
    hidden = root.findall(f"{SVG}g[@aria-hidden='true']")
    assert len(hidden) == bool(links)
    lit = SCENES[chapter].lit
    assert lit == "all" or about.text.endswith(f"New here: {lit.replace(' ', ', ')}.")


@each_chapter
def test_classes_and_ids_are_the_drawings_own(chapter):
    text = re.sub(r"<style>.*?</style>", "", _figure.figure(chapter))
    names = {name for found in re.findall(r'class="([^"]*)"', text) for name in found.split()}
    assert {name for name in names if not re.match(r"dr\b", name)} <= {"math", "notranslate"}
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert ids == [f"drawing-{chapter}-t", f"drawing-{chapter}-d"]


@each_chapter
def test_links_lead_to_earlier_chapters_from_grey_parts_only(chapter):
    root = ElementTree.fromstring(drawing.svg(chapter))
    links = root.findall(f".//{SVG}a")
    for link in links:
        assert int(link.get(HREF)[:2]) < chapter
        assert link.get(HREF) in {page for page, _ in LINKS.values()}
        assert link.get("href") is None  # JupyterLab cannot show a relative one in SVG
    assert len({link.get("aria-label") for link in links}) == len(links)
    grey = root.findall(f".//{SVG}g[@class='dr-grey']/{SVG}a")
    assert len(grey) == len(links)
    assert bool(links) == (chapter not in (1, 2, 9))


def test_a_lit_part_is_no_link():
    for lit, count in (("", 1), ("known", 0), ("all", 0)):
        pen = Pen(lit, {"known": ("01_a.ipynb", "Chapter 1: Why?")})
        with pen.part("known"), pen.leading("known", "compare"):
            pen.verb(0, 0, "compare")
        assert len(pen.linked) == count
        assert ("dr-grey" in "".join(pen.out)) == bool(count)
    with pen.part("new"), pen.leading("unknown", "x"):
        pass
    assert not pen.linked


@each_chapter
def test_the_caption_says_where_the_reader_is_in_at_most_four_sentences(chapter):
    text = _figure.figure(chapter)
    steps = re.findall(r'<i class="dr-(\w+)">', text)
    assert steps == ["past"] * (chapter - 1) + ["now"] + ["next"] * (15 - chapter)
    assert f"You are here: chapter {chapter} of 15 " in text
    about = scene_of(chapter).about
    assert len(re.findall(r"[.?!](?: |$)", re.sub(r"\d\.\d", "", about))) <= 4
    sentences = re.split(r"(?<=[.?!]) ", about)
    assert all(len(sentence.split()) <= 24 for sentence in sentences), about
    assert "{" not in about


def test_chinese_is_marked_as_such_in_captions_and_words():
    text = re.sub(r"<(title|desc)\b.*?</\1>", "", _figure.figure(1))
    for run in re.finditer("[\u3400-\u9fff]+", text):
        assert re.search(r'lang="zh"[^<]*>$', text[: run.start()]), run
    assert "<em>journey</em>" in _figure.figure(2)


def test_show_displays_the_figure_and_its_description():
    pytest.importorskip("IPython")
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    before, shell.display_pub = shell.display_pub, CapturingDisplayPublisher()
    try:
        drawing.show(3)
        (output,) = shell.display_pub.outputs
    finally:
        shell.display_pub = before
        InteractiveShell.clear_instance()
    assert output["data"] == _figure.data(3)
    plain = output["data"]["text/plain"]
    assert plain.replace("\n", " ") == drawing.description(3)
    assert max(map(len, plain.splitlines())) <= 76


def test_a_file_has_its_size_style_and_colours():
    text = drawing.svg(4, lit="all")
    root = ElementTree.fromstring(text)
    assert float(root.get("width")) > 400
    assert float(root.get("height")) > float(root.get("width"))
    assert "<style>" in text
    assert 'dr-grey"' not in text
    assert 'href="' not in text
    assert drawing.svg(4) != text


@pytest.mark.parametrize("call", [drawing.show, drawing.svg, drawing.description])
def test_a_chapter_that_does_not_exist_is_refused(call):
    with pytest.raises(ValueError, match="chapter must be from 1 to 15, got 16"):
        call(16)
    with pytest.raises(TypeError, match="chapter must be an int, got str"):
        call("3")
    with pytest.raises(TypeError, match="chapter must be an int, got bool"):
        call(True)
