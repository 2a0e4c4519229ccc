"""The whole Transformer: embeddings, encoder, decoder, and the projection to logits."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from attention_core import _checks, _options
from attention_core._embedding import embed, to_int64
from attention_core.cache import DecoderCache, EncoderCache
from attention_core.functional import AttentionFunction, scaled_dot_product_attention
from attention_core.layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    FeedForwardFactory,
    LayerNorm,
)
from attention_core.masks import causal_mask, padding_mask
from attention_core.positional import SinusoidalPositions


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Hold the sizes of a `Transformer`; the defaults are the paper's base model.

    Args:
        src_vocab_size, tgt_vocab_size: numbers of tokens
        d_model, num_heads, d_ff: widths and heads
        num_layers: encoder layers, and decoder layers
        dropout: as in `EncoderLayer`, and on the sums of embedding and position
        max_len: the longest source or target
        pad_id: the padding token of source and target
        norm_first: pre-norm layers, with one more norm after each stack
        tie_embeddings: one matrix embeds source and target and projects to logits
        num_kv_heads, attention_bias: as in `EncoderLayer`

    Raises:
        ValueError: a size is below 1, num_heads does not divide d_model, num_kv_heads
            does not divide num_heads, dropout is not between 0 and 1, pad_id is not in
            both vocabularies, or embeddings are to be tied over vocabularies of
            different sizes
        TypeError: a size is not an int

    Source: Vaswani et al. 2017, table 3; tying, section 3.4. The book's chapter 9.

    >>> TransformerConfig(src_vocab_size=100, tgt_vocab_size=90).d_ff
    2048
    """

    src_vocab_size: int
    tgt_vocab_size: int
    d_model: int = 512
    num_heads: int = 8
    num_layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    max_len: int = 5000
    pad_id: int = 0
    norm_first: bool = False
    tie_embeddings: bool = False
    num_kv_heads: int | None = None
    attention_bias: bool = True

    def __post_init__(self) -> None:
        sizes = ("src_vocab_size", "tgt_vocab_size", "d_model", "num_layers", "d_ff", "max_len")
        counts = {
            name: _options.check_count(name, getattr(self, name), minimum=1) for name in sizes
        }
        heads = _options.check_heads("d_model", counts["d_model"], self.num_heads)
        kv_heads = _options.check_kv_heads(heads, self.num_kv_heads)
        _options.set_checked(
            self,
            **counts,
            num_heads=heads,
            num_kv_heads=None if self.num_kv_heads is None else kv_heads,
            dropout=_options.check_probability("dropout", self.dropout),
            pad_id=_options.check_pad_id(
                self.pad_id, counts["src_vocab_size"], counts["tgt_vocab_size"]
            ),
        )
        for name in ("norm_first", "tie_embeddings", "attention_bias"):
            _options.check_flag(name, getattr(self, name))
        if self.tie_embeddings and self.src_vocab_size != self.tgt_vocab_size:
            raise ValueError(
                "tie_embeddings needs one vocabulary for both languages, got "
                f"src_vocab_size={self.src_vocab_size} and tgt_vocab_size={self.tgt_vocab_size}"
            )


class _Stack(nn.Module):
    """Layers of one kind, and a final norm if ``norm_first``."""

    _layer: type[EncoderLayer] | type[DecoderLayer]

    def __init__(
        self,
        config: TransformerConfig,
        *,
        attention: AttentionFunction = scaled_dot_product_attention,
        norm: Callable[[int], nn.Module] = LayerNorm,
        feed_forward: FeedForwardFactory = FeedForward,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            self._layer(
                config.d_model,
                config.num_heads,
                config.d_ff,
                dropout=config.dropout,
                norm_first=config.norm_first,
                attention=attention,
                norm=norm,
                feed_forward=feed_forward,
                num_kv_heads=config.num_kv_heads,
                attention_bias=config.attention_bias,
            )
            for _ in range(config.num_layers)
        )
        # In pre-norm nothing has normalised the sum of the layers yet.
        self.norm = norm(config.d_model) if config.norm_first else nn.Identity()


class Encoder(_Stack):
    """Apply a stack of `EncoderLayer`, with a final norm if ``norm_first``.

    See chapter 9 of the book.

    Args: as `Transformer`.

    Shape:
        x: (B, S, d_model)    mask: bool, broadcastable to (B, H, S, S); True = may attend
        returns: (B, S, d_model)

    Raises:
        ValueError: cache was made for another number of layers, or holds another batch

    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=13, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> Encoder(config)(torch.zeros(2, 5, 8)).shape
    torch.Size([2, 5, 8])
    """

    _layer = EncoderLayer

    def forward(
        self, x: Tensor, mask: Tensor | None = None, *, cache: EncoderCache | None = None
    ) -> Tensor:
        """With a ``cache``, x holds the new tokens only; mask is (L, tokens so far + L)."""
        if cache is not None:
            cache.check_fits(len(self.layers), x)
        for i, layer in enumerate(self.layers):
            x = layer(x, mask, cache=cache.layers[i]) if cache else layer(x, mask)
        normed: Tensor = self.norm(x)
        return normed


class Decoder(_Stack):
    """Apply a stack of `DecoderLayer`, with a final norm if ``norm_first``.

    See chapter 9 of the book.

    Args: as `Transformer`.

    Shape:
        as `DecoderLayer`

    Raises:
        ValueError: cache was made for another number of layers, or holds another batch or memory

    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=13, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> Decoder(config)(torch.zeros(2, 3, 8), torch.zeros(2, 5, 8)).shape
    torch.Size([2, 3, 8])
    """

    _layer = DecoderLayer

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        if cache is not None:
            cache.check_fits(len(self.layers), x, memory)
        for i, layer in enumerate(self.layers):
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                cache=cache.layers[i] if cache else None,
            )
        normed: Tensor = self.norm(x)
        return normed


