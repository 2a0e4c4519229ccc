"""Build a wheel of the package beside the pages, for readers who download a notebook."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)

_PARTS = ("pyproject.toml", "README.md", "LICENSE", "attention_core")


def name_of(root: Path) -> str:
    """Return the file name of the wheel in the form that pip requires."""
    text = (root / "attention_core" / "__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return f"attention_core-{version}-py3-none-any.whl"


def _files(root: Path) -> list[Path]:
    found = [file for part in _PARTS for file in (root / part, *(root / part).rglob("*"))]
    return sorted(file for file in found if file.is_file() and "__pycache__" not in file.parts)


def address(root: Path, site: str) -> str:
    """Return the URL of the wheel, or "" if the URL of the site is not known."""
    return f"{site}{name_of(root)}" if site else ""


def build(root: Path, folder: Path) -> subprocess.Popen[str]:
    """Start a build of the wheel in ``folder/dist``, from a copy: setuptools leaves files."""
    for file in _files(root):
        copy = folder / file.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    code = "from setuptools import build_meta as backend; backend.build_wheel('dist')"
    # A fixed timestamp, so that the same sources give the same bytes.
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "315532800"}
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, env=environment, encoding="utf-8",
        errors="replace", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


class _Wheel:
    """A build of the wheel in a second process while pages are written, if its sources changed."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.folder: Path | None = None
        self.digest = ""

    def start(self, app: Sphinx) -> None:
        if app.builder.format != "html":
            return
        root = Path(app.srcdir)
        digest = hashlib.sha256()
        for file in _files(root):
            digest.update(f"{file.relative_to(root).as_posix()}\0".encode() + file.read_bytes())
        self.digest = digest.hexdigest()
        note = Path(app.doctreedir) / "wheel.txt"
        known = note.read_text(encoding="utf-8") if note.is_file() else ""
        if known == self.digest and (Path(app.outdir) / name_of(root)).is_file():
            return
        self.folder = Path(tempfile.mkdtemp())
        self.process = build(root, self.folder)

    def finish(self, app: Sphinx, exception: Exception | None) -> None:
        process, folder = self.process, self.folder
        self.process = self.folder = None
        if process and folder:
            _, said = process.communicate()
            built = [*(folder / "dist").glob("*.whl")] if process.returncode == 0 else []
            if built and not exception:
                for old in Path(app.outdir).glob("*.whl"):
                    old.unlink()
                shutil.copyfile(built[0], Path(app.outdir) / built[0].name)
                (Path(app.doctreedir) / "wheel.txt").write_text(self.digest, encoding="utf-8")
            shutil.rmtree(folder)
            if not built:
                logger.warning("the wheel could not be built: %s", said.strip()[-500:])


def _button(app: Sphinx, page: str, _t: str, context: dict[str, Any], _d: Any) -> None:
    """Add a button that downloads the wheel, next to the one for the notebook."""
    for group in context.get("header_buttons", []):
        if group.get("label") == "download-buttons" and page.startswith("chapters/"):
            button = {
                "type": "link",
                "url": context["pathto"](name_of(Path(app.srcdir)), 1),
                "text": ".whl",
                "tooltip": "Download the package attention_core",
                "icon": "fas fa-box",
                "label": "download-wheel-button",
            }
            group["buttons"].insert(1, button)


def setup(app: Sphinx) -> None:
    wheel = _Wheel()
    app.connect("builder-inited", wheel.start)
    app.connect("build-finished", wheel.finish)
    app.connect("html-page-context", _button, priority=510)  # after the theme's buttons
