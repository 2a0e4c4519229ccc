"""Workflows, Dependabot and templates: valid, with few permissions, true to README."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
FILES = sorted((GITHUB / "workflows").glob("*.yml"))
TEXT = {path.stem: path.read_text(encoding="utf-8") for path in FILES}
FLOWS = {name: yaml.safe_load(text) for name, text in TEXT.items()}
STEPS = [
    (name, job, step)
    for name, flow in FLOWS.items()
    for job, content in flow["jobs"].items()
    for step in content["steps"]
]


def validate(*paths, schema="vendor.github-workflows"):
    """Check files against a schema that comes with the tool, so that nothing is fetched."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    return subprocess.run([*command, *paths], capture_output=True, encoding="utf-8")


def test_the_workflows_match_their_schema(tmp_path):
    assert [path.stem for path in FILES] == ["deploy", "test"]
    result = validate(*FILES)
    assert result.returncode == 0, result.stdout + result.stderr
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(TEXT["test"].replace("runs-on:", "run-on:"), encoding="utf-8")
    assert "'runs-on' is a required property" in validate(wrong).stdout


def test_every_action_is_pinned_by_a_full_hash_that_names_its_version():
    for text in TEXT.values():
        for line in re.findall(r"uses: .*", text):
            assert re.fullmatch(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    pins = {pin for text in TEXT.values() for pin in re.findall(r"uses: (\S+)@(\S+)", text)}
    assert len({action for action, _ in pins}) == len(pins)  # the same everywhere


def test_each_job_has_only_the_permissions_that_it_needs():
    assert FLOWS["test"]["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in FLOWS["test"]["jobs"].values())
    assert FLOWS["deploy"]["permissions"] == {}
    allowed = {name: job["permissions"] for name, job in FLOWS["deploy"]["jobs"].items()}
    assert allowed == {
        "build": {"contents": "read", "pages": "read"},
        "notebooks": {"contents": "write"},
        "deploy": {"pages": "write", "id-token": "write"},
    }
    for _, _, step in STEPS:
        if "actions/checkout@" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False
        # Text that strangers can choose, such as the name of a branch, is never part of a command.
        assert not re.search(r"\$\{\{(?!\s*matrix\.)", step.get("run", ""))


def test_every_job_has_a_time_limit_and_a_named_system():
    for flow in FLOWS.values():
        for job in flow["jobs"].values():
            assert job["timeout-minutes"] <= 120
            systems = [job["runs-on"]]
            if systems == ["${{ matrix.system }}"]:
                systems = job["strategy"]["matrix"]["system"]
            for system in systems:
                assert re.fullmatch(r"ubuntu-\d\d\.\d\d|windows-\d{4}|macos-\d\d", system)


def test_the_workflows_use_the_pins_and_commands_of_the_book():
    pin = re.search(r"^torch==\S+$", (ROOT / "requirements.txt").read_text("utf-8"), re.M)[0]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (small,) = re.findall(r"^python -m (pip install torch==.*)$", readme, re.MULTILINE)
    for name, job in (("test", "book"), ("deploy", "build")):
        runs = [step.get("run", "") for n, j, step in STEPS if (n, j) == (name, job)]
        assert pin in small
        assert any(small in run for run in runs)
        for run in runs:
            for target in re.findall(r"^make (\w+)$", run, re.MULTILINE):
                assert f"\n{target}:" in makefile
    assert {f"make {target}" for target in ("book", "test", "digits")} <= {
        step.get("run") for _, job, step in STEPS if job == "book"
    }
    assert "make lint" in [step.get("run") for _, job, step in STEPS if job == "lint"]
    assert "jupyter-book build . -W -n --keep-going" in [step.get("run") for *_, step in STEPS]


def test_whatever_runs_the_chapters_requires_the_weights():
    runs = [
        step.get("env", {}).get("REQUIRE_WEIGHTS")
        for *_, step in STEPS
        if re.match(r"make (test|digits)", step.get("run", ""))
    ]
    assert runs == ["1"] * 3
    assert "REQUIRE_WEIGHTS=1\n\nmake check" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_ci_tests_the_oldest_torch_and_the_oldest_and_newest_python():
    ends = FLOWS["test"]["jobs"]["package"]["strategy"]["matrix"]["include"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    oldest = re.search(r'dependencies = \["torch>=([\d.]+)"\]', project)[1]
    assert ends[0]["torch"].startswith(f"torch=={oldest}.")
    pythons = re.findall(r"Python :: (3\.\d+)", project)
    assert [end["python"] for end in ends] == [pythons[0], pythons[-1]]


def test_ci_runs_every_test_file_of_the_package_against_the_installed_wheel(tmp_path):
    """The command of the workflow finds all test files of the folder, and the helpers."""
    (step,) = [step for *_, step in STEPS if step.get("name") == "Test what is installed"]
    python, *arguments = step["run"].split()
    assert python == "python"
    listed = subprocess.run(
        [sys.executable, *arguments, "--collect-only", "-q"],
        cwd=ROOT / step["working-directory"], capture_output=True, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # instead of an installed wheel
    )  # fmt: skip
    assert listed.returncode == 0, listed.stdout + listed.stderr
    collected = set(re.findall(r"^package/(test_\w+\.py)", listed.stdout, re.MULTILINE))
    assert collected == {path.name for path in (ROOT / "tests" / "package").glob("test_*.py")}


def test_windows_and_macos_run_the_plain_commands_of_readme():
    job = FLOWS["test"]["jobs"]["systems"]
    runs = [step["run"] for step in job["steps"] if "run" in step]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (tests,) = [run for run in runs if "pytest" in run]
    assert tests.startswith("python -m pytest -n 2 tests/package ")
    for plain in {*runs} - {tests} | {"python -m pytest -n 2"}:
        assert f"`{plain}`" in readme
    assert {system.partition("-")[0] for system in job["strategy"]["matrix"]["system"]} == {
        "windows",
        "macos",
    }
    assert job["env"] == {"PYTHONUTF8": "1"}
    assert "set `PYTHONUTF8=1` before you build" in readme


DEPENDABOT = yaml.safe_load((GITHUB / "dependabot.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("schema", "pattern", "break_it"),
    [
        ("dependabot", "dependabot.yml", ("interval: weekly", "interval: sometimes")),
        ("github-issue-config", "ISSUE_TEMPLATE/config.yml", ("true", "perhaps")),
        ("github-issue-forms", "ISSUE_TEMPLATE/[!c]*.yml", ("type: textarea", "type: text")),
    ],
)
def test_the_settings_of_github_match_their_schema(tmp_path, schema, pattern, break_it):
    files = sorted(GITHUB.glob(pattern))
    assert files
    result = validate(*files, schema=f"vendor.{schema}")
    assert result.returncode == 0, result.stdout + result.stderr
    for file in files:
        wrong = tmp_path / file.name
        wrong.write_text(file.read_text(encoding="utf-8").replace(*break_it), encoding="utf-8")
        assert validate(wrong, schema=f"vendor.{schema}").returncode == 1


def test_dependabot_updates_every_kind_of_pin_weekly_and_in_groups():
    found = set()
    for update in DEPENDABOT["updates"]:
        folders = update.get("directories") or [update["directory"]]
        found |= {(update["package-ecosystem"], folder) for folder in folders}
        assert update["schedule"] == {"interval": "weekly"}
        assert update["groups"]
    node = [p.parent for p in ROOT.glob("*/*/package.json") if "node_modules" not in p.parts]
    assert found == {
        ("github-actions", "/"),
        *(("npm", f"/{folder.relative_to(ROOT).as_posix()}") for folder in node),
        *(
            ("pip", "/" if path.parent == ROOT else f"/{path.parent.name}")
            for path in [*ROOT.glob("requirements.txt"), *ROOT.glob(".*/requirements.txt")]
        ),
    }


def test_each_issue_form_asks_what_is_needed_to_answer():
    forms = {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
        for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml")
        if path.stem != "config"
    }
    required = {
        name: [f["id"] for f in form["body"] if f.get("validations", {}).get("required")]
        for name, form in forms.items()
    }
    assert required == {
        "book": ["page", "shown", "expected"],
        "package": ["code", "computed", "expected", "versions"],
        "suggestion": ["gain"],
    }


def test_the_pull_request_template_names_targets_that_exist():
    text = (GITHUB / "pull_request_template.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"`make (\w+)`", text)
    assert {"lint", "check", "chapters"} <= {*targets}
    for target in targets:
        assert f"\n{target}:" in makefile


def test_only_what_passed_the_tests_of_the_default_branch_is_published():
    start = FLOWS["deploy"][True]  # YAML reads the word "on" as true
    assert start["workflow_run"] == {"workflows": [FLOWS["test"]["name"]], "types": ["completed"]}
    assert set(start) == {"workflow_run", "workflow_dispatch"}
    build = FLOWS["deploy"]["jobs"]["build"]
    for condition in (
        "workflow_run.event == 'push'",
        "workflow_run.conclusion == 'success'",
        "workflow_run.head_branch == github.event.repository.default_branch",
    ):
        assert f"github.event.{condition}" in build["if"]
    by_hand = "workflow_dispatch' && github.ref_name == github.event.repository.default_branch)"
    assert by_hand in build["if"]
    (checkout,) = [step for step in build["steps"] if "actions/checkout@" in step.get("uses", "")]
    assert checkout["with"]["ref"] == "${{ github.event.workflow_run.head_sha || github.sha }}"


def test_the_notebooks_are_on_their_branch_before_a_page_links_to_them():
    jobs = FLOWS["deploy"]["jobs"]
    assert FLOWS["deploy"]["env"] == {"BOOK_NOTEBOOKS": "colab"}
    assert jobs["notebooks"]["needs"] == "build"
    assert jobs["deploy"]["needs"] == ["build", "notebooks"]
    kept, laid = [
        step["with"]["path"]
        for *_, step in STEPS
        if step.get("with", {}).get("name") == "notebooks"
    ]
    assert (kept, laid) == ("_build/html/_sources/chapters", "chapters")


@pytest.mark.skipif(not shutil.which("git"), reason="git is not here")
def test_the_job_for_the_notebooks_replaces_what_is_on_their_branch(tmp_path):
    """Run the commands of the job with a local folder in place of the repository."""
    (run,) = [step["run"] for *_, step in STEPS if "git push" in step.get("run", "")]
    far = tmp_path / "far.git"
    subprocess.run(["git", "init", "-q", "--bare", far], check=True)
    (tmp_path / "job" / "chapters").mkdir(parents=True)
    address = re.search(r'"https://.*?"', run)[0]
    script = run.replace(address, f'"{far}"')
    variables = {"BOOK_NOTEBOOKS": "colab", "GITHUB_ACTOR": "reader", "GITHUB_SHA": "0" * 40}
    for text in ("{}", "{ }"):  # the second time it replaces what is there
        (tmp_path / "job" / "chapters" / "01_one.ipynb").write_text(text, encoding="utf-8")
        shutil.rmtree(tmp_path / "job" / ".git", ignore_errors=True)
        subprocess.run(
            ["bash", "-e", "-c", script], cwd=tmp_path / "job", check=True, capture_output=True,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **variables},
        )  # fmt: skip
    tree = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "colab"], cwd=far, capture_output=True, text=True
    )
    assert tree.stdout == "chapters/01_one.ipynb\n"
