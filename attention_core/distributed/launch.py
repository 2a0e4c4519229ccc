"""Run one function in several processes on this machine, and end them whatever happens.

The processes talk through torch.distributed's gloo on the loopback interface and find each
other through a file, so nothing can be reached from another machine. Torch's own launcher
is ``torchrun``; this one is for notebooks and tests.
"""

import os
import pickle
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from attention_core import _options


def processes() -> tuple[int, int]:
    """Return the rank of this process and the number of processes; (0, 1) without a group.

    >>> processes()
    (0, 1)
    """
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def run_processes(
    function: Callable[..., Any], number: int, *args: Any, timeout: float = 60.0
) -> list[Any]:
    """Call ``function(*args)`` in ``number`` processes and return the results in a list.

    The processes form a group: ``torch.distributed.get_rank()`` returns the number of each.
    Each has one thread and the caller's default dtype; its printed output is discarded. All
    of them have ended when this function returns or raises, and they end when the caller's
    process does, even if it is killed.

    Args:
        function: one that a module defines, so that another process can import it
        number: how many processes
        args: arguments that can be pickled; each process gets a copy
        timeout: seconds after which all are stopped

    Raises:
        ValueError: function cannot be imported by another process, number is below 1, or
            timeout is not above 0
        TypeError: number is not an int
        RuntimeError: a process failed; the text is its traceback. The others are stopped
        TimeoutError: some process was still running

    >>> run_processes(processes, 2)
    [(0, 2), (1, 2)]
    """
    _check_importable(function)
    _options.check_count("number", number, minimum=1)
    if not timeout > 0.0:
        raise ValueError(f"timeout must be above 0 seconds, got {timeout}")
    call = pickle.dumps((torch.get_default_dtype(), timeout, function, args))
    with tempfile.TemporaryDirectory(prefix="attention-core-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "call").write_bytes(call)
        running: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(number):
                running.append(_start(folder, rank, number))
            _wait(folder, running, timeout)
            return [
                pickle.loads((folder / f"result-{rank}").read_bytes()) for rank in range(number)
            ]
        finally:
            for process in running:
                process.kill()
            for process in running:
                process.wait()
                if process.stdin is not None:
                    process.stdin.close()


def _check_importable(function: Callable[..., Any]) -> None:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if not name or module in (None, "__main__") or "<" in name:
        where = f"{name} of {module}" if name else repr(function)
        raise ValueError(
            "function must be defined by a module, where another process finds it, and not in "
            f"a notebook or in a function, got {where}"
        )


def loopback() -> str:
    """Return the name of the loopback interface, which reaches this machine only.

    >>> loopback() in ("lo", "lo0") or sys.platform == "win32"
    True
    """
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.lower().startswith("lo")), "lo")


# The process gets the caller's sys.path, in the same order. (With PYTHONPATH, a file in the
# caller's folder would hide a module of the standard library with the same name.)
_BEGIN = """
import os, sys
sys.path[:] = sys.argv[1].split(os.pathsep)
import importlib
importlib.import_module(sys.argv[2])._main(*sys.argv[3:])
"""


def _start(folder: Path, rank: int, number: int) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    with (folder / f"printed-{rank}").open("wb") as printed:
        return subprocess.Popen(
            [sys.executable, "-c", _BEGIN, path, __name__, folder, str(rank), str(number)],
            stdin=subprocess.PIPE,  # nothing is written to it; it closes when the caller ends
            stdout=printed,
            stderr=subprocess.STDOUT,
            env=os.environ | {"GLOO_SOCKET_IFNAME": loopback(), "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # an interrupt reaches the caller, which stops the others
        )


def _wait(folder: Path, running: list[subprocess.Popen[bytes]], timeout: float) -> None:
    """Wait until all have ended without an error."""
    deadline = time.monotonic() + timeout
    while True:
        codes = [process.poll() for process in running]
        if any(codes):
            raise RuntimeError(_failure(folder, codes))
        if all(code == 0 for code in codes):
            return
        if time.monotonic() > deadline:
            late = ", ".join(str(rank) for rank, code in enumerate(codes) if code is None)
            raise TimeoutError(
                f"{len(codes)} processes were given {timeout:g} seconds; still running: {late}"
            )
        time.sleep(0.01)


def _failure(folder: Path, codes: list[int | None]) -> str:
    """Return the error of the process that failed first; the others fail because of it."""

    def order(rank: int) -> int:
        path = folder / f"error-{rank}"
        return path.stat().st_mtime_ns if path.exists() else 0  # killed: it wrote nothing

    rank = min((rank for rank, code in enumerate(codes) if code), key=order)
    error = folder / f"error-{rank}"
    if error.exists():
        said = error.read_text(encoding="utf-8")
    else:
        last = (folder / f"printed-{rank}").read_text(encoding="utf-8", errors="replace")
        said = f"exit code {codes[rank]}, no traceback\n{last[-2000:]}"
    return f"process {rank} of {len(codes)} failed, the others were stopped: {said}".strip()


def _main(*arguments: str) -> None:
    """Run the main program of each process."""
    folder, rank, number = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    threading.Thread(target=_end_with_the_caller, args=(folder,), daemon=True).start()
    try:
        dtype, timeout, function, args = pickle.loads((folder / "call").read_bytes())
        torch.set_default_dtype(dtype)
        dist.init_process_group(
            "gloo",
            store=dist.FileStore(str(folder / "store"), number),  # type: ignore[attr-defined]
            rank=rank,
            world_size=number,
            timeout=timedelta(seconds=timeout),
        )
        result = pickle.dumps(function(*args))
        (folder / f"result-{rank}").write_bytes(result)
        dist.barrier()  # a process that ends early closes connections that others still use
        dist.destroy_process_group()
    except BaseException:
        part = folder / f"part-{rank}"
        part.write_text(traceback.format_exc(), encoding="utf-8")
        part.replace(folder / f"error-{rank}")
        os._exit(1)  # an orderly end could wait for the others


def _end_with_the_caller(folder: Path) -> None:
    os.read(sys.stdin.fileno(), 1)  # returns when the other end is closed, and not before
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
