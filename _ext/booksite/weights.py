"""A trained model as a script: what a page loads when the reader asks for the model.

A page that was opened as a file may load scripts, and nothing else; so the numbers come as
text inside one. They are read from torch's file without torch, which would take longer to
load than the whole book takes to build.
"""

from __future__ import annotations

import base64
import json
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any


class _Reader(pickle.Unpickler):
    """Reads plain data, and of tensors where their numbers lie; runs no code of the file."""

    def persistent_load(self, pid: tuple[Any, ...]) -> tuple[str, str]:
        _, kind, key, *_ = pid
        return kind, key

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda storage, offset, size, stride, *_: (storage, offset, size, stride)
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch" and name.endswith("Storage"):
            return name
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a file of numbers")


def read(path: Path) -> tuple[dict[str, Any], bytes]:
    """The sizes, names and shapes of a model of ``save_trained``, and all its numbers.

    The numbers are float16, the lower byte first, tensor after tensor, row after row.
    """
    with zipfile.ZipFile(path) as file:
        root = file.namelist()[0].split("/")[0]
        if file.read(f"{root}/byteorder") != b"little":
            raise ValueError(f"{path.name} was not written on a little-endian machine")
        with file.open(f"{root}/data.pkl") as stream:
            saved = _Reader(stream).load()
        shapes, data = [], []
        for name, ((kind, key), offset, size, stride) in saved["model"].items():
            rows = [1] if len(size) == 1 else [size[1], 1]
            if kind != "HalfStorage" or offset or list(stride) != rows:
                raise ValueError(f"{path.name}: {name} is not a plain float16 tensor")
            shapes.append([name, list(size)])
            data.append(file.read(f"{root}/data/{key}"))
    return {"config": saved["extras"]["config"], "shapes": shapes}, b"".join(data)


def script(path: Path) -> str:
    """A classic script that lays the model into ``liveData``, by the name of its file."""
    manifest, data = read(path)
    whole = {**manifest, "float16": base64.b64encode(data).decode("ascii")}
    return f"(globalThis.liveData ||= {{}}).{path.stem} = {json.dumps(whole)};\n"
