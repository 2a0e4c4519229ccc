"""How attention learns of order: sinusoids and their rotation, or learned vectors.

Attention treats its input as a set. Either of these modules adds to each token a vector
that depends on its position only.
"""

import math

import torch
from torch import Tensor, nn

from attention_core import _checks


def _frequencies(d_model: int, base: float, device: torch.device | str | None) -> Tensor:
    """One angle per step for each sine: base^(-2i / d_model). Shape: (ceil(d_model / 2),)."""
    if not base > 0:
        raise ValueError(f"base must be positive, got {base}")
    even = torch.arange(0, d_model, 2, dtype=torch.float64, device=device)
    return torch.exp(even * (-math.log(base) / d_model))


def sinusoidal_encoding(
    max_len: int,
    d_model: int,
    *,
    base: float = 10_000.0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """The paper's table: PE(pos, 2i) = sin(pos / base^(2i/d)), PE(pos, 2i+1) = cos(...).

    The angles are computed in float64 and the table is rounded once, at the end: in half
    precision position 257 would otherwise share its row with 256. For an odd width the
    last sine stands without its cosine.

    Shape:
        returns: (max_len, d_model), in ``dtype`` (the default dtype unless given)

    Raises:
        ValueError: max_len is negative, d_model is less than 1, or base is not positive
        TypeError: max_len or d_model is not an int

    Source: Vaswani et al. 2017, section 3.5.

    >>> sinusoidal_encoding(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    _checks.check_count("max_len", max_len, minimum=0)
    _checks.check_count("d_model", d_model, minimum=1)
    positions = torch.arange(max_len, dtype=torch.float64, device=device)
    angles = positions[:, None] * _frequencies(d_model, base, device)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d_model]
    return table.to(dtype or torch.get_default_dtype())


def sinusoidal_shift(
    offset: int,
    d_model: int,
    *,
    base: float = 10_000.0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """The rotation that moves every row of the sinusoidal table by ``offset`` positions.

    With ``R = sinusoidal_shift(k, d)``, row ``pos + k`` of the table is row ``pos`` times
    ``R``, whatever ``pos`` is. R is block-diagonal: one rotation by ``k`` times its
    frequency for each sine and cosine. So a fixed distance is a linear map, which a
    projection can learn.

    Shape:
        returns: (d_model, d_model), orthogonal

    Raises:
        ValueError: d_model is odd (its last sine has no cosine to turn with) or below 2
        TypeError: offset or d_model is not an int

    Source: Vaswani et al. 2017, section 3.5 ("a linear function").

    >>> table = sinusoidal_encoding(9, 4)
    >>> torch.allclose(table[2] @ sinusoidal_shift(5, 4), table[7], atol=1e-6)
    True
    """
    _checks.check_count("d_model", d_model, minimum=2)
    if d_model % 2:
        raise ValueError(f"d_model must be even for a rotation, got {d_model}")
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise TypeError(f"offset must be an int, got {type(offset).__name__} {offset!r}")
    angles = offset * _frequencies(d_model, base, device)
    cos, sin = angles.cos(), angles.sin()
    # A row (sin a, cos a) times this block gives (sin(a + b), cos(a + b)).
    blocks = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    shift = torch.zeros(d_model, d_model, dtype=torch.float64, device=device)
    for i, block in enumerate(blocks):
        shift[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
    return shift.to(dtype or torch.get_default_dtype())


class _Positions(nn.Module):
    """What both modules share: add rows ``offset`` to ``offset + L`` of a table, drop out."""

    table: Tensor

    def __init__(self, d_model: int, *, max_len: int, dropout: float) -> None:
        super().__init__()
        _checks.check_count("d_model", d_model, minimum=1)
        _checks.check_count("max_len", max_len, minimum=1)
        _checks.check_probability("dropout", dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add a position's vector to each token; the first token stands at ``offset``.

        Shape:
            x: (..., L, d_model) with offset + L <= max_len
            returns: (..., L, d_model)

        Raises:
            ValueError: x's width is not d_model, or a position lies beyond max_len
        """
        _checks.check_floating("x", x)
        _checks.check_width("x", x, self.table.shape[-1])
        end, max_len = offset + x.shape[-2], self.table.shape[0]
        if offset < 0 or end > max_len:
            raise ValueError(
                f"positions must lie between 0 and max_len={max_len}, got length "
                f"{x.shape[-2]} from position {offset} (x {_checks.shape(x)})"
            )
        summed: Tensor = self.dropout(x + self.table[offset:end].to(x.dtype))
        return summed


class SinusoidalPositions(_Positions):
    """Adds `sinusoidal_encoding`; nothing to learn.

    See chapter 7 of the book.

    Args:
        d_model: width of a token
        max_len: the longest sequence
        dropout: probability of dropping each number of the sum (section 5.4)

    Shape:
        (..., L, d_model) -> (..., L, d_model), L <= max_len

    >>> SinusoidalPositions(4, max_len=8)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, d_model: int, *, max_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__(d_model, max_len=max_len, dropout=dropout)
        # Computed, so it is not stored with the weights; it follows the module's device.
        self.register_buffer("table", sinusoidal_encoding(max_len, d_model), persistent=False)


class LearnedPositions(_Positions):
    """Adds a trained vector per position, as BERT does; knows nothing beyond ``max_len``.

    Args: as `SinusoidalPositions`.

    Shape:
        (..., L, d_model) -> (..., L, d_model), L <= max_len

    >>> LearnedPositions(4, max_len=8)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, d_model: int, *, max_len: int = 5000, dropout: float = 0.0) -> None:
        super().__init__(d_model, max_len=max_len, dropout=dropout)
        self.table = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.table, std=0.02)
