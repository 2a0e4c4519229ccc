"""Masks: which query may attend to which key. True always means "may attend".

Combine masks with ``&``: ``padding_mask(ids, pad_id) & causal_mask(L)`` has shape
(B, 1, L, L). For ``torch.nn.MultiheadAttention``, where True means the opposite,
pass ``~mask``.
"""

import torch
from torch import Tensor

from attention_core import _checks, _options


def causal_mask(length: int, *, device: torch.device | str | None = None) -> Tensor:
    """Let position i attend to positions 0 to i, itself included (True = may attend).

    For the newest L of S positions, as in decoding with a cache, take the last rows:
    ``causal_mask(S)[-L:]``. (``is_causal=True`` in torch aligns the first rows instead,
    which would hide all but the first key from a single new token.)

    Shape:
        returns: (length, length), bool, the lower triangle with its diagonal True

    Raises:
        ValueError: length is negative
        TypeError: length is not an int

    Source: Vaswani et al. 2017, section 3.2.3.

    >>> causal_mask(3)
    tensor([[ True, False, False],
            [ True,  True, False],
            [ True,  True,  True]])
    """
    length = _options.check_count("length", length, minimum=0)
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def window_mask(
    length: int, window: int, *, sinks: int = 0, device: torch.device | str | None = None
) -> Tensor:
    """Let position i attend to the last ``window`` positions up to i (True = may attend).

    The window counts position i itself, so window = 1 leaves each token alone. The first
    ``sinks`` positions stay in view for all later ones: trained models put weight on them
    that has no other place to go.

    Shape:
        returns: (length, length), bool, a band below the diagonal

    Raises:
        ValueError: length or sinks is negative, or window is below 1
        TypeError: length, window or sinks is not an int

    Source: the window, Jiang et al. 2023 (Mistral 7B); the sinks, Xiao et al. 2024
    (StreamingLLM). The book's chapter 15.

    >>> window_mask(4, 2, sinks=1)
    tensor([[ True, False, False, False],
            [ True,  True, False, False],
            [ True,  True,  True, False],
            [ True, False,  True,  True]])
    """
    window = _options.check_count("window", window, minimum=1)
    sinks = _options.check_count("sinks", sinks, minimum=0)
    causal = causal_mask(length, device=device)
    outside = causal.tril(-window)
    outside[:, :sinks] = False
    return causal & ~outside


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Let every query attend to real tokens and not to padding (True = may attend).

    The mask applies to keys and is the same for all heads and queries. The rows of padded
    *queries* still hold weights. In the next layer and in the decoder this mask hides the
    tokens of these rows as keys; the loss ignores them by their labels.

    Args:
        pad_id: the id of padding; one that occurs nowhere, such as -100, hides nothing

    Shape:
        ids: (B, S) integers
        returns: (B, 1, 1, S), bool, for scores with heads, (B, H, L, S). For scores
            without heads, (B, L, S), use ``mask.squeeze(1)``.

    Raises:
        ValueError: ids does not have two axes
        TypeError: ids is not an integer tensor, or pad_id is not an int

    >>> padding_mask(torch.tensor([[5, 6, 0]]), pad_id=0)
    tensor([[[[ True,  True, False]]]])
    """
    _checks.check_ids("ids", ids)
    pad_id = _options.check_int("pad_id", pad_id)
    return ~has_id(ids, pad_id)[:, None, None, :]


def has_id(ids: Tensor, token_id: int) -> Tensor:
    """Find where ``ids`` equals ``token_id``; one that the dtype cannot hold equals none.

    Torch's own ``==`` first casts the number to the tensor's dtype, where it may become
    another one: in uint8, 256 becomes 0.

    Shape:
        ids: any shape, integers
        returns: the same shape, bool

    >>> has_id(torch.tensor([0, 7], dtype=torch.uint8), 256)
    tensor([False, False])
    """
    limits = torch.iinfo(ids.dtype)
    if limits.min <= token_id <= limits.max:
        return ids == token_id
    return torch.zeros_like(ids, dtype=torch.bool)
