"""Tables of published numbers that the chapters show; they need no weights.

``tools/published_tables.py`` of the book's repository computes them from the weights.
"""

import base64
import json
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

__all__ = ["load_table", "tables"]


def tables() -> dict[str, str]:
    """Return what each table of published numbers holds, by its name.

    Source: the models' names, licences and digests stand in the file itself,
        ``attention_core/data/published.json``.

    >>> tables()["words"]
    'Vectors of 43 words from the embedding, before any norm.'
    """
    return {name: table["what"] for name, table in _read()["tables"].items()}


def load_table(name: str) -> dict[str, Any]:
    """Return a table of published numbers; arrays become tensors of float64.

    ``what`` says what the table holds, ``from`` names the model, and ``sources`` gives the
    model's licence and the digest of the file from which the table was computed.

    Args:
        name: one of `tables`

    Raises:
        ValueError: there is no such table
        TypeError: name is not a str

    >>> words = load_table("words")
    >>> day = words["vectors"][words["names"].index("monday")]
    >>> f"{day @ day:.4f}"
    '1.5066'
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, got {type(name).__name__} {name!r}")
    known = _read()
    if name not in known["tables"]:
        raise ValueError(f"name must be one of {', '.join(known['tables'])}, got {name!r}")
    table: dict[str, Any] = _with_tensors(known["tables"][name])
    table["sources"] = [
        dict(source) for model, source in known["sources"].items() if model in table["from"]
    ]
    return table


@cache
def _read() -> dict[str, Any]:
    text = (files("attention_core") / "data" / "published.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _with_tensors(entry: Any) -> Any:
    """Copy an entry, with tensors for its arrays."""
    if isinstance(entry, list):
        return [_with_tensors(item) for item in entry]
    if not isinstance(entry, dict):
        return entry
    if entry.keys() == {"shape", "float32"}:
        return _exact(entry)
    if entry.keys() == {"numbers"}:
        return torch.tensor(entry["numbers"], dtype=torch.float64)
    return {key: _with_tensors(item) for key, item in entry.items()}


def _exact(entry: dict[str, Any]) -> Tensor:
    raw = bytearray(base64.b64decode(entry["float32"]))
    return torch.frombuffer(raw, dtype=torch.float32).reshape(entry["shape"]).double()
