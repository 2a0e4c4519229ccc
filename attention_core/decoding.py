"""Greedy decoding and beam search, with and without a cache.

Decoding may generate any token but PAD and BOS, which never occur inside a sentence. EOS
ends a sentence and is not returned. If one id has two roles, the role of EOS comes first: a
model whose EOS is also its PAD or BOS can still end a sentence.
"""

import math
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from attention_core import _options
from attention_core._embedding import to_int64
from attention_core.masks import padding_mask


class Translator(Protocol):
    """What decoding needs of a model; `Transformer` and `RecurrentTranslator` have it."""

    config: Any  # with pad_id, max_len and, to check ids early, tgt_vocab_size

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
    eos_id: int | None,
    max_len: int,
    use_cache: bool = True,
) -> Tensor:
    """Take the likeliest token at every step until EOS; PAD and BOS are never taken.

    The model is used as it is: call ``model.eval()`` first. Decoding stops when every
    sentence has ended, or at ``max_len`` tokens, or at the model's own ``max_len``.

    Args:
        eos_id: the token that ends a sentence; None if none does
        use_cache: keep projected keys and values between steps; the result is the same

    Shape:
        src: ids (B, S)
        returns: ids (B, longest result), without BOS and EOS, padded with pad_id; int32
            if src is, else int64

    Raises:
        ValueError: src is not (B, S); max_len is negative; bos_id or eos_id is not in the
            target vocabulary; or at some step a sentence has a logit of NaN or +inf, or
            -inf for every token that may be taken
        TypeError: src is not an integer tensor, or an id or max_len is not an int

    >>> from attention_core import Transformer, TransformerConfig
    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=13, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> src = torch.ones(2, 5, dtype=torch.long)
    >>> greedy_decode(Transformer(config).eval(), src, bos_id=1, eos_id=2, max_len=0).shape
    torch.Size([2, 0])
    """
    ids, dtype = _check_arguments(model, src, bos_id, eos_id, max_len)
    pad_id = model.config.pad_id
    memory, memory_mask = model.encode(ids), padding_mask(ids, pad_id)
    tokens = ids.new_full((ids.shape[0], 1), bos_id)
    ended = torch.zeros_like(tokens, dtype=torch.bool)
    cache = model.new_cache() if use_cache else None
    forbid, end = None, -1 if eos_id is None else eos_id  # no token is -1
    for step in range(1, min(max_len, model.config.max_len) + 1):
        new = tokens if cache is None else tokens[:, -1:]
        logits = model.decode(new, memory, memory_mask, cache=cache)[:, -1]
        if forbid is None:
            forbid = _forbid(logits, pad_id, bos_id, eos_id)
        top, choice = (logits + forbid).max(dim=-1, keepdim=True)
        sound = (top - top == 0) | ended  # infinity less itself is NaN
        if not sound.all():
            raise _no_choice(step, ~sound[:, 0], logits)
        ended = ended | (choice == end)
        if ended.all():
            break
        tokens = torch.cat([tokens, choice.masked_fill(ended, pad_id)], dim=1)
    return tokens[:, 1:].to(dtype)


def normalised_score(log_probability: float, length: int, alpha: float) -> float:
    """Divide log P by ((5 + length) / 6) ** alpha, so that long results are not penalised.

    Args:
        length: number of generated tokens, EOS counted, BOS not
        alpha: 0 leaves log P as it is; the paper uses 0.6

    Raises:
        ValueError: length is negative, or alpha is so large, or so far below 0, that the
            divisor is not between 1e-300 and 1e300
        TypeError: length is not an int, or alpha is not a number

    Source: Wu et al. 2016 (GNMT), equation (14). The book's chapter 10 searches without it.

    >>> normalised_score(-1.0, 2, alpha=1.0)  # doctest: +ELLIPSIS
    -0.857142...
    """
    _options.check_count("length", length, minimum=0)
    return log_probability / _length_factor("alpha", alpha, length)


def _length_factor(name: str, alpha: float, length: int) -> float:
    _check_number(name, alpha)
    try:
        factor = float(((5 + length) / 6) ** alpha)
    except OverflowError:
        factor = math.inf
    if not 1e-300 < factor < 1e300:
        raise ValueError(
            f"{name} must keep ((5 + length) / 6) ** {name} between 1e-300 and 1e300, "
            f"got {name}={alpha} with length={length}"
        )
    return factor


