"""The checks of arguments that the modules of the package share.

Of a tensor they read shape and dtype only (`check_vocabulary` reads values, too). So they
work on the ``meta`` device and do not break the graph of ``torch.compile(fullgraph=True)``
or ``torch.export``. Each message names the argument, the rule, and the shapes as the
caller gave them.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from attention_core import _precision

INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def shape(x: Tensor) -> tuple[int, ...]:
    """Return the shape as a plain tuple, which prints as ``(2, 3)``."""
    return tuple(x.shape)


def check_floating(name: str, x: Tensor, *, min_dim: int = 2) -> None:
    """Check that ``x`` is a floating-point tensor with at least ``min_dim`` axes."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(x).__name__}")
    if not x.is_floating_point():
        raise TypeError(f"{name} must be a floating-point tensor, got dtype {x.dtype}")
    if x.dim() < min_dim:
        raise ValueError(f"{name} must have at least {min_dim} axes, got shape {shape(x)}")


def check_same_dtype(**tensors: Tensor) -> None:
    """Check that all tensors have one dtype: mixed precisions lose digits silently.

    Under autocast, which casts them to one dtype, they may differ. Autocast never casts
    float64, so a float64 tensor fits only others of float64.
    """
    dtypes = {x.dtype for x in tensors.values()}
    if len(dtypes) > 1 and not _cast_by_autocast(*tensors.values()):
        given = ", ".join(f"{name} {x.dtype}" for name, x in tensors.items())
        raise TypeError(f"{' and '.join(tensors)} must have the same dtype, got {given}")


def _cast_by_autocast(*tensors: Tensor) -> bool:
    """Return whether autocast is on and casts all these tensors to one dtype."""
    if any(x.dtype == torch.float64 for x in tensors):
        return False
    return _precision.autocast_dtype(tensors[0]) is not None


def check_broadcast(a_name: str, a: Tensor, b_name: str, b: Tensor) -> None:
    """Check that the batch axes of ``a`` and ``b``, all but the last two, can be broadcast."""
    if a.shape[:-2] == b.shape[:-2]:
        return
    check_broadcast_shapes(a_name, shape(a), b_name, shape(b))


def check_broadcast_shapes(
    a_name: str, a: tuple[int, ...], b_name: str, b: tuple[int, ...]
) -> None:
    """Check the same for shapes alone, without tensors."""
    for m, n in zip(reversed(a[:-2]), reversed(b[:-2]), strict=False):
        if m != n and m != 1 and n != 1:
            raise ValueError(
                f"the leading axes of {a_name} and {b_name} must be equal or 1, "
                f"got {a_name} {a} and {b_name} {b}"
            )


def check_mask(mask: Tensor, scores_shape: Sequence[int]) -> None:
    """Check that ``mask`` is bool and can be broadcast to ``scores_shape`` = (..., L, S)."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"mask must be a torch.Tensor of bool, got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask must be bool with True = may attend, got dtype {mask.dtype}; "
            "convert a 0/1 mask with mask != 0, an additive mask with mask == 0"
        )
    target = tuple(scores_shape)
    fits = mask.dim() <= len(target) and all(
        m in (1, n) for m, n in zip(reversed(mask.shape), reversed(target), strict=False)
    )
    if not fits:
        hint = ""
        if mask.dim() == len(target) + 1 == 4 and mask.shape[1] == 1:
            hint = "; without an axis for heads, use mask.squeeze(1)"
        raise ValueError(
            f"mask must broadcast to the scores' shape (..., L, S) = {target}, "
            f"got mask {shape(mask)}{hint}"
        )


def check_scores(q: Tensor, k: Tensor) -> None:
    """Check that q and k can be compared: floating-point, one dtype, one width d_k."""
    check_floating("q", q)
    check_floating("k", k)
    check_same_dtype(q=q, k=k)
    if q.shape[-1] != k.shape[-1] or q.shape[-1] == 0:
        raise ValueError(
            "q and k must have the same width d_k >= 1 on their last axis, "
            f"got q {shape(q)} and k {shape(k)}"
        )
    check_broadcast("q", q, "k", k)


def mask_with_heads(mask: Tensor, scores_shape: Sequence[int]) -> Tensor:
    """Check the mask for scores (B, H, L, S); a mask of 3 axes gets an axis for heads.

    Broadcasting alone would align the first of its 3 axes with heads, without an error
    wherever B = H.
    """
    if not isinstance(mask, Tensor) or mask.dim() != 3:
        check_mask(mask, scores_shape)
        return mask
    batch, _, *lengths = scores_shape
    try:
        check_mask(mask, (batch, *lengths))
    except ValueError as error:
        hint = "a mask of 3 axes is (B, L, S); one for each head has 4, (1, H, L, S)"
        raise ValueError(f"{error}; {hint}") from None
    return mask.unsqueeze(1)


def check_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[int, ...]:
    """Check that q, k, v and mask fit together; return the scores' shape (..., L, S)."""
    check_floating("v", v)
    check_scores(q, k)
    check_same_dtype(q=q, k=k, v=v)
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            "k and v must have the same length S on the axis before the last, "
            f"got k {shape(k)} and v {shape(v)}"
        )
    batch = q.shape[:-2]
    if k.shape[:-2] != batch:
        batch = torch.broadcast_shapes(batch, k.shape[:-2])  # type: ignore[no-untyped-call]
    scores = (*batch, q.shape[-2], k.shape[-2])
    check_broadcast_shapes("scores", scores, "v", shape(v))
    if mask is not None:
        check_mask(mask, scores)
    return scores


