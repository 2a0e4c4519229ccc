"""README and the front page agree with the repository."""

import re
from pathlib import Path

import book_face
import front_page
import pytest
from booksite.pages import image_size

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INDEX = (ROOT / "index.md").read_text(encoding="utf-8")


def test_the_picture_of_readme_is_the_drawing_and_says_what_it_shows():
    assert book_face.PICTURE.read_text(encoding="utf-8") == book_face.picture()
    assert front_page.with_picture(README) == README
    assert "Weights: " in book_face.description()
    assert "New here" not in book_face.description()
    with pytest.raises(ValueError, match=r"README must show _static/attention\.svg once, got 0"):
        front_page.with_picture("")


def test_the_icon_is_up_to_date():
    assert book_face.ICON.read_text(encoding="utf-8") == book_face.favicon()


def test_the_preview_picture_is_up_to_date():
    assert image_size(book_face.PREVIEW) == book_face.PREVIEW_SIZE
    assert book_face.source_of(book_face.PREVIEW) == book_face.digest()


def test_the_counts_in_readme_are_up_to_date():
    assert front_page.with_counts(README) == README
    with pytest.raises(ValueError, match="README must have this sentence once: On every change"):
        front_page.with_counts(README.replace("On every change", "Now and then"))


def test_each_make_target_in_readme_exists_and_runs_the_plain_command_beside_it():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipes = dict(re.findall(r"^(\w+):.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE))
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for target in re.findall(r"`make (\w+)", README + contributing):
        assert target in {*recipes, "check"}  # which has no recipe of its own
    for target, plain in [
        ("book", "jupyter-book build . -W -n --keep-going"),
        ("test", "python -m pytest -n 2"),
    ]:
        assert f"`{plain}`" in README
        assert recipes[target] == f"\t$(BIN){plain}\n"
    assert "$(BIN)python -m pip install --quiet -r requirements.txt" in makefile
    assert README.count("`python -m pip install -r requirements.txt`") == 2


def test_the_table_of_folders_names_every_subpackage_and_test_folder():
    table = README.partition("## What is where")[2].partition("\n\nTo change")[0]
    rows = dict(re.findall(r"^\| (`.*?`) \| (.*) \|$", table, re.MULTILINE))
    for name in re.findall(r"`([\w.]+)/`", "".join(rows)):
        assert (ROOT / name).is_dir()
    parts = {path.parent.name for path in ROOT.glob("attention_core/*/__init__.py")}
    assert parts <= {*re.findall(r"`(\w+)/`", rows["`attention_core/`"])}
    tests = {path.parent.name for path in ROOT.glob("tests/*/test_*.py")}
    assert tests <= {*re.findall(r"`(\w+)/`", rows["`tests/`"])}


def test_readme_pins_the_torch_of_the_requirements():
    pin = re.search(r"^torch==(\S+)$", (ROOT / "requirements.txt").read_text("utf-8"), re.M)
    assert f"pip install torch=={pin[1]} --index-url" in README


def test_the_code_in_readme_runs():
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names = {}
    exec(code, names)
    assert names["out"].shape == (2, 5, 8)


def test_the_front_page_links_to_every_chapter_in_order():
    section = INDEX.partition("## The map")[2].partition("##")[0]
    rows = re.findall(r"^(\d+)\. \[\]\((.+?)\)$", section, flags=re.MULTILINE)
    files = sorted((ROOT / "chapters").glob("*.ipynb"))
    assert [link for _, link in rows] == [f"chapters/{file.name}" for file in files]
    for number, link in rows:
        assert f"{int(number):02d}" == Path(link).name[:2]
    assert f"the map of its {len(files)} chapters" in README
