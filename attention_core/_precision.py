"""The dtype in which a calculation runs: under autocast, and inside for half precision."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor


def wide(x: Tensor) -> Tensor:
    """``x`` in float32, if it is in half precision; otherwise as it is.

    Squares, products and sums leave the range of float16 (65,504) early, and lose small
    terms in bfloat16 (3 digits). Sums over many numbers are therefore taken in float32.
    """
    return x.to(torch.promote_types(x.dtype, torch.float32))


def autocast_dtype(x: Tensor) -> torch.dtype | None:
    """The dtype to which ``torch.autocast`` casts on x's device; None if it is switched off."""
    device = x.device.type
    if device == "meta":
        return None
    if hasattr(torch, "get_autocast_dtype"):
        return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None
    # (before torch 2.4)
    if device == "cpu":
        return torch.get_autocast_cpu_dtype() if torch.is_autocast_cpu_enabled() else None
    return torch.get_autocast_gpu_dtype() if torch.is_autocast_enabled() else None


@contextmanager
def autocast_off(x: Tensor) -> Iterator[None]:
    """Switch autocast off on x's device for a while, if it is on."""
    if autocast_dtype(x) is None:
        yield
    else:
        with torch.autocast(x.device.type, enabled=False):
            yield


def cast_once(function: Callable[..., Any], *arguments: Tensor | None, **options: Any) -> Any:
    """Call a function under autocast as torch calls its fused attention.

    All floating-point arguments are cast to autocast's dtype (float64, as always, stays),
    then autocast is off: what the function computes in float32 stays in float32.
    """
    tensors = [x for x in arguments if x is not None]
    dtype = autocast_dtype(tensors[0])
    cast = [
        x if x is None or not x.is_floating_point() or x.dtype == torch.float64 else x.to(dtype)
        for x in arguments
    ]
    with autocast_off(tensors[0]):
        return function(*cast, **options)