@torch.no_grad()
def beam_search(
    model: Translator,
    src: Tensor,
    *,
    bos_id: int,
    eos_id: int | None,
    max_len: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
    patience: float = 1.0,
    use_cache: bool = True,
) -> Tensor:
    """Keep the ``beam_size`` likeliest hypotheses at each step and return the best one.

    A hypothesis ends when its EOS is among the ``beam_size`` likeliest continuations of all
    hypotheses of its sentence; PAD and BOS are never among them. A sentence is done when
    ``patience * beam_size`` hypotheses have ended, or when no running one can still win. Its
    result is the ended hypothesis with the best `normalised_score` at its own length. Log P
    is the sum of the log-softmax of all the model's logits, those of PAD and BOS included.
    If no hypothesis ends within ``max_len`` tokens, the likeliest running one is returned.
    With ``beam_size=1`` this is `greedy_decode`.

    Args:
        eos_id: the token that ends a sentence; None if none does
        beam_size: number of hypotheses kept per sentence
        length_penalty: alpha of `normalised_score`
        patience: with 1, as is common, a few unlikely hypotheses that end may stop the
            search one step before a better one ends; with ``math.inf`` the search goes on
            until no running hypothesis can win
        use_cache: as in `greedy_decode`

    Shape:
        as `greedy_decode`

    Raises:
        ValueError: as `greedy_decode`; beam_size is below 1; patience is not above 0; or
            length_penalty is too large or too far below 0 for `normalised_score`
        TypeError: as `greedy_decode`, or length_penalty or patience is not a number

    Source: Wu et al. 2016 for the scores; Kasai et al. 2022 for the patience.

    >>> from attention_core import Transformer, TransformerConfig
    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=13, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> src = torch.ones(2, 5, dtype=torch.long)
    >>> beam_search(Transformer(config).eval(), src, bos_id=1, eos_id=2, max_len=0).shape
    torch.Size([2, 0])
    """
    ids, dtype = _check_arguments(model, src, bos_id, eos_id, max_len)
    _options.check_count("beam_size", beam_size, minimum=1)
    _check_number("patience", patience)
    if not patience > 0.0:
        raise ValueError(f"patience must be above 0, got {patience}")
    B, K, pad_id = ids.shape[0], beam_size, model.config.pad_id
    limit = min(max_len, model.config.max_len)
    last = _length_factor("length_penalty", length_penalty, limit)
    memory = model.encode(ids).repeat_interleave(K, dim=0)  # (B * K, S, d_model)
    memory_mask = padding_mask(ids, pad_id).repeat_interleave(K, dim=0)
    tokens = ids.new_full((B, K, 1), bos_id)
    running = torch.full((B, K), -torch.inf, device=ids.device)
    running[:, 0] = 0.0  # all beams begin equal, so only one is used
    results = [ids.new_empty(0)] * B
    best = [-math.inf] * B
    num_ended = [0] * B
    done = [False] * B
    cache = model.new_cache() if use_cache else None
    first_row = torch.arange(B, device=ids.device)[:, None] * K
    forbid, end = None, -1 if eos_id is None else eos_id  # no token is -1
    for length in range(1, limit + 1):
        new = tokens if cache is None else tokens[:, :, -1:]
        logits = model.decode(new.flatten(0, 1), memory, memory_mask, cache=cache)[:, -1]
        V = logits.shape[-1]
        if forbid is None:
            forbid = _forbid(logits, pad_id, bos_id, eos_id)
        now, after = (
            _length_factor("length_penalty", length_penalty, n)
            for n in (length, min(length + 1, limit))
        )
        # In half precision unequal sums could become equal; float64 stays float64.
        precise = torch.promote_types(logits.dtype, torch.float32)
        steps = torch.log_softmax(logits, dim=-1, dtype=precise)
        # Sums are NaN where a logit is NaN or +inf, or all are -inf.
        sums = (running.view(-1, 1) + steps).add_(forbid)
        if sums.isnan().any():
            stopped = torch.tensor(done, dtype=torch.bool, device=ids.device)
            going = (running > -torch.inf) & ~stopped[:, None]
            broken = going.flatten() & ~(logits.amax(dim=-1) < torch.inf)
            if broken.any():
                raise _no_choice(length, broken, logits, beam_size=K)
            sums.masked_fill_(sums.isnan(), -torch.inf)  # no hypothesis continues from there
        sums = sums.view(B, K * V)
        # Each beam has one EOS, so at least K of 2K candidates continue.
        scores, flat = _first_topk(sums, min(2 * K, K * V))
        beams, choices = flat // V, flat % V
        ends = choices == end
        for b, rank in ends[:, :K].nonzero().tolist():
            if not done[b] and scores[b, rank] > -torch.inf:
                num_ended[b] += 1
                score = scores[b, rank].item() / now
                if score > best[b]:
                    best[b], results[b] = score, tokens[b, beams[b, rank], 1:]
        running, order = _first_topk(scores.masked_fill(ends, -torch.inf), K)
        rows = beams.gather(1, order)
        kept = tokens.gather(1, rows[:, :, None].expand(-1, -1, length))
        tokens = torch.cat([kept, choices.gather(1, order)[:, :, None]], dim=2)
        if cache is not None:
            cache.reorder((first_row + rows).flatten())
        for b, likeliest in enumerate(running[:, 0].tolist()):
            if likeliest == best[b] == -math.inf:
                row = torch.arange(B * K, device=ids.device) == b * K
                raise _no_choice(length, row, logits, beam_size=K)
            # log P can only fall, so no running hypothesis can reach a better score than this.
            reach = max(likeliest / after, likeliest / last)
            done[b] = done[b] or num_ended[b] >= patience * K or reach <= best[b]
        if all(done):
            break
    for b in range(B):
        if best[b] == -math.inf:
            results[b] = tokens[b, 0, 1:]
    if B == 0:
        return src.new_empty(0, 0, dtype=dtype)
    return pad_sequence(results, batch_first=True, padding_value=pad_id).to(dtype)


