"""Parts that later models put in the place of the paper's: RMSNorm and SwiGLU.

Pass them to a layer or a stack: ``Encoder(config, norm=RMSNorm, feed_forward=SwiGLU)``.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_core import _checks, _options, _precision


class RMSNorm(nn.Module):
    """Divide each token's numbers by their root mean square, then apply a gain.

    It differs from `LayerNorm` in two points: the mean is not subtracted, and no bias is
    added. For half precision, the mean square is computed in float32. The result equals
    that of ``torch.nn.functional.rms_norm``.

    Args:
        d_model: width
        eps: added to the mean square

    Shape:
        (..., d_model) -> (..., d_model)

    Raises:
        ValueError: the width is not d_model, or eps is not positive and finite
        TypeError: x is not floating-point or not of the parameters' dtype

    Source: Zhang and Sennrich 2019, equation (4). The book's chapter 15.

    >>> RMSNorm(4)(torch.tensor([2.0, 0.0, 0.0, 0.0])).tolist()[0]  # doctest: +ELLIPSIS
    1.99999...
    """

    def __init__(self, d_model: int, *, eps: float = 1e-6) -> None:
        super().__init__()
        d_model = _options.check_count("d_model", d_model, minimum=1)
        self.eps = _options.check_positive("eps", eps)
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        _checks.check_floating("x", x, min_dim=1)
        weight = self.weight
        _checks.check_width("x", x, weight.shape[0])
        _checks.check_module_dtype(weight, x=x)
        x = _precision.wide(x)  # in float32, if it is in half precision
        mean_square = x.square().mean(dim=-1, keepdim=True)
        return _precision.narrow(x * torch.rsqrt(mean_square + self.eps) * weight, weight.dtype)


class SwiGLU(nn.Module):
    """Compute (silu(x W_g) * x W₁) W₂, for each position separately, without biases.

    silu(z) = z · sigmoid(z) is a smooth ReLU. The gate silu(x W_g) multiplies the other half
    number by number. There are three matrices instead of the two of `FeedForward`, so models
    with as many parameters take d_ff = 8/3 d_model in the place of 4 d_model.

    Args:
        d_model: width in and out
        d_ff: width between
        dropout: probability of dropping a number of the product while training

    Shape:
        (..., d_model) -> (..., d_model)

    Raises:
        ValueError: the width is not d_model
        TypeError: x is not floating-point or not of the parameters' dtype

    Source: Shazeer 2020, equation (6). The book's chapter 15.

    >>> SwiGLU(4, 16)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, d_model: int, d_ff: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        d_model = _options.check_count("d_model", d_model, minimum=1)
        d_ff = _options.check_count("d_ff", d_ff, minimum=1)
        dropout = _options.check_probability("dropout", dropout)
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.inner = nn.Linear(d_model, d_ff, bias=False)
        self.outer = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.gate, self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)

    def forward(self, x: Tensor) -> Tensor:
        _checks.check_floating("x", x, min_dim=1)
        inner = self.inner
        _checks.check_width("x", x, inner.in_features)
        _checks.check_module_dtype(inner.weight, x=x)
        output: Tensor = self.outer(self.dropout(F.silu(self.gate(x)) * inner(x)))
        return output
