"""States of live figures for the tests, and the comparison of a page's numbers with ours."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import attention_core.widgets as widgets
from attention_core.widgets.figure import LiveFigure, flatten, number_text

FIGURES: dict[str, type[LiveFigure]] = {
    figure.module: figure
    for figure in map(vars(widgets).get, widgets.__all__)
    if figure is not LiveFigure
}


def _vector(draw: random.Random, size: int, reach: float) -> list[float]:
    return [draw.uniform(-reach, reach) for _ in range(size)]


def two_vectors(draw: random.Random) -> dict[str, Any]:
    return {
        "q": draw.choice([_vector(draw, 2, 4), [0.0, 0.0], [1.5, -2.0]]),
        "k": draw.choice([_vector(draw, 2, 4), [0.0, 0.0], [-3.0, 4.0]]),
    }


def simple_attention(draw: random.Random) -> dict[str, Any]:
    number, width = draw.randint(1, 7), draw.randint(1, 5)
    return {
        "words": [f"w{i}" for i in range(number)],
        "embeddings": [_vector(draw, width, 3) for _ in range(number)],
        "query": draw.randrange(number),
        "temperature": draw.uniform(0.05, 5),
    }


#: A random state for each figure, by the name of its module.
STATES: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "two_vectors": two_vectors,
    "simple_attention": simple_attention,
}


def differences(module: str, state: dict[str, Any], shown: Any) -> list[str]:
    """Where the numbers that JavaScript found differ from those of the package."""
    expected = flatten(FIGURES[module](**state).numbers())
    found = flatten(shown)
    if expected.keys() != found.keys():
        return [f"{module} shows other numbers: {expected.keys() ^ found.keys()}"]
    return [
        f"{module}, {key}: {found[key]} for {value} in {state}"
        for key, value in expected.items()
        if not (
            math.isclose(found[key], value, rel_tol=1e-6, abs_tol=1e-6)
            or (math.isnan(value) and math.isnan(found[key]))
        )
    ]


def shown_text(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else number_text(value, digits)
