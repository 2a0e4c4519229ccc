"""From a trained model to a sentence: greedy and beam search, with and without a cache."""

import math
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attention_core import _checks
from attention_core.masks import padding_mask


class Translator(Protocol):
    """What decoding needs of a model; `Transformer` has it."""

    config: Any  # with pad_id and max_len

    def encode(self, src: Tensor) -> Tensor: ...
    def decode(
        self, tgt: Tensor, memory: Tensor, memory_mask: Tensor | None, *, cache: Any
    ) -> Tensor: ...
    def new_cache(self) -> Any: ...


@torch.no_grad()
def greedy_decode(
    model: Translator,
    src: Tensor,
    *,
    bos_id: int,
    eos_id: int,
    max_len: int,
    use_cache: bool = True,
) -> Tensor:
    """Take the likeliest token at every step until EOS.

    The model is used as it is: call ``model.eval()`` first. Decoding stops when every
    sentence has ended, or at ``max_len`` tokens, or where the model's own ``max_len`` ends.

    Args:
        use_cache: keep projected keys and values between steps; the result is the same

    Shape:
        src: ids (B, S)
        returns: ids (B, longest result), without BOS and EOS, filled up with pad_id

    Raises:
        ValueError: src is not (B, S), or max_len is negative
        TypeError: src is not an integer tensor, or an id or max_len is not an int

    >>> from attention_core import Transformer, TransformerConfig
    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=13, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> src = torch.ones(2, 5, dtype=torch.long)
    >>> greedy_decode(Transformer(config).eval(), src, bos_id=1, eos_id=2, max_len=0).shape
    torch.Size([2, 0])
    """
    _check_arguments(src, bos_id=bos_id, eos_id=eos_id, max_len=max_len)
    pad_id = model.config.pad_id
    memory, memory_mask = model.encode(src), padding_mask(src, pad_id)
    tokens = src.new_full((src.shape[0], 1), bos_id)
    ended = torch.zeros_like(tokens, dtype=torch.bool)
    cache = model.new_cache() if use_cache else None
    for _ in range(min(max_len, model.config.max_len)):
        new = tokens if cache is None else tokens[:, -1:]
        logits = model.decode(new, memory, memory_mask, cache=cache)[:, -1]
        choice = logits.argmax(dim=-1, keepdim=True).to(tokens.dtype)
        ended = ended | (choice == eos_id)
        if ended.all():
            break
        tokens = torch.cat([tokens, choice.masked_fill(ended, pad_id)], dim=1)
    return tokens[:, 1:]


def normalised_score(log_probability: float, length: int, alpha: float) -> float:
    """log P divided by ((5 + length) / 6) ** alpha, so that long results can compete.

    Args:
        length: number of generated tokens, EOS counted, BOS not
        alpha: 0 leaves log P as it is; the paper uses 0.6

    Source: Wu et al. 2016 (GNMT), equation (14). The book's chapter 10 searches without it.

    >>> normalised_score(-1.0, 2, alpha=1.0)  # doctest: +ELLIPSIS
    -0.857142...
    """
    return log_probability / float(((5 + length) / 6) ** alpha)


