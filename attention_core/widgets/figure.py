"""What all live figures share: their state and numbers, and a table for readers without
JavaScript.

A figure is written twice, as a Python class and as a JavaScript module of the same name.
Both turn the same state into the same numbers, Python by `attention_core`; tests compare
them. In Jupyter the two talk through `anywidget`. On a page without a kernel the module
runs alone, from the state that the stored output carries.
"""

import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import anywidget
from torch import Tensor

from attention_core.widgets import bundle

HERE = Path(__file__).parent
#: Nested dicts and lists of numbers, by the names under which a figure shows them.
Numbers = dict[str, Any]
#: What to do where two traits must change at the same moment.
TOGETHER = "; change both inside `with figure.hold_trait_notifications():`"


def script_of(name: str) -> str:
    """Return the ES module of a figure with all that it imports, as one text."""
    return bundle.module(HERE / f"{name}.js")


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def number_text(value: float, digits: int = 4) -> str:
    """A number as figures show it: fixed decimals, and zero without a sign.

    >>> number_text(-0.00001), number_text(2.5, digits=1), number_text(float("-inf"))
    ('0.0000', '2.5', '−∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def script_json(value: Any) -> str:
    """Write plain data as JSON that can stand inside a script element.

    Where HTML reads a script, no entity counts, and a text with ``</script>`` or ``<!--`` would
    end or swallow it. As ``\\u003c`` a ``<`` means the same to JSON and nothing to HTML.

    >>> print(script_json({"words": ["</script>"]}))
    {"words": ["\\u003c/script>"]}
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    return text.replace("<", "\\u003c")


_CHINESE = re.compile("[\u3007\u3400-\u9fff\uff00-\uffef]+")


def _marked(text: str) -> str:
    """Text for HTML; Chinese words get their language, so that they get font and voice."""
    return _CHINESE.sub(r'<span lang="zh">\g<0></span>', html.escape(text))


class Table:
    """The plain form of a figure: what a reader sees where scripts do not run.

    Args:
        caption: what the numbers are
        columns: heads of the columns, that of the labels first
        rows: a label, then numbers or texts

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
            return "".join(f"<{tag}{scope}>{_marked(text)}</{tag}>" for text in texts)

        head = f"<tr>{cells('th', self.columns, ' scope=col')}</tr>"
        body = "".join(
            f"<tr>{cells('th', row[:1], ' scope=row')}{cells('td', row[1:])}</tr>"
            for row in self.rows
        )
        caption = f"<caption>{_marked(self.caption)}</caption>"
        return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


class LiveFigure(anywidget.AnyWidget):
    """A figure that answers at once, in Jupyter and on a page without a kernel.

    A subclass names its module, defines traits with ``sync=True`` as its state, and says
    which numbers it shows and how they look as a table. Reading a trait gives what the
    reader has set with the mouse; setting it moves the figure.
    """

    #: Name of the module beside this file, without ``.js``.
    module: ClassVar[str] = ""
    #: About how high it is on a wide page and on a phone, in pixels: kept free in advance.
    heights: ClassVar[tuple[int, int]] = (320, 420)

    _css = _read("live.css")

    def __init_subclass__(cls, **options: Any) -> None:
        # anywidget makes a class of its own for each figure, with _esm as a trait.
        if cls.module and "_esm" not in vars(cls):
            cls._esm = script_of(cls.module)
        super().__init_subclass__(**options)

    def numbers(self) -> Numbers:
        """All that the figure shows, computed by `attention_core` from its traits."""
        raise NotImplementedError

    def table(self) -> Table:
        """The same for readers without JavaScript."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """The traits that the page reads and writes, as plain data."""
        return {
            name: _plain(getattr(self, name))
            for name in sorted(self.traits(sync=True))
            if not name.startswith("_") and name not in _OWN
        }

    def __repr__(self) -> str:
        # What nbval compares: no address, nothing that differs from run to run.
        return f"{type(self).__name__}()"

    def static_html(self) -> str:
        """The stored form: the state for the script, the table for everyone else."""
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
    """Every number by its path, as the page names it.

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
