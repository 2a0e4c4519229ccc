"""Add buttons that open a chapter on Binder and in Colab, and links to the repository.

The URL of the repository comes from the environment of the CI or from the git remote. A
button appears only if git tracks the notebook that it opens. Colab needs notebooks that can
fetch the package: ``BOOK_NOTEBOOKS`` names the branch to which the deployment copies them.
"""

from __future__ import annotations

import html
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from docutils import nodes
from sphinx.util.docutils import SphinxRole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sphinx.application import Sphinx
    from sphinx.config import Config

BINDER, COLAB = "https://mybinder.org/v2/gh", "https://colab.research.google.com/github"
# Both services read from this host. Credentials in the URL are not matched.
_REMOTE = re.compile(
    r"(?:https?://(?:[^/@]*@)?|ssh://git@|git@)github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?/?",
    re.ASCII,
)
_NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
ENVIRONMENT = ".binder/requirements.txt"


class Repository(NamedTuple):
    """The repository of the book: ``owner/name``, the branch, and the git ref of its commit."""

    name: str
    branch: str
    ref: str


def _git(root: Path, *arguments: str) -> str:
    """Return the output of a git command, or "" if it fails or git is not installed."""
    try:
        run = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, encoding="utf-8", check=False
        )
    except OSError:
        return ""
    return run.stdout.strip() if run.returncode == 0 else ""


def repository(root: Path, environment: Mapping[str, str]) -> Repository | None:
    """Return the repository that the CI names, or the upstream of the current branch."""
    if named := environment.get("GITHUB_REPOSITORY"):
        kind, _, branch = environment.get("GITHUB_REF", "").partition("refs/heads/")
        here = environment.get("GITHUB_SERVER_URL") == "https://github.com"
        known = here and branch and not kind and _NAME.fullmatch(named)
        return Repository(named, branch, "HEAD") if known else None
    upstream = _git(root, "rev-parse", "--symbolic-full-name", "@{upstream}")
    remote, _, branch = upstream.removeprefix("refs/remotes/").partition("/")
    found = _REMOTE.fullmatch(_git(root, "remote", "get-url", remote)) if branch else None
    return Repository(found[1], branch, upstream) if found else None


def links(root: Path, environment: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the URLs that open the notebooks, by page and by service."""
    found = repository(root, environment)
    if found is None:
        return {}
    below = _git(root, "rev-parse", "--show-prefix")
    tracked = set(
        _git(root, "ls-tree", "-r", "-z", "--name-only", "--full-tree", found.ref).split("\0")
    )
    copies = environment.get("BOOK_NOTEBOOKS", "")
    made: dict[str, dict[str, str]] = {}
    for path in sorted((root / "chapters").glob("*.ipynb")):
        page = f"chapters/{path.stem}"
        if f"{below}{page}.ipynb" not in tracked:
            continue
        made[page] = {}
        # Binder reads the environment file at the root of the repository.
        if ENVIRONMENT in tracked:
            place = quote(f"lab/tree/{below}{page}.ipynb", safe="/")
            branch = quote(found.branch, safe="")
            made[page]["Binder"] = f"{BINDER}/{found.name}/{branch}?urlpath={place}"
        if copies:
            made[page]["Colab"] = f"{COLAB}/{found.name}/blob/{quote(f'{copies}/{page}')}.ipynb"
    return {page: services for page, services in made.items() if services}


def imprint(found: Repository | None) -> str:
    """Return the licence and the links to the repository, for the foot of each page."""
    licence = (
        'Text and pictures: <a href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a>. '
        "Code: MIT licence."
    )
    if found is None:
        return f"<p>{licence}</p>"
    source = html.escape(f"https://github.com/{found.name}")
    return (
        f'<p>{licence} <a href="{source}">The book\'s repository</a>, '
        f'<a href="{source}/issues">questions and mistakes</a>.</p>'
    )


class RepositoryRole(SphinxRole):
    """Make its text a link to the repository, if that is known."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        name = self.config.booksite_repository
        if not name:
            return [nodes.Text(self.text)], []
        address = f"https://github.com/{name}#readme"
        return [nodes.reference("", self.text, refuri=address)], []


def _find(app: Sphinx, config: Config) -> None:
    root = Path(app.srcdir)
    found = repository(root, os.environ)
    config.booksite_launch = links(root, os.environ)
    config.booksite_repository = found.name if found else ""
    config.html_theme_options["extra_footer"] = imprint(found)


def _buttons(app: Sphinx, page: str, _t: str, context: dict[str, Any], _d: Any) -> None:
    services = app.config.booksite_launch.get(page)
    if services and "header_buttons" in context:
        buttons = [
            {
                "type": "link",
                "text": name,
                "tooltip": f"Open on {name}",
                "icon": "fas fa-play",
                "url": url,
            }
            for name, url in services.items()
        ]
        group = {"type": "group", "tooltip": "Run this chapter", "icon": "fas fa-rocket"}
        context["header_buttons"].append({**group, "buttons": buttons, "label": "launch-buttons"})


def setup(app: Sphinx) -> None:
    app.add_config_value("booksite_launch", {}, "html")
    app.add_config_value("booksite_repository", "", "env")
    app.add_role("repository", RepositoryRole())
    app.connect("config-inited", _find)
    app.connect("html-page-context", _buttons, priority=510)  # after the theme's buttons
