"""Find which inputs an output depends on, by changing them one at a time."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_core import _checks


def reach_matrix(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Measure how far each output moves when one input token is changed.

    Entry (i, j) is the largest change in any number of output i after token j was
    changed. It is exactly 0 where a mask, or a wrong reshape, keeps j from reaching i.
    Each number of the token changes by a different amount, because a norm would remove a
    change that is the same in all numbers.

    Args:
        function: takes a tensor of x's shape and gives the same result for the same
            input: a model in eval mode, without dropout

    Shape:
        x: (..., S, d)
        function(x): (..., L, d_out); leading axes are searched for the largest change
        returns: (L, S), at least 0

    Raises:
        ValueError: x or function(x) has fewer than 2 axes or an empty one, two calls
            differ, or the function gives NaN or infinity
        TypeError: x or function(x) is not a floating-point tensor

    >>> reach_matrix(lambda x: x.cumsum(dim=-2), torch.zeros(3, 2)) > 0
    tensor([[ True, False, False],
            [ True,  True, False],
            [ True,  True,  True]])
    """
    _checks.check_floating("x", x)
    _checks.check_not_empty("x", x)
    step = torch.linspace(1.0, 2.0, x.shape[-1], dtype=x.dtype, device=x.device)
    columns = []
    with torch.no_grad():
        before = function(x.clone())
        _checks.check_floating("function(x)", before)
        _checks.check_not_empty("function(x)", before)
        _check_finite("function(x)", before)
        if not torch.equal(before, function(x.clone())):
            raise ValueError(
                "function must give the same result twice; put a model with dropout in eval "
                f"mode (x {_checks.shape(x)})"
            )
        for j in range(x.shape[-2]):
            changed = x.clone()
            changed[..., j, :] += step
            after = function(changed)
            _check_finite(f"function(x) with token {j} changed", after)
            moved = (after - before).abs()  # (..., L, d_out)
            columns.append(moved.amax(dim=-1).reshape(-1, moved.shape[-2]).amax(dim=0))
    return torch.stack(columns, dim=-1)


def _check_finite(name: str, result: Tensor) -> None:
    """Check for NaN and infinity: NaN is neither above nor equal to 0, so it hides a change."""
    if not result.isfinite().all():
        bad = int((~result.isfinite()).sum())
        raise ValueError(f"{name} must be finite, got NaN or infinity in {bad} places")
