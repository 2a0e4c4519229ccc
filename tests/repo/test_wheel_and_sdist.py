"""The wheel and the source archive: what they hold, and what their metadata say."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest
from booksite import wheel

import attention_core

ROOT = Path(__file__).parents[2]
BACKEND = "from setuptools import build_meta as backend; backend.build_{}('dist')"


def make(kind, folder):
    command = [sys.executable, "-c", BACKEND.format(kind)]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """Build the source archive from the working tree, and the wheel from the archive."""
    folder = tmp_path_factory.mktemp("package")
    for part in ("MANIFEST.in", "attention_core", "tests", *wheel._PARTS):
        source = ROOT / part
        if source.is_dir():
            left = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / part, dirs_exist_ok=True, ignore=left)
        else:
            shutil.copyfile(source, folder / part)
    make("sdist", folder)
    (archive,) = (folder / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    unpacked = folder / archive.name.removesuffix(".tar.gz")
    make("wheel", unpacked)
    shutil.copyfile(unpacked / "dist" / wheel.name_of(ROOT), folder / "dist" / wheel.name_of(ROOT))
    return folder / "dist"


@pytest.fixture(scope="module")
def files(dist):
    with zipfile.ZipFile(dist / wheel.name_of(ROOT)) as file:
        return {name: file.read(name) for name in file.namelist()}


@pytest.fixture(scope="module")
def about(files):
    (text,) = (data for name, data in files.items() if name.endswith("dist-info/METADATA"))
    return BytesParser().parsebytes(text)


def test_the_wheel_holds_the_package_and_its_licence_and_nothing_else(files):
    own = [path for path in (ROOT / "attention_core").rglob("*") if path.is_file()]
    expected = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for path in own
        if "__pycache__" not in path.parts
    }
    assert {path.suffix for path in own} >= {".css", ".js", ".json", ".pt", ".py"}
    inside = {name: data for name, data in files.items() if ".dist-info/" not in name}
    assert inside == expected
    (licence,) = (data for name, data in files.items() if name.endswith("/licenses/LICENSE"))
    assert licence == (ROOT / "LICENSE").read_bytes()
    # The published numbers are under a licence of their own.
    name = "attention_core/data/LICENSE-APACHE-2.0.txt"
    (apache,) = (data for path, data in files.items() if path.endswith(f"/licenses/{name}"))
    assert apache == files[name]
    assert apache.decode().split()[:5] == ["Apache", "License", "Version", "2.0,", "January"]
    assert b"Apache-2.0 (LICENSE-APACHE-2.0.txt)" in files["attention_core/data/published.json"]


def test_the_source_archive_holds_what_the_wheel_needs_and_no_tests(dist):
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = [name.partition("/")[2] for name in file.getnames()]
    assert {"README.md", "LICENSE", "pyproject.toml", "attention_core/widgets/live.css"} <= {*names}
    assert not [name for name in names if name.startswith("tests")]


def test_the_wheel_of_the_site_is_reproducible_and_holds_the_same_files(files, tmp_path):
    made = []
    for name in ("one", "two"):
        wheel.build(ROOT, tmp_path / name).communicate()
        made.append((tmp_path / name / "dist" / wheel.name_of(ROOT)).read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "one" / "dist" / wheel.name_of(ROOT)) as file:
        assert {name for name in file.namelist()} == set(files)


def test_the_metadata_are_complete_and_name_no_url(about):
    assert (about["Name"], about["License-Expression"]) == (
        "attention-core",
        "MIT AND Apache-2.0",
    )
    assert about["Description-Content-Type"] == "text/markdown"
    readme = about.get_payload(decode=True).decode("utf-8")
    assert readme.strip() == (ROOT / "README.md").read_text("utf-8").strip()
    assert about.get_all("Project-URL") is None
    assert about["Home-page"] is None


def test_the_version_is_written_once_and_known_everywhere(about):
    """In the package, its metadata, the name of its wheel, the citation and the changelog."""
    version = attention_core.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert about["Version"] == version
    assert wheel.name_of(ROOT) == f"attention_core-{version}-py3-none-any.whl"
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [version]
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## (\S+)", changelog, re.MULTILINE)[0] == version


def test_a_source_tree_reports_its_own_version_and_not_the_installed_one(tmp_path):
    shutil.copytree(ROOT / "attention_core", tmp_path / "attention_core")
    path = tmp_path / "attention_core" / "__init__.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(attention_core.__version__, "9.8.7"), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-c", "import attention_core; print(attention_core.__version__)"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, check=True,
        capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert run.stdout.strip() == "9.8.7"


def test_requirements_have_lower_bounds_and_only_torch_is_always_needed(about):
    needs = about.get_all("Requires-Dist")
    assert [need for need in needs if "extra ==" not in need] == ["torch>=2.2"]
    assert all(re.match(r"[\w-]+>=[\d.]+(;|$)", need) for need in needs)


def test_the_first_cell_of_a_chapter_installs_the_packages_of_the_extras(about):
    from first_cell import SOURCE

    (listed,) = re.findall(r"need = (\[\".*\"\])", SOURCE)
    extras = [n.partition(">=")[0] for n in about.get_all("Requires-Dist") if "extra ==" in n]
    assert eval(listed) == sorted(extras)


def test_the_package_imports_with_torch_alone(dist, tmp_path):
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    target = tmp_path / "installed"
    command = [*install, "--target", target, dist / wheel.name_of(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    code = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("matplotlib", "seaborn", "anywidget", "ipywidgets", "PIL"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
sys.path.insert(0, {str(target)!r})
import attention_core, pkgutil
pictures = ("diagram", "dot_products", "plotting", "sketches", "widgets")
for module in pkgutil.iter_modules(attention_core.__path__):
    if module.name not in (*pictures, "train", "data"):
        __import__("attention_core." + module.name)
from attention_core.training import load_trained
print(attention_core.__file__)
"""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8"
    )
    assert run.returncode == 0, run.stderr
    assert Path(run.stdout.strip()).parent == target / "attention_core"


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_every_supported_python_compiles_the_package(dist, tmp_path, version):
    python = shutil.which(f"python{version}")
    if not python or subprocess.run([python, "-c", "0"], capture_output=True).returncode:
        pytest.skip(f"Python {version} is not here")
    with zipfile.ZipFile(dist / wheel.name_of(ROOT)) as file:
        file.extractall(tmp_path)
    run = subprocess.run(
        [python, "-W", "error", "-m", "compileall", "-q", "attention_core"],
        cwd=tmp_path, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert run.returncode == 0, run.stdout


def test_the_classifiers_name_the_supported_pythons(about):
    listed = [c.rpartition(" ")[2] for c in about.get_all("Classifier") if "Python :: 3." in c]
    assert listed == ["3.10", "3.11", "3.12", "3.13"]
    assert about["Requires-Python"] == f">={listed[0]}"
