"""Make nbval verify everything a chapter shows.

nbval runs each code cell and compares its text with the stored text. What it would pass
without a word is closed here, in the same run, or by the lint of ``test_chapters.py``:

=====================================================  ===============================
nbval lets pass                                        closed by
=====================================================  ===============================
another picture; another size, width or alt text       ``_compare_pictures``
a deleted or an added picture                          ``_shape`` of the outputs
outputs of different kinds that changed places         ``_shape`` of the outputs
a cell that was never run                              ``runtest``
NBVAL_SKIP, NBVAL_IGNORE_OUTPUT and their tags         ``runtest``, and lint
``raises-exception`` on a cell that raises nothing     ``compare_outputs``
changed metadata of an output                          ``_compare_metadata``
traceback text                                         lint: it is one line, made from
                                                       the name and message compared
stored widget state, model ids, JPEG pictures          lint: not stored at all
``display_id`` updates, ``clear_output``               lint: not used
numbers in Markdown cells                              ``test_prose.py``
=====================================================  ===============================

Text that a dependency writes to stderr while a cell runs (a new deprecation warning, say)
is no fault of the chapter: it is reported at the end of the run and fails nothing.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from chapter_form import WIDGET_VIEW, code_cells, output_metadata, pictures
from chapter_pictures import describe_difference, save_pair
from nbval.plugin import IPyNbCell, IPyNbFile
from real_weights import require_weights_for
from run_chapters import kernel_environment

STDERR = "chapter stderr"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[Any], list[Any]]:
    """Put our collector in the place of nbval's, which stays in charge of the options."""
    found = yield
    return [
        Chapter.from_parent(node.parent, path=node.path) if type(node) is IPyNbFile else node
        for node in found
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = [
        text
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, text in report.user_properties
        if name == STDERR
    ]
    if lines:
        terminalreporter.section("chapters wrote to stderr", yellow=True)
        for line in lines:
            terminalreporter.write_line(line)


class Chapter(IPyNbFile):
    def setup(self) -> None:
        # Before the kernel starts. Each cell is then skipped, or fails, for this reason.
        require_weights_for(*code_cells(self.path))
        with mock.patch.dict(os.environ, kernel_environment(), clear=True):
            super().setup()

    def collect(self) -> Iterator[ChapterCell]:
        for item in super().collect():
            yield ChapterCell.from_parent(
                self, name=item.name, cell_num=item.cell_num, cell=item.cell, options=item.options
            )


class ChapterCell(IPyNbCell):
    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"{self._file()}::Cell {self.cell_num}"

    def _file(self) -> str:
        path, root = self.path, self.config.rootpath
        return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()

    def raise_cell_error(self, message: str, *args: Any, **kwargs: Any) -> None:
        place = f"{self._file()}, code cell {self.cell_num} (id {self.cell.get('id')})"
        super().raise_cell_error(f"{place}: {message}", *args, **kwargs)

    def runtest(self) -> None:
        lax = self.config.option.nbval_lax
        if self.options["skip"] or not (self.options["check"] or lax):
            self.raise_cell_error(
                "its outputs are excluded from comparison, which no chapter may do"
            )
        if self.cell.source.strip() and self.cell.execution_count is None:
            self.raise_cell_error(
                "it was never run; run tools/run_chapters.py and commit the result"
            )
        super().runtest()

    def compare_outputs(self, test: list[Any], ref: list[Any], skip_compare: Any = None) -> bool:
        """nbval's comparison of texts, then ours; differences go to comparison_traceback."""
        self._note_stderr(test)
        test = [out for out in test if out.get("name") != "stderr"]
        if not super().compare_outputs(test, ref, skip_compare):
            return False
        problem = (
            self._compare_error(test)
            or self._compare_shape(test, ref)
            or self._compare_metadata(test, ref)
            or self._compare_pictures(test, ref)
        )
        self.comparison_traceback = [problem]
        return not problem

    def _note_stderr(self, outputs: list[Any]) -> None:
        text = "".join(out.text for out in outputs if out.get("name") == "stderr").strip()
        if text:
            note = f"{self._file()}, code cell {self.cell_num}: {text.splitlines()[0]}"
            self.user_properties.append((STDERR, note))

    def _compare_error(self, test: list[Any]) -> str:
        raised = any(out.output_type == "error" for out in test)
        if self.options["check_exception"] and not raised:
            return "the cell is tagged raises-exception, but raised nothing"
        return ""

    def _compare_shape(self, test: list[Any], ref: list[Any]) -> str:
        stored, new = [_shape(out) for out in ref], [_shape(out) for out in test]
        if stored == new:
            return ""
        return f"stored outputs, in order: {stored}\nnew outputs, in order:    {new}"

    def _compare_metadata(self, test: list[Any], ref: list[Any]) -> str:
        for number, (new, stored) in enumerate(zip(test, ref, strict=True)):
            if "data" in new and output_metadata(new) != output_metadata(stored):
                return (
                    f"metadata of output {number} differ\n"
                    f"stored: {output_metadata(stored)}\nnew:    {output_metadata(new)}"
                )
        return ""

    def _compare_pictures(self, test: list[Any], ref: list[Any]) -> str:
        pairs = zip(pictures(test), pictures(ref), strict=True)
        for number, (new, stored) in enumerate(pairs, start=1):
            a, b = (base64.b64decode(out.data["image/png"]) for out in (stored, new))
            if difference := describe_difference(a, b):
                folder = save_pair(a, b, self.path.stem)
                return f"picture {number} of this cell differs: {difference}\nsee {folder}"
        return ""


def _shape(output: Any) -> str:
    """The kind of an output without its content."""
    if output.output_type == "stream":
        return str(output.name)
    kinds = sorted(set(output.get("data", {})) - {WIDGET_VIEW})
    return " ".join([output.output_type, *kinds])
