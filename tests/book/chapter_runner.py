"""Run the code cells of a chapter in this process, then restore the state of the process."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import torch
from chapter_form import read


@dataclass
class Ran:
    """The state of a chapter after its last cell."""

    namespace: dict[str, Any]
    #: tag -> what the cell printed and its last value, as one text
    shown: dict[str, str] = field(default_factory=dict)

    @property
    def exercises(self) -> list[int]:
        return sorted(int(tag.split("-")[1]) for tag in self.shown if tag.startswith("exercise-"))

    def verdict(self, number: int, answer: Any) -> str:
        return str(self.namespace[f"check_{number}"](answer))


@contextlib.contextmanager
def unchanged_settings(folder: Path) -> Iterator[None]:
    """Restore what chapters set (default dtype, print options, style, seeds) after the block."""
    options = vars(torch._tensor_str.PRINT_OPTS).copy()
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    grad = torch.is_grad_enabled()
    deterministic = torch.are_deterministic_algorithms_enabled()
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()  # noqa: NPY002
    here = Path.cwd()
    mpl.use("Agg")  # for good: no test opens a window
    with mpl.rc_context(), np.printoptions(), warnings.catch_warnings():
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(here)
            plt.close("all")
            vars(torch._tensor_str.PRINT_OPTS).update(options)
            torch.set_default_dtype(dtype)
            torch.set_num_threads(threads)
            torch.set_grad_enabled(grad)
            torch.use_deterministic_algorithms(deterministic)
            torch.set_rng_state(states[0])
            random.setstate(states[1])
            np.random.set_state(states[2])  # noqa: NPY002


def run(path: Path) -> Ran:
    """Run all code cells in order; only a cell tagged raises-exception may raise.

    Cells tagged trains-live are left out: they take long, nbval runs them, and no exercise
    may need what they make.
    """
    ran = Ran({"__name__": "__main__"})
    for cell in read(path).cells:
        if cell.cell_type != "code":
            continue
        tags = cell.metadata.get("tags", [])
        if "trains-live" in tags:
            continue
        may_raise = (Exception,) if "raises-exception" in tags else ()
        printed, ignored = io.StringIO(), io.StringIO()
        value = None
        # Outside a kernel IPython's display prints its argument: pictures too are caught.
        with (
            contextlib.suppress(*may_raise),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(ignored),
        ):
            value = _run_cell(cell.source, f"{path.name}, cell {cell.get('id')}", ran.namespace)
        plt.close("all")
        for tag in tags:
            ran.shown[tag] = f"{printed.getvalue()}{'' if value is None else value}"
    return ran


def _run_cell(source: str, name: str, namespace: dict[str, Any]) -> Any:
    """Return the value of the last expression of a cell, or None if it ends in a statement."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)
    if last is None:
        return None
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace)
