"""A decoder-only model: an `Encoder` under a causal mask, which predicts the next token."""

import math
from collections.abc import Callable

from torch import Tensor, nn

from attention_core import _checks, _options
from attention_core._embedding import embed, to_int64
from attention_core.cache import EncoderCache
from attention_core.functional import AttentionFunction, scaled_dot_product_attention
from attention_core.layers import FeedForward, FeedForwardFactory, LayerNorm
from attention_core.masks import causal_mask, padding_mask
from attention_core.positional import SinusoidalPositions
from attention_core.transformer import Encoder, TransformerConfig


class LanguageModel(nn.Module):
    """Score the next token at each position of a text.

    There is one stack and no memory. Its layers are those of `Encoder`: a decoder layer
    without cross-attention is an encoder layer with a causal mask.

    Args:
        config: the sizes; src_vocab_size and tgt_vocab_size must be equal
        attention: as in `MultiHeadAttention`; `rotary_attention` and `alibi_attention` hold
            the positions themselves
        norm, feed_forward: as in `EncoderLayer`
        positions: whether sinusoids are added to the embeddings, which are first multiplied
            by √d_model, as in `Transformer`. False leaves the embeddings as they are.

    Sequences are padded on the right with ``config.pad_id``.

    Shape:
        ids: (B, L) of any integer dtype
        returns: logits (B, L, V); row i scores the token after ids[i]

    Raises:
        ValueError: the vocabulary sizes differ, ids do not have two axes, an id is not in the
            vocabulary (on a GPU torch's own assertion), the text is longer than max_len
            (with ``positions``), or mask or cache does not fit
        TypeError: ids are not integers, or positions is not a bool

    Source: Radford et al. 2018 (GPT), section 3.1. The book's chapter 15.

    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=11, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> LanguageModel(config)(torch.ones(2, 5, dtype=torch.long)).shape
    torch.Size([2, 5, 11])
    """

    def __init__(
        self,
        config: TransformerConfig,
        *,
        attention: AttentionFunction = scaled_dot_product_attention,
        norm: Callable[[int], nn.Module] = LayerNorm,
        feed_forward: FeedForwardFactory = FeedForward,
        positions: bool = True,
    ) -> None:
        super().__init__()
        if config.src_vocab_size != config.tgt_vocab_size:
            raise ValueError(
                "config must have one vocabulary, since the model continues its own input, got "
                f"src_vocab_size={config.src_vocab_size} and "
                f"tgt_vocab_size={config.tgt_vocab_size}"
            )
        self.config = config
        self.embedding = nn.Embedding(config.tgt_vocab_size, config.d_model)
        self.output = nn.Linear(config.d_model, config.tgt_vocab_size, bias=False)
        if config.tie_embeddings:
            self.embedding.weight = self.output.weight
        self.positions: SinusoidalPositions | None = None
        if _options.check_flag("positions", positions):
            self.positions = SinusoidalPositions(
                config.d_model, max_len=config.max_len, dropout=config.dropout
            )
        self.encoder = Encoder(config, attention=attention, norm=norm, feed_forward=feed_forward)
        for matrix in (self.embedding, self.output):
            nn.init.normal_(matrix.weight, std=config.d_model**-0.5)

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, *, cache: EncoderCache | None = None
    ) -> Tensor:
        """Score the token after each token.

        Args:
            mask: takes the place of the causal mask, for experiments; padding stays hidden
            cache: from `new_cache`; ids then holds only tokens that it has not seen

        Shape:
            mask: bool, broadcastable to (B, H, L, L), with a cache to (B, H, L, tokens so far
                + L); one of 3 axes is (B, L, L). True = may attend.
        """
        ids = to_int64("ids", ids)
        if cache is not None:
            _options.check_kind("cache", cache, EncoderCache)
        offset, length = (cache.length if cache else 0), ids.shape[1]
        x = embed("ids", ids, self.embedding)
        if self.positions is not None:
            x = self.positions(x * math.sqrt(self.config.d_model), offset)
        if mask is None:
            # The new tokens are the last rows of the causal triangle.
            mask = causal_mask(offset + length, device=ids.device)[offset:]
        else:
            scores = (ids.shape[0], self.config.num_heads, length, offset + length)
            mask = _checks.mask_with_heads(mask, scores)
        real = padding_mask(ids, self.config.pad_id)
        if cache is not None:
            cache.check_fits(self.config.num_layers, x)
            real = cache.extend_mask(real)
        hidden = self.encoder(x, real & mask, cache=cache)
        logits: Tensor = self.output(hidden)
        return logits

    def new_cache(self) -> EncoderCache:
        """Return an empty cache, to be used for one batch."""
        return EncoderCache(self.config.num_layers)