@torch.no_grad()
def beam_search(
    model: Translator,
    src: Tensor,
    *,
    bos_id: int,
    eos_id: int,
    max_len: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    patience: float = 1.0,
    use_cache: bool = True,
) -> Tensor:
    """Follow the ``beam_size`` likeliest beginnings and return the best complete sentence.

    A hypothesis ends when its EOS is among the ``beam_size`` likeliest continuations of
    its sentence. A sentence is done when ``patience * beam_size`` hypotheses have ended, or
    when no running one can still win; its result has the best `normalised_score`, each at its own
    length. If none ends within ``max_len`` tokens, the likeliest beginning is returned.
    With ``beam_size=1`` this is `greedy_decode`.

    Args:
        beam_size: number of beginnings kept per sentence
        length_penalty: alpha of `normalised_score`
        patience: with 1, as is common, a few unlikely ends may stop the search one step
            before a better sentence; with ``math.inf`` only what cannot win any more is
            given up
        use_cache: as in `greedy_decode`

    Shape:
        src: ids (B, S)
        returns: ids (B, longest result), without BOS and EOS, filled up with pad_id

    Raises:
        ValueError, TypeError: as `greedy_decode`, beam_size is below 1, or patience is not
            above 0

    Source: Wu et al. 2016 for the scores; Kasai et al. 2022 for the patience.

    >>> from attention_core import Transformer, TransformerConfig
    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=13, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> src = torch.ones(2, 5, dtype=torch.long)
    >>> beam_search(Transformer(config).eval(), src, bos_id=1, eos_id=2, max_len=0).shape
    torch.Size([2, 0])
    """
    _check_arguments(src, bos_id=bos_id, eos_id=eos_id, max_len=max_len)
    _checks.check_count("beam_size", beam_size, minimum=1)
    if not patience > 0.0:
        raise ValueError(f"patience must be above 0, got {patience}")
    B, K, pad_id = src.shape[0], beam_size, model.config.pad_id
    limit = min(max_len, model.config.max_len)
    memory = model.encode(src).repeat_interleave(K, dim=0)  # (B * K, S, d_model)
    memory_mask = padding_mask(src, pad_id).repeat_interleave(K, dim=0)
    tokens = src.new_full((B, K, 1), bos_id)
    running = torch.full((B, K), -torch.inf, device=src.device)
    running[:, 0] = 0.0  # all beams begin alike; one of them is enough
    results = [src.new_empty(0)] * B
    best = [-math.inf] * B
    num_ended = [0] * B
    done = [False] * B
    cache = model.new_cache() if use_cache else None
    first_row = torch.arange(B, device=src.device)[:, None] * K
    for length in range(1, limit + 1):
        new = tokens if cache is None else tokens[:, :, -1:]
        logits = model.decode(new.flatten(0, 1), memory, memory_mask, cache=cache)[:, -1]
        V = logits.shape[-1]
        # Half precision would make unequal sums equal; double stays double.
        precise = torch.promote_types(logits.dtype, torch.float32)
        steps = torch.log_softmax(logits, dim=-1, dtype=precise).view(B, K, V)
        # Each beam has one EOS, so 2K candidates hold at least K that go on.
        sums = (running[:, :, None] + steps).flatten(1)
        scores, flat = _first_topk(sums, min(2 * K, K * V))
        beams, choices = flat // V, flat % V
        ends = choices == eos_id
        for b, rank in ends[:, :K].nonzero().tolist():
            if not done[b] and scores[b, rank] > -torch.inf:
                num_ended[b] += 1
                score = normalised_score(scores[b, rank].item(), length, length_penalty)
                if score > best[b]:
                    best[b], results[b] = score, tokens[b, beams[b, rank], 1:]
        running, order = _first_topk(scores.masked_fill(ends, -torch.inf), K)
        rows = beams.gather(1, order)
        kept = tokens.gather(1, rows[:, :, None].expand(-1, -1, length))
        tokens = torch.cat([kept, choices.gather(1, order)[:, :, None].to(src.dtype)], dim=2)
        if cache is not None:
            cache.reorder((first_row + rows).flatten())
        for b in range(B):
            # log P only falls, so this is the best that a running hypothesis can reach.
            reach = max(
                normalised_score(running[b, 0].item(), n, length_penalty)
                for n in (min(length + 1, limit), limit)
            )
            done[b] = done[b] or num_ended[b] >= patience * K or reach <= best[b]
        if all(done):
            break
    for b in range(B):
        if best[b] == -math.inf:
            results[b] = tokens[b, 0, 1:]
    if B == 0:
        return src.new_empty(0, 0)
    return pad_sequence(results, batch_first=True, padding_value=pad_id)


def _first_topk(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Like ``x.topk(k)``, but of equal numbers the first is taken, as argmax does.

    Shape: (B, N) -> values (B, k) in falling order, indices (B, k)
    """
    least = x.topk(k).values[:, -1:]
    above, equal = x > least, x == least
    room = k - above.sum(dim=1, keepdim=True)
    taken = above | (equal & (equal.cumsum(dim=1) <= room))
    indices = taken.nonzero()[:, 1].view(x.shape[0], k)
    values, order = x.gather(1, indices).sort(dim=1, descending=True, stable=True)
    return values, indices.gather(1, order)


def _check_arguments(src: Tensor, **numbers: int) -> None:
    _checks.check_ids("src", src)
    for name, value in numbers.items():
        _checks.check_count(name, value, minimum=0)
