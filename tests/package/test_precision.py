"""Half precision and autocast: what torch's functions give, forward and backward."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from samples import (
    D_FF,
    D_K,
    D_MODEL,
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
)
from torch import nn
from torch.testing import assert_close

from attention_core import (
    AdditiveAttention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    attention_scores,
    attention_weights,
    masked_softmax,
    scaled_dot_product_attention,
)
from attention_core.alternatives import local_attention
from attention_core.blockwise import blockwise_attention, mixture, summarize

FUNCTIONS = {
    "explicit": scaled_dot_product_attention,
    "weights": lambda q, k, v, m=None: attention_weights(q, k, m) @ v,
    "blockwise": partial(blockwise_attention, block_size=3),
    "summaries": lambda q, k, v, m=None: mixture(summarize(q, k, v, m)),  # float32 or better
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)
BAND = (torch.arange(S)[:, None] - torch.arange(S)).abs() <= 2


def qkv(dtype=torch.float32, scale=1.0, length=L):
    shapes = (B, H, length, D_K), (B, H, S, D_K), (B, H, S, 13)
    return [(scale * randn(*s, seed=i)).to(dtype) for i, s in enumerate(shapes)]


def with_gradients(function, tensors):
    leaves = [x.clone().requires_grad_() for x in tensors]
    output = function(*leaves)
    weight = randn(*output.shape, seed=9).to(output.dtype)
    return output, *torch.autograd.grad((output * weight).float().sum(), leaves)


# --------------------------------------------------------------- half precision


@every_function
@pytest.mark.parametrize("kind", ["none", "random"])
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("scale", [1.0, 80.0])
def test_large_scores_in_half_precision_give_what_torch_gives(name, kind, dtype, scale):
    # Keys equal to queries, of standard deviation 80 and width 121: scores near 80² · 11,
    # beyond 65,504, the largest number of float16.
    x = (scale * randn(B, H, S, 121)).to(dtype)
    assert (scale == 1) == (x @ x.mT / 11).isfinite().all() or dtype == torch.bfloat16
    v = randn(B, H, S, 13).to(dtype)
    allowed = mask(kind, S, S)
    expected = scaled_dot_product_attention(x.double(), x.double(), v.double(), allowed)
    for function in (FUNCTIONS[name], F.scaled_dot_product_attention):
        output = function(x, x, v, allowed)
        assert output.dtype == (torch.float32 if function is FUNCTIONS["summaries"] else dtype)
        assert_close(output.double(), expected, rtol=2 * TOLERANCE[dtype], atol=TOLERANCE[dtype])


@every_function
@pytest.mark.parametrize("dtype", HALF)
def test_gradients_of_large_scores_in_half_precision_are_finite(name, dtype):
    x, v = (80 * randn(B, H, S, 121)).to(dtype), randn(B, H, S, 13).to(dtype)
    allowed = mask("random", S, S)
    results = with_gradients(lambda *x: FUNCTIONS[name](*x, allowed), (x, x, v))
    assert all(x.isfinite().all() for x in results)


def test_equal_scores_beyond_the_range_of_float16_get_equal_weights():
    # 64 · 50 · 50 / 8 = 20,000 in the range, 64 · 250 · 250 / 8 = 500,000 outside.
    for size in (50.0, 250.0):
        q = torch.full((3, 64), size, dtype=torch.float16)
        v = torch.tensor([[0.0], [1.0], [2.0]], dtype=torch.float16)
        assert scaled_dot_product_attention(q, q, v).tolist() == [[1.0]] * 3
        assert blockwise_attention(q, q, v, block_size=2).tolist() == [[1.0]] * 3
        assert local_attention(q, q, v, 2).tolist() == [[1.0]] * 3
    assert attention_scores(q, q).isinf().all()  # the scores themselves do not fit


@pytest.mark.parametrize("dtype", HALF)
def test_local_attention_in_half_precision_divides_before_the_product(dtype):
    q = torch.full((3, 64), 50.0, dtype=dtype)
    assert local_attention(q, q, torch.ones(3, 1, dtype=dtype), 1).tolist() == [[1.0]] * 3
    q, k, v = qkv(dtype, 30.0, length=S)
    ours = with_gradients(lambda *x: local_attention(*x, 2), (q, k, v / 30))
    expected = with_gradients(
        lambda *x: scaled_dot_product_attention(*x, BAND), [x.double() for x in (q, k, v / 30)]
    )
    assert ours[0].dtype == dtype
    assert_close(ours[0].double(), expected[0], rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    assert all(x.isfinite().all() for x in ours)


@pytest.mark.parametrize("dtype", HALF)
def test_means_over_4096_keys_are_exact(dtype):
    # A running sum in bfloat16 would stop at 256 of 4,096 equal terms.
    q, k = torch.zeros(2, 4, dtype=dtype), torch.zeros(4096, 4, dtype=dtype)
    v = torch.ones(4096, 3, dtype=dtype)
    ones = torch.ones(2, 3, dtype=dtype)
    for function in FUNCTIONS.values():
        assert torch.equal(function(q, k, v).to(dtype), ones)
    assert torch.equal(masked_softmax(q @ k.mT) @ v, ones)


# --------------------------------------------------------------------- autocast


@every_function
@pytest.mark.parametrize("kind", ["none", "random"])
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("inside", [True, False])
def test_under_autocast_functions_give_what_torch_gives(name, kind, dtype, inside):
    def run(function):
        leaves = [x.requires_grad_() for x in qkv()]
        with torch.autocast("cpu", dtype=dtype):
            output = function(*leaves, mask(kind))
            loss = (output.float() * randn(*output.shape, seed=9).float()).sum()
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        return [output, *(x.grad for x in leaves)]

    ours, theirs = run(FUNCTIONS[name]), run(F.scaled_dot_product_attention)
    assert theirs[0].dtype == dtype
    assert ours[0].dtype == (torch.float32 if name == "summaries" else dtype)
    for a, b in zip(ours, theirs, strict=True):
        assert_close(a.double(), b.double(), rtol=4 * TOLERANCE[dtype], atol=4 * TOLERANCE[dtype])


@every_function
def test_under_autocast_large_scores_do_not_overflow(name):
    q = torch.full((1, 3, 64), 250.0)
    v = torch.tensor([[[0.0], [1.0], [2.0]]])
    with torch.autocast("cpu", dtype=torch.float16):
        assert FUNCTIONS[name](q, q, v).tolist() == [[[1.0]] * 3]
        assert local_attention(q, q, v, 2).tolist() == [[[1.0]] * 3]


@every_function
def test_under_autocast_dtypes_may_be_mixed_but_for_float64(name):
    q, k, v = qkv()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = FUNCTIONS[name](q.bfloat16(), k, v)
        assert torch.equal(output, FUNCTIONS[name](q, k, v))
        double = FUNCTIONS[name](*(x.double() for x in (q, k, v)))
        assert double.dtype == torch.float64
        with pytest.raises(TypeError, match=r"must have the same dtype, got q torch\.float64, k"):
            FUNCTIONS[name](q.double(), k, v)
    assert_same(double, scaled_dot_product_attention(*(x.double() for x in (q, k, v))))


@pytest.mark.parametrize("dtype", HALF)
def test_local_attention_works_under_autocast(dtype):
    x = qkv(length=S)
    with torch.autocast("cpu", dtype=dtype):
        ours = with_gradients(lambda *x: local_attention(*x, 2), x)
    expected = with_gradients(lambda *x: scaled_dot_product_attention(*x, BAND), x)
    for a, b in zip(ours, expected, strict=True):
        assert_close(a.float(), b, rtol=4 * TOLERANCE[dtype], atol=4 * TOLERANCE[dtype])


X, MEMORY = (randn(B, n, D_MODEL, seed=n, dtype=torch.float32) for n in (L, S))
MODULES = {
    "multi-head": lambda: (MultiHeadAttention(D_MODEL, H), (X, MEMORY, MEMORY, mask("random"))),
    "additive": lambda: (
        AdditiveAttention(D_MODEL, D_MODEL, 7),
        (X, MEMORY, MEMORY, mask("random")[:, 0]),
    ),
    "feed-forward": lambda: (FeedForward(D_MODEL, D_FF), (X,)),
    "norm": lambda: (LayerNorm(D_MODEL), (X,)),
    "encoder": lambda: (EncoderLayer(D_MODEL, H, D_FF), (X, mask("random", L, L))),
    "encoder, norm first": lambda: (
        EncoderLayer(D_MODEL, H, D_FF, norm_first=True),
        (X, mask("random", L, L)),
    ),
    "decoder": lambda: (DecoderLayer(D_MODEL, H, D_FF), (X, MEMORY)),
}


@pytest.mark.parametrize("attention", ["explicit", "blockwise", "fused"])
@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", MODULES)
def test_modules_work_under_autocast_forward_and_backward(name, dtype, attention):
    function = {"fused": F.scaled_dot_product_attention, **FUNCTIONS}[attention]
    results = []
    for enabled in (True, False):
        module, x = MODULES[name]()
        filled(module, torch.float32)
        for part in module.modules():
            if isinstance(part, MultiHeadAttention):
                part.attention = _without_dropout(function)
        with torch.autocast("cpu", dtype=dtype, enabled=enabled):
            output = module(*x)
        (output.float() * randn(*output.shape, seed=5, dtype=torch.float32)).sum().backward()
        slopes = list(gradients(module).values())
        assert {x.dtype for x in slopes} == {torch.float32}
        results.append((output.float(), torch.cat([x.flatten() for x in slopes])))
    for a, b in zip(*results, strict=True):
        assert (a - b).norm() < TOLERANCE[dtype] * b.norm()


def _without_dropout(function):
    return lambda q, k, v, m=None, /, *, dropout_p: function(q, k, v, m)


def test_under_autocast_half_precision_inputs_are_accepted_and_float64_is_refused():
    for name, make in MODULES.items():
        module, (x, *rest) = make()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = module(x.bfloat16(), *rest)
            with pytest.raises(TypeError, match="must have the dtype of the module's parameters"):
                module(x.double(), *rest)
        assert output.isfinite().all(), name


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("norm", [LayerNorm, nn.LayerNorm])
def test_whole_layers_run_in_half_precision(norm, dtype):
    layer = filled(EncoderLayer(D_MODEL, H, D_FF, norm=norm), torch.float32)
    x = randn(B, L, D_MODEL, dtype=torch.float32)
    expected = layer(x)
    output = layer.to(dtype)(x.to(dtype))
    assert output.dtype == dtype
    assert (output - expected).norm() < 3 * TOLERANCE[dtype] * expected.norm()
