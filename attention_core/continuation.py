"""Translation with a decoder-only model: it reads the source, then BOS, and continues.

Source and target share one vocabulary and one sequence, ``source BOS target EOS``. The
causal mask lets each target token attend to the whole source and to the target before it,
so the model needs neither an encoder nor cross-attention.
"""

import torch
from torch import Tensor, nn

from attention_core import _checks, _options
from attention_core._embedding import embed, to_int64
from attention_core.cache import EncoderCache
from attention_core.language_model import LanguageModel
from attention_core.masks import has_id


def join_pairs(src: Tensor, tgt: Tensor, *, pad_id: int) -> Tensor:
    """Write each source and its target as one sequence, with all padding at its end.

    Shape:
        src: ids (B, S)    tgt: ids (B, L), beginning with BOS
        returns: ids (B, S + L), int64

    Raises:
        ValueError: src or tgt does not have two axes, or their batches differ
        TypeError: src or tgt is not an integer tensor, or pad_id is not an int

    Source: Liu et al. 2018, section 4.2.3. The book's chapter 15.

    >>> src, tgt = torch.tensor([[7, 8, 9], [7, 0, 0]]), torch.tensor([[1, 5, 2], [1, 6, 2]])
    >>> join_pairs(src, tgt, pad_id=0)
    tensor([[7, 8, 9, 1, 5, 2],
            [7, 1, 6, 2, 0, 0]])
    """
    src, tgt = to_int64("src", src), to_int64("tgt", tgt)
    if src.shape[0] != tgt.shape[0]:
        raise ValueError(
            "src and tgt must have the same batch size B, "
            f"got src {_checks.shape(src)} and tgt {_checks.shape(tgt)}"
        )
    ids = torch.cat([src, tgt], dim=1)
    padded = has_id(ids, _options.check_int("pad_id", pad_id))
    # A stable sort keeps the order of the real tokens.
    return ids.gather(1, padded.byte().argsort(dim=1, stable=True))


class ContinuationCache:
    """Hold one cache of the language model for each length of the sources in the batch.

    Made by `Continuation.new_cache`, filled by `Continuation.decode`. ``length`` is the
    number of target tokens so far.

    See chapter 15 of the book.

    >>> ContinuationCache().length
    0
    """

    def __init__(self) -> None:
        # Rows of the batch, the length of their sources, and their cache.
        self.groups: list[tuple[Tensor, int, EncoderCache]] = []
        self.length = 0

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows of the batch, in the given order, as beam search needs it.

        Raises:
            ValueError: a row is to be replaced by one with a source of another length
        """
        _checks.check_rows(rows)
        new = [torch.searchsorted(own, rows[own]) for own, _, _ in self.groups]
        for (own, _, _), order in zip(self.groups, new, strict=True):
            if not torch.equal(own[order.clamp(max=len(own) - 1)], rows[own]):
                raise ValueError(
                    "rows must keep the length of each row's source, got "
                    f"{rows.tolist()}, where the sources of {own.tolist()} have one length"
                )
        for (_, _, cache), order in zip(self.groups, new, strict=True):
            cache.reorder(order)


class Continuation(nn.Module):
    """Translate with a language model: the target continues the source and BOS.

    The interface is that of `Transformer`, so `fit`, `evaluate`, `greedy_decode` and
    `beam_search` take it. The loss therefore counts the tokens of the target only. For one
    prompt, `generate` does without this class.

    Args:
        model: a language model whose vocabulary holds the tokens of both languages

    Shape:
        src: ids (B, S)    tgt: ids (B, L), beginning with BOS; both padded on the right
        returns: logits (B, L, V); row i scores the token after tgt[i]

    Raises:
        ValueError: as `join_pairs` and `LanguageModel`, whose max_len is the limit for source
            and target together
        TypeError: model is not a LanguageModel; and as `join_pairs`

    Source: Liu et al. 2018, section 4.2.3. The book's chapter 15.

    >>> from attention_core import TransformerConfig
    >>> sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 16}
    >>> model = LanguageModel(TransformerConfig(src_vocab_size=11, tgt_vocab_size=11, **sizes))
    >>> src, tgt = torch.ones(2, 5, dtype=torch.long), torch.ones(2, 3, dtype=torch.long)
    >>> Continuation(model)(src, tgt).shape
    torch.Size([2, 3, 11])
    """

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        _options.check_kind("model", model, LanguageModel)
        self.model = model
        self.config = model.config

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        logits = self.model(join_pairs(src, tgt, pad_id=self.config.pad_id))
        rows = self._lengths(src)[:, None] + torch.arange(tgt.shape[1], device=src.device)
        return torch.take_along_dim(logits, rows[:, :, None], dim=1)

    def encode(self, src: Tensor) -> Tensor:
        """Return the source itself: `decode` reads it with the target. Shape: ids (B, S)."""
        return to_int64("src", src)

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None = None,
        *,
        cache: ContinuationCache | None = None,
    ) -> Tensor:
        """Score the token after each target token.

        With a ``cache`` from `new_cache`, tgt holds only tokens that it has not seen. Then
        sources of equal length are read together, since the language model counts positions
        from the beginning of the source.

        Args:
            memory_mask: not used: padding of the source is left out anyway

        Shape:
            tgt: ids (B, L)    memory: ids of the source (B, S)
            returns: logits (B, L, V)

        Raises:
            ValueError: also if cache holds another batch
            TypeError: also if cache is not a ContinuationCache
        """
        if cache is not None:
            _options.check_kind("cache", cache, ContinuationCache)
        if cache is None or memory.shape[0] == 0:
            scored: Tensor = self(memory, tgt)
            return scored
        tgt = to_int64("tgt", tgt)
        groups, ids = cache.groups, tgt
        if cache.length == 0:
            ids = join_pairs(memory, tgt, pad_id=self.config.pad_id)
            lengths = self._lengths(memory)
            # The longest come first: if they exceed max_len, no cache has changed.
            groups = [
                ((lengths == n).nonzero()[:, 0], n, self.model.new_cache())
                for n in sorted(set(lengths.tolist()), reverse=True)
            ]
        _checks.check_same_batch(sum(len(rows) for rows, _, _ in groups), tgt.shape[0])
        embed("tgt", tgt, self.model.embedding)  # for its error, before a cache changes
        L, logits = tgt.shape[1], []
        for rows, n, own in groups:
            new = ids[rows, : n + L] if cache.length == 0 else ids[rows]
            logits.append(self.model(new, cache=own)[:, -L:])
        cache.groups, cache.length = groups, cache.length + L
        order = torch.cat([rows for rows, _, _ in groups]).argsort()
        return torch.cat(logits)[order]

    def new_cache(self) -> ContinuationCache:
        """Return an empty cache for `decode`, to be used for one batch."""
        return ContinuationCache()

    def _lengths(self, src: Tensor) -> Tensor:
        """Count the real tokens of each source. Shape: (B, S) -> (B,)."""
        return (~has_id(src, self.config.pad_id)).sum(dim=1)
