"""Translation before the Transformer: GRUs without attention (2014) and with it (2015).

Both models read the source token by token and write the target token by token, with a
*state* that every token updates. The model of 2014 summarises the source in one vector,
however long the source is. The model of 2015 reads it in both directions and keeps one
vector per token; at each step of writing, `AdditiveAttention` mixes them, with the
decoder's state as query. Everything else is the same in both. The interface is that of
`Transformer`, so decoding, loss and recording work with all three.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attention_core import _checks, _options
from attention_core._embedding import embed, to_int64
from attention_core.attention import AdditiveAttention
from attention_core.masks import padding_mask


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig:
    """Hold the sizes of a `RecurrentTranslator`.

    See chapter 11 of the book.

    Args:
        src_vocab_size, tgt_vocab_size: numbers of tokens
        d_model: width of embeddings, memory and states
        num_layers: GRU layers of the encoder, and of the decoder
        dropout: on embeddings, between layers and before the logits
        max_len: the longest source or target
        pad_id: the padding token of source and target
        attention: whether the decoder attends to every source token, or gets one vector in all

    Raises:
        ValueError: a size is below 1, dropout is not between 0 and 1, pad_id is not in both
            vocabularies, or d_model is odd with attention (each direction has half of it)
        TypeError: a size is not an int, or attention is not a bool

    >>> RecurrentConfig(src_vocab_size=100, tgt_vocab_size=90, attention=True).d_model
    64
    """

    src_vocab_size: int
    tgt_vocab_size: int
    d_model: int = 64
    num_layers: int = 1
    dropout: float = 0.1
    max_len: int = 5000
    pad_id: int = 0
    attention: bool

    def __post_init__(self) -> None:
        sizes = ("src_vocab_size", "tgt_vocab_size", "d_model", "num_layers", "max_len")
        counts = {
            name: _options.check_count(name, getattr(self, name), minimum=1) for name in sizes
        }
        _options.set_checked(
            self,
            **counts,
            dropout=_options.check_probability("dropout", self.dropout),
            pad_id=_options.check_pad_id(
                self.pad_id, counts["src_vocab_size"], counts["tgt_vocab_size"]
            ),
        )
        if not isinstance(self.attention, bool):
            given = f"{type(self.attention).__name__} {self.attention!r}"
            raise TypeError(f"attention must be a bool, got {given}")
        if self.attention and self.d_model % 2:
            raise ValueError(
                "d_model must be even with attention, half for each direction of reading, "
                f"got d_model={self.d_model}"
            )


@dataclass
class RecurrentCache:
    """Hold the decoder's state after the target so far, one vector per layer and sentence.

    Unlike a `DecoderCache` it does not grow with ``length``, the number of tokens seen.

    See chapter 11 of the book.

    >>> config = RecurrentConfig(src_vocab_size=11, tgt_vocab_size=13, attention=False)
    >>> RecurrentTranslator(config).new_cache().length
    0
    """

    state: Tensor | None = None  # (num_layers, B, d_model)
    length: int = 0

    def reorder(self, rows: Tensor) -> None:
        """Keep the given rows of the batch, in the given order; a row may occur twice."""
        _checks.check_rows(rows)
        if self.state is not None:
            self.state = self.state.index_select(1, rows)


class RecurrentTranslator(nn.Module):
    """Translate with a GRU encoder and a GRU decoder, with or without attention.

    At each target token y the decoder updates its state s from y and a context c, and
    computes the logits of the next token from all three::

        s[i] = GRU([y[i], c[i]], s[i-1])
        logits[i] = W_o tanh(W_r [s[i], y[i], c[i]] + b_r)

    Without attention, c is one vector for the whole sentence: the last state of a GRU that
    reads it from left to right. With attention, one GRU reads from the left and one from
    the right, and c[i] is a weighted mean of their states, with s[i-1] as query.
    The first state is tanh(W_s m + b), with m the first row of the memory. Without attention
    it is the only row; with attention it is the row where the GRU from the right ends.

    Sequences are padded on the right with ``config.pad_id``; padding is not read.

    Args:
        config: the sizes

    Shape:
        src: (B, S) ids of any integer dtype    tgt: (B, L) ids, beginning with BOS
        returns: logits (B, L, tgt_vocab_size); row i scores the token after tgt[i]

    Raises:
        ValueError: ids do not have two axes, the batches differ, a sequence is empty or
            longer than max_len, or an id is not in its vocabulary (on a GPU torch's own
            assertion)
        TypeError: ids are not integers

    Source: Sutskever et al. 2014 for encoder and decoder; Cho et al. 2014 for GRUs and the
    single context; Bahdanau et al. 2015, section 3 and appendix A, for attention. Simplified
    here: the logits use tanh instead of maxout, and the new state instead of the previous
    one; the first state uses both directions instead of one; the GRU is torch's. The book's
    chapter 11.

    >>> config = RecurrentConfig(src_vocab_size=11, tgt_vocab_size=13, attention=True)
    >>> src, tgt = torch.ones(2, 5, dtype=torch.long), torch.ones(2, 3, dtype=torch.long)
    >>> RecurrentTranslator(config)(src, tgt).shape
    torch.Size([2, 3, 13])
    """

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        d, N = config.d_model, config.num_layers
        # nn.GRU applies dropout between its layers, and warns if there is only one layer.
        options: dict[str, Any] = dict(
            num_layers=N, dropout=config.dropout if N > 1 else 0.0, batch_first=True
        )
        self.src_embedding = nn.Embedding(config.src_vocab_size, d)
        self.tgt_embedding = nn.Embedding(config.tgt_vocab_size, d)
        self.encoder = (
            nn.GRU(d, d // 2, bidirectional=True, **options)
            if config.attention
            else nn.GRU(d, d, **options)
        )
        self.attention = AdditiveAttention(d, d, d) if config.attention else None
        self.start = nn.Linear(d, N * d)
        self.decoder = nn.GRU(2 * d, d, **options)
        self.readout = nn.Linear(3 * d, d)
        self.output = nn.Linear(d, config.tgt_vocab_size, bias=False)
        self.dropout = nn.Dropout(config.dropout)

    def encode(self, src: Tensor) -> Tensor:
        """Read the source.

        Shape:
            src: ids (B, S)
            returns: memory (B, S, d_model) with attention, (B, 1, d_model) without
        """
        src = self._check_ids("src", src)
        S = src.shape[1]
        # Up to the last real token. A source of padding only is read as one padding token,
        # because the GRU needs at least one token.
        ends = torch.arange(1, S + 1, device=src.device) * (src != self.config.pad_id)
        lengths = ends.amax(dim=1).clamp(min=1)
        x: Tensor = self.dropout(embed("src", src, self.src_embedding))
        if src.shape[0] == 0:  # an empty batch cannot be packed
            return x if self.attention else x[:, :1]
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        memory: Tensor
        if self.attention is None:
            memory = last[-1].unsqueeze(1)  # the state of the top layer after the last token
        else:
            memory, _ = pad_packed_sequence(states, batch_first=True, total_length=S)
        return memory

    def decode(
        self,
        tgt: Tensor,
        memory: Tensor,
        memory_mask: Tensor | None,
        *,
        cache: RecurrentCache | None = None,
    ) -> Tensor:
        """Score the token after each target token.

        With a ``cache`` from `new_cache`, tgt holds only tokens that it has not seen.

        Args:
            memory_mask: as in `Transformer.decode`; ignored without attention, where the
                memory is one vector

        Shape:
            tgt: ids (B, L)    memory: as from `encode`
            memory_mask: bool, broadcastable to (B, 1, L, S), from ``padding_mask(src, pad_id)``
            returns: logits (B, L, tgt_vocab_size)

        Raises:
            ValueError: also if memory_mask does not broadcast, or cache holds another batch;
                the cache is left as it was
            TypeError: also if memory is not of the model's dtype, or cache not a
                RecurrentCache
        """
        if cache is not None:
            _options.check_kind("cache", cache, RecurrentCache)
        tgt = self._check_ids("tgt", tgt, cache.length if cache else 0)
        self._check_memory(tgt, memory)
        B, L = tgt.shape
        state = cache.state if cache else None
        if state is not None:
            _checks.check_same_batch(state.shape[1], B)
        y = self.dropout(embed("tgt", tgt, self.tgt_embedding))
        _checks.check_model_dtype("memory", memory, y.dtype)
        if state is None:
            state = self._first_state(memory)
        if self.attention is None:
            contexts = memory.expand(-1, L, -1)
            states, state = self.decoder(torch.cat([y, contexts], dim=-1), state)
        else:
            mask = None
            if memory_mask is not None:
                scores = (B, 1, L, memory.shape[1])
                mask = _checks.mask_with_heads(memory_mask, scores)
                mask = mask.expand(B, 1, L, -1)[:, 0]
            contexts, states, state = self._attend_and_step(y, memory, mask, state)
        if cache is not None:
            cache.state, cache.length = state, cache.length + L
        read = self.readout(torch.cat([states, y, contexts], dim=-1)).tanh()
        logits: Tensor = self.output(self.dropout(read))
        return logits

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        src = to_int64("src", src)
        return self.decode(tgt, self.encode(src), padding_mask(src, self.config.pad_id))

    def new_cache(self) -> RecurrentCache:
        """Return an empty cache for `decode`, to be used for one batch."""
        return RecurrentCache()

    def _first_state(self, memory: Tensor) -> Tensor:
        """Shape: memory (B, S, d_model) -> (num_layers, B, d_model)."""
        state = self.start(memory[:, 0]).tanh().unflatten(-1, (self.config.num_layers, -1))
        return torch.transpose(state, 0, 1).contiguous()

    def _attend_and_step(
        self, y: Tensor, memory: Tensor, mask: Tensor | None, state: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Step through the tokens one by one: each query is the state after the previous token.

        Shape:
            y: (B, L, d_model)    mask: (B, L, S)    state: (num_layers, B, d_model)
            returns: contexts and states, (B, L, d_model) each, and the last state
        """
        assert self.attention is not None
        queries, states = [], []
        for i in range(y.shape[1]):
            query = state[-1].unsqueeze(1)  # (B, 1, d_model)
            row = None if mask is None else mask[:, i : i + 1]
            context = self.attention(query, memory, memory, row)
            step, state = self.decoder(torch.cat([y[:, i : i + 1], context], dim=-1), state)
            queries.append(query)
            states.append(step)
        # All queries are known now, so one more call computes all contexts, equal to the
        # loop's. `record_attention` keeps the last call of a module, and so gets all rows.
        contexts = self.attention(torch.cat(queries, dim=1), memory, memory, mask)
        return contexts, torch.cat(states, dim=1), state

    def _check_ids(self, name: str, ids: Tensor, offset: int = 0) -> Tensor:
        """Return the ids as int64."""
        ids = to_int64(name, ids)
        length, max_len = ids.shape[1], self.config.max_len
        if length < 1 or offset + length > max_len:
            raise ValueError(
                f"{name} must have 1 to max_len={max_len} tokens, got length {length} "
                f"from position {offset} ({name} {_checks.shape(ids)})"
            )
        return ids

    def _check_memory(self, tgt: Tensor, memory: Tensor) -> None:
        _checks.check_memory(tgt, memory, self.config.d_model)
        length = memory.shape[1]
        if length == 0 or (self.attention is None and length != 1):
            rule = "at least one row" if self.attention else "one row without attention"
            raise ValueError(f"memory must have {rule}, got shape {_checks.shape(memory)}")
