"""Every module on other devices, in other dtypes, under autocast and with empty axes."""

import inspect

import pytest
import torch
import torch.nn.functional as F
from samples import (
    D_FF,
    D_MODEL,
    EXACT,
    HALF,
    TOLERANCE,
    B,
    H,
    L,
    S,
    assert_same,
    filled,
    gradients,
    mask,
    randn,
    torch_fills_empty_rows,
)
from torch import nn
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from attention_core import (
    AdditiveAttention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    LearnedPositions,
    MultiHeadAttention,
    SinusoidalPositions,
)

WIDTHS = (D_MODEL, H, D_FF)
FUSED = {"attention": F.scaled_dot_product_attention}


def tokens(*lengths, dtype=torch.float64):
    return [randn(B, n, D_MODEL, seed=n, dtype=dtype).requires_grad_() for n in lengths]


def _attention(length, dtype):
    return tokens(L, length, length, dtype=dtype), {"mask": mask("random", L, length)}


def _additive(length, dtype):
    return tokens(L, length, length, dtype=dtype), {"mask": mask("random", L, length)[:, 0]}


def _encoder(length, dtype):
    return tokens(length, dtype=dtype), {"mask": mask("random", length, length)}


def _decoder(length, dtype):
    tgt_mask = mask("padding and causal", length, length)
    masks = {"tgt_mask": tgt_mask, "memory_mask": mask("random", length, S)}
    return tokens(length, S, dtype=dtype), masks


def _plain(length, dtype):
    return tokens(length, dtype=dtype), {}


# name: how to make the module, how to make its arguments for a length and a dtype.
CASES = {
    "MultiHeadAttention": (lambda: MultiHeadAttention(D_MODEL, H), _attention),
    "MultiHeadAttention fused": (lambda: MultiHeadAttention(D_MODEL, H, **FUSED), _attention),
    "AdditiveAttention": (lambda: AdditiveAttention(D_MODEL, D_MODEL, 13), _additive),
    "EncoderLayer": (lambda: EncoderLayer(*WIDTHS), _encoder),
    "DecoderLayer": (lambda: DecoderLayer(*WIDTHS, norm_first=True), _decoder),
    "DecoderLayer fused": (lambda: DecoderLayer(*WIDTHS, norm=nn.LayerNorm, **FUSED), _decoder),
    "FeedForward": (lambda: FeedForward(D_MODEL, D_FF), _plain),
    "LayerNorm": (lambda: LayerNorm(D_MODEL), _plain),
    "SinusoidalPositions": (lambda: SinusoidalPositions(D_MODEL, max_len=11), _plain),
    "LearnedPositions": (lambda: LearnedPositions(D_MODEL, max_len=11), _plain),
}
every_module = pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=torch_fills_empty_rows if "fused" in n else ()) for n in CASES],
)


def made(name, dtype=torch.float64, length=S):
    """A module, its tokens and its masks."""
    make, arguments = CASES[name]
    return filled(make(), dtype), *arguments(length, dtype)


@every_module
def test_works_on_the_meta_device_with_nothing_left_behind(name):
    module, x, masks = made(name)
    expected = module(*x, **masks)
    module.to("meta")
    assert all(t.device.type == "meta" for t in [*module.parameters(), *module.buffers()])
    output = module(*(t.to("meta") for t in x), **{k: t.to("meta") for k, t in masks.items()})
    assert output.device.type == "meta"
    assert (output.shape, output.dtype) == (expected.shape, expected.dtype)


@every_module
@pytest.mark.parametrize("dtype", HALF)
def test_half_precision_runs_and_stays_close(name, dtype):
    module, x, masks = made(name)
    expected = module(*x, **masks)
    module, x, masks = made(name, dtype)
    assert {t.dtype for t in [*module.parameters(), *module.buffers()]} == {dtype}
    output = module(*x, **masks)
    assert output.dtype == dtype
    assert_close(output.double(), expected, rtol=TOLERANCE[dtype], atol=2 * TOLERANCE[dtype])
    output.sum().backward()
    assert all(g.isfinite().all() for g in gradients(module).values())


@every_module
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_a_module_is_made_in_the_default_dtype(name, dtype):
    previous = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        module = CASES[name][0]()
    finally:
        torch.set_default_dtype(previous)
    assert {t.dtype for t in [*module.parameters(), *module.buffers()]} == {dtype}
    _, x, masks = made(name, dtype)
    assert module(*x, **masks).dtype == dtype


