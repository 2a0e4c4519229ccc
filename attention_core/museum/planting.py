"""Plant exhibits in the package for a while, and take them out again."""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from attention_core.museum import mistakes
from attention_core.museum.exhibits import Exhibit
from attention_core.museum.laws import find

__all__ = ["planted"]


@contextmanager
def planted(*exhibits: Exhibit) -> Iterator[None]:
    """Replace the right parts of the package by these exhibits inside a ``with`` block.

    A part is replaced in every module that has imported it, and where it is a default
    argument, as the attention of `MultiHeadAttention` is. At the end of the block, also after
    an error, everything is as it was, also in modules that were imported inside it.

    >>> from attention_core import functional
    >>> from attention_core.museum import EXHIBITS
    >>> with planted(EXHIBITS[1]):
    ...     functional.split_heads.__name__
    'heads_by_reshape'
    >>> functional.split_heads.__name__
    'split_heads'
    """
    undo: list[Callable[[], object]] = []
    try:
        for exhibit in exhibits:
            for target, wrong in {exhibit.target: exhibit.wrong, **exhibit.also}.items():
                _plant(target, wrong, undo)
        yield
    finally:
        for step in reversed(undo):
            step()


def _plant(target: str, wrong: Callable[..., Any], undo: list[Callable[[], object]]) -> None:
    right = find(target)
    if right is wrong:  # planted already
        return
    owner, _, name = target.rpartition(".")
    if inspect.isclass(owner_class := find(owner) if "." in owner else None):
        had = name in vars(owner_class)
        undo.append(
            lambda: setattr(owner_class, name, right) if had else delattr(owner_class, name)
        )
        setattr(owner_class, name, wrong)
        return
    # A module that is imported inside the block imports the wrong part. So the undo searches
    # all modules again, instead of remembering where the part was.
    undo.append(lambda: _replace(wrong, right))
    _replace(right, wrong)


def _replace(old: Any, new: Any) -> None:
    """Replace one part by another in all modules, default arguments included."""
    for module in _modules():
        for known, part in list(vars(module).items()):
            if part is old:
                setattr(module, known, new)
            for function in (part, *vars(part).values()) if inspect.isclass(part) else (part,):
                defaults = getattr(function, "__kwdefaults__", None) or {}
                for argument in [a for a, value in defaults.items() if value is old]:
                    defaults[argument] = new


def _modules() -> list[Any]:
    """The imported modules of the package, except `mistakes`, which needs the right parts."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name.split(".")[0] == "attention_core" and module is not mistakes
    ]
