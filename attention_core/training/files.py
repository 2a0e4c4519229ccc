"""Write files whole or not at all, and say what a file of another kind holds."""

import os
import pickle
import secrets
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


def write_whole(path: str | PathLike[str], contents: Any) -> None:
    """Write a torch file so that whatever fails, the old file stays as it was.

    The new file is written beside the old one and then takes its place. A symbolic link stays
    one: the file that it points to is replaced.

    Raises:
        OSError: the file cannot be written: the folder is missing, the disk is full
    """
    # In memory first: torch reports a full disk as "unexpected pos".
    buffer = BytesIO()
    torch.save(contents, buffer)
    with _replacement(path) as part, part.open("wb") as file:
        file.write(buffer.getbuffer())
        file.flush()
        if part.is_file():
            os.fsync(file.fileno())  # on the disk before it takes the old file's place


def check_can_write(path: str | PathLike[str]) -> None:
    """Test whether `write_whole` can begin to write, and leave everything as it was.

    Raises:
        OSError: the folder is missing or cannot be written to, or path is a folder
    """
    with _replacement(path, keep=False) as part:
        part.touch()


@contextmanager
def _replacement(path: str | PathLike[str], *, keep: bool = True) -> Iterator[Path]:
    """Yield a new file beside ``path``, which replaces it if the block succeeds."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"path must be a file to write, got the folder {os.fspath(path)}")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path must lie in a folder that exists, got {os.fspath(path)}, "
            f"and there is no folder {target.parent}"
        )
    if target.exists():
        if not os.access(target, os.W_OK):
            raise PermissionError(f"path must be writable, got {os.fspath(path)}")
        if not target.is_file():  # /dev/null, say, which must not be replaced by a file
            yield target
            return
    # Several processes may write at the same time; the last one to end wins.
    part = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.part")
    try:
        yield part
        if keep:
            if target.exists():
                part.chmod(target.stat().st_mode)
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def read_saved(
    path: str | PathLike[str], function: str
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the model's tensors and the extras of a file that ``function`` has written.

    Raises:
        ValueError: the file is of another kind; the message says what it holds
        OSError: there is no such file, or it cannot be read
    """
    with Path(path).open("rb") as file:  # raises plain OSErrors; torch's errors differ
        start = file.read(40)
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:
        raise other_file(path, function, _unreadable(Path(path), start, error)) from error
    if not isinstance(saved, Mapping):
        raise other_file(path, function, f"a saved {type(saved).__name__}")
    model, extras = saved.get("model"), saved.get("extras")
    if not isinstance(model, Mapping) or not isinstance(extras, Mapping):
        if saved and all(isinstance(x, Tensor) for x in saved.values()):
            what = f"a plain state dict, which begins with {next(iter(saved))!r}"
        else:
            names = ", ".join(map(repr, list(saved)[:5])) or "nothing"
            what = f"a saved dict of {names}{', ...' if len(saved) > 5 else ''}"
        raise other_file(path, function, what)
    return dict(model), dict(extras)


def other_file(path: str | PathLike[str], function: str, what: str) -> ValueError:
    """Return the error that ``path`` is not a file of ``function``, but ``what``."""
    return ValueError(f"path must be a file of {function}, got {os.fspath(path)}, which is {what}")


def _unreadable(path: Path, start: bytes, error: Exception) -> str:
    """Describe a file that torch cannot load, by its first bytes and torch's error."""
    if not start:
        return "empty"
    if start.startswith(b"PK\x03\x04") and not zipfile.is_zipfile(path):
        return "truncated: the end of the archive is missing"
    if isinstance(error, pickle.UnpicklingError) and zipfile.is_zipfile(path):
        return "a torch file with more than tensors and plain data, or a damaged one"
    if zipfile.is_zipfile(path):
        return "a damaged torch file, or an archive of another kind"
    # Forty bytes may end in the middle of a character.
    text = start.decode("utf-8", errors="ignore")
    if text and len(text.encode()) > len(start) - 4 and all(map(_is_text, text)):
        return f"text that begins with {text!r}"
    return "no torch file, or a damaged one"


def _is_text(character: str) -> bool:
    return character.isprintable() or character.isspace()
