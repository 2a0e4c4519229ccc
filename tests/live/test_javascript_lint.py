"""The JavaScript lint covers every script, and its lock file names no registry."""

from __future__ import annotations

import json
import shutil
import subprocess

import lint_javascript
import pytest


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=lint_javascript.ROOT, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    return [name for name in listed.stdout.split("\0") if name]


def test_every_script_of_the_repository_is_checked():
    scripts = [name for name in tracked() if name.endswith((".js", ".mjs", ".ts"))]
    assert len(scripts) > 20
    outside = [
        name
        for name in scripts
        if not name.startswith(tuple(f"{f}/" for f in lint_javascript.FOLDERS))
    ]
    assert not outside
    config = json.loads((lint_javascript.HOME / "tsconfig.json").read_text(encoding="utf-8"))
    typed = {path.removeprefix("../../").split("*")[0] for path in config["include"]}
    assert {f"{folder}/" for folder in lint_javascript.FOLDERS} == typed


def test_the_lock_file_pins_every_package_by_hash_and_names_no_registry():
    text = (lint_javascript.HOME / "package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(text)["packages"]
    wanted = json.loads((lint_javascript.HOME / "package.json").read_text(encoding="utf-8"))
    assert packages.pop("")["devDependencies"] == wanted["devDependencies"]
    assert packages.keys() >= {f"node_modules/{name}" for name in wanted["devDependencies"]}
    for name, package in packages.items():
        assert package["integrity"].startswith("sha512-"), name
        assert "resolved" not in package, name


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("export const a = 1;\n", None),
        ("export const a = 1\n", "format"),
        ("const unused = 1;\nexport const a = 1;\n", "noUnusedVariables"),
        ('/** @type {number} */\nexport const a = "one";\n', "TS2322"),
    ],
)
def test_a_fault_is_found(tmp_path, monkeypatch, capfd, text, complaint):
    """The formatter, the linter and the type checker each find a fault of their kind."""
    modules = lint_javascript.HOME / "node_modules"
    if not modules.is_dir():
        pytest.skip("python tools/lint_javascript.py has not installed the checkers yet")
    home = tmp_path / "tools" / "javascript"
    shutil.copytree(
        lint_javascript.HOME, home, ignore=shutil.ignore_patterns("node_modules"), symlinks=True
    )
    (home / "node_modules").symlink_to(modules, target_is_directory=True)
    for folder in (*lint_javascript.FOLDERS, "attention_core/widgets/shared"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / "attention_core" / "widgets" / "shared" / "a.js").write_text(text, encoding="utf-8")
    monkeypatch.setattr(lint_javascript, "ROOT", tmp_path)
    monkeypatch.setattr(lint_javascript, "HOME", home)
    assert lint_javascript.main(fix=False) == int(complaint is not None)
    if complaint:
        read = capfd.readouterr()
        assert complaint in read.out + read.err