def check_width(name: str, x: Tensor, width: int) -> None:
    """Check that the last axis of ``x`` has size ``width``."""
    if x.shape[-1] != width:
        raise ValueError(f"{name} must have width {width} on its last axis, got {shape(x)}")


def check_ids(name: str, ids: Tensor) -> None:
    """Check that ``ids`` is an integer tensor of shape (B, length)."""
    if not isinstance(ids, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(ids).__name__}")
    if ids.dtype not in INTEGERS:
        raise TypeError(f"{name} must be an integer tensor, got dtype {ids.dtype}")
    if ids.dim() != 2:
        raise ValueError(f"{name} must have shape (B, length), got shape {shape(ids)}")


def check_sequence(name: str, x: Tensor, width: int) -> None:
    """Check that ``x`` is a floating-point tensor of shape (B, length, width)."""
    check_floating(name, x, min_dim=1)
    if x.dim() != 3 or x.shape[-1] != width:
        raise ValueError(f"{name} must have shape (B, length, {width}), got shape {shape(x)}")


def check_memory(tgt: Tensor, memory: Tensor, width: int) -> None:
    """Check that ``memory`` has shape (B, length, width), with the batch size of ``tgt``."""
    check_sequence("memory", memory, width)
    if tgt.shape[0] != memory.shape[0]:
        raise ValueError(
            "tgt and memory must have the same batch size B, "
            f"got tgt {shape(tgt)} and memory {shape(memory)}"
        )


def check_module_dtype(parameter: Any, **inputs: Tensor) -> None:
    """Check that each input has the dtype of the module's parameters.

    Under autocast, which casts both to one dtype, they may differ; float64 is never cast.
    A module whose parameters are no longer floating-point tensors, as after quantisation,
    is not checked.
    """
    dtype = getattr(parameter, "dtype", None)
    for x in inputs.values():
        if x.dtype != dtype:
            break
    else:
        return
    if not isinstance(parameter, Tensor) or not parameter.is_floating_point():
        return
    for name, x in inputs.items():
        if x.dtype != dtype and not _cast_by_autocast(x, parameter):
            raise TypeError(
                f"{name} must have the dtype of the module's parameters, "
                f"got {name} {x.dtype} and parameters {parameter.dtype}"
            )


def check_key_value(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Check that the batch axes can be broadcast, and that key and value have one length S."""
    check_broadcast("query", query, "key", key)
    check_broadcast("query", query, "value", value)
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            "key and value must have the same length S, "
            f"got key {shape(key)} and value {shape(value)}"
        )


def check_not_empty(name: str, x: Tensor) -> None:
    """Check that no axis of ``x`` has size 0."""
    if 0 in x.shape:
        raise ValueError(f"{name} must have no empty axis, got shape {shape(x)}")


def check_vocabulary(name: str, ids: Tensor, size: int) -> None:
    """Check that every id is at least 0 and below ``size``. This check reads values."""
    outside = ((ids < 0) | (ids >= size)).nonzero()
    if len(outside):
        row, column = outside[0].tolist()
        raise ValueError(
            f"{name} must hold ids from 0 to {size - 1}, of a vocabulary of {size} tokens, "
            f"got {ids[row, column].item()} in row {row}, column {column}"
        )


def check_model_dtype(name: str, x: Tensor, dtype: torch.dtype) -> None:
    """Check that ``x`` has the model's dtype, or one that `torch.autocast` will convert."""
    if x.dtype == dtype:
        return
    if torch.float64 in (x.dtype, dtype) or _precision.autocast_dtype(x) is None:
        raise TypeError(f"{name} must have the model's dtype, {dtype}, got dtype {x.dtype}")


def check_rows(rows: Tensor) -> None:
    """Check that ``rows`` holds indices of a batch: int64 or int32, one axis."""
    if not isinstance(rows, Tensor) or rows.dtype not in (torch.int64, torch.int32):
        given = rows.dtype if isinstance(rows, Tensor) else type(rows).__name__
        raise TypeError(f"rows must be a tensor of int64 or int32, got {given}")
    if rows.dim() != 1:
        raise ValueError(f"rows must have one axis, got shape {shape(rows)}")


def check_same_batch(kept: int, given: int) -> None:
    """Check that the batch being decoded has as many sentences as the cache."""
    if kept != given:
        raise ValueError(
            "cache must hold the batch that is decoded, "
            f"got {given} sentences for a cache of {kept}"
        )
