"""Each rewriting of the theme's HTML stops the build when its pattern no longer matches."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
import small_book
from booksite import pages, rewriting, scripts
from booksite.assets import USEFUL_WITH
from sphinx.errors import ExtensionError


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """The pages of a small book as the theme writes them."""
    folder = tmp_path_factory.mktemp("small")
    small_book.write(folder)
    start = "from jupyter_book.cli.main import main; main()"  # it has no -m form
    run = subprocess.run(
        [sys.executable, "-c", start, "build", folder],
        check=False, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return folder / "_build" / "html"


@pytest.fixture
def written(raw, tmp_path):
    """A copy of the pages that a test may change."""
    site = tmp_path / "site"
    shutil.copytree(raw, site, ignore=shutil.ignore_patterns("_static"))
    return site


def change(site, pattern, new, names=("**/*.html",)):
    count = 0
    for path in (path for name in names for path in site.glob(name)):
        text = path.read_text(encoding="utf-8")
        text, found = re.subn(pattern, new, text, flags=re.DOTALL)
        path.write_text(text, encoding="utf-8")
        count += found
    assert count


def test_all_rewritings_match_the_html_of_the_theme(written):
    pages.finish_site(written)
    finished = {path: path.read_bytes() for path in written.glob("*.html")}
    for text in finished.values():
        assert text.count(scripts.STORAGE.encode()) == 1
    # A second pass finds every pattern, and changes only the page that Sphinx always writes.
    pages.finish_site(written)
    for path, text in finished.items():
        assert path.name == "search.html" or path.read_bytes() == text


@pytest.mark.parametrize("step", pages.REWRITINGS, ids=lambda step: step.name)
def test_a_rewriting_without_any_match_stops_the_build(written, step):
    change(written, step.pattern, "")
    with pytest.raises(ExtensionError, match=re.escape(f"{step.name!r} finds nothing in ")):
        pages.finish_site(written)
    # The next build, which writes no page again, fails as well.
    with pytest.raises(ExtensionError, match=re.escape(f"{step.name!r} finds nothing in ")):
        pages.finish_site(written)


@pytest.mark.parametrize(
    ("page", "old", "new", "name"),
    [
        ("one", "<pre>", '<pre class="code">', "let the keyboard reach wide code"),
        ("one", "-scrollable-table-container", "-table", "let the keyboard reach wide tables"),
        ("one", "</a>", "<b></b></a>", "drop links from pictures to themselves"),
        ("two", 'role="list" ', "", "drop the role of the list of works"),
        ("three", "<dl>", '<dl class="params">', "set signatures in lines"),
        ("three", 'id="jb-print-docs-body"', 'id="print"', "drop the second title for the printer"),
        ("index", "&#8212;", "|", "say the title of the front page once"),
        ("index", r'getItem\("mode"\)', "mode()", "follow the system's mode"),
        ("search", '<meta charset="utf-8" />', "<meta charset=utf-8>", "begin with the stand-in"),
    ],
)
def test_a_rewriting_without_a_match_on_one_page_stops_the_build(written, page, old, new, name):
    change(written, old, new, [f"{page}.html"])
    with pytest.raises(ExtensionError, match=rf"{re.escape(name)}[^;]* finds nothing in {page}$"):
        pages.finish_site(written)


def test_a_build_with_another_theme_fails_and_says_why(tmp_path):
    (tmp_path / "conf.py").write_text("extensions = ['booksite.pages']\n", encoding="utf-8")
    (tmp_path / "index.rst").write_text("A\n=\n", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "sphinx", tmp_path, tmp_path / "out"],
        check=False, capture_output=True, encoding="utf-8",
        env={"PYTHONPATH": str(small_book.BOOK / "_ext")},
    )  # fmt: skip
    assert run.returncode != 0
    assert "'keep one viewport' finds nothing in" in run.stderr


def test_a_replacement_without_a_match_is_named():
    with pytest.raises(ExtensionError, match="'put the font in' finds no 'b' to replace"):
        rewriting.replace("a", "b", "c", "put the font in")


def test_each_file_of_the_theme_is_loaded_where_it_is_of_use(site):
    text = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    loaded = {name for name in USEFUL_WITH if re.search(rf'(?:src|href)="[^"]*{name}', text)}
    # The book has no tabs or cards.
    assert set(USEFUL_WITH) - loaded == {name for name in USEFUL_WITH if "design" in name}


def test_an_output_without_a_table_is_no_box_that_scrolls():
    """A drawing or a question may stand before the table of another output."""
    wide = f"<table><tr><td>{'wide ' * 20}</td></tr></table>"
    output = '<div class="output text_html">{}</div>'
    (step,) = [step for step in pages.REWRITINGS if step.name.endswith("wide tables")]
    body = f"<body>{output.format('<svg></svg>')}<p>Text.</p>{output.format(wide)}</body>"
    page = rewriting.Page.of(f"<head></head>{body}", lambda _: (1, 1))
    step.apply(page)
    assert page.body.count("tabindex") == 1
    assert page.body.index("<svg>") < page.body.index("tabindex")
