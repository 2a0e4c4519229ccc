"""Positional encodings: sinusoids with their rotation, and learned vectors.

Attention treats its input as a set. Either of these modules adds to each token a vector
that depends on its position only. Sines are computed in float64 on the CPU, then rounded
and moved: some devices (Apple's MPS) have no float64.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attention_core import _checks, _options


def _frequencies(d_model: int, base: float) -> Tensor:
    """Compute the angle per position of each sine, base^(-2i / d_model).

    Shape: (ceil(d_model / 2),)
    """
    if isinstance(base, bool) or not isinstance(base, int | float):
        raise TypeError(f"base must be a number, got {type(base).__name__} {base!r}")
    if not 0 < base < math.inf:
        raise ValueError(f"base must be positive and finite, got {base}")
    even = torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu")
    return torch.exp(even * (-math.log(base) / d_model))


def _placed(made: Tensor, dtype: torch.dtype | None, device: torch.device | str | None) -> Tensor:
    """Round to ``dtype`` first, then move to ``device``; torch's defaults unless given."""
    dtype = dtype or torch.get_default_dtype()
    if not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point dtype, got {dtype}")
    device = torch.empty(0, device=device).device  # also that of ``with torch.device(...)``
    return made.to(dtype).to(device)


def sinusoidal_encoding(
    max_len: int,
    d_model: int,
    *,
    base: float = 10_000.0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Compute the paper's table: PE(pos, 2i) = sin(pos / base^(2i/d)), PE(pos, 2i+1) = cos(...).

    The angles are computed in float64 on the CPU and the table is rounded once, at the end:
    in bfloat16 position 257 would otherwise share its row with 256. For an odd width the last
    sine has no cosine.

    Args:
        base: sets the wavelengths, from 2π to about 2π base
        dtype, device: torch's defaults unless given

    Shape:
        returns: (max_len, d_model)

    Raises:
        ValueError: max_len is negative, d_model is less than 1, or base is not a positive
            finite number
        TypeError: max_len or d_model is not an int, base is not a number, or dtype is not
            a floating-point dtype

    Source: Vaswani et al. 2017, section 3.5.

    >>> sinusoidal_encoding(2, 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    _options.check_count("max_len", max_len, minimum=0)
    _options.check_count("d_model", d_model, minimum=1)
    positions = torch.arange(max_len, dtype=torch.float64, device="cpu")
    angles = positions[:, None] * _frequencies(d_model, base)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d_model]
    return _placed(table, dtype, device)


def sinusoidal_shift(
    offset: int,
    d_model: int,
    *,
    base: float = 10_000.0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Compute the rotation that moves every row of the sinusoidal table by ``offset`` positions.

    With ``R = sinusoidal_shift(k, d)``, row ``pos + k`` of the table is row ``pos`` times
    ``R``, whatever ``pos`` is. R is block-diagonal: one rotation by ``k`` times its
    frequency for each sine and cosine. So a fixed distance is a linear map, which a
    projection can learn.

    Args:
        base, dtype, device: as in `sinusoidal_encoding`

    Shape:
        returns: (d_model, d_model), orthogonal

    Raises:
        ValueError: d_model is odd (its last sine has no cosine to turn with) or below 2, or
            base is not a positive finite number
        TypeError: offset or d_model is not an int, base is not a number, or dtype is not a
            floating-point dtype

    Source: Vaswani et al. 2017, section 3.5 ("a linear function").

    >>> table = sinusoidal_encoding(9, 4)
    >>> torch.allclose(table[2] @ sinusoidal_shift(5, 4), table[7], atol=1e-6)
    True
    """
    _options.check_count("d_model", d_model, minimum=2)
    if d_model % 2:
        raise ValueError(f"d_model must be even for a rotation, got {d_model}")
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise TypeError(f"offset must be an int, got {type(offset).__name__} {offset!r}")
    angles = offset * _frequencies(d_model, base)
    cos, sin = angles.cos(), angles.sin()
    # A row (sin a, cos a) times this block gives (sin(a + b), cos(a + b)).
    blocks = torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)
    shift: Tensor = torch.block_diag(*blocks)  # type: ignore[no-untyped-call]
    return _placed(shift, dtype, device)


class _Positions(nn.Module):
    """Add rows ``offset`` to ``offset + L`` of a table, then apply dropout."""

    table: Tensor

    def __init__(self, d_model: int, *, max_len: int, dropout: float) -> None:
        super().__init__()
        _options.check_count("d_model", d_model, minimum=1)
        _options.check_count("max_len", max_len, minimum=1)
        _options.check_probability("dropout", dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add a position's vector to each token; the first token stands at ``offset``.

        Shape:
            x: (..., L, d_model) with offset + L <= max_len
            returns: (..., L, d_model)

        Raises:
            ValueError: x's width is not d_model, or a position lies outside 0 to max_len
            TypeError: x is not a floating-point tensor, or offset is not an int
        """
        _checks.check_floating("x", x)
        _checks.check_width("x", x, self.table.shape[-1])
        if isinstance(offset, bool) or not isinstance(offset, int | torch.SymInt):
            raise TypeError(f"offset must be an int, got {type(offset).__name__} {offset!r}")
        end, max_len = offset + x.shape[-2], self.table.shape[0]
        if offset < 0 or end > max_len:
            raise ValueError(
                f"positions must lie between 0 and max_len={max_len}, got length "
                f"{x.shape[-2]} from position {offset} (x {_checks.shape(x)})"
            )
        summed: Tensor = self.dropout(x + self.table[offset:end].to(x.dtype))
        return summed


class SinusoidalPositions(_Positions):
    """Add `sinusoidal_encoding`; nothing is learned.

    The table is a buffer that is not stored with the weights. Whenever the module moves to
    another dtype or device, ``to_empty()`` included, it is recomputed in float64, so that
    ``.half().float()`` does not leave it rounded. A table that you assign yourself is moved
    like any buffer.

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
        self.register_buffer("table", sinusoidal_encoding(max_len, d_model), persistent=False)
        self._computed = self.table

    def _apply(self, fn: Callable[..., Tensor], recurse: bool = True) -> "SinusoidalPositions":
        # Torch converts, moves and empties a module by this method: .to, .half, .cuda, .to_empty.
        before = self.table
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        if self.table is not before and before is self._computed:
            self._compute_table(self.table.dtype, self.table.device)
        return self

    def _compute_table(self, dtype: torch.dtype, device: torch.device) -> None:
        max_len, d_model = self.table.shape
        self.table = sinusoidal_encoding(max_len, d_model, dtype=dtype, device=device)
        self._computed = self.table

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        # load_state_dict(assign=True) replaces parameters, but leaves this table on meta.
        if self.table.device.type == "meta" and x.device.type != "meta":
            self._compute_table(self.table.dtype, x.device)
        return super().forward(x, offset)


class LearnedPositions(_Positions):
    """Add a trained vector per position, as BERT does; there is none beyond ``max_len``.

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
