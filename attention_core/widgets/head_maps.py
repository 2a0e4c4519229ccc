"""Read the attention maps of a published model on a dozen sentences, and of the same untrained.

The file holds numbers only, so that the figure needs neither the model nor its package. It is
made by ``tools/make_head_maps.py``.
"""

import base64
import json
import math
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
    """Return all maps as bytes: for each sentence its layers, heads, rows and columns in turn.

    After all maps there is one more byte for each row, see `leads_at`.
    """
    text = stored()["trained" if trained else "untrained"]
    return zlib.decompress(base64.b64decode(text))


def bytes_at(sentence: int, *, trained: bool) -> Tensor:
    """Return the stored steps of one sentence, from 0 to 199.

    Shape:
        result: (layers, H, L, L)
    """
    sizes = _sizes()
    start = sum(size**2 for size in sizes[:sentence])
    return _part(start, (sizes[sentence], sizes[sentence]), trained=trained)


def leads_at(sentence: int, *, trained: bool) -> Tensor:
    """Return for each row a byte 16 t + w that tells which of several equal steps leads.

    Of the tokens in the row's largest step, the one t places after the first has the largest
    weight in float64. w tells the same of the words alone.

    Shape:
        result: (layers, H, L)
    """
    sizes = _sizes()
    start = sum(size**2 for size in sizes) + sum(sizes[:sentence])
    return _part(start, (sizes[sentence],), trained=trained)


def _sizes() -> list[int]:
    return [len(tokens) for tokens in stored()["tokens"]]


def _part(start: int, shape: tuple[int, ...], *, trained: bool) -> Tensor:
    """Return bytes that are stored for each layer and head, from `start` times their number."""
    numbers = bytearray(map_bytes(trained=trained))
    count, offset = LAYERS * HEADS * math.prod(shape), LAYERS * HEADS * start
    part = torch.frombuffer(numbers, dtype=torch.uint8, offset=offset, count=count)
    return part.view(LAYERS, HEADS, *shape)


def is_word(token: str) -> bool:
    """Return whether a token is a word: neither a mark such as [CLS] nor the full stop.

    >>> [is_word(token) for token in ("[CLS]", "saw", ".")]
    [False, True, False]
    """
    return not token.startswith("[") and token != "."


def leaders_at(sentence: int, *, trained: bool) -> tuple[Tensor, Tensor]:
    """Return for each row the token of the largest weight, and the word of the largest weight.

    Both are those of the weights in float64, even where their steps are equal.

    Shape:
        results: (layers, H, L)

    >>> top, word = leaders_at(0, trained=True)
    >>> tokens_of(0)[top[3, 1, 6]], tokens_of(0)[word[3, 1, 6]]
    ('[CLS]', 'journey')
    """
    steps = bytes_at(sentence, trained=trained).long()
    leads = leads_at(sentence, trained=trained).long()
    words = torch.tensor([is_word(token) for token in tokens_of(sentence)])
    # Of equal steps, argmax finds the first.
    top = steps.argmax(dim=-1) + leads // 16
    return top, steps.masked_fill(~words, -1).argmax(dim=-1) + leads % 16


def times_of(step: int, length: int) -> float:
    """Return how many times an even share of `length` tokens a stored weight is.

    The step leaves some room. Where all of it rounds to one whole number, that is the result;
    elsewhere it is the half between two whole numbers, which is less than 0.07 off.

    >>> times_of(162, 9), times_of(166, 9)
    (7.0, 7.5)
    """
    half = STEPS // 2
    low = (step * length + half) // STEPS
    high = -((half - (step + 1) * length) // STEPS)
    return float(low) if low == high else low + 0.5


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
    return {"trained": trained, "sizes": _sizes()}, map_bytes(trained=trained)
