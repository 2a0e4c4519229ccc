"""Read the attention maps of a published model on a dozen sentences, and of the same untrained.

The file holds numbers only, so that the figure needs neither the model nor its package. It is
made by ``tools/make_head_maps.py``.
"""

import base64
import json
import zlib
from functools import cache
from importlib.resources import files
from typing import Any

import torch
from torch import Tensor

LAYERS, HEADS = 6, 12
#: A weight is stored as the number of its step: [0, 1] has 200 steps of 0.005. The middle of the
#: step stands for the weight, so it is off by 0.0025 at most, and its two decimals are right.
STEPS = 200
#: The sizes of the sentences, in tokens, lie below this.
LONGEST = 13


@cache
def stored() -> dict[str, Any]:
    """Return the file: its source, the sentences, their tokens, and the maps as text."""
    path = files("attention_core") / "data" / "head_maps.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def sentences() -> list[str]:
    """Return the sentences, in the order of the figure.

    >>> sentences()[0]
    'Your journey starts with one step.'
    """
    return list(stored()["sentences"])


def tokens_of(sentence: int) -> list[str]:
    """Return the tokens of a sentence, the two that mark its ends included.

    >>> tokens_of(1)
    ['[CLS]', 'i', 'saw', 'a', 'saw', '.', '[SEP]']
    """
    return list(stored()["tokens"][sentence])


@cache
def map_bytes(*, trained: bool) -> bytes:
    """Return all maps as bytes: for each sentence its layers, heads, rows and columns in turn."""
    text = stored()["trained" if trained else "untrained"]
    return zlib.decompress(base64.b64decode(text))


def bytes_at(sentence: int, *, trained: bool) -> Tensor:
    """Return the stored steps of one sentence, from 0 to 199.

    Shape:
        result: (layers, H, L, L)
    """
    sizes = [len(tokens) for tokens in stored()["tokens"]]
    start = LAYERS * HEADS * sum(size**2 for size in sizes[:sentence])
    shape = (LAYERS, HEADS, sizes[sentence], sizes[sentence])
    numbers = bytearray(map_bytes(trained=trained))
    count = LAYERS * HEADS * sizes[sentence] ** 2
    return torch.frombuffer(numbers, dtype=torch.uint8, offset=start, count=count).view(shape)


def weights_at(sentence: int, *, trained: bool) -> Tensor:
    """Return the weights of one sentence, to 0.0025.

    Shape:
        result: (layers, H, L, L)

    >>> weights_at(0, trained=True)[3, 1, 5, 6]
    tensor(0.8125, dtype=torch.float64)
    """
    return (bytes_at(sentence, trained=trained).double() + 0.5) / STEPS


def packed(*, trained: bool) -> tuple[dict[str, Any], bytes]:
    """Return what a page needs to show every map: which model, the sizes, and the bytes."""
    sizes = [len(tokens) for tokens in stored()["tokens"]]
    return {"trained": trained, "sizes": sizes}, map_bytes(trained=trained)
