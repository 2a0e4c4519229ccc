"""Links to Binder and Colab: only if the repository is known, and only to files that it has."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from booksite import launch
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

ROOT = Path(__file__).parents[2]
HERE = "https://github.com/reader/attention.git"
CI = {
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "reader/attention",
    "GITHUB_REF": "refs/heads/main",
}


def git(folder, *arguments):
    # Ignore the settings of this machine, and those of a git hook that runs these tests.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(
        ["git", *author, *arguments], cwd=folder, check=True, capture_output=True, env=kept
    )


def book(folder, *, remote=HERE, pushed=True, below=""):
    """A book with one committed chapter, one that git does not know, and a remote."""
    root = folder / below
    (root / "chapters").mkdir(parents=True)
    (folder / ".binder").mkdir()
    for file in (folder / launch.ENVIRONMENT, root / "chapters" / "01_one.ipynb"):
        file.write_text("{}", encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    if pushed:
        git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")
        git(folder, "config", "branch.main.remote", "origin")
        git(folder, "config", "branch.main.merge", "refs/heads/main")
    (root / "chapters" / "02_two.ipynb").write_text("{}", encoding="utf-8")
    return root


BINDER = "https://mybinder.org/v2/gh/reader/attention/main?urlpath=lab/tree/chapters/01_one.ipynb"
COLAB = "https://colab.research.google.com/github/reader/attention/blob/colab/chapters/01_one.ipynb"


@pytest.mark.parametrize(
    "remote",
    [
        HERE,
        HERE.removesuffix(".git"),
        "git@github.com:reader/attention.git",
        "ssh://git@github.com/reader/attention.git",
        "https://reader:secret@github.com/reader/attention",
    ],
)
def test_a_pushed_chapter_gets_a_link_from_the_remote(tmp_path, remote):
    root = book(tmp_path, remote=remote)
    assert launch.links(root, {}) == {"chapters/01_one": {"Binder": BINDER}}


@pytest.mark.parametrize(
    "remote", ["", "/srv/books/attention.git", "https://git.example.org/reader/attention.git"]
)
def test_without_a_remote_on_github_there_are_no_links(tmp_path, remote):
    assert launch.links(book(tmp_path, remote=remote), {}) == {}


def test_a_branch_that_was_never_pushed_has_no_links(tmp_path):
    assert launch.links(book(tmp_path, pushed=False), {}) == {}


def test_a_folder_without_git_has_no_links(tmp_path, monkeypatch):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "01_one.ipynb").write_text("{}", encoding="utf-8")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert launch.links(tmp_path, CI) == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert launch.links(tmp_path, CI) == {}


def test_the_repository_that_ci_names_takes_precedence_over_the_remote(tmp_path):
    root = book(tmp_path, remote="https://github.com/somebody/else")
    assert launch.links(root, CI) == {"chapters/01_one": {"Binder": BINDER}}
    branch = {"GITHUB_REF": "refs/heads/new/idea", "BOOK_NOTEBOOKS": "colab"}
    found = launch.links(root, {**CI, **branch})["chapters/01_one"]
    assert found["Binder"] == BINDER.replace("/main?", "/new%2Fidea?")
    assert found["Colab"] == COLAB


@pytest.mark.parametrize(
    "change",
    [{"GITHUB_REF": "refs/pull/7/merge"}, {"GITHUB_SERVER_URL": "https://git.example.org"}],
)
def test_a_ci_run_for_a_pull_request_or_on_another_host_has_no_links(tmp_path, change):
    assert launch.links(book(tmp_path), {**CI, **change}) == {}


def test_a_book_in_a_subfolder_links_by_its_path_and_uses_the_environment_at_the_root(tmp_path):
    root = book(tmp_path, below="books/one")
    found = launch.links(root, CI)["chapters/01_one"]
    assert found["Binder"].endswith("?urlpath=lab/tree/books/one/chapters/01_one.ipynb")
    git(tmp_path, "rm", "-q", "-r", ".binder")
    git(tmp_path, "commit", "-q", "-m", "no environment")
    assert launch.links(root, CI) == {}


def test_each_page_names_the_licences_and_the_repository_if_it_is_known():
    plain = launch.imprint(None)
    assert "CC BY 4.0" in plain
    assert "MIT" in plain
    assert "github.com" not in plain
    known = launch.imprint(launch.Repository("reader/attention", "main", "HEAD"))
    assert 'href="https://github.com/reader/attention"' in known
    assert 'href="https://github.com/reader/attention/issues"' in known


@pytest.mark.parametrize("name", ["", "reader/attention"])
def test_a_text_links_to_the_repository_only_if_it_is_known(tmp_path, monkeypatch, name):
    found = launch.Repository(name, "main", "HEAD") if name else None
    monkeypatch.setattr(launch, "repository", lambda *_: found)
    (tmp_path / "index.rst").write_text("A\n=\n\nSee :repository:`README`.\n", "utf-8")
    with docutils_namespace():
        Sphinx(tmp_path, None, tmp_path / "out", tmp_path / "cache", "html",
               confoverrides={"extensions": ["booksite.launch"], "html_theme": "basic"},
               status=None).build()  # fmt: skip
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert "README" in page
    assert (f'href="https://github.com/{name}#readme"' in page) == bool(name)
    assert ("github.com" in page) == bool(name)


def test_every_chapter_of_this_book_gets_links_to_binder_and_colab():
    if not launch._git(ROOT, "rev-parse", "HEAD"):
        pytest.skip("not a git checkout")
    found = launch.links(ROOT, {**CI, "BOOK_NOTEBOOKS": "colab"})
    assert list(found) == [f"chapters/{p.stem}" for p in sorted(ROOT.glob("chapters/*.ipynb"))]
    assert {tuple(services) for services in found.values()} == {("Binder", "Colab")}


def pins(path):
    return set(re.findall(r"^[\w-]+==\S+|^-e .+", path.read_text(encoding="utf-8"), re.MULTILINE))


def test_binder_installs_the_pins_of_the_book_and_the_cpu_build_of_torch():
    binder, book = pins(ROOT / launch.ENVIRONMENT), pins(ROOT / "requirements.txt")
    (torch,) = (pin for pin in book if pin.startswith("torch=="))
    assert binder - book == {f"{torch}+cpu"}
    needed = {"-e .", "numpy", "matplotlib", "seaborn", "pylopdf-fonts-zh-cn", "anywidget"}
    assert needed <= {pin.partition("==")[0] for pin in binder}
    assert "download.pytorch.org/whl/cpu" in (ROOT / launch.ENVIRONMENT).read_text("utf-8")
