"""Sizes, random tensors and masks that the tests of the modules share."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attention_core import causal_mask, padding_mask

# Sizes that are all different primes, so that a swapped axis cannot go unnoticed. Only the
# width must be a multiple of the number of heads.
B, H, L, S, D_K, D_FF = 2, 3, 5, 7, 11, 13
D_MODEL = H * D_K
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 4e-3}
EXACT = [torch.float64, torch.float32]
HALF = [torch.bfloat16, torch.float16]


def randn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """The same numbers in every dtype, up to rounding."""
    g = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=g, dtype=torch.float64).to(dtype)


def filled(module: nn.Module, dtype: torch.dtype = torch.float64, seed: int = 9) -> nn.Module:
    """Every parameter random: zero biases and gains of 1 would hide a mistake."""
    g = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        scale = parameter.shape[-1] ** -0.5 if parameter.dim() > 1 else 0.5
        values = torch.randn(parameter.shape, generator=g, dtype=torch.float64)
        parameter.data = (values * scale).to(dtype)
    return module.to(dtype)


def mask(kind: str, rows: int = L, keys: int = S) -> Tensor | None:
    """True = may attend. In "random", some queries may attend to nothing."""
    if kind == "none":
        return None
    padding = padding_mask(torch.tensor([[1] * (keys - 2) + [0] * 2, [1] * keys]), pad_id=0)
    causal = causal_mask(keys)[-rows:]
    random = torch.rand(B, H, rows, keys, generator=torch.Generator().manual_seed(1)) < 0.6
    random[0, :, 0] = False
    random[1, 2, 3] = False
    return {
        "padding": padding,
        "causal": causal,
        "padding and causal": padding & causal,
        "random": random,
    }[kind]


MASKS = ["none", "padding", "causal", "padding and causal", "random"]

# Before 2.5, torch's own attention returns NaN for a query that may attend to nothing. Tests
# that hand it such a query are skipped there; the package's own attention returns zeros.
TORCH = tuple(int(number) for number in torch.__version__.split(".")[:2])
torch_fills_empty_rows = pytest.mark.skipif(
    TORCH < (2, 5), reason="torch before 2.5 gives NaN where a query may attend to nothing"
)
MASKS_FOR_TORCH = [*MASKS[:-1], pytest.param("random", marks=torch_fills_empty_rows)]


def blocked(mask: Tensor | None, rows: int = L, keys: int = S) -> Tensor | None:
    """The same mask as nn.MultiheadAttention wants it: True = blocked, (B * H, L, S)."""
    return None if mask is None else ~mask.expand(B, H, rows, keys).reshape(B * H, rows, keys)


def assert_same(ours, theirs, dtype: torch.dtype = torch.float64) -> None:
    """Equal up to the tolerance of the dtype; works on tensors, and dicts or lists of them."""
    assert_close(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def gradients(module: nn.Module) -> dict[str, Tensor | None]:
    return {name: parameter.grad for name, parameter in module.named_parameters()}