def _first_topk(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return ``x.topk(k)``, but of equal numbers take the first, as argmax does.

    Shape: (B, N) -> values (B, k) in falling order, indices (B, k)
    """
    least = x.topk(k).values[:, -1:]
    above, equal = x > least, x == least
    room = k - above.sum(dim=1, keepdim=True)
    taken = above | (equal & (equal.cumsum(dim=1) <= room))
    indices = taken.nonzero()[:, 1].view(x.shape[0], k)
    values, order = x.gather(1, indices).sort(dim=1, descending=True, stable=True)
    return values, indices.gather(1, order)


def _forbid(logits: Tensor, pad_id: int, bos_id: int, eos_id: int | None) -> Tensor:
    """Return the mask to add to logits: -inf for tokens that are never generated, else 0.

    NaN - inf and inf - inf are NaN, so a NaN or +inf at PAD or BOS is still detected.

    Shape: logits (..., V) -> (V,)
    """
    V = logits.shape[-1]
    _check_vocabulary(V, bos_id, eos_id)
    never = [id for id in {pad_id, bos_id} - {eos_id} if 0 <= id < V]
    forbid = logits.new_zeros(V)
    forbid[never] = -torch.inf
    return forbid


def _no_choice(step: int, broken: Tensor, logits: Tensor, beam_size: int = 1) -> ValueError:
    """Return the error for the first broken row.

    Shape: broken (B * K,), logits (B * K, V)
    """
    row = int(broken.nonzero()[0])
    top = logits[row].amax().item()  # NaN if any logit is
    given = "-inf for all of them" if top < math.inf else str(top)
    return ValueError(
        "logits must be below +inf, and finite for at least one token that may be written "
        f"(not PAD or BOS), got {given} at step {step} for sentence {row // beam_size}"
    )


def _check_arguments(
    model: Translator, src: Tensor, bos_id: int, eos_id: int | None, max_len: int
) -> tuple[Tensor, torch.dtype]:
    """Return src as int64, and the dtype of the result.

    An 8- or 16-bit dtype of the source could be too small for the target's ids.
    """
    ids = to_int64("src", src)
    _options.check_count("bos_id", bos_id, minimum=0)
    if eos_id is not None:
        _options.check_count("eos_id", eos_id, minimum=0)
    _options.check_count("max_len", max_len, minimum=0)
    size = getattr(model.config, "tgt_vocab_size", None)
    if size is not None:
        _check_vocabulary(size, bos_id, eos_id)
    return ids, torch.int32 if src.dtype == torch.int32 else torch.int64


def _check_vocabulary(size: int, bos_id: int, eos_id: int | None) -> None:
    for name, id in (("bos_id", bos_id), ("eos_id", eos_id)):
        if id is not None and id >= size:
            raise ValueError(
                f"{name} must be in the target vocabulary of {size} tokens, got {id}"
                + ("; None says that no token ends a sentence" if name == "eos_id" else "")
            )


def _check_number(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, got {type(value).__name__} {value!r}")
