"""Checks of the book's exercises: they answer in sentences and accept right answers only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


def checker(check: Callable[[Any], str]) -> Callable[[Any], str]:
    """Wrap a function that checks an answer, so that it replies in sentences only.

    - The placeholder ``...`` of the exercise means that there is no answer yet.
    - An answer of a form that the check did not expect, two numbers instead of three for
      example, gives a sentence instead of a traceback.
    - NumPy arrays of any precision are accepted, also as results of a function that is the
      answer: the check gets numbers or tensors.
    - Whatever the check says, an answer, or the result of a function that is the answer, is
      not right if it is empty or holds NaN, infinities or complex numbers. Nor is it right
      with a first axis of length 1, which broadcasting would hide from the check.

    >>> @checker
    ... def check(answer):
    ...     return "Right." if not abs(sum(answer) - 1) > 1e-6 else "They do not add up to 1."
    >>> check(...)
    'Your turn: replace the dots.'
    >>> check([0.5, 0.5])
    'Right.'
    >>> check([0.5, float("nan")])
    'Not right: the answer holds nan, which is no finite number.'
    >>> check(None)
    "This answer cannot be checked: 'NoneType' object is not iterable"
    """

    @wraps(check)
    def reply(answer: Any, *rest: Any, **options: Any) -> str:
        if answer is ...:
            return "Your turn: replace the dots."
        seen = [answer]
        given = _listening(answer, seen) if _is_function(answer) else _without_numpy(answer)
        try:
            verdict = check(given, *rest, **options)
        except Exception as error:
            return f"This answer cannot be checked: {str(error) or type(error).__name__}"
        problem = next(filter(None, map(_problem, seen)), None)
        return f"Not right: {problem}." if problem and verdict.startswith("Right") else verdict

    return reply


@contextmanager
def torch_calls() -> Iterator[set[str]]:
    """Collect the names of the torch functions that the block calls.

    A check that asks for a calculation can so refuse a function of torch that does it alone.

    >>> with torch_calls() as names:
    ...     shares = torch.nn.functional.softmax(torch.ones(3), dim=0)
    >>> "softmax" in names
    True
    """
    listener = _Listener()
    with listener:
        yield listener.names


class _Listener(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.names.add(func.__name__)
        return func(*args, **(kwargs or {}))


def _is_function(answer: Any) -> bool:
    return callable(answer) and not isinstance(answer, (type, Tensor))


def _listening(function: Callable[..., Any], seen: list[Any]) -> Callable[..., Any]:
    """Wrap the function: its results are added to ``seen`` and returned as tensors."""

    @wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        result = _without_numpy(result)
        if isinstance(result, Tensor) and result.is_floating_point():
            result = result.to(torch.get_default_dtype())
        seen.append(result)
        return result

    return called


def _without_numpy(answer: Any) -> Any:
    """Return a NumPy array as a tensor, or as a number if it has no axes; all else as it is."""
    if type(answer).__module__ != "numpy":
        return answer
    return answer.item() if answer.ndim == 0 else torch.as_tensor(answer)


def _problem(answer: Any) -> str | None:
    """Return what makes an answer wrong whatever the question is, or None."""
    parts = answer if isinstance(answer, (list, tuple)) else [answer]
    if not parts:
        return "the answer is empty"
    if isinstance(answer, (list, tuple)) and len(parts) == 1 and _axes(parts[0]) > 0:
        return "the answer has an axis too many"
    return next(filter(None, map(_problem_of_part, parts)), None)


def _problem_of_part(part: Any) -> str | None:
    if isinstance(part, (list, tuple)):
        return next(filter(None, map(_problem_of_part, part)), None)
    numbers = _numbers(part)
    if numbers is None:
        return None  # a text, a function or nothing: the check has judged it
    if numbers.numel() == 0:
        return "the answer is empty"
    if numbers.dim() > 1 and numbers.shape[0] == 1:
        return f"the answer has an axis too many, its shape is {tuple(numbers.shape)}"
    if numbers.is_complex():
        return "the answer holds a complex number"
    if numbers.is_floating_point() and not numbers.isfinite().all():
        value = numbers[~numbers.isfinite()].flatten()[0].item()
        return f"the answer holds {value}, which is no finite number"
    return None


def _axes(part: Any) -> int:
    if isinstance(part, (list, tuple)):
        return 1
    numbers = _numbers(part)
    return 0 if numbers is None else numbers.dim()


def _numbers(part: Any) -> Tensor | None:
    try:
        return torch.as_tensor(part)
    except (TypeError, ValueError, RuntimeError):
        return None
