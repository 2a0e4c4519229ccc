"""modern.py and the options beside it: each equal to torch's own, values and gradients."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from samples import D_FF, D_MODEL, HALF, TOLERANCE, B, L, assert_same, filled, randn
from torch.testing import assert_close

from attention_core import (
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    RMSNorm,
    SwiGLU,
    Transformer,
    TransformerConfig,
)

X = randn(B, L, D_MODEL)
needs_rms_norm = pytest.mark.skipif(
    not hasattr(F, "rms_norm"), reason="torch before 2.4 has no rms_norm"
)
SIZES = {"src_vocab_size": 11, "tgt_vocab_size": 11, "d_model": 12, "num_heads": 3, "d_ff": 13}


def with_gradients(function, *tensors):
    """The output, and the gradients of a random weighting of it, for each tensor."""
    leaves = [x.detach().clone().requires_grad_() for x in tensors]
    output = function(*leaves)
    grads = torch.autograd.grad((output * randn(*output.shape, seed=5)).sum(), leaves)
    return [output.detach(), *grads]


@needs_rms_norm
def test_rms_norm_is_that_of_torch():
    norm = filled(RMSNorm(D_MODEL, eps=1e-3))

    def ours(x, weight):
        return torch.func.functional_call(norm, {"weight": weight}, (x,))

    def theirs(x, weight):
        return F.rms_norm(x, (D_MODEL,), weight, 1e-3)

    for a, b in zip(
        with_gradients(ours, X, norm.weight), with_gradients(theirs, X, norm.weight), strict=True
    ):
        assert_same(a, b)


def test_layer_norm_without_bias_is_rms_norm_of_the_centred_token():
    centred = X - X.mean(dim=-1, keepdim=True)
    ours = RMSNorm(D_MODEL, eps=1e-5).double()
    assert_same(ours(centred), LayerNorm(D_MODEL, eps=1e-5).double()(X))
    assert not torch.allclose(ours(X), ours(centred), atol=1e-3)


@needs_rms_norm
@pytest.mark.parametrize("dtype", HALF)
def test_rms_norm_of_half_precision_does_not_overflow(dtype):
    x = torch.tensor([[300.0, -300.0]]).to(dtype)  # 300² is beyond float16
    assert RMSNorm(2).to(dtype)(x).tolist() == [[1.0, -1.0]]
    x = randn(B, L, D_MODEL, dtype=dtype)
    module = filled(RMSNorm(D_MODEL), dtype)
    expected = F.rms_norm(x.double(), (D_MODEL,), module.weight.double(), 1e-6)
    assert module(x).dtype == dtype
    assert_close(module(x).double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_swiglu_is_the_formula_of_the_paper():
    module = filled(SwiGLU(D_MODEL, D_FF))
    weights = module.gate.weight, module.inner.weight, module.outer.weight

    def ours(x, gate, inner, outer):
        names = ("gate.weight", "inner.weight", "outer.weight")
        values = dict(zip(names, (gate, inner, outer), strict=True))
        return torch.func.functional_call(module, values, (x,))

    def theirs(x, gate, inner, outer):
        z = x @ gate.T
        return (z / (1 + torch.exp(-z)) * (x @ inner.T)) @ outer.T

    for a, b in zip(
        with_gradients(ours, X, *weights), with_gradients(theirs, X, *weights), strict=True
    ):
        assert_same(a, b)


def test_swiglu_drops_numbers_only_while_training():
    module = SwiGLU(D_MODEL, D_FF, dropout=1.0).double()
    assert (module(X) == 0).all()
    assert (module.eval()(X) != 0).all()


@pytest.mark.parametrize("activation", [F.gelu, F.silu, torch.tanh])
def test_a_feed_forward_uses_its_activation(activation):
    module = filled(FeedForward(D_MODEL, D_FF, activation=activation))
    inner = X @ module.inner.weight.T + module.inner.bias
    assert_same(module(X), activation(inner) @ module.outer.weight.T + module.outer.bias)
    assert not torch.allclose(module(X), filled(FeedForward(D_MODEL, D_FF))(X))


def test_every_layer_of_a_model_gets_the_feed_forward():
    config = TransformerConfig(**SIZES, num_layers=2, num_kv_heads=1, attention_bias=False)
    model = Transformer(config, norm=RMSNorm, feed_forward=SwiGLU)
    layers = [*model.encoder.layers, *model.decoder.layers]
    assert all(type(layer.feed_forward) is SwiGLU for layer in layers)
    assert all(type(layer.self_attention_norm) is RMSNorm for layer in layers)
    names = [name for name, _ in model.named_parameters()]
    assert not any(name.endswith("bias") for name in names)
    for layer in layers:
        assert layer.self_attention.k_proj.weight.shape == (4, 12)
    for layer in model.decoder.layers:
        assert layer.cross_attention.v_proj.weight.shape == (4, 12)


@pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer])
def test_the_feed_forward_of_a_layer_gets_widths_and_dropout(kind):
    calls = []

    def factory(*arguments, **options):
        calls.append((arguments, options))
        return FeedForward(*arguments, **options)

    kind(12, 3, 13, dropout=0.25, feed_forward=factory)
    assert calls == [((12, 13), {"dropout": 0.25})]


def test_the_causal_encoder_with_gelu_is_that_of_torch():
    config = TransformerConfig(**SIZES, num_layers=2, dropout=0.0, norm_first=True)
    ours = filled(Encoder(config, feed_forward=partial(FeedForward, activation=F.gelu)))
    theirs = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(
            12, 3, 13, dropout=0.0, activation="gelu", norm_first=True, batch_first=True
        ),
        2,
        norm=torch.nn.LayerNorm(12),
        enable_nested_tensor=False,
    ).double()
    for a, b in zip(theirs.layers, ours.layers, strict=True):
        attend = b.self_attention
        parts = attend.q_proj, attend.k_proj, attend.v_proj
        a.self_attn.in_proj_weight.data = torch.cat([p.weight.data for p in parts])
        a.self_attn.in_proj_bias.data = torch.cat([p.bias.data for p in parts])
        for their, our in (
            (a.self_attn.out_proj, attend.out_proj),
            (a.linear1, b.feed_forward.inner),
            (a.linear2, b.feed_forward.outer),
            (a.norm1, b.self_attention_norm),
            (a.norm2, b.feed_forward_norm),
        ):
            their.load_state_dict(our.state_dict())
    theirs.norm.load_state_dict(ours.norm.state_dict())
    allowed = torch.ones(L, L, dtype=torch.bool).tril()
    x = randn(B, L, 12)
    assert_same(
        *(
            with_gradients(f, x)
            for f in (
                lambda x: ours(x, allowed),
                lambda x: theirs(x, mask=~allowed),
            )
        )
    )


ERRORS = [
    (lambda: RMSNorm(0), ValueError, "d_model must be at least 1, got 0"),
    (lambda: RMSNorm(4, eps=0.0), ValueError, "eps must be positive and finite, got 0.0"),
    (
        lambda: RMSNorm(4)(torch.zeros(2, 5)),
        ValueError,
        r"x must have width 4 on its last axis, got \(2, 5\)",
    ),
    (
        lambda: RMSNorm(4)(torch.zeros(2, 4).double()),
        TypeError,
        "x must have the dtype of the module's parameters",
    ),
    (lambda: RMSNorm(4)(torch.zeros(2, 4).long()), TypeError, "x must be a floating-point tensor"),
    (lambda: SwiGLU(4, 0), ValueError, "d_ff must be at least 1, got 0"),
    (lambda: SwiGLU(4, 8, dropout=2.0), ValueError, "dropout must lie between 0 and 1, got 2.0"),
    (
        lambda: SwiGLU(4, 8)(torch.zeros(2, 5)),
        ValueError,
        r"x must have width 4 on its last axis, got \(2, 5\)",
    ),
    (
        lambda: SwiGLU(4, 8)(torch.zeros(2, 4).double()),
        TypeError,
        "x must have the dtype of the module's parameters",
    ),
    (
        lambda: FeedForward(4, 8, activation="gelu"),
        TypeError,
        "activation must be callable, got str 'gelu'",
    ),
    (
        lambda: EncoderLayer(4, 2, 8, feed_forward=None),
        TypeError,
        "feed_forward must be callable, got NoneType None",
    ),
    (
        lambda: EncoderLayer(4, 2, 8, attention_bias=0),
        TypeError,
        "attention_bias must be True or False, got int 0",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_a_bad_argument_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
