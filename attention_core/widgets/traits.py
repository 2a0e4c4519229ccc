"""Define the traits of live figures, which check every value that is set."""

import math
import numbers
import operator
from collections.abc import Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor


def as_tensor(value: Any) -> Tensor:
    """Return numbers of any kind as a float64 tensor on the CPU that shares no memory with them.

    >>> as_tensor([[1, 2]])
    tensor([[1., 2.]], dtype=torch.float64)
    """
    try:
        # Python numbers are float64; without a dtype torch would round them to its default dtype.
        result = value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=torch.float64)
        result = result.detach().to("cpu", torch.float64).clone()
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"value must be numbers, got {type(value).__name__}: {error}") from None
    return result


class TensorTrait(traitlets.TraitType[Tensor, Any]):
    """A tensor that a page can read and write.

    Args:
        shape: the sizes of its axes; None for any size, a name for axes of equal size
        bounds: the least and the greatest number allowed

    >>> class Pair(traitlets.HasTraits):
    ...     a = TensorTrait([3.0, 1.0], shape=(2,))
    >>> Pair(a=(1, 2)).a
    tensor([1., 2.], dtype=torch.float64)
    >>> Pair(a=[1, 2, 3])
    Traceback (most recent call last):
    traitlets.traitlets.TraitError: a must have shape (2,), got (3,)
    """

    info_text = "a tensor or nested lists of numbers"

    def __init__(
        self,
        default: Any,
        *,
        shape: Sequence[int | str | None],
        bounds: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(default_value=as_tensor(default))
        self.shape, self.bounds = tuple(shape), bounds
        self.tag(sync=True, to_json=_to_json, from_json=_from_json)

    def validate(self, obj: Any, value: Any) -> Tensor:
        try:
            tensor = as_tensor(value)
        except TypeError as error:
            raise traitlets.TraitError(f"{self.name} must be {self.info_text}: {error}") from None
        sizes: dict[str, int] = {}
        fits = tensor.dim() == len(self.shape) and all(
            wanted is None
            or size == (sizes.setdefault(wanted, size) if isinstance(wanted, str) else wanted)
            for wanted, size in zip(self.shape, tensor.shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if n is None else str(n) for n in self.shape)
            wanted += "," if len(self.shape) == 1 else ""
            raise traitlets.TraitError(
                f"{self.name} must have shape ({wanted}), got {tuple(tensor.shape)}"
            )
        if not tensor.isfinite().all():
            raise traitlets.TraitError(f"{self.name} must be finite, got {tensor.tolist()}")
        if self.bounds is not None and tensor.numel():
            low, high = self.bounds
            if tensor.min() < low or tensor.max() > high:
                raise traitlets.TraitError(
                    f"{self.name} must lie between {low:g} and {high:g}, "
                    f"got {tensor.min():g} to {tensor.max():g}"
                )
        return tensor


def _to_json(value: Tensor, _: Any) -> Any:
    return value.tolist()


def _from_json(value: Any, _: Any) -> Any:
    return value


class NumberTrait(traitlets.Float[float, Any]):
    """A finite number within bounds, which a page can read and write.

    Args:
        least, most: the least and the greatest number allowed; None for no greatest

    >>> class Heat(traitlets.HasTraits):
    ...     temperature = NumberTrait(1.0, least=0.05, most=5)
    >>> Heat(temperature=float("nan"))
    Traceback (most recent call last):
    traitlets.traitlets.TraitError: temperature must be a finite number, got nan
    """

    def __init__(self, default: float, *, least: float, most: float | None = None) -> None:
        super().__init__(default)
        self.least, self.most = least, most
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> float:
        # bool is a subclass of int in Python, but True is hardly meant as a number.
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value):
            raise traitlets.TraitError(f"{self.name} must be a finite number, got {value!r}")
        _check_bounds(self.name, float(value), self.least, self.most)
        return float(value)


class CountTrait(traitlets.Int[int, Any]):
    """A whole number within bounds, which a page can read and write.

    Args:
        least, most: the least and the greatest number allowed; None for no greatest
        allow_none: whether None is allowed as well

    >>> class Stack(traitlets.HasTraits):
    ...     layers = CountTrait(1, least=1, most=5)
    >>> Stack(layers=2.5)
    Traceback (most recent call last):
    traitlets.traitlets.TraitError: layers must be a whole number, got 2.5
    """

    def __init__(
        self, default: int, *, least: int = 0, most: int | None = None, allow_none: bool = False
    ) -> None:
        super().__init__(default)
        self.allow_none = allow_none
        self.least, self.most = least, most
        self.tag(sync=True)

    def validate(self, obj: Any, value: Any) -> int:
        try:
            number = operator.index(value)  # also accepts integers of numpy and torch
        except TypeError:
            number = None
        if number is None or isinstance(value, bool):
            raise traitlets.TraitError(f"{self.name} must be a whole number, got {value!r}")
        _check_bounds(self.name, number, self.least, self.most)
        return number


def _check_bounds(name: str | None, value: float, least: float, most: float | None) -> None:
    if most is None and value < least:
        raise traitlets.TraitError(f"{name} must be at least {least:g}, got {value:g}")
    if most is not None and not least <= value <= most:
        raise traitlets.TraitError(f"{name} must lie between {least:g} and {most:g}, got {value:g}")