@every_module
def test_runs_under_autocast_and_stays_close(name):
    module, x, masks = made(name, torch.float32)
    expected = module(*x, **masks)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = module(*x, **masks)
    output.float().sum().backward()
    assert_close(output.float(), expected, rtol=3e-2, atol=6e-2)
    assert all(g.dtype == torch.float32 and g.isfinite().all() for g in gradients(module).values())


@every_module
def test_a_loaded_state_dict_gives_the_same_outputs(name):
    module, x, masks = made(name)
    other = CASES[name][0]().double()
    other.load_state_dict(module.state_dict(), strict=True)
    assert_same(dict(other.state_dict()), dict(module.state_dict()))
    assert torch.equal(other(*x, **masks), module(*x, **masks))


class NoNaN(TorchDispatchMode):
    """Checks the result of every operation, the backward pass included."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            assert not result.isnan().any(), f"{func} made a NaN"
        return result


@pytest.mark.parametrize(
    "name", ["MultiHeadAttention", "AdditiveAttention", "EncoderLayer", "DecoderLayer"]
)
@pytest.mark.parametrize("dtype", [*EXACT, *HALF])
def test_no_operation_makes_a_nan_where_rows_are_fully_masked(name, dtype):
    module, x, masks = made(name, dtype)
    with NoNaN(), torch.no_grad():
        quiet = module(*x, **masks)
    with NoNaN():
        output = module(*x, **masks)
        output.sum().backward()
    assert torch.equal(output, quiet)


@every_module
def test_inputs_are_left_as_they_were(name):
    module, x, masks = made(name)
    given = [*x, *masks.values()]
    copies = [t.clone() for t in given]
    module(*x, **masks)
    assert all(torch.equal(a, b) for a, b in zip(given, copies, strict=True))


@every_module
def test_non_contiguous_inputs_give_the_same_result_as_contiguous_copies(name):
    module, x, masks = made(name)
    # Transposed, cut from something longer, and every second step.
    ways = [
        lambda t: t.transpose(0, 1).contiguous().transpose(0, 1),
        lambda t: torch.cat([t, t], dim=-1)[..., : t.shape[-1]],
        lambda t: t.repeat_interleave(2, dim=1)[:, ::2],
    ]
    for way in ways:
        odd = [way(t) for t in x]
        assert not any(t.is_contiguous() for t in odd)
        assert_same(module(*odd, **masks), module(*x, **masks))
    expanded = [t[:1].expand_as(t) for t in x]
    copies = [t.contiguous() for t in expanded]
    assert_same(module(*expanded, **masks), module(*copies, **masks))


@every_module
@pytest.mark.parametrize("batch", [0, 1, 2])
@pytest.mark.parametrize("length", [0, 1])
def test_axes_of_size_one_and_zero_are_kept(name, batch, length):
    one = {
        "MultiHeadAttention": lambda: MultiHeadAttention(1, 1),
        "MultiHeadAttention fused": lambda: MultiHeadAttention(1, 1, **FUSED),
        "AdditiveAttention": lambda: AdditiveAttention(1, 1, 1),
        "EncoderLayer": lambda: EncoderLayer(1, 1, 1),
        "DecoderLayer": lambda: DecoderLayer(1, 1, 1, norm_first=True),
        "DecoderLayer fused": lambda: DecoderLayer(1, 1, 1, norm=nn.LayerNorm, **FUSED),
        "FeedForward": lambda: FeedForward(1, 1),
        "LayerNorm": lambda: LayerNorm(1),
        "SinusoidalPositions": lambda: SinusoidalPositions(1, max_len=1),
        "LearnedPositions": lambda: LearnedPositions(1, max_len=1),
    }[name]()
    x = torch.zeros(batch, length, 1)
    count = 3 if "Attention" in name else 2 if "Decoder" in name else 1
    assert one(*[x] * count).shape == (batch, length, 1)


def test_lengths_above_256_are_compared_by_value():
    # Python keeps one object for each small int only: 300 from two shapes are two objects.
    x = torch.zeros(1, 300, 2)
    assert MultiHeadAttention(2, 1)(x, x, x.clone()).shape == x.shape
    assert AdditiveAttention(2, 2, 1)(x[:, :1], x, x.clone()).shape == (1, 1, 2)


def test_cache_is_keyword_only():
    parameter = inspect.signature(MultiHeadAttention.forward).parameters["cache"]
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
