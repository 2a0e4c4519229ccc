"""Checks of options: counts, numbers and flags of Python and NumPy.

A check returns its value as one of Python, so that no number of NumPy ends up in a config or a
file. Each message names the option, the rule and the value as given.
"""

import math
import numbers
import operator
from typing import Any

import torch
from torch import Tensor


def check_int(name: str, value: int) -> int:
    """Check that ``value`` is an int of Python or NumPy, not a bool; return a Python int."""
    if type(value) is int:
        return value
    if isinstance(value, torch.SymInt):
        return value  # (it stands for an int while torch traces)
    if not isinstance(value, (bool, Tensor)):
        try:
            return operator.index(value)
        except TypeError:
            pass
    raise TypeError(f"{name} must be an int, got {type(value).__name__} {value!r}")


def check_count(name: str, value: int, *, minimum: int) -> int:
    """Check that ``value`` is an int of at least ``minimum``; return it as a Python int."""
    value = check_int(name, value)
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return value


def check_heads(width_name: str, width: int, num_heads: int) -> int:
    """Check that ``num_heads`` divides ``width``; return it as a Python int.

    The error message lists numbers of heads that would work.
    """
    num_heads = check_count("num_heads", num_heads, minimum=1)
    if width % num_heads:
        choices = [h for h in range(1, width + 1) if width % h == 0]
        nearest = sorted(sorted(choices, key=lambda h: (abs(h - num_heads), h))[:4])
        raise ValueError(
            f"{width_name} must be divisible by num_heads, got {width_name}={width} and "
            f"num_heads={num_heads}; num_heads={' or '.join(map(str, nearest))} would work"
        )
    return num_heads


def check_kv_heads(num_heads: int, num_kv_heads: int | None) -> int:
    """Check that ``num_kv_heads`` divides ``num_heads``; return it, None as ``num_heads``."""
    if num_kv_heads is None:
        return num_heads
    num_kv_heads = check_count("num_kv_heads", num_kv_heads, minimum=1)
    if num_heads % num_kv_heads:
        raise ValueError(
            "num_heads must be divisible by num_kv_heads, got "
            f"num_heads={num_heads} and num_kv_heads={num_kv_heads}"
        )
    return num_kv_heads


def check_probability(name: str, value: float) -> float:
    """Check that ``value`` lies between 0 and 1, both included; return a Python number."""
    value = check_number(name, value)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")
    return value


def check_pad_id(pad_id: int, src_vocab_size: int, tgt_vocab_size: int) -> int:
    """Check that ``pad_id`` is a token of both vocabularies; return it as an int of Python."""
    pad_id = check_count("pad_id", pad_id, minimum=0)
    if pad_id >= min(src_vocab_size, tgt_vocab_size):
        raise ValueError(
            f"pad_id must be a token of both vocabularies, got pad_id={pad_id} with "
            f"src_vocab_size={src_vocab_size}, tgt_vocab_size={tgt_vocab_size}"
        )
    return pad_id


def check_number(name: str, value: float) -> float:
    """Check that ``value`` is a real number of Python or NumPy, not a bool.

    Return it as a Python number. NaN passes: the caller's comparison refuses it.
    """
    if type(value) in (float, int) or isinstance(value, (torch.SymFloat, torch.SymInt)):
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__} {value!r}")
    return float(value)


def check_positive(name: str, value: float) -> float:
    """Check that ``value`` is finite and above 0; return it as a Python number."""
    value = check_number(name, value)
    if not 0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value}")
    return value


def check_flag(name: str, value: bool) -> bool:
    """Check that ``value`` is a bool: other objects would silently count as true or false."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__} {value!r}")
    return value


def set_checked(config: Any, **values: Any) -> None:
    """Give a frozen config the values that checks returned: Python's numbers for NumPy's."""
    for name, value in values.items():
        object.__setattr__(config, name, value)


def check_callable(name: str, value: Any) -> None:
    """Check that ``value`` can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be callable, got {type(value).__name__} {value!r}")


def check_kind(name: str, value: object, kind: type) -> None:
    """Check that ``value`` is a ``kind``."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")
