"""What decoding need not compute twice: projected keys and values, kept between steps."""

from collections.abc import Callable

import torch
from torch import Tensor

Pair = tuple[Tensor, Tensor]


class KeyValueCache:
    """Keys and values of one attention, after projection and split.

    See chapter 9 of the book.

    Args:
        grows: True in self-attention, where each step adds the new tokens; False in
            cross-attention, where the memory is projected once and then reused

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
        """The keys and values to attend to now; calls ``project`` only if it must."""
        if self.pair is None:
            self.pair = project()
        elif self.grows:
            self.pair = tuple(  # type: ignore[assignment]
                torch.cat([old, new], dim=-2) for old, new in zip(self.pair, project(), strict=True)
            )
        return self.pair  # type: ignore[return-value]

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows of the batch, in the given order; a row may occur twice."""
        if self.pair is not None:
            k, v = self.pair
            self.pair = k.index_select(0, rows), v.index_select(0, rows)


class LayerCache:
    """The two caches of a decoder layer."""

    def __init__(self) -> None:
        self.self_attention = KeyValueCache(grows=True)
        self.cross_attention = KeyValueCache(grows=False)

    def reorder(self, rows: Tensor) -> None:
        self.self_attention.reorder(rows)
        self.cross_attention.reorder(rows)


class DecoderCache:
    """All layers' caches, and which of the tokens so far may be attended to.

    Made by `Transformer.new_cache`, filled by `Transformer.decode`. ``length`` is the
    number of target tokens seen: the position at which the next one stands.

    See chapter 9 of the book.

    >>> cache = DecoderCache(num_layers=2)
    >>> _ = cache.extend_mask(torch.ones(1, 1, 1, 3, dtype=torch.bool))
    >>> cache.length
    3
    """

    def __init__(self, num_layers: int) -> None:
        self.layers = [LayerCache() for _ in range(num_layers)]
        self.mask: Tensor | None = None  # (B, 1, 1, length)

    @property
    def length(self) -> int:
        return 0 if self.mask is None else self.mask.shape[-1]

    def extend_mask(self, new: Tensor) -> Tensor:
        """Add the new tokens' padding mask. Shape: (B, 1, 1, L) -> (B, 1, 1, length)."""
        self.mask = new if self.mask is None else torch.cat([self.mask, new], dim=-1)
        return self.mask

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows of the batch, in the given order: beam search moves beams."""
        if self.mask is not None:
            self.mask = self.mask.index_select(0, rows)
        for layer in self.layers:
            layer.reorder(rows)
