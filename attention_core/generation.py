"""Continue a text with a decoder-only model: greedy, or by sampling."""

import math

import torch
from torch import Tensor

from attention_core import _checks, _options
from attention_core._embedding import to_int64
from attention_core.language_model import LanguageModel
from attention_core.masks import has_id


def sampling_probabilities(
    logits: Tensor,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Turn logits into the probabilities to sample from.

    The logits are divided by the temperature, then softmax makes probabilities. ``top_k``
    keeps the k likeliest tokens; ``top_p`` keeps the fewest likeliest tokens that together
    have at least that probability. What is kept is scaled to sum to 1. With both, top_p
    applies to what top_k has kept. Ties are broken by the lower id.

    Args:
        temperature: below 1 sharpens the distribution, above 1 flattens it
        top_k: how many tokens are kept; None, or more than V, keeps all
        top_p: share of probability that is kept; None or 1 keeps all

    Shape:
        logits: (..., V)    returns: (..., V)

    Raises:
        ValueError: temperature is not positive and finite, top_k is below 1, top_p is not
            above 0 and at most 1, or logits has no axis or an empty last axis
        TypeError: logits is not a floating-point tensor, or an option has the wrong type

    Source: temperature, Ackley et al. 1985; top-k, Fan et al. 2018; top-p, Holtzman et al.
    2020. The book's chapter 15.

    >>> sampling_probabilities(torch.tensor([0.0, 0.0, 0.0, -9.0]), top_k=2)
    tensor([0.5000, 0.5000, 0.0000, 0.0000])
    """
    _checks.check_floating("logits", logits, min_dim=1)
    if logits.shape[-1] == 0:
        raise ValueError(f"logits must have a token to choose, got shape {_checks.shape(logits)}")
    temperature = _options.check_positive("temperature", temperature)
    probabilities = torch.softmax(logits / temperature, dim=-1)
    if top_k is None and top_p is None:
        return probabilities
    # A stable sort leaves equal tokens in the order of their ids.
    ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        top_k = _options.check_count("top_k", top_k, minimum=1)
        ordered = _rescaled(ordered, torch.arange(ordered.shape[-1], device=order.device) < top_k)
    if top_p is not None:
        top_p = _options.check_number("top_p", top_p)
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got {top_p}")
        before = ordered.cumsum(dim=-1) - ordered  # the share of all likelier tokens
        # (The first token has nothing before it, so at least one is kept.)
        ordered = _rescaled(ordered, (before < top_p) if top_p < 1 else before < math.inf)
    return torch.zeros_like(ordered).scatter(-1, order, ordered)


def _rescaled(probabilities: Tensor, kept: Tensor) -> Tensor:
    """Set what is not kept to 0, and scale the rest to sum to 1."""
    left = probabilities * kept
    return left / left.sum(dim=-1, keepdim=True)


@torch.no_grad()
def generate(
    model: LanguageModel,
    prompt: Tensor,
    *,
    max_len: int,
    eos_id: int | None = None,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Continue each prompt, one token after the other, with a cache.

    The model is used as it is: call ``model.eval()`` first. PAD is never taken, unless it is
    also EOS. Decoding stops when every text has ended, at ``max_len`` new tokens, or where the
    model's table of positions ends.

    Args:
        max_len: the most new tokens
        eos_id: the token that ends a text; None if none does
        temperature: 0 takes the likeliest token (greedy); above 0, tokens are drawn
        top_k, top_p: as in `sampling_probabilities`
        generator: draws the tokens; torch's own unless given

    Shape:
        prompt: ids (B, L), L >= 1, without padding: all prompts of one length
        returns: ids (B, longest continuation), without EOS, padded with pad_id; int64

    Raises:
        ValueError: prompt is not (B, L), is empty or holds padding; an option is out of its
            range; or at some step a text has a logit of NaN or +inf, or -inf for every token
        TypeError: prompt is not an integer tensor, or an option has the wrong type

    >>> from attention_core import LanguageModel, TransformerConfig
    >>> config = TransformerConfig(
    ...     src_vocab_size=11, tgt_vocab_size=11, d_model=8, num_heads=2, num_layers=1, d_ff=16
    ... )
    >>> generate(LanguageModel(config).eval(), torch.ones(2, 5).long(), max_len=3).shape
    torch.Size([2, 3])
    """
    ids = _check_prompt(model, prompt)
    max_len = _options.check_count("max_len", max_len, minimum=0)
    pad_id, size = model.config.pad_id, model.config.tgt_vocab_size
    if eos_id is not None and not 0 <= _options.check_int("eos_id", eos_id) < size:
        raise ValueError(f"eos_id must be a token of the vocabulary of {size} tokens, got {eos_id}")
    greedy = _options.check_number("temperature", temperature) == 0
    sampling = {"temperature": 1.0 if greedy else temperature, "top_k": top_k, "top_p": top_p}
    if max_len:  # an option out of its range is an error also if no token is drawn by it
        sampling_probabilities(torch.zeros(1), **sampling)  # type: ignore[arg-type]
    if model.positions is not None:  # the table of sinusoids ends
        max_len = min(max_len, model.config.max_len - ids.shape[1])
    cache, new = model.new_cache(), ids
    ended = ids.new_zeros(ids.shape[0], dtype=torch.bool)
    chosen: list[Tensor] = []
    for step in range(1, max_len + 1):
        logits = model(new, cache=cache)[:, -1]
        if eos_id != pad_id:
            logits[:, pad_id] = -math.inf
        top = logits.max(dim=-1).values
        unsound = (top - top != 0) & ~ended  # infinity less itself is NaN
        if unsound.any():
            row = int(unsound.nonzero()[0])
            raise ValueError(
                f"model must give finite logits for the next token, got {top[row].item()} as the "
                f"largest at step {step} for row {row}"
            )
        if greedy:
            choice = logits.argmax(dim=-1)
        else:
            shares = sampling_probabilities(logits, **sampling)  # type: ignore[arg-type]
            shares = shares.masked_fill(ended[:, None], 1.0)  # an ended text may hold NaN
            choice = torch.multinomial(shares, 1, generator=generator)[:, 0]
        if eos_id is not None:
            ended = ended | (choice == eos_id)
        if ended.all():
            break
        new = choice.masked_fill(ended, pad_id)[:, None]
        chosen.append(new)
    return torch.cat([ids[:, :0], *chosen], dim=1)


def _check_prompt(model: LanguageModel, prompt: Tensor) -> Tensor:
    """Check that all prompts have one length of at least 1 and no padding."""
    ids = to_int64("prompt", prompt)
    if ids.shape[1] == 0:
        raise ValueError(f"prompt must have at least one token, got shape {_checks.shape(prompt)}")
    if has_id(ids, model.config.pad_id).any():
        raise ValueError(
            f"prompt must not hold padding (pad_id={model.config.pad_id}): continue prompts of "
            "different lengths apart"
        )
    return ids
