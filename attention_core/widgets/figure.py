"""The base class of live figures: their state, their numbers, and a table without JavaScript.

A figure is written twice, as a Python class and as a JavaScript module of the same name.
Both compute the same numbers from the same state, Python with `attention_core`; tests compare
them. In Jupyter, `anywidget` keeps the two in step. On a page without a kernel the module runs
alone, from the state in the stored output.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import anywidget
from torch import Tensor

from attention_core._html import marked, script_json
from attention_core.widgets import bundle

HERE = Path(__file__).parent
#: Nested dicts and lists of numbers; the keys are the names that the JavaScript module uses.
Numbers = dict[str, Any]
#: The end of an error message, for traits that must change together.
TOGETHER = "; change both inside `with figure.hold_trait_notifications():`"


def script_of(name: str) -> str:
    """Return the ES module of a figure, bundled with all that it imports."""
    return bundle.module(HERE / f"{name}.js")


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def number_text(value: float, digits: int = 4) -> str:
    """Format a number as figures show it: fixed decimals, and zero without a sign.

    >>> number_text(-0.00001), number_text(2.5, digits=1), number_text(float("-inf"))
    ('0.0000', '2.5', '−∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


class Table:
    """The table that stands for a figure where scripts do not run.

    Args:
        caption: what the numbers are
        columns: the column headers, that of the labels first
        rows: for each row a label, then numbers or strings

    >>> Table("Scores", ["", "score"], [["Your", 0.9544]]).rows
    [['Your', '0.9544']]
    """

    def __init__(self, caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.caption, self.columns = caption, list(columns)
        self.rows = [
            [number_text(cell) if isinstance(cell, float) else str(cell) for cell in row]
            for row in rows
        ]

    def html(self) -> str:
        def cells(tag: str, texts: Sequence[str], scope: str = "") -> str:
            return "".join(f"<{tag}{scope}>{marked(text)}</{tag}>" for text in texts)

        head = f"<tr>{cells('th', self.columns, ' scope=col')}</tr>"
        body = "".join(
            f"<tr>{cells('th', row[:1], ' scope=row')}{cells('td', row[1:])}</tr>"
            for row in self.rows
        )
        caption = f"<caption>{marked(self.caption)}</caption>"
        return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


class LiveFigure(anywidget.AnyWidget):
    """An interactive figure, in Jupyter and on a page without a kernel.

    A subclass names its JavaScript module, defines its state as traits with ``sync=True``, and
    implements `numbers` and `table`. Reading a trait returns what the reader has set in the
    figure; setting it updates the figure.
    """

    #: Name of the JavaScript module in this folder, without ``.js``.
    module: ClassVar[str] = ""
    #: Approximate height on a wide page and on a phone, in pixels; the page reserves it.
    heights: ClassVar[tuple[int, int]] = (320, 420)

    _css = _read("live.css")

    def __init_subclass__(cls, **options: Any) -> None:
        # For each instance anywidget makes another subclass, with _esm as a trait.
        if cls.module and "_esm" not in vars(cls):
            cls._esm = script_of(cls.module)
        super().__init_subclass__(**options)

    def numbers(self) -> Numbers:
        """Return all that the figure shows, computed from its traits with `attention_core`."""
        raise NotImplementedError

    def table(self) -> Table:
        """Return the table for readers without JavaScript."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return the traits that the page reads and writes, as plain data."""
        return {
            name: _plain(getattr(self, name))
            for name in sorted(self.traits(sync=True))
            if not name.startswith("_") and name not in _OWN
        }

    def __repr__(self) -> str:
        # nbval compares this text, so it must not change between runs: no address.
        return f"{type(self).__name__}()"

    def static_html(self) -> str:
        """Return the stored HTML: the state for the script, the table for readers without it."""
        wide, narrow = self.heights
        return (
            f'<div class="live" data-live="{self.module}" '
            f'style="--wide:{wide}px;--narrow:{narrow}px">'
            f'<script type="application/json">{script_json(self.state())}</script>'
            f"{self.table().html()}</div>"
        )

    def _repr_mimebundle_(self, **options: Any) -> Any:
        made = super()._repr_mimebundle_(**options)
        data, metadata = made if isinstance(made, tuple) else (made, {})
        data = dict(cast(Mapping[str, Any], data or {}))
        data["text/html"] = self.static_html()
        data["text/plain"] = repr(self)
        return data, metadata


_OWN = {"layout", "tabbable", "tooltip", "comm", "keys"}


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def flatten(numbers: Any, prefix: str = "") -> dict[str, float]:
    """Return every number by its path, in the form of ``data-key`` on the page.

    >>> flatten({"weights": [[0.5]], "dot": 2.0})
    {'weights.0.0': 0.5, 'dot': 2.0}
    """
    if isinstance(numbers, Tensor):
        numbers = numbers.tolist()
    if isinstance(numbers, Mapping):
        items: Any = numbers.items()
    elif isinstance(numbers, (list, tuple)):
        items = enumerate(numbers)
    else:
        return {prefix: float(numbers)}
    flat: dict[str, float] = {}
    for key, value in items:
        flat |= flatten(value, f"{prefix}.{key}" if prefix else str(key))
    return flat
