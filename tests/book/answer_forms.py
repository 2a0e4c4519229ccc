"""Variants of a right answer: the same answer in other forms, and spoiled answers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from chapter_form import read

NOT_NUMBERS = {"nan": float("nan"), "inf": float("inf"), "minus inf": -float("inf")}


def right_answer(path, namespace: dict[str, Any], number: int) -> Any:
    """What the solution hands to its check in the last line: ``check_2(this)``."""
    (cell,) = (c for c in read(path).cells if f"solution-{number}" in c.metadata.get("tags", []))
    call = ast.parse(cell.source).body[-1].value
    assert isinstance(call, ast.Call)
    assert call.func.id == f"check_{number}"
    # The solutions of other exercises may have used the same name again.
    names = dict(namespace)
    if not isinstance(call.args[0], (ast.Constant, ast.List, ast.Tuple)):
        exec(cell.source, names)
    return eval(compile(ast.Expression(call.args[0]), "solution", "eval"), names)


def forms(answer: Any) -> Iterator[tuple[str, Any]]:
    """The same answer in other forms: each of them is right."""
    if callable(answer):
        for name, change in (("numpy", _to_numpy), ("float32 or the same", _to_float32)):
            yield f"a function that gives {name}", _after(answer, change)
        return
    if _ends_in_a_function(answer):
        *guess, function = answer
        yield "floats, in a list", [*map(float, guess), function]
        yield "tensors", (*map(torch.tensor, guess), function)
        yield "NumPy scalars", (*map(np.float64, guess), function)
        yield from ((name, (*guess, given)) for name, given in forms(function))
        return
    if isinstance(answer, tuple | list) and _is_text(answer):
        yield "a tuple", tuple(answer)
        return
    if _is_pair_of_tables(answer):
        yield "lists", [torch.as_tensor(part).tolist() for part in answer]
        yield "arrays", [np.asarray(part, dtype=np.float64) for part in answer]
        yield "tensors", tuple(torch.as_tensor(part, dtype=torch.float64) for part in answer)
        yield "float32", tuple(torch.as_tensor(part, dtype=torch.float32) for part in answer)
        return
    exact = torch.as_tensor(answer)
    yield "plain", exact.tolist()
    yield "a tensor", exact
    yield "float64", exact.double()
    yield "an array", exact.double().numpy()
    yield "float32", exact.float()
    if exact.dim() == 1:
        yield "a tuple", tuple(exact.tolist())
        yield "NumPy scalars", list(exact.double().numpy())
        yield "tensors in a list", list(exact.double())
    else:
        yield "a NumPy scalar", exact.double().numpy()[()]


def spoiled(answer: Any) -> Iterator[tuple[str, Any]]:
    """Forms of the answer that are not right any more."""
    if callable(answer):
        for name, change in _changes():
            yield f"a function that gives {name}", _after(answer, change)
        yield "a function of no arguments", lambda: answer
        return
    for name, given in (("none", None), ("an empty list", []), ("a string", "?"), ("a dict", {})):
        yield name, given
    if _ends_in_a_function(answer):
        *guess, function = answer
        yield "a guess that is no number", (*guess[:-1], None, function)
        yield from ((f"a guess of {n}", (*guess[:-1], x, function)) for n, x in NOT_NUMBERS.items())
        yield from ((name, (*guess, given)) for name, given in spoiled(function))
        return
    if isinstance(answer, tuple | list) and _is_text(answer):
        yield "one word fewer", answer[:-1]
        yield "one word more", [*answer, answer[-1]]
        yield "the answer twice, in a list", [answer, answer]
        return
    if _is_pair_of_tables(answer):
        parts = [torch.as_tensor(part, dtype=torch.float64) for part in answer]
        for place in range(2):
            for name, change in _changes():
                changed = [change(x) if i == place else x for i, x in enumerate(parts)]
                yield f"part {place}: {name}", changed
        yield "one part", parts[:1]
        yield "three parts", [*parts, parts[0]]
        return
    exact = torch.as_tensor(answer, dtype=torch.float64)
    for name, change in _changes():
        yield name, change(exact)


def _ends_in_a_function(answer: Any) -> bool:
    """Whether the answer is a guess, of one number or more, and a function to test it with."""
    return isinstance(answer, tuple | list) and len(answer) > 1 and callable(answer[-1])


def _changes() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    for name, value in NOT_NUMBERS.items():
        yield f"{name} at the end", lambda x, v=value: _with(x, -1, v)
        yield f"{name} at the beginning", lambda x, v=value: _with(x, 0, v)
        yield f"{name} everywhere", lambda x, v=value: _tensor(x).double() * 0 + v
    yield "a complex number", lambda x: _tensor(x) + 0.5j
    yield "nothing", lambda x: None
    yield "no numbers", lambda x: _tensor(x).flatten()[:0]
    yield "another axis", lambda x: _tensor(x)[None] if _tensor(x).dim() else _tensor(x)[None, None]
    yield "twice", lambda x: torch.stack([_tensor(x), _tensor(x)])
    yield "one row too many", lambda x: _longer(_tensor(x))
    yield "one row too few", lambda x: _tensor(x)[:-1] if _tensor(x).dim() else None
    yield "one row", lambda x: _tensor(x)[:1] if len(_flat(x)) > 1 else None
    yield "transposed", lambda x: _tensor(x).mT if _is_oblong(x) else None


def _tensor(x: Any) -> torch.Tensor:
    return torch.as_tensor(x)


def _flat(x: Any) -> torch.Tensor:
    return _tensor(x).flatten()


def _is_oblong(x: Any) -> bool:
    return _tensor(x).dim() >= 2 and _tensor(x).shape[-1] != _tensor(x).shape[-2]


def _longer(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x[-1:]]) if x.dim() else torch.stack([x, x])


def _with(x: Any, place: int, value: float) -> torch.Tensor:
    x = _tensor(x).double().clone()
    x.view(-1)[place] = value
    return x


def _after(function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *args: change(function(*args))


def _to_numpy(x: Any) -> Any:
    return x.numpy() if isinstance(x, torch.Tensor) else np.asarray(x)[()]


def _to_float32(x: Any) -> Any:
    return x.float() if isinstance(x, torch.Tensor) and x.is_floating_point() else x


def _is_text(answer: Any) -> bool:
    return all(isinstance(word, str) for word in answer)


def _is_pair_of_tables(answer: Any) -> bool:
    return isinstance(answer, tuple | list) and any(
        isinstance(part, (list, tuple, torch.Tensor)) and torch.as_tensor(part).dim() == 2
        for part in answer
    )
