"""Write constraints.txt: the exact versions of the dependencies of the pinned packages.

    python tools/lock.py

Run it in a fresh environment in which requirements.txt is installed and the tests pass. The
pins in requirements.txt are chosen by hand; these are the versions installed with them.

``uv pip compile`` was tried instead. It writes the same pins, and 19 more for CUDA, which the CPU
build of torch does not need. It asks the registry for the newest versions of the day; this
records, without a network, the versions with which the tests have passed.
"""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "constraints.txt"
PINNED = re.compile(r"^([\w.-]+)==(\S+)$", re.MULTILINE)
HEAD = "# Written by tools/lock.py: what the packages in requirements.txt bring with them.\n"


def chosen() -> dict[str, str]:
    """Return the pins of requirements.txt: name -> version."""
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    return {canonicalize_name(name): version for name, version in PINNED.findall(text)}


def brought() -> dict[str, str]:
    """Return the installed version of each dependency of the chosen packages on this machine."""
    found: dict[str, str] = {}
    waiting = [Requirement(name) for name in chosen()]
    seen: set[tuple[str, str]] = set()
    while waiting:
        needed = waiting.pop()
        name = canonicalize_name(needed.name)
        found[name] = metadata.version(name)
        for extra in ["", *needed.extras]:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for line in metadata.requires(name) or []:
                one = Requirement(line)
                if one.marker is None or one.marker.evaluate({"extra": extra}):
                    waiting.append(one)
    return {name: version for name, version in sorted(found.items()) if name not in chosen()}


def text() -> str:
    return HEAD + "".join(f"{name}=={version}\n" for name, version in brought().items())


if __name__ == "__main__":
    LOCK.write_text(text(), encoding="utf-8", newline="\n")