class Transformer(nn.Module):
    """Compute logits from ids with the encoder-decoder of the paper.

    Args:
        config: the sizes
        attention: as in `MultiHeadAttention`
        norm, feed_forward: as in `EncoderLayer`

    Sequences are padded on the right with ``config.pad_id``; positions count from the
    left, so padding on the left would shift them.

    Shape:
        src: (B, S) ids of any integer dtype    tgt: (B, L) ids, beginning with BOS
        returns: logits (B, L, tgt_vocab_size); row i scores the token after tgt[i]

    Raises:
        ValueError: ids do not have two axes, the batches differ, a sequence is longer
            than max_len, or an id is not in its vocabulary (on a GPU torch's own assertion)
        TypeError: ids are not integers

    Source: Vaswani et al. 2017, figure 1. The book's chapter 9.

    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=13, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> src, tgt = torch.ones(2, 5, dtype=torch.long), torch.ones(2, 3, dtype=torch.long)
    >>> Transformer(config)(src, tgt).shape
    torch.Size([2, 3, 13])
    """

    def __init__(
        self,
        config: TransformerConfig,
        *,
        attention: AttentionFunction = scaled_dot_product_attention,
        norm: Callable[[int], nn.Module] = LayerNorm,
        feed_forward: FeedForwardFactory = FeedForward,
    ) -> None:
        super().__init__()
        self.config = config
        self.src_embedding = nn.Embedding(config.src_vocab_size, config.d_model)
        self.tgt_embedding = nn.Embedding(config.tgt_vocab_size, config.d_model)
        self.output = nn.Linear(config.d_model, config.tgt_vocab_size, bias=False)
        if config.tie_embeddings:
            self.src_embedding.weight = self.output.weight
            self.tgt_embedding.weight = self.output.weight
        self.positions = SinusoidalPositions(
            config.d_model, max_len=config.max_len, dropout=config.dropout
        )
        options: Any = {"attention": attention, "norm": norm, "feed_forward": feed_forward}
        self.encoder = Encoder(config, **options)
        self.decoder = Decoder(config, **options)
        # With standard deviation 1 / √d_model, hidden states of variance 1 give logits of
        # variance 1, so training starts near a loss of ln V, also with tied embeddings.
        # Times √d_model the embeddings have variance 1, about the size of the positions that
        # are added to them.
        for matrix in (self.src_embedding, self.tgt_embedding, self.output):
            nn.init.normal_(matrix.weight, std=config.d_model**-0.5)

    def encode(self, src: Tensor) -> Tensor:
        """Encode the source. Shape: ids (B, S) -> memory (B, S, d_model)."""
        src = to_int64("src", src)
        return self._encode(src, padding_mask(src, self.config.pad_id))

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None,
        *,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        """Score the token after each target token.

        With a ``cache`` from `new_cache`, tgt holds only tokens that it has not seen.

        Args:
            memory_mask: which rows of the memory may be attended to. There is no default,
                since the memory does not show which of its rows are padding; None means
                that none of them is.

        Shape:
            tgt: ids (B, L)    memory: (B, S, d_model)
            memory_mask: bool, broadcastable to (B, H, L, S), from ``padding_mask(src, pad_id)``;
                one of 3 axes is (B, L, S)
            returns: logits (B, L, tgt_vocab_size)

        Raises:
            ValueError: also if memory_mask does not broadcast, or cache comes from another
                model, batch or memory; the cache is left as it was
            TypeError: also if memory is not of the model's dtype, or cache not a DecoderCache
        """
        tgt = to_int64("tgt", tgt)
        if cache is not None:
            _options.check_kind("cache", cache, DecoderCache)
        _checks.check_memory(tgt, memory, self.config.d_model)
        offset, length = (cache.length if cache else 0), tgt.shape[1]
        x = self._embed(self.tgt_embedding, tgt, offset)
        # All checks come before the cache changes, so an error leaves it as it was.
        _checks.check_model_dtype("memory", memory, x.dtype)
        if memory_mask is not None:
            scores = (tgt.shape[0], self.config.num_heads, length, memory.shape[1])
            memory_mask = _checks.mask_with_heads(memory_mask, scores)
        real = padding_mask(tgt, self.config.pad_id)
        if cache is not None:
            cache.check_fits(self.config.num_layers, x, memory)
            real = cache.extend_mask(real)
        # The new tokens are the last rows of the causal triangle.
        tgt_mask = real & causal_mask(offset + length, device=tgt.device)[offset:]
        x = self.decoder(x, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, cache=cache)
        logits: Tensor = self.output(x)
        return logits

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src = to_int64("src", src)
        mask = padding_mask(src, self.config.pad_id)
        return self.decode(tgt, self._encode(src, mask), mask)

    def _encode(self, src: Tensor, mask: Tensor) -> Tensor:
        memory: Tensor = self.encoder(self._embed(self.src_embedding, src), mask)
        return memory

    def _embed(self, embedding: nn.Embedding, ids: Tensor, offset: int = 0) -> Tensor:
        name = "src" if embedding is self.src_embedding else "tgt"
        x = embed(name, ids, embedding) * math.sqrt(self.config.d_model)
        embedded: Tensor = self.positions(x, offset)
        return embedded

    def new_cache(self) -> DecoderCache:
        """Return an empty cache for `decode`, to be used for one batch."""
        return DecoderCache(self.config.num_layers)
