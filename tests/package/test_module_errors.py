"""attention.py, layers.py: every bad argument is named, with the rule and what was given."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attention_core import (
    AdditiveAttention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
)


def zeros(*shape):
    return torch.zeros(*shape)


NAN, INF = float("nan"), float("inf")
X, Y = zeros(2, 5, 12), zeros(2, 7, 12)  # 3 heads, width 12


def attend(*arguments, **options):
    return MultiHeadAttention(12, 3, **options)(*arguments)


def add(*arguments):
    return AdditiveAttention(3, 5, 7)(*arguments)


Q3, K5, V8 = zeros(2, 4, 3), zeros(2, 6, 5), zeros(2, 6, 8)

WHEN_MADE = [
    (lambda: MultiHeadAttention(0, 1), ValueError, "d_model must be at least 1, got 0"),
    (lambda: MultiHeadAttention(8.0, 2), TypeError, r"d_model must be an int, got float 8\.0"),
    (
        lambda: MultiHeadAttention(512, 6),
        ValueError,
        "d_model must be divisible by num_heads, got d_model=512 and num_heads=6; "
        "num_heads=1 or 2 or 4 or 8 would work",
    ),
    (
        lambda: EncoderLayer(1600, 48, 8),
        ValueError,
        "d_model=1600 and num_heads=48; num_heads=32 or 40 or 50 or 64 would work",
    ),
    (lambda: DecoderLayer(8, 0, 8), ValueError, "num_heads must be at least 1, got 0"),
    (lambda: MultiHeadAttention(8, -2), ValueError, "num_heads must be at least 1, got -2"),
    (lambda: EncoderLayer(8, True, 8), TypeError, "num_heads must be an int, got bool True"),
    (
        lambda: MultiHeadAttention(8, 2, dropout=-0.1),
        ValueError,
        r"dropout must lie between 0 and 1, got -0\.1",
    ),
    (lambda: EncoderLayer(8, 2, 8, dropout=2), ValueError, "dropout must lie .* got 2"),
    (
        lambda: DecoderLayer(8, 2, 8, dropout=float("nan")),
        ValueError,
        "dropout must lie between 0 and 1, got nan",
    ),
    (
        lambda: MultiHeadAttention(8, 2, dropout="0.1"),
        TypeError,
        r"dropout must be a number, got str '0\.1'",
    ),
    (lambda: EncoderLayer(8, 2, 8, dropout=True), TypeError, "dropout must be .* got bool True"),
    (
        lambda: DecoderLayer(8, 2, 8, dropout=None),
        TypeError,
        "dropout must be .* got NoneType None",
    ),
    (lambda: FeedForward(4, 8, dropout=[0.1]), TypeError, r"dropout must be .* got list \[0\.1\]"),
    (
        lambda: FeedForward(4, 8, dropout=torch.tensor(0.1)),
        TypeError,
        "dropout must be a number, got Tensor",
    ),
    (
        lambda: MultiHeadAttention(8, 2, bias="no"),
        TypeError,
        "bias must be True or False, got str 'no'",
    ),
    (
        lambda: EncoderLayer(8, 2, 8, norm_first="False"),
        TypeError,
        "norm_first must be True or False, got str 'False'",
    ),
    (
        lambda: DecoderLayer(8, 2, 8, norm_first=0),
        TypeError,
        "norm_first must be True or False, got int 0",
    ),
    (
        lambda: MultiHeadAttention(8, 2, attention="fused"),
        TypeError,
        "attention must be callable, got str 'fused'",
    ),
    (
        lambda: EncoderLayer(8, 2, 8, norm=None),
        TypeError,
        "norm must be callable, got NoneType None",
    ),
    (lambda: FeedForward(torch.tensor(4), 8), TypeError, "d_model must be an int, got Tensor"),
    (lambda: FeedForward(4, np.float64(8)), TypeError, "d_ff must be an int, got float64"),
    (lambda: FeedForward(4, 8, dropout=1.01), ValueError, r"dropout must lie .* got 1\.01"),
    (lambda: FeedForward(0, 8), ValueError, "d_model must be at least 1, got 0"),
    (lambda: FeedForward(4, 0), ValueError, "d_ff must be at least 1, got 0"),
    (lambda: FeedForward(4, None), TypeError, "d_ff must be an int, got NoneType None"),
    (lambda: EncoderLayer(8, 2, -1), ValueError, "d_ff must be at least 1, got -1"),
    (lambda: LayerNorm(0), ValueError, "d_model must be at least 1, got 0"),
    (lambda: LayerNorm([4]), TypeError, r"d_model must be an int, got list \[4\]"),
    (lambda: LayerNorm(4, eps=0), ValueError, "eps must be positive and finite, got 0"),
    (lambda: LayerNorm(4, eps=-1e-5), ValueError, "eps must be positive and finite, got -1e-05"),
    (lambda: LayerNorm(4, eps=NAN), ValueError, "eps must be positive and finite, got nan"),
    (lambda: LayerNorm(4, eps=INF), ValueError, "eps must be positive and finite, got inf"),
    (lambda: LayerNorm(4, eps="1e-5"), TypeError, "eps must be a number, got str '1e-5'"),
    (lambda: LayerNorm(4, eps=True), TypeError, "eps must be a number, got bool True"),
    (lambda: AdditiveAttention(0, 5, 7), ValueError, "d_query must be at least 1, got 0"),
    (lambda: AdditiveAttention(3, 0, 7), ValueError, "d_key must be at least 1, got 0"),
    (lambda: AdditiveAttention(3, 5, 0), ValueError, "d_hidden must be at least 1, got 0"),
    (lambda: AdditiveAttention(3, 5, 7.0), TypeError, r"d_hidden must be an int, got float 7\.0"),
]

WHEN_CALLED = [
    (
        lambda: attend(zeros(2, 5, 11), Y, Y),
        ValueError,
        r"query must have shape \(B, length, 12\), got shape \(2, 5, 11\)",
    ),
    (
        lambda: attend(X, zeros(7, 12), Y),
        ValueError,
        r"key must have shape \(B, length, 12\), got shape \(7, 12\)",
    ),
    (
        lambda: attend(X, Y, zeros(1, 2, 7, 12)),
        ValueError,
        r"value must have shape \(B, length, 12\), got shape \(1, 2, 7, 12\)",
    ),
    (lambda: attend(zeros(()), Y, Y), ValueError, r"query must have at least 1 axes, got .* \(\)"),
    (
        lambda: attend(X.long(), Y, Y),
        TypeError,
        r"query must be a floating-point tensor, got dtype torch\.int64",
    ),
    (lambda: attend(X, Y.numpy(), Y), TypeError, r"key must be a torch\.Tensor, got ndarray"),
    (lambda: attend(X, Y, None), TypeError, r"value must be a torch\.Tensor, got NoneType"),
    (
        lambda: attend(X, Y, X),
        ValueError,
        r"key and value must have the same length S, got key \(2, 7, 12\) and value \(2, 5, 12\)",
    ),
    (
        lambda: attend(X, X, Y),
        ValueError,
        r"key and value must have the same length S, got key \(2, 5, 12\) and value \(2, 7, 12\)",
    ),
    (
        lambda: attend(X, zeros(3, 7, 12), zeros(3, 7, 12)),
        ValueError,
        r"leading axes of query and key must be equal or 1, "
        r"got query \(2, 5, 12\) and key \(3, 7, 12\)",
    ),
    (
        lambda: attend(X, Y, zeros(3, 7, 12), attention=F.scaled_dot_product_attention),
        ValueError,
        r"leading axes of query and value .* got query \(2, 5, 12\) and value \(3, 7, 12\)",
    ),
    (
        lambda: add(zeros(3, 4, 3), K5, V8),
        ValueError,
        r"leading axes of query and key .* got query \(3, 4, 3\) and key \(2, 6, 5\)",
    ),
    (
        lambda: add(Q3, K5, zeros(3, 6, 8)),
        ValueError,
        r"leading axes of query and value .* got query \(2, 4, 3\) and value \(3, 6, 8\)",
    ),
    (
        lambda: add(zeros(2, 4, 5), K5, V8),
        ValueError,
        r"query must have shape \(B, length, 3\), got shape \(2, 4, 5\)",
    ),
    (
        lambda: add(Q3, zeros(2, 6, 3), V8),
        ValueError,
        r"key must have shape \(B, length, 5\), got shape \(2, 6, 3\)",
    ),
    (
        lambda: add(Q3, zeros(6, 5), V8),
        ValueError,
        r"key must have shape \(B, length, 5\), got shape \(6, 5\)",
    ),
    (
        lambda: add(Q3, zeros(5), V8),
        ValueError,
        r"key must have shape \(B, length, 5\), got shape \(5,\)",
    ),
    (lambda: add(Q3, K5.tolist(), V8), TypeError, r"key must be a torch\.Tensor, got list"),
    (lambda: add(Q3, K5.long(), V8), TypeError, "key must be a floating-point tensor"),
    (
        lambda: add(Q3, K5, zeros(6, 8)),
        ValueError,
        r"value must have at least 3 axes, got shape \(6, 8\)",
    ),
    (lambda: add(Q3, K5, V8.int()), TypeError, r"value must be .* got dtype torch\.int32"),
    (
        lambda: add(Q3, K5, zeros(2, 5, 8)),
        ValueError,
        r"key and value must have the same length S, got key \(2, 6, 5\) and value \(2, 5, 8\)",
    ),
    (
        lambda: add(Q3, K5, zeros(2, 7, 8)),
        ValueError,
        r"key and value must have the same length S, got key \(2, 6, 5\) and value \(2, 7, 8\)",
    ),
    (
        lambda: FeedForward(4, 8)(zeros(2, 3, 5)),
        ValueError,
        r"x must have width 4 on its last axis, got \(2, 3, 5\)",
    ),
    (lambda: FeedForward(4, 8)(zeros(())), ValueError, r"x must have at least 1 axes, got .* \(\)"),
    (lambda: FeedForward(4, 8)([0.0] * 4), TypeError, r"x must be a torch\.Tensor, got list"),
    (
        lambda: LayerNorm(4)(zeros(2, 1)),
        ValueError,
        r"x must have width 4 on its last axis, got \(2, 1\)",
    ),
    (
        lambda: LayerNorm(4)(zeros(2, 4).int()),
        TypeError,
        r"x must be a floating-point tensor, got dtype torch\.int32",
    ),
    (
        lambda: DecoderLayer(12, 3, 8)(X, zeros(2, 7, 11)),
        ValueError,
        r"key must have shape \(B, length, 12\), got shape \(2, 7, 11\)",
    ),
]

WRONG_MASKS = [
    (torch.ones(2, 5), TypeError, r"mask must be bool .* got dtype torch\.float32; .* mask != 0"),
    (
        torch.tensor([1, 1, 1, 1, 1, 0, 0]),
        TypeError,
        r"mask must be bool with True = may attend, got dtype torch\.int64",
    ),
    (torch.ones(5, 7, dtype=torch.uint8), TypeError, r"got dtype torch\.uint8"),
    (np.ones((5, 7), dtype=bool), TypeError, r"mask must be a torch\.Tensor of bool, got ndarray"),
    # Forgotten axes: of the queries, and of the heads.
    (
        torch.ones(2, 7).bool(),
        ValueError,
        r"mask must broadcast to .* \(\.\.\., L, S\) = \(2, 3, 5, 7\), got mask \(2, 7\)",
    ),
    (
        torch.ones(3, 5, 7).bool(),
        ValueError,
        r"= \(2, 5, 7\), got mask \(3, 5, 7\); a mask of 3 axes is \(B, L, S\); "
        r"one for each head has 4, \(1, H, L, S\)",
    ),
    (torch.ones(2, 7, 5).bool(), ValueError, r"= \(2, 5, 7\), got mask \(2, 7, 5\)"),
    (torch.ones(2, 5, 7), TypeError, r"mask must be bool .* got dtype torch\.float32"),
    (torch.ones(7, 5).bool(), ValueError, r"= \(2, 3, 5, 7\), got mask \(7, 5\)"),
    (torch.ones(1, 2, 3, 5, 7).bool(), ValueError, r"got mask \(1, 2, 3, 5, 7\)"),
]


@pytest.mark.parametrize(("call", "error", "text"), WHEN_MADE + WHEN_CALLED)
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("options", [{}, {"attention": F.scaled_dot_product_attention}])
@pytest.mark.parametrize(("mask", "error", "text"), WRONG_MASKS)
def test_a_wrong_mask_is_refused_by_the_explicit_and_the_fused_function(mask, error, text, options):
    with pytest.raises(error, match=text):
        attend(X, Y, Y, mask, **options)


@pytest.mark.parametrize(
    ("mask", "error", "text"),
    [
        (torch.ones(4, 6), TypeError, r"mask must be bool .* got dtype torch\.float32"),
        (torch.ones(2, 6).bool(), ValueError, r"= \(2, 4, 6\), got mask \(2, 6\)"),
        (torch.ones(2, 3, 4, 6).bool(), ValueError, r"= \(2, 1, 4, 6\), got mask \(2, 3, 4, 6\)"),
        (torch.ones(2, 1, 4, 7).bool(), ValueError, r"= \(2, 1, 4, 6\), got mask \(2, 1, 4, 7\)"),
    ],
)
def test_a_wrong_mask_of_additive_attention_is_refused(mask, error, text):
    with pytest.raises(error, match=text):
        add(Q3, K5, V8, mask)


@pytest.mark.parametrize("name", ["mask", "tgt_mask", "memory_mask"])
def test_a_wrong_mask_of_a_layer_is_refused(name):
    layer = EncoderLayer(12, 3, 8) if name == "mask" else DecoderLayer(12, 3, 8)
    x = (X,) if name == "mask" else (X, Y)
    for wrong in (torch.ones(2, 9).bool(), torch.ones(1, 1).long()):
        with pytest.raises((ValueError, TypeError), match="mask must b"):
            layer(*x, **{name: wrong})


def test_probabilities_of_0_and_1_are_allowed():
    for p in (0, 0.0, 1, 1.0):
        assert EncoderLayer(8, 2, 8, dropout=p).dropout.p == p


OTHERS = [torch.float16, torch.bfloat16, torch.float64]
CALLS = {
    "query": lambda x: attend(x(X), Y, Y),
    "key": lambda x: attend(X, x(Y), Y),
    "value": lambda x: attend(X, Y, x(Y), attention=F.scaled_dot_product_attention),
    "query of additive attention": lambda x: add(x(Q3), K5, V8),
    "key of additive attention": lambda x: add(Q3, x(K5), V8),
    "value of additive attention": lambda x: add(Q3, K5, x(V8)),
    "x of feed-forward": lambda x: FeedForward(12, 8)(x(X)),
    "x of layer norm": lambda x: LayerNorm(12)(x(X)),
    "query of an encoder layer": lambda x: EncoderLayer(12, 3, 8)(x(X)),
    "key of a decoder layer": lambda x: DecoderLayer(12, 3, 8)(X, x(Y)),
}


@pytest.mark.parametrize("dtype", OTHERS)
@pytest.mark.parametrize("name", CALLS)
def test_an_input_of_another_dtype_than_the_parameters_is_named(name, dtype):
    argument = name.split()[0]
    text = (
        f"{argument} must have the dtype of the module's parameters, "
        f"got {argument} {dtype} and parameters torch.float32"
    )
    with pytest.raises(TypeError, match=re.escape(text)):
        CALLS[name](lambda x: x.to(dtype))


def test_numpy_numbers_are_accepted_and_kept_as_numbers_of_python():
    layer = EncoderLayer(np.int64(8), np.int32(2), np.uint8(8), dropout=np.float32(0.5))
    attention = layer.self_attention
    kept = [attention.d_model, attention.num_heads, layer.feed_forward.inner.out_features]
    assert kept == [8, 2, 8]
    assert [type(x) for x in kept] == [int] * 3
    assert type(attention.dropout) is type(layer.dropout.p) is float
    additive = AdditiveAttention(np.int64(3), np.int64(5), np.int64(7))
    assert type(additive.d_query) is type(additive.d_key) is int
    assert type(LayerNorm(np.int64(4), eps=np.float64(1e-5)).eps) is float
