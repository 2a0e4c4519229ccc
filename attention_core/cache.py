"""Caches of projected keys and values, so that decoding does not compute them again."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_core import _checks, _options

Pair = tuple[Tensor, Tensor]


class KeyValueCache:
    """Keep the keys and values of one attention, projected and split into heads.

    See chapter 9 of the book.

    Args:
        grows: True in self-attention, where each step adds the new tokens; False in
            cross-attention, where the memory is projected once and then reused

    Raises:
        ValueError: new keys or values differ from those kept in more than their length

    >>> cache = KeyValueCache(grows=True)
    >>> for _ in range(2):
    ...     k, v = cache.update(lambda: (torch.zeros(1, 3, 1, 4), torch.zeros(1, 3, 1, 4)))
    >>> k.shape
    torch.Size([1, 3, 2, 4])
    """

    def __init__(self, *, grows: bool) -> None:
        self.grows = grows
        self.pair: Pair | None = None

    def update(self, project: Callable[[], Pair]) -> Pair:
        """Return the keys and values to attend to now; call ``project`` only if needed."""
        if self.pair is None:
            self.pair = project()
        elif self.grows:
            (k, v), (new_k, new_v) = self.pair, project()
            _check_continues("keys", k, new_k)
            _check_continues("values", v, new_v)
            self.pair = torch.cat([k, new_k], dim=-2), torch.cat([v, new_v], dim=-2)
        return self.pair

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows of the batch, in the given order; a row may occur twice."""
        _checks.check_rows(rows)
        if self.pair is not None:
            k, v = self.pair
            self.pair = k.index_select(0, rows), v.index_select(0, rows)


def _check_continues(name: str, old: Tensor, new: Tensor) -> None:
    """Check that only the length, on the axis before the last, differs."""
    same = old.shape[:-2] == new.shape[:-2] and old.shape[-1] == new.shape[-1]
    if not same or old.dtype != new.dtype:
        raise ValueError(
            f"new {name} must differ in length only from those in the cache, got "
            f"{_checks.shape(new)} of {new.dtype} after {_checks.shape(old)} of {old.dtype}"
        )


class LayerCache:
    """Hold the two caches of a decoder layer."""

    def __init__(self) -> None:
        self.self_attention = KeyValueCache(grows=True)
        self.cross_attention = KeyValueCache(grows=False)

    def reorder(self, rows: Tensor) -> None:
        self.self_attention.reorder(rows)
        self.cross_attention.reorder(rows)


class _StackCache:
    """The caches of a stack's layers, and the padding mask of the tokens so far."""

    _stack: str
    layers: list[Any]

    def __init__(self, num_layers: int) -> None:
        self.num_layers = _options.check_count("num_layers", num_layers, minimum=1)
        self.mask: Tensor | None = None  # (B, 1, 1, length)

    @property
    def length(self) -> int:
        return 0 if self.mask is None else self.mask.shape[-1]

    def extend_mask(self, new: Tensor) -> Tensor:
        """Add the new tokens' padding mask. Shape: (B, 1, 1, L) -> (B, 1, 1, length)."""
        if self.mask is not None:
            _checks.check_same_batch(self.mask.shape[0], new.shape[0])
            new = torch.cat([self.mask, new], dim=-1)
        self.mask = new
        return new

    def _check_stack(self, num_layers: int, x: Tensor) -> None:
        if len(self.layers) != num_layers:
            raise ValueError(
                f"cache must have as many layers as the {self._stack}, {num_layers}, "
                f"got {len(self.layers)}"
            )
        if self.mask is not None:
            _checks.check_same_batch(self.mask.shape[0], x.shape[0])

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows of the batch, in the given order, as beam search needs it."""
        _checks.check_rows(rows)
        if self.mask is not None:
            self.mask = self.mask.index_select(0, rows)
        for layer in self.layers:
            layer.reorder(rows)


class EncoderCache(_StackCache):
    """Hold the caches of an encoder's layers, and the padding mask of the tokens so far.

    Made by `LanguageModel.new_cache`, filled by `LanguageModel`, which runs an `Encoder` under
    a causal mask. ``length`` is the number of tokens so far, and so the position of the next.

    See chapter 15 of the book.

    Raises:
        ValueError: num_layers is below 1; later, a batch differs from the one in the cache
        TypeError: num_layers is not an int

    >>> cache = EncoderCache(num_layers=2)
    >>> _ = cache.extend_mask(torch.ones(1, 1, 1, 3, dtype=torch.bool))
    >>> cache.length
    3
    """

    _stack = "encoder"

    def __init__(self, num_layers: int) -> None:
        super().__init__(num_layers)
        self.layers = [KeyValueCache(grows=True) for _ in range(self.num_layers)]

    def check_fits(self, num_layers: int, x: Tensor) -> None:
        """Check that the cache belongs to this model and this batch.

        Shape:
            x: (B, L, d_model)

        Raises:
            ValueError: the number of layers or B differs from what the cache holds
        """
        self._check_stack(num_layers, x)


class DecoderCache(_StackCache):
    """Hold the caches of all layers, and the padding mask of the tokens so far.

    Made by `Transformer.new_cache`, filled by `Transformer.decode`. ``length`` is the
    number of target tokens so far, and so the position of the next one.

    See chapter 9 of the book.

    Raises:
        ValueError: num_layers is below 1; later, a batch differs from the one in the cache
        TypeError: num_layers is not an int

    >>> cache = DecoderCache(num_layers=2)
    >>> _ = cache.extend_mask(torch.ones(1, 1, 1, 3, dtype=torch.bool))
    >>> cache.length
    3
    """

    _stack = "decoder"

    def __init__(self, num_layers: int) -> None:
        super().__init__(num_layers)
        self.layers = [LayerCache() for _ in range(self.num_layers)]

    def check_fits(self, num_layers: int, x: Tensor, memory: Tensor) -> None:
        """Check that the cache belongs to this model, this batch and this memory.

        Shape:
            x: (B, L, d_model)    memory: (B, S, d_model)

        Raises:
            ValueError: the number of layers, B or S differs from what the cache holds
        """
        self._check_stack(num_layers, x)
        kept = self.layers[0].cross_attention.pair
        if kept is not None and kept[0].shape[-2] != memory.shape[-2]:
            raise ValueError(
                "cache must have been filled from the same memory, got memory "
                f"{_checks.shape(memory)} for a cache of {kept[0].shape[-2]} source tokens"
            )
