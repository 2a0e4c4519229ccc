"""States of live figures, and the comparison of a page's numbers with the package's."""

from __future__ import annotations

import base64
import math
import random
from collections.abc import Callable
from typing import Any

import torch

import attention_core.widgets as widgets
from attention_core import dates
from attention_core.widgets import dates_model, head_maps
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
        "cosine": draw.random() < 0.5,
    }


def query_key_value(draw: random.Random) -> dict[str, Any]:
    def matrix(columns: int) -> list[list[float]]:
        return [_vector(draw, columns, 4) for _ in range(3)]

    return {
        "market": [_vector(draw, 3, 3) for _ in range(4)],
        "W_q": draw.choice([matrix(2), [[0.0, 0.0]] * 3]),
        "W_k": matrix(2),
        "W_v": draw.choice([matrix(1), [[0.0], [0.0], [1.0]]]),
    }


def norm_residual(draw: random.Random) -> dict[str, Any]:
    chosen = [[-5.0, 1.0, 1.0, 3.0], [2.0] * 4, [0.0] * 4, [3.0, 3.0, 3.004, 3.004]]
    return {
        "tokens": [draw.choice([_vector(draw, 4, 20), *chosen]) for _ in range(2)],
        "offset": max(0.0, draw.uniform(-2, 5)),
        "strength": draw.choice([0.0, draw.uniform(-0.5, 0.5), draw.uniform(-0.5, 0.5)]),
        "parts": draw.randint(1, 12),
    }


def mask_painter(draw: random.Random) -> dict[str, Any]:
    number, width = draw.randint(2, 8), draw.randint(1, 5)
    share = draw.choice([0.0, 0.3, 0.7, 1.0])
    return {
        "words": [f"w{i}" for i in range(number)],
        "embeddings": [_vector(draw, width, 2) for _ in range(number)],
        "mask": [[draw.random() < share for _ in range(number)] for _ in range(number)],
        "layers": draw.randint(1, 5),
    }


def scaling(draw: random.Random) -> dict[str, Any]:
    return {"power": draw.choice([0.0, 0.5, 1.0, draw.random()]), "seed": draw.choice([0, 7, 99])}


def attention_map(draw: random.Random) -> dict[str, Any]:
    layers, heads, sizes = (
        draw.randint(1, 3),
        draw.randint(1, 5),
        [draw.randint(1, 6) for _ in "abc"],
    )

    def row(size: int) -> list[float]:
        powers = [draw.choice([0.0, draw.random(), 9 * draw.random()]) for _ in range(size)]
        return [x / (sum(powers) or 1.0) for x in powers]  # all 0: the query may look at nothing

    def one(name: str, queries: int, keys: int) -> dict[str, Any]:
        rows = [[[row(keys) for _ in range(queries)] for _ in range(heads)] for _ in range(layers)]
        tokens = [
            [f"{side}{n}" for n in range(size)] for side, size in (("q", queries), ("k", keys))
        ]
        return {"name": name, "queries": tokens[0], "keys": tokens[1], "weights": rows}

    a, b, c = sizes
    return {
        "maps": [one("encoder", a, b), one("mine", c, a)],
        "kind": draw.choice(["encoder", "mine"]),
        "layer": draw.randrange(layers),
        "head": draw.randrange(heads),
        "side": draw.choice(["query", "key"]),
        "query": draw.randrange(max(a, c)),
        "key": draw.randrange(max(a, b)),
    }


def heads(draw: random.Random) -> dict[str, Any]:
    number, count, part = draw.randint(1, 6), draw.randint(1, 4), draw.randint(1, 3)
    width = count * part
    whole = [[float(10 * i + j) for j in range(width)] for i in range(number)]
    return {
        "words": [f"w{i}" for i in range(number)],
        "x": draw.choice([whole, [_vector(draw, width, 9) for _ in range(number)]]),
        "num_heads": count,
        "way": draw.choice(["transpose", "reshape", "stack", "forgotten"]),
        "picked": draw.randrange(number * width),
    }


def positions(draw: random.Random) -> dict[str, Any]:
    pairs = draw.randint(1, 8)
    return {
        "position": draw.choice([0, draw.randint(0, 200)]),
        "offset": draw.choice([0, draw.randint(0, 60)]),
        "pair": draw.randrange(pairs),
        "d_model": 2 * pairs,
        "base": draw.choice([2.0, 10.0, 10_000.0, draw.uniform(2, 1e6)]),
    }


def shapes(draw: random.Random) -> dict[str, Any]:
    heads, tied = draw.randint(1, 9), draw.random() < 0.5
    words = draw.randint(1, 50_000)
    return {
        **{name: draw.randint(1, 300) for name in ("batch_size", "src_length", "tgt_length")},
        "src_vocab_size": words if tied else draw.randint(1, 50_000),
        "tgt_vocab_size": words,
        "d_model": heads * draw.randint(1, 99),
        "num_heads": heads,
        "num_layers": draw.randint(1, 9),
        "d_ff": draw.randint(1, 3000),
        "tie_embeddings": tied,
        "part": draw.choice(list(widgets.Shapes().shapes)),
    }


def translator(draw: random.Random) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(draw.randrange(1000))
    text = dates.examples("test", 1, generator=generator)[0].source
    noise = "".join(draw.choice(dates.SOURCE.characters) for _ in range(draw.randint(1, 12)))
    return {
        "source": draw.choice([text, text, noise]),
        "layer": draw.randrange(2),
        "head": draw.choice([None, 0, 1, 2, 3]),
        "written": draw.choice([0, 40, draw.randrange(12)]),
    }


def trained_heads(draw: random.Random) -> dict[str, Any]:
    return {
        "sentence": draw.randrange(12),
        "layer": draw.randrange(6),
        "head": draw.randrange(12),
        "trained": draw.random() < 0.7,
        "query": draw.randrange(13),
    }


def _as_loaded(manifest: dict[str, Any], data: bytes) -> dict[str, Any]:
    return {**manifest, "base64": base64.b64encode(data).decode("ascii")}


#: All data that a figure may ask for, in the form that a page loads.
DATA: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "translator": lambda: [_as_loaded(*dates_model.packed())],
    "trained_heads": lambda: [
        _as_loaded(*head_maps.packed(trained=trained)) for trained in (True, False)
    ],
}

#: A random state for each figure, by the name of its module.
STATES: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "attention_map": attention_map,
    "translator": translator,
    "trained_heads": trained_heads,
    "mask_painter": mask_painter,
    "scaling": scaling,
    "two_vectors": two_vectors,
    "heads": heads,
    "positions": positions,
    "simple_attention": simple_attention,
    "query_key_value": query_key_value,
    "norm_residual": norm_residual,
    "shapes": shapes,
}


def as_numbers(tree: Any) -> Any:
    """Turn numbers that came as text, such as "NaN", into floats throughout the tree."""
    if isinstance(tree, dict):
        return {key: as_numbers(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [as_numbers(value) for value in tree]
    return float(tree)


def differences(module: str, state: dict[str, Any], shown: Any) -> list[str]:
    """Return where the numbers that JavaScript computed differ from those of the package."""
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
    if digits < 0:  # a count, in groups of three digits
        return f"{value:,.0f}"
    return "–" if math.isnan(value) else number_text(value, digits)
