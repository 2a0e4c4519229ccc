"""A copy of the book gives the same pages in another place.

The copy has no git, its folder has a space and Chinese characters in its name, every text file
has Windows line ends, and the locale encodes ASCII only.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = re.compile(r".*\.(bib|cff|css|ipynb|m?js|md|py|svg|toml|txt|yml)")
# PYTHONUTF8=0: also where a POSIX locale would switch UTF-8 on by itself.
NARROW = {
    "LC_ALL": "C",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONIOENCODING": "ascii:strict",
    "PYTHONWARNDEFAULTENCODING": "1",
    "PYTHONWARNINGS": "default::EncodingWarning",
}


@pytest.fixture(scope="module")
def fork(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fork") / "我的 book"
    left = shutil.ignore_patterns(
        ".*cache", ".git", ".venv*", "_build", "__pycache__", "*.egg-info", "node_modules"
    )
    shutil.copytree(ROOT, folder, ignore=left)
    for path in folder.rglob("*"):
        if TEXT.fullmatch(path.name):
            path.write_bytes(re.sub(rb"\r?\n", b"\r\n", path.read_bytes()))
    return folder


def run(fork, *command):
    """Run a Python command in the fork, with the fork's modules, and return its output."""
    outside = {k: v for k, v in os.environ.items() if not k.startswith(("BOOK_", "GITHUB_"))}
    environment = {**outside, **NARROW, "PYTHONPATH": str(fork)}
    result = subprocess.run(
        [sys.executable, *command], cwd=fork, env=environment, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-3000:]
    return result.stdout


def unnamed_encodings(output):
    """Our files that were opened without naming an encoding, by the warnings of Python."""
    warned = re.findall(r"^(.*?):\d+: EncodingWarning", output, re.MULTILINE)
    return [name for name in warned if "site-packages" not in name and "lib/python" not in name]


@pytest.fixture(scope="module")
def built(fork):
    start = "from jupyter_book.cli.main import main; main()"  # it has no -m form
    said = run(fork, "-c", start, "build", ".", "-W", "-n", "--keep-going")
    return fork / "_build" / "html", said


def article(path):
    """The article of a page, without the theme's frame and buttons around it."""
    text = path.read_text(encoding="utf-8")
    return text.partition("<article")[2].partition("</article>")[0]


def test_file_names_have_plain_ascii_letters_only():
    """Other characters are encoded differently by other file systems and in addresses."""
    files = [path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()]
    ours = [
        f
        for f in files
        if not re.match(r"(_build|\.venv|\.git|[\w.]*cache)\b|.*\bnode_modules\b", f)
    ]
    assert len(ours) > 150
    odd = [name for name in ours if not re.fullmatch(r"[A-Za-z0-9_./-]+", name)]
    assert odd == []


def test_the_fork_differs_in_folder_line_ends_and_encoding(fork):
    assert not fork.as_posix().isascii()
    assert b"\r\n" in (fork / "index.md").read_bytes()
    asked = "import sys; print(sys.stdout.encoding, open('README.md').encoding)"
    console, files = run(fork, "-W", "ignore", "-c", asked).lower().split()
    assert console == "ascii"
    assert "utf" not in files


def test_the_same_pages_are_built_in_any_place(site, built):
    new, said = built
    pages = {path.relative_to(site) for path in site.rglob("*.html")}
    assert pages == {path.relative_to(new) for path in new.rglob("*.html")}
    differ = [page for page in sorted(pages) if article(site / page) != article(new / page)]
    assert differ == []
    assert unnamed_encodings(said) == []
    assert "Your book's HTML pages are here" in said


def test_a_fork_without_a_remote_links_to_no_repository(built):
    new, _ = built
    pages = [page for page in new.rglob("*.html") if "_static" not in page.parts]
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "mybinder.org" not in text
        assert "colab.research" not in text
        assert "CC BY 4.0" in text
        assert "The book's repository" not in text
        assert not re.search(r'<link rel="canonical"|property="og:', text)
    assert not (new / "sitemap.xml").exists()


def test_a_chapter_run_in_the_fork_is_stored_with_the_same_bytes(fork):
    name = "chapters/01_dot_products.ipynb"
    said = run(fork, "tools/run_chapters.py", name)
    assert (fork / name).read_bytes() == (ROOT / name).read_bytes()
    assert unnamed_encodings(said) == []


def test_the_examples_of_the_package_run_in_the_fork(fork):
    said = run(fork, "-m", "pytest", "-q", "-W", "default::EncodingWarning", "attention_core")
    assert re.search(r"^\d\d+ passed", said, re.MULTILINE)
    assert unnamed_encodings(said) == []
