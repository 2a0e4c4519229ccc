"""The dtype of a calculation: autocast's, or float32 inside it for half precision."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

_WIDE = (torch.float32, torch.float64)


def wide(x: Tensor) -> Tensor:
    """Return ``x`` in float32 if it is in half precision, otherwise as it is.

    Squares, products and sums soon overflow float16, whose largest number is 65,504, and
    lose small terms in bfloat16, which has about 3 digits. Sums over many numbers are
    therefore taken in float32.
    """
    return x if x.dtype in _WIDE else x.float()


def narrow(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Return ``x`` in the dtype of the result. (Comparing first is cheaper than ``to``.)"""
    return x if x.dtype == dtype else x.to(dtype)


def autocast_dtype(x: Tensor) -> torch.dtype | None:
    """Return the dtype to which ``torch.autocast`` casts on x's device; None if it is off."""
    device = x.device.type
    if device == "meta" or not _enabled(device):
        return None
    if _BY_DEVICE:
        return torch.get_autocast_dtype(device)
    return torch.get_autocast_cpu_dtype() if device == "cpu" else torch.get_autocast_gpu_dtype()


# Before torch 2.4 there was a function for each device instead of an argument.
_BY_DEVICE = hasattr(torch, "get_autocast_dtype")


def _enabled(device: str) -> bool:
    if _BY_DEVICE:
        return torch.is_autocast_enabled(device)
    return torch.is_autocast_cpu_enabled() if device == "cpu" else torch.is_autocast_enabled()


@contextmanager
def autocast_off(x: Tensor) -> Iterator[None]:
    """Switch autocast off on x's device inside the block, if it is on."""
    if autocast_dtype(x) is None:
        yield
    else:
        with torch.autocast(x.device.type, enabled=False):
            yield


def cast_once(function: Callable[..., Any], *arguments: Tensor | None, **options: Any) -> Any:
    """Call a function under autocast, with its inputs cast as for torch's fused attention.

    All floating-point arguments but float64 are cast to autocast's dtype. The function then
    runs with autocast off, so what it computes in float32 stays in float32.
    """
    tensors = [x for x in arguments if x is not None]
    dtype = autocast_dtype(tensors[0])
    cast = [
        x if x is None or not x.is_floating_point() or x.dtype == torch.float64 else x.to(dtype)
        for x in arguments
    ]
    with autocast_off(tensors[0]):
        return function(*cast, **options)
