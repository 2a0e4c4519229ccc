"""Read the format GGUF: a table of contents, then numbers in blocks of 32.

Nothing in such a file can run. Still the table is not trusted: every entry is checked before
it is used. Of the many kinds of blocks, three are read: those of SmolLM2's file.
"""

import math
import os
import struct
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

__all__ = ["read_gguf"]

# kind -> name, numbers of a block, bytes of a block
KINDS = {0: ("F32", 1, 4), 3: ("Q4_1", 32, 20), 8: ("Q8_0", 32, 34)}
_FORMS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
_MOST_AXES = 4


def read_gguf(
    path: str | PathLike[str], *, dtype: torch.dtype = torch.float32
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read the metadata and all tensors of a GGUF file, by name.

    Numbers in 4 or 8 bits are computed in float32, as the format says: F32 holds plain
    numbers. Q4_1 holds for 32 numbers a step, a least number and 32 counts of 4 bits; a
    number is least + count · step. Q8_0 holds a step and 32 counts from -128 to 127; a number
    is count · step.

    Args:
        dtype: each tensor is converted to it as soon as it has been read

    Shape:
        returns: metadata, and name -> tensor, with the axis along which numbers lie one after
            another last, as in torch

    Raises:
        ValueError: the file is of another kind or version, truncated or damaged, or has
            blocks of another kind; the message says where
        TypeError: dtype is not a floating-point dtype
        OSError: the file cannot be read

    Source: the description of the format, ggml-org/ggml, docs/gguf.md. The book's chapter 15.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "empty.gguf"
    ...     _ = path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    ...     read_gguf(path)
    ({}, {})
    """
    if not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point dtype, got {dtype}")
    reader = _Reader(path)
    if bytes(reader.take_bytes(4)) != b"GGUF":
        raise ValueError(
            f"path must be a GGUF file, got {os.fspath(path)}, which does not begin with GGUF"
        )
    version = reader.take("I")
    if version not in (2, 3):
        raise ValueError(f"the version of GGUF must be 2 or 3, got {version}")
    count, keys = reader.take("Q"), reader.take("Q")
    metadata: dict[str, Any] = {}
    for _ in range(keys):
        name = reader.text()
        _check_new(name, metadata)
        metadata[name] = reader.value(reader.take("I"))
    table: dict[str, tuple[list[int], int, int]] = {}
    for _ in range(count):
        name = reader.text()
        _check_new(name, table)
        table[name] = reader.entry(name)
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or alignment < 8 or alignment % 8:
        raise ValueError(f"general.alignment must be a multiple of 8, got {alignment!r}")
    start = -(-reader.at // alignment) * alignment
    for name, (_, _, offset) in table.items():
        if offset % alignment:
            raise ValueError(
                f"{name!r} must begin at a multiple of {alignment}, got offset {offset}"
            )
    tensors = {
        name: _tensor(reader, name, start + offset, shape, kind).to(dtype)
        for name, (shape, kind, offset) in table.items()
    }
    return metadata, tensors


class _Reader:
    """Take values from the front of a file; an end that comes too early is an error."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path, self.at = path, 0
        self.raw = memoryview(Path(path).read_bytes())

    def take_bytes(self, n: int) -> memoryview:
        part = self.part(self.at, n)
        self.at += n
        return part

    def part(self, start: int, n: int) -> memoryview:
        if start + n > len(self.raw):
            raise ValueError(
                f"the file {os.fspath(self.path)} is truncated: it must have at least "
                f"{start + n} bytes, got {len(self.raw)}"
            )
        return self.raw[start : start + n]

    def take(self, form: str) -> Any:
        (value,) = struct.unpack("<" + form, self.take_bytes(struct.calcsize("<" + form)))
        return value

    def text(self) -> str:
        start = self.at
        raw = self.take_bytes(self.take("Q"))
        try:
            return bytes(raw).decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"the text at byte {start} must be UTF-8") from error

    def value(self, kind: int) -> Any:
        """Take a value of the metadata: a number, a text, or an array of these."""
        if kind == _TEXT:
            return self.text()
        if kind == _ARRAY:
            inner, n = self.take("I"), self.take("Q")
            if inner == _ARRAY:
                raise ValueError(f"an array of arrays is not read, got one at byte {self.at}")
            return [self.value(inner) for _ in range(n)]
        if kind not in _FORMS:
            raise ValueError(f"the kind of a value must be 0 to 12, got {kind} at byte {self.at}")
        return self.take(_FORMS[kind])

    def entry(self, name: str) -> tuple[list[int], int, int]:
        """Take the shape, the kind and the offset of a tensor."""
        axes = self.take("I")
        if axes > _MOST_AXES:
            raise ValueError(f"{name!r} must have at most {_MOST_AXES} axes, got {axes}")
        shape = [self.take("Q") for _ in range(axes)][::-1]
        kind, offset = self.take("I"), self.take("Q")
        if kind not in KINDS:
            read = ", ".join(f"{kind} ({label})" for kind, (label, _, _) in KINDS.items())
            raise ValueError(f"the blocks of {name!r} must be of kind {read}, got {kind}")
        label, block, _ = KINDS[kind]
        if (shape[-1] if shape else 1) % block:
            raise ValueError(
                f"the last axis of {name!r} must be a multiple of {block} for {label}, "
                f"got shape {tuple(shape)}"
            )
        return shape, kind, offset


def _check_new(name: str, known: dict[str, Any]) -> None:
    if name in known:
        raise ValueError(f"each name must stand once in the table, got {name!r} again")


def _tensor(reader: _Reader, name: str, start: int, shape: list[int], kind: int) -> Tensor:
    """Compute the numbers of a tensor in float32."""
    label, numbers, size = KINDS[kind]
    length = math.prod(shape) // numbers * size
    try:
        raw = bytearray(reader.part(start, length))
    except ValueError as error:
        raise ValueError(f"{error} for {name!r}") from None
    if not length:
        return torch.empty(shape)
    if label == "F32":
        return torch.frombuffer(raw, dtype=torch.float32).reshape(shape)
    block = torch.frombuffer(raw, dtype=torch.uint8).reshape(-1, size)
    step = _half(block[:, :2])
    if label == "Q8_0":
        return (block[:, 2:].contiguous().view(torch.int8).float() * step).reshape(shape)
    counts = torch.cat([block[:, 4:] & 15, block[:, 4:] >> 4], dim=1)  # the first 16, the last 16
    return (counts.float() * step + _half(block[:, 2:4])).reshape(shape)


def _half(pair: Tensor) -> Tensor:
    """Read two bytes as one number of 16 bits. Shape: (blocks, 2) -> (blocks, 1)."""
    return pair.contiguous().view(torch.float16).float()
