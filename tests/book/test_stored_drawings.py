"""The drawing that a chapter has stored is the one that it would draw today."""

from pathlib import Path

import pytest
import renew_drawings
from chapter_form import normalise, read

CHAPTERS = sorted((Path(__file__).parents[2] / "chapters").glob("*.ipynb"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_stored_drawing_is_up_to_date(path):
    cell = renew_drawings.drawing_cell(read(path))
    assert cell is not None
    assert cell.outputs == [renew_drawings.output_of(path)], "run tools/renew_drawings.py"


def test_renewing_writes_only_a_drawing_that_differs(tmp_path, monkeypatch, capsys):
    path = tmp_path / CHAPTERS[4].name
    path.write_bytes(CHAPTERS[4].read_bytes())
    monkeypatch.setattr(renew_drawings, "CHAPTERS", tmp_path)
    renew_drawings.main()
    assert path.read_bytes() == CHAPTERS[4].read_bytes()
    old = path.read_text(encoding="utf-8").replace("The mask is new.", "The mask was new.")
    path.write_text(old, encoding="utf-8", newline="\n")
    renew_drawings.main()
    assert path.read_bytes() == CHAPTERS[4].read_bytes()
    assert capsys.readouterr().out == f"{path.name}: renewed\n"
    assert normalise(read(path)) == read(path)
