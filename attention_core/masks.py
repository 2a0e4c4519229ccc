"""Who may look at whom. One polarity throughout: True = may attend.

Combine masks with ``&``: ``padding_mask(ids, pad_id) & causal_mask(L)`` has shape
(B, 1, L, L). For ``torch.nn.MultiheadAttention``, where True means the opposite,
hand over ``~mask``.
"""

import torch
from torch import Tensor

from attention_core import _checks


def causal_mask(length: int, *, device: torch.device | str | None = None) -> Tensor:
    """True = may attend: position i sees positions 0 to i, itself included.

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
    _checks.check_count("length", length, minimum=0)
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """True = may attend: real tokens may be looked at, padding may not.

    The mask speaks of keys, so it is spread over heads and queries. Rows that belong to
    padded *queries* still hold weights. Whatever reads these rows later leaves them out:
    the next layer and the decoder by this mask, the loss by skipping them.

    Shape:
        ids: (B, S) integers
        returns: (B, 1, 1, S), bool

    Raises:
        ValueError: ids does not have two axes
        TypeError: ids is not an integer tensor, or pad_id is not an int

    >>> padding_mask(torch.tensor([[5, 6, 0]]), pad_id=0)
    tensor([[[[ True,  True, False]]]])
    """
    _checks.check_ids("ids", ids)
    if isinstance(pad_id, bool) or not isinstance(pad_id, int):
        raise TypeError(f"pad_id must be an int, got {type(pad_id).__name__} {pad_id!r}")
    return (ids != pad_id)[:, None, None, :]
