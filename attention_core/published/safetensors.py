"""Read the format safetensors: a table of contents in JSON, then plain numbers.

Nothing in such a file can run. Still the table is not trusted: every entry is checked before
it is used.
"""

import json
import math
import os
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

__all__ = ["read_safetensors"]

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


def read_safetensors(path: str | PathLike[str]) -> dict[str, Tensor]:
    """Read all tensors of a safetensors file, by name.

    The file begins with the length of the table in 8 bytes, lowest byte first. The table is
    JSON: for each name a dtype, a shape, and where its numbers begin and end. The numbers
    follow without a gap.

    Shape:
        returns: name -> tensor, each of the shape that the file gives

    Raises:
        ValueError: the file is of another kind, truncated or damaged; the message says where
        OSError: the file cannot be read

    Source: the description of the format, huggingface/safetensors. The book's chapter 14.

    >>> table = b'{"w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}'
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.safetensors"
    ...     _ = path.write_bytes(len(table).to_bytes(8, "little") + table + b"ab")
    ...     read_safetensors(path)
    {'w': tensor([97, 98], dtype=torch.uint8)}
    """
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            raise ValueError(
                f"path must be a safetensors file, got {os.fspath(path)} of {size} bytes, "
                f"too few for a table of {length} bytes"
            )
        table = _table(path, file.read(length))
        places = {name: _place(name, entry) for name, entry in table.items()}
        _check_order(places, size - 8 - length)
        return {name: _read(file, 8 + length, *place) for name, place in places.items()}


_Place = tuple[torch.dtype, list[int], int, int]


def _table(path: str | PathLike[str], raw: bytes) -> dict[str, Any]:
    """Decode the table of contents; a name may stand in it once."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len({*names}) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"each name must stand once in the table, got {twice!r} again")
        return dict(pairs)

    try:
        table = json.loads(raw.decode("utf-8"), object_pairs_hook=once)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise ValueError(
            f"path must be a safetensors file, got {os.fspath(path)}, whose table is not JSON"
        ) from error
    if not isinstance(table, dict):
        raise ValueError(f"the table must be a JSON object, got {type(table).__name__}")
    table.pop("__metadata__", None)
    return table


def _place(name: str, entry: Any) -> _Place:
    """Check an entry; return dtype, shape, first byte and the byte after the last."""
    if not isinstance(entry, dict) or {"dtype", "shape", "data_offsets"} - entry.keys():
        raise ValueError(f"{name!r} must have dtype, shape and data_offsets, got {entry!r}")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"the dtype of {name!r} must be one of {', '.join(DTYPES)}, got {dtype!r}")
    for label, numbers in (("shape", shape), ("data_offsets", offsets)):
        if not isinstance(numbers, list) or not all(type(n) is int and n >= 0 for n in numbers):
            raise ValueError(f"{label} of {name!r} must be a list of counts, got {numbers!r}")
    needed = math.prod(shape) * torch.empty((), dtype=DTYPES[dtype]).element_size()
    if len(offsets) != 2 or offsets[1] - offsets[0] != needed:
        raise ValueError(
            f"data_offsets of {name!r} must span {needed} bytes for {dtype} and shape {shape}, "
            f"got {offsets}"
        )
    return DTYPES[dtype], shape, offsets[0], offsets[1]


def _check_order(places: dict[str, _Place], size: int) -> None:
    """Check that the tensors fill the rest of the file, with no gap and no overlap."""
    at = 0
    for name, (_, _, start, end) in sorted(places.items(), key=lambda item: item[1][2:]):
        if start != at:
            raise ValueError(f"{name!r} must begin at byte {at} of the numbers, got {start}")
        at = end
    if at != size:
        raise ValueError(f"the table must describe all {size} bytes of numbers, got {at}")


def _read(file: BinaryIO, start: int, dtype: torch.dtype, shape: list[int], *span: int) -> Tensor:
    """Read one tensor into memory of its own."""
    first, end = span
    if first == end:
        return torch.empty(shape, dtype=dtype)
    file.seek(start + first)
    numbers = bytearray(file.read(end - first))
    if len(numbers) < end - first:
        raise ValueError(f"the file must have {start + end} bytes, got fewer while reading")
    return torch.frombuffer(numbers, dtype=dtype).reshape(shape)
