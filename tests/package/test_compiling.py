"""Every module under torch.compile, torch.export with any length, and on a GPU."""

import pytest
import torch
import torch.nn.functional as F
from samples import (
    D_FF,
    D_MODEL,
    TORCH,
    B,
    H,
    L,
    S,
    assert_same,
    filled,
    mask,
    randn,
    torch_fills_empty_rows,
)
from torch import nn
from torch.export import Dim, export
from torch.testing import assert_close

from attention_core import (
    AdditiveAttention,
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    SinusoidalPositions,
)

FUSED = {"attention": F.scaled_dot_product_attention}
QUERIES, KEYS = Dim("queries", min=2, max=64), Dim("keys", min=2, max=64)


# Each makes a module, its arguments, its keyword arguments, and which of their axes vary.
def attention(queries, keys, **options):
    module = MultiHeadAttention(D_MODEL, H, **options)
    x = [randn(B, n, D_MODEL, seed=i) for i, n in enumerate((queries, keys, keys))]
    axes = {"query": {1: QUERIES}, "key": {1: KEYS}, "value": {1: KEYS}}
    axes["mask"] = {2: QUERIES, 3: KEYS}
    return module, (*x, mask("random", queries, keys)), {}, axes


def additive(queries, keys):
    module = AdditiveAttention(D_MODEL, D_MODEL, 13)
    x = [randn(B, n, D_MODEL, seed=i) for i, n in enumerate((queries, keys, keys))]
    axes = {"query": {1: QUERIES}, "key": {1: KEYS}, "value": {1: KEYS}}
    axes["mask"] = {1: QUERIES, 2: KEYS}
    return module, (*x, mask("random", queries, keys)[:, 0]), {}, axes


def encoder(_, keys, **options):
    module = EncoderLayer(D_MODEL, H, D_FF, **options)
    axes = {"x": {1: KEYS}, "mask": {2: KEYS, 3: KEYS}}
    return module, (randn(B, keys, D_MODEL), mask("random", keys, keys)), {}, axes


def decoder(queries, keys, **options):
    module = DecoderLayer(D_MODEL, H, D_FF, **options)
    masks = {
        "tgt_mask": mask("padding and causal", queries, queries),
        "memory_mask": mask("random", queries, keys),
    }
    axes = {"x": {1: QUERIES}, "memory": {1: KEYS}}
    axes |= {"tgt_mask": {2: QUERIES, 3: QUERIES}, "memory_mask": {2: QUERIES, 3: KEYS}}
    x = randn(B, queries, D_MODEL), randn(B, keys, D_MODEL, seed=1)
    return module, x, masks, axes


def positions(_, keys):
    x = randn(B, keys, D_MODEL)
    return SinusoidalPositions(D_MODEL, max_len=64), (x,), {}, {"x": {1: KEYS}}


CASES = {
    "attention": attention,
    "attention fused": lambda *sizes: attention(*sizes, **FUSED),
    "additive": additive,
    "encoder": encoder,
    "decoder": decoder,
    "decoder pre-norm fused": lambda *sizes: decoder(
        *sizes, norm_first=True, norm=nn.LayerNorm, **FUSED
    ),
    "positions": positions,
}
every_case = pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=torch_fills_empty_rows if "fused" in n else ()) for n in CASES],
)
LENGTHS = [(L, S), (4, 11)]


@every_case
def test_compiles_without_a_graph_break_for_any_length(name):
    module = filled(CASES[name](L, S)[0])
    torch.compiler.reset()
    compiled = torch.compile(module, fullgraph=True, backend="eager")
    for sizes in LENGTHS:
        _, x, masks, _ = CASES[name](*sizes)
        assert_same(compiled(*x, **masks), module(*x, **masks))


@every_case
def test_exports_with_any_length(name):
    if name == "decoder" and TORCH < (2, 3):
        pytest.skip("torch 2.2 exports a module without the names of its keyword arguments")
    module, x, masks, axes = CASES[name](L, S)
    filled(module)
    program = export(module, x, masks, dynamic_shapes=axes).module()
    for sizes in LENGTHS:
        _, x, masks, _ = CASES[name](*sizes)
        assert_same(program(*x, **masks), module(*x, **masks))


@every_case
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_gpu_gives_what_the_cpu_gives(name):
    module, x, masks, _ = CASES[name](L, S)
    expected = filled(module)(*x, **masks)
    ours = module.cuda()(*(t.cuda() for t in x), **{k: t.cuda() for k, t in masks.items()})
    assert ours.is_cuda
    assert_close(ours.cpu(), expected, rtol=1e-10, atol=1e-10)
