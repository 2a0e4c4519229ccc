"""Tests of the checks of the site: each must find the faults that it is shown."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import site_checks as checks
from booksite.pages import finish, image_size
from site_browser import PHONE, WIDE, visit, without_scripts

EXTENSIONS = Path(__file__).parents[2] / "_ext"


def png(wide: int, high: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    header = struct.pack(">IIBBBBB", wide, high, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x80" * wide) * high)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


@pytest.fixture
def page(tmp_path):
    (tmp_path / "a.png").write_bytes(png(200, 100))

    def make(body: str, head: str = "", name: str = "index.html") -> checks.Page:
        head = f"<head><title>t</title>{head}</head>"
        text = f'<!DOCTYPE html><html lang="en">{head}<body>{body}</body></html>'
        (tmp_path / name).write_text(text, encoding="utf-8")
        return checks.Page.read(tmp_path / name)

    return make


GOOD_IMAGE = '<img src="a.png" alt="A heat map of six by six weights" width="200" height="100">'


@pytest.mark.parametrize(
    "fault",
    [
        '<img src="https://example.org/a.png">',
        '<script src="//example.org/a.js"></script>',
        '<p style="background: url(http://example.org/a.png)">',
        '<link rel="stylesheet" href="https://example.org/a.css">',
        "<script>const thebe_selector = 1</script>",
    ],
)
def test_other_hosts_are_found(page, tmp_path, fault):
    assert checks.other_hosts(page(fault), tmp_path)


def test_other_hosts_in_stylesheets_are_found(page, tmp_path):
    (tmp_path / "a.css").write_text('@import "https://example.org/b.css";', encoding="utf-8")
    assert checks.other_hosts(page(GOOD_IMAGE), tmp_path)


@pytest.mark.parametrize(
    "address", ["missing.html", "#nowhere", "index.html#nowhere", "../../x", "b.png"]
)
def test_broken_addresses_are_found(page, tmp_path, address):
    ids = {(tmp_path / "index.html").resolve(): {"here"}}
    good = page(
        f'<p id="here"><a href="#here">a</a> <a href="https://example.org">b</a>{GOOD_IMAGE}'
    )
    assert checks.broken_addresses(good, tmp_path, ids) == []
    assert checks.broken_addresses(page(f'<a href="{address}">a</a>'), tmp_path, ids)


@pytest.mark.parametrize(
    "image",
    [
        '<img src="a.png" width="200" height="100">',
        '<img src="a.png" alt="../_images/0123456789abcdef.png" width="200" height="100">',
        '<img src="a.png" alt="A heat map of six by six weights">',
    ],
)
def test_poor_images_are_found(page, image):
    assert checks.poor_images(page(GOOD_IMAGE)) == []
    assert checks.poor_images(page(image))


@pytest.mark.parametrize(
    "text",
    [
        r"\(a\)",
        "$$a$$",
        "cost $x_i$ here",
        r"\frac{1}{2}",
        '<span class="math notranslate">a</span>',
    ],
)
def test_raw_latex_is_found(page, text):
    good = '<span class="math notranslate"><math><mi>a</mi></math></span> <code>$a$ \\n</code>'
    assert checks.raw_latex(page(good)) == []
    assert checks.raw_latex(page(f"<p>{text}</p>"))


def test_a_stale_citation_is_found(page):
    label = '<span class="fn-bracket">[</span><a role="doc-backlink" href="#id2">7</a>'
    listed = page(
        f'<div class="citation" id="id1">\n<span class="label">{label}</span></div>',
        name="references.html",
    )
    for number, problems in ((7, 0), (8, 1)):
        link = f'<a class="reference internal" href="../references.html#id1">{number}</a>'
        assert len(checks.stale_citations([page(f"[{link}]"), listed])) == problems


def test_repeated_ids_and_unexpected_tracebacks_are_found(page):
    assert checks.repeated_ids(page('<p id="a"><p id="a">')) == ["a"]
    output = "<pre>Traceback (most recent call last)</pre>"
    assert page(f'<div class="cell">{output}</div>').tracebacks == 1
    assert page(f'<div class="cell tag_raises-exception">{output}</div>').tracebacks == 0
    example = output.replace("<pre>", "<pre>&gt;&gt;&gt; f()\n")
    assert page(f'<div class="doctest highlight-default">{example}</div>').tracebacks == 0


def test_weight_counts_what_a_stylesheet_fetches(page, tmp_path):
    css = '@import "b.css"; p { src: url("a.woff2") }'
    (tmp_path / "a.css").write_text(css, encoding="utf-8")
    (tmp_path / "b.css").write_text("p { color: red }", encoding="utf-8")
    (tmp_path / "a.woff2").write_bytes(os.urandom(5000))
    size, requests = checks.weight(page("text", '<link rel="stylesheet" href="a.css">'))
    assert requests == 4
    assert size > 5000


# --- the build ---------------------------------------------------------------------------------


def test_finishing_a_page_twice_changes_nothing():
    raw = (
        '<html><head><meta charset="utf-8" />'
        '<meta name="viewport" content="a" /><meta name="viewport" content="b" />'
        '<script src="_static/togglebutton.js"></script><script src="searchindex.js"></script>'
        "<script>let hint = 'a toggle of my own'</script>"
        "</head>"
        '<body><a class="reference internal image-reference" href="a.png">'
        '<img alt="a" src="a.png" style="width: 100px; height: 999px;" />\n</a><pre>'
        + "x" * 80
        + "</pre><math></math></body></html>"
    )
    once = finish(raw, lambda _: (400, 200))
    assert 'width="100" height="50"' in once
    assert "style=" not in once
    assert '<pre tabindex="0"' in once
    assert "togglebutton" not in once
    assert "searchindex" not in once
    assert "a toggle of my own" in once
    assert finish(once, lambda _: (1, 1)) == once


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Is it <em>n</em><sup>2</sup>?", "Is it n²?"),
        ("A <math><msup><mi>d</mi><mn>2</mn></msup></math> here.", "A d² here."),
        ('A note<sup class="a"><a href="#b">1</a></sup> more.', "A note1 more."),
        ("After Bahdanau et al. [<a>3</a>].", "After Bahdanau et al."),
    ],
)
def test_a_description_is_plain_text(text, said):
    page = f"<html><head><title>T</title></head><body><article><p>{text}</p></article></body>"
    finished = finish(page, lambda _: (1, 1))
    assert re.findall(r'<meta name="description" content="(.*?)" />', finished) == [said]


def test_the_front_page_says_its_title_once():
    page = "<html><head><title>A &#8212; A</title></head><body></body>"
    assert "<title>A</title>" in finish(page, lambda _: (1, 1), "index")
    page = page.replace("A &#8212;", "B &#8212;")
    assert "<title>B &#8212; A</title>" in finish(page, lambda _: (1, 1), "index")


def test_the_size_of_png_and_svg_images_is_read(tmp_path):
    (tmp_path / "a.png").write_bytes(png(40, 30))
    assert image_size(tmp_path / "a.png") == (40, 30)
    (tmp_path / "a.svg").write_text('<svg width="40pt" height="30.4pt">', encoding="utf-8")
    assert image_size(tmp_path / "a.svg") == (40, 30)


@pytest.fixture
def build(tmp_path):
    """Return a function that builds a book of one page strictly, and returns the finished run."""
    (tmp_path / "conf.py").write_text(
        "extensions = ['myst_parser', 'booksite.mathml']\n"
        "myst_enable_extensions = ['dollarmath']\nhtml_math_renderer = 'mathml'\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "sphinx", "-W", "-b", "html", tmp_path, tmp_path / "out"]

    def run(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "index.md").write_text(text, encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(EXTENSIONS)}
        return subprocess.run(
            command, check=False, capture_output=True, encoding="utf-8", env=environment
        )

    return run


def test_a_wrong_formula_fails_a_strict_build(build, tmp_path):
    assert build("# A\n\nGood: $a_i$\n\n$$\nb\n$$ (eq-b)\n\nSee {eq}`eq-b`.\n").returncode == 0
    assert "(1)" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    failed = build("# A\n\nBad: $\\softmx{a}$\n")
    assert failed.returncode != 0
    assert "index.md:3:" in failed.stderr
    assert r"formula: left untranslated: '\\softmx'" in failed.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("![A picture of nothing](missing.png)", "image file not readable: missing.png"),
        ("[a page](missing.md)", "'missing.md'"),
        ("[a section](#missing)", "'missing'"),
    ],
)
def test_a_missing_target_fails_a_strict_build(build, text, message):
    failed = build(f"# A\n\n{text}\n")
    assert failed.returncode != 0
    assert "index.md:3:" in failed.stderr
    assert message in failed.stderr


# --- in a browser ------------------------------------------------------------------------------


FAULTS = {
    "other host": '<img src="http://example.invalid/a.png" alt="">',
    "failed request": '<img src="missing.png" alt="">',
    "console": "<script>console.error('no')</script>",
    "page error": "<script>throw new Error('no')</script>",
    "overflow": '<div style="width: 2000px">wide</div>',
    "axe, light": '<p style="color: #bbb; background: #fff">faint</p>',
    "code, light": '<pre style="background: #fff"><b style="color: #bbb">faint</b> x</pre>',
    "layout shift": '<div id="a"></div><p>text</p><script>setTimeout(() => '
    "{ a.style.height = '700px' }, 60)</script><p style='height: 600px'>more</p>",
}  # fmt: skip


@pytest.mark.parametrize("kind", FAULTS)
def test_the_browser_check_finds_each_fault(page, browser, kind):
    made = page(f"<main><h1>A page</h1>{FAULTS[kind]}</main>")
    found = visit(browser, made.path.as_uri(), width=WIDE)
    assert any(problem.startswith(kind) for problem in found), found


def test_the_browser_check_passes_a_good_page(page, browser):
    article = f"<article><p>{'Some words. ' * 9}</p>{GOOD_IMAGE}</article>"
    made = page(f"<main><h1>A page</h1>{article}</main>")
    assert visit(browser, made.path.as_uri(), width=PHONE) == []
    assert without_scripts(browser, made.path.as_uri()) == []


def test_a_page_that_needs_scripts_is_found(page, browser):
    script = '<script>a.textContent = "Some words. ".repeat(9)</script>'
    made = page(f'<article id="a"></article>{script}')
    assert without_scripts(browser, made.path.as_uri())
