"""layers.py: norm, feed-forward and both layers equal torch and NumPy, dropout included."""

import oracle
import pytest
import torch
import torch.nn.functional as F
from copying import torch_gradients
from samples import (
    D_FF,
    D_MODEL,
    EXACT,
    HALF,
    MASKS_FOR_TORCH,
    B,
    H,
    L,
    S,
    assert_same,
    blocked,
    filled,
    gradients,
    mask,
    randn,
)
from torch import nn
from torch.testing import assert_close

from attention_core import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    from_torch,
)

WIDTHS = (D_MODEL, H, D_FF)


def run(function, shapes, dtype=torch.float64):
    """The output, and the gradients of the inputs, for a fixed random loss."""
    x = [randn(*shape, seed=i, dtype=dtype).requires_grad_() for i, shape in enumerate(shapes)]
    output = function(*x)
    (output * randn(*output.shape, seed=5, dtype=dtype)).sum().backward()
    return output, [t.grad for t in x]


# ----------------------------------------------------- norm and feed-forward


def test_layer_norm_divides_by_the_width_and_adds_eps_under_the_root():
    assert_same(
        LayerNorm(4)(torch.tensor([1.0, 0.0, 0.0, 0.0])),
        torch.tensor([3.0, -1.0, -1.0, -1.0]) / 4 / (3 / 16 + 1e-5) ** 0.5,
        torch.float32,
    )
    printed = [f"{x:.4f}" for x in LayerNorm(4)(torch.tensor([1.0, 0.0, 0.0, 0.0]))]
    assert printed == ["1.7320", "-0.5773", "-0.5773", "-0.5773"]
    # With eps = 3/16 the variance doubles and every number shrinks by √2.
    assert_same(
        LayerNorm(4, eps=3 / 16).double()(torch.tensor([1.0, 0.0, 0.0, 0.0]).double()),
        torch.tensor([3.0, -1.0, -1.0, -1.0]).double() / 6**0.5,
    )


@pytest.mark.parametrize("dtype", EXACT)
def test_a_constant_token_becomes_zero_with_a_finite_gradient(dtype):
    x = torch.full((4,), 3.0, dtype=dtype, requires_grad=True)
    output = LayerNorm(4).to(dtype)(x)
    assert torch.equal(output, torch.zeros(4, dtype=dtype))
    (output * torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=dtype)).sum().backward()
    expected = torch.tensor([3.0, -1.0, -1.0, -1.0], dtype=dtype) / 4 / 1e-5**0.5
    assert_same(x.grad, expected, dtype)


@pytest.mark.parametrize("eps", [1e-5, 0.1])
@pytest.mark.parametrize("shape", [(D_MODEL,), (L, D_MODEL), (B, H, L, D_MODEL), (B, 0, D_MODEL)])
@pytest.mark.parametrize("dtype", EXACT)
def test_layer_norm_equals_torch_in_values_and_gradients(dtype, shape, eps):
    ours = filled(LayerNorm(D_MODEL, eps=eps), dtype)
    theirs = filled(nn.LayerNorm(D_MODEL, eps=eps), dtype)
    assert ours.state_dict().keys() == theirs.state_dict().keys()
    assert_same(run(ours, [shape], dtype), run(theirs, [shape], dtype), dtype)
    assert_same(gradients(ours), gradients(theirs), dtype)


def test_layer_norm_stays_accurate_far_from_zero():
    # The shortcut E[x²] - E[x]² loses everything here in float32.
    x = 4096 + torch.tensor([1.0, 0.0, 0.0, 0.0])
    assert_same(LayerNorm(4)(x), LayerNorm(4)(x - 4096), torch.float32)


@pytest.mark.parametrize("dtype", EXACT)
def test_feed_forward_equals_two_convolutions_over_single_positions(dtype):
    ours = filled(FeedForward(D_MODEL, D_FF), dtype)
    inner, outer = (nn.Conv1d(a, b, 1) for a, b in [(D_MODEL, D_FF), (D_FF, D_MODEL)])
    for conv, linear in ((inner, ours.inner), (outer, ours.outer)):
        conv.weight.data = linear.weight.data.clone().unsqueeze(-1)
        conv.bias.data = linear.bias.data.clone()
    shapes = [(B, L, D_MODEL)]
    theirs = run(lambda x: outer(inner(x.mT).relu()).mT, shapes, dtype)
    assert_same(run(ours, shapes, dtype), theirs, dtype)
    for conv, linear in ((inner, ours.inner), (outer, ours.outer)):
        assert_same(linear.weight.grad, conv.weight.grad.squeeze(-1), dtype)
        assert_same(linear.bias.grad, conv.bias.grad, dtype)


def test_projections_begin_at_the_scale_of_xavier_and_biases_at_zero():
    wide = [MultiHeadAttention(256, 4).q_proj, MultiHeadAttention(256, 4).out_proj]
    wide += [FeedForward(256, 512).inner, FeedForward(256, 512).outer]
    for linear in wide:
        assert (linear.bias == 0).all()
        bound = (6 / sum(linear.weight.shape)) ** 0.5  # Glorot and Bengio 2010, equation (16)
        assert 0.99 * bound < linear.weight.abs().max() <= bound


def test_norm_and_feed_forward_equal_plain_numpy():
    x = randn(L, D_MODEL)
    pairs = [
        (FeedForward(D_MODEL, D_FF), oracle.feed_forward),
        (LayerNorm(D_MODEL), oracle.layer_norm),
    ]
    for module, function in pairs:
        filled(module)
        state = {name: t.numpy() for name, t in module.state_dict().items()}
        assert_same(module(x).detach(), torch.from_numpy(function(x.numpy(), state)))


@pytest.mark.parametrize("dtype", HALF)
def test_layer_norm_of_half_precision_computes_in_float32(dtype):
    # By hand: mean 0, and 300² = 90,000 is beyond the range of float16.
    x = torch.tensor([[300.0, -300.0]], dtype=dtype)
    assert LayerNorm(2).to(dtype)(x).tolist() == [[1, -1]]
    # The square of eps = 1e-8 would be 0 in float16, and 1 / 0 times 0 is NaN.
    for constant in (0.0, 0.1, 300.0, 60000.0):
        x = torch.full((3, 7), constant, dtype=dtype)
        assert (LayerNorm(7, eps=1e-8).to(dtype)(x) == 0).all()
    # 4,096 numbers between 0 and 64: their sum, 131,072, is beyond float16.
    x = torch.arange(4096).to(dtype) / 64
    ours, theirs = LayerNorm(4096).to(dtype), nn.LayerNorm(4096).to(dtype)
    assert ours(x).dtype == dtype
    assert_same(ours(x), theirs(x), dtype)


@pytest.mark.parametrize("dtype", HALF)
def test_layer_norm_of_half_precision_has_the_gradients_of_torch(dtype):
    ours, theirs = filled(LayerNorm(D_MODEL), dtype), filled(nn.LayerNorm(D_MODEL), dtype)
    results = []
    for norm in (ours, theirs):
        x = (200 * randn(B, L, D_MODEL)).to(dtype).requires_grad_()
        norm(x).square().sum().backward()
        results.append((norm(x), x.grad, gradients(norm)))
    assert_close(*results, rtol=3e-2, atol=3e-2)


# --------------------------------------------------------------------- layers

SOURCE, TARGET = [(B, S, D_MODEL)], [(B, L, D_MODEL), (B, S, D_MODEL)]


def encoder_pair(dtype=torch.float64, **options):
    theirs = nn.TransformerEncoderLayer(*WIDTHS, **{"dropout": 0.0, **options}, batch_first=True)
    filled(theirs, dtype)
    ours = EncoderLayer(*WIDTHS, **options).to(dtype)
    ours.load_state_dict(from_torch(theirs).state_dict())
    return ours, theirs


def decoder_pair(dtype=torch.float64, **options):
    theirs = nn.TransformerDecoderLayer(*WIDTHS, **{"dropout": 0.0, **options}, batch_first=True)
    filled(theirs, dtype)
    ours = DecoderLayer(*WIDTHS, **options).to(dtype)
    ours.load_state_dict(from_torch(theirs).state_dict())
    return ours, theirs


@pytest.mark.parametrize("kind", MASKS_FOR_TORCH)
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("dtype", EXACT)
def test_encoder_layer_equals_torch_in_values_and_gradients(dtype, norm_first, kind):
    ours, theirs = encoder_pair(dtype, norm_first=norm_first)
    allowed = mask(kind, S, S)
    assert_same(
        run(lambda x: ours(x, allowed), SOURCE, dtype),
        run(lambda x: theirs(x, src_mask=blocked(allowed, S, S)), SOURCE, dtype),
        dtype,
    )
    assert_same(gradients(ours), torch_gradients(theirs), dtype)


@pytest.mark.parametrize("memory_kind", ["none", "padding", MASKS_FOR_TORCH[-1]])
@pytest.mark.parametrize("kind", ["none", "padding and causal", MASKS_FOR_TORCH[-1]])
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("dtype", EXACT)
def test_decoder_layer_equals_torch_in_values_and_gradients(dtype, norm_first, kind, memory_kind):
    ours, theirs = decoder_pair(dtype, norm_first=norm_first)
    own, cross = mask(kind, L, L), mask(memory_kind, L, S)
    assert_same(
        run(lambda x, m: ours(x, m, tgt_mask=own, memory_mask=cross), TARGET, dtype),
        run(
            lambda x, m: theirs(
                x, m, tgt_mask=blocked(own, L, L), memory_mask=blocked(cross, L, S)
            ),
            TARGET,
            dtype,
        ),
        dtype,
    )
    assert_same(gradients(ours), torch_gradients(theirs), dtype)


def test_masks_of_3_axes_are_one_for_each_sentence_also_with_as_many_heads_as_sentences():
    encoder, decoder = EncoderLayer(8, B, D_FF), DecoderLayer(8, B, D_FF)
    x, memory = randn(B, L, 8), randn(B, S, 8, seed=1)
    own, cross = mask("random", L, L)[:, 0], mask("random", L, S)[:, 1]
    filled(encoder), filled(decoder)

    def alone(b):
        y, masks = x[b : b + 1], {"tgt_mask": own[b], "memory_mask": cross[b]}
        return encoder(y, own[b]), decoder(y, memory[b : b + 1], **masks)

    together = encoder(x, own), decoder(x, memory, tgt_mask=own, memory_mask=cross)
    for ours, parts in zip(together, zip(*map(alone, range(B)), strict=True), strict=True):
        assert_same(ours, torch.cat(parts))


@pytest.mark.parametrize("norm_first", [False, True])
def test_dropout_is_applied_where_torch_applies_it(norm_first):
    # The same seed drops the same numbers only if the same tensors are dropped in the same
    # order: the weights, inside the feed-forward, and the output of each sublayer. (One
    # sentence only: torch lays out a batch differently in memory, and drops in that order.)
    one, two = (1, S, D_MODEL), (1, L, D_MODEL)
    for pair, shapes in ((encoder_pair, [one]), (decoder_pair, [two, one])):
        results = []
        for layer in pair(norm_first=norm_first, dropout=0.5):
            with torch.random.fork_rng():
                torch.manual_seed(3)
                results.append(run(layer, shapes))
        assert_same(*results)


def test_dropout_of_1_leaves_only_the_residual():
    x, memory = randn(B, L, D_MODEL), randn(B, S, D_MODEL)
    options = {"norm_first": True, "dropout": 1.0}
    assert torch.equal(EncoderLayer(*WIDTHS, **options).double()(x), x)
    assert torch.equal(DecoderLayer(*WIDTHS, **options).double()(x, memory), x)
    assert (FeedForward(D_MODEL, D_FF, dropout=1.0).double()(x) == 0).all()


def test_dropout_stops_in_eval():
    x, memory = randn(B, L, D_MODEL), randn(B, S, D_MODEL)
    for pair, arguments in ((encoder_pair, (x,)), (decoder_pair, (x, memory))):
        quiet, (dropping, _) = pair()[0], pair(dropout=0.5)
        assert torch.equal(dropping.eval()(*arguments), quiet(*arguments))
        dropping.train()
        assert not torch.equal(dropping(*arguments), dropping(*arguments))


@pytest.mark.parametrize("norm_first", [False, True])
def test_equals_the_fast_path_of_torch_in_eval_on_real_positions(norm_first, monkeypatch):
    # In eval torch calls one fused function, which may write anything at padded positions.
    called, fused = [], torch._transformer_encoder_layer_fwd
    monkeypatch.setattr(
        torch, "_transformer_encoder_layer_fwd", lambda *a: called.append(1) or fused(*a)
    )
    sizes, options = (22, 2, D_FF), {"norm_first": norm_first}
    theirs = nn.TransformerEncoderLayer(*sizes, dropout=0.5, batch_first=True, **options)
    filled(theirs, torch.float32).eval()
    ours = EncoderLayer(*sizes, dropout=0.5, **options).eval()
    ours.load_state_dict(from_torch(theirs).state_dict())
    x, real = randn(B, S, 22, dtype=torch.float32), torch.arange(S) < torch.tensor([[3], [5]])
    with torch.no_grad():
        output = ours(x, real[:, None, None, :])
        expected = theirs(x, src_key_padding_mask=~real)
    assert called == [1]
    assert output.shape == (B, S, 22)
    assert_same(output[real], expected[real], torch.float32)


@pytest.mark.parametrize("norm_first", [False, True])
def test_layers_equal_plain_numpy(norm_first):
    for kind in ("none", "random"):
        ours, _ = encoder_pair(norm_first=norm_first)
        state = {name: x.numpy() for name, x in ours.state_dict().items()}
        x, allowed = randn(B, S, D_MODEL), mask(kind, S, S)
        for b, output in enumerate(ours(x, allowed).detach()):
            own = None if allowed is None else allowed[b].numpy()
            expected = oracle.encoder_layer(x[b].numpy(), state, H, own, norm_first=norm_first)
            assert_same(output, torch.from_numpy(expected))

        ours, _ = decoder_pair(norm_first=norm_first)
        state = {name: x.numpy() for name, x in ours.state_dict().items()}
        y, own, cross = randn(B, L, D_MODEL, seed=1), mask(kind, L, L), mask(kind, L, S)
        outputs = ours(y, x, tgt_mask=own, memory_mask=cross).detach()
        for b, output in enumerate(outputs):
            masks = [None if m is None else m[b].numpy() for m in (own, cross)]
            arrays = y[b].numpy(), x[b].numpy()
            expected = oracle.decoder_layer(*arrays, state, H, *masks, norm_first=norm_first)
            assert_same(output, torch.from_numpy(expected))


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize(
    "options", [{"norm": nn.LayerNorm}, {"attention": F.scaled_dot_product_attention}]
)
def test_fused_parts_give_the_same_layers(options, dtype, norm_first):
    options = {**options, "norm_first": norm_first}
    for layer, shapes in ((EncoderLayer, SOURCE), (DecoderLayer, TARGET)):
        plain = filled(layer(*WIDTHS, norm_first=norm_first), dtype)
        fused = filled(layer(*WIDTHS, **options), dtype)
        assert plain.state_dict().keys() == fused.state_dict().keys()
        assert_same(run(plain, shapes, dtype), run(fused, shapes, dtype), dtype)
        assert_same(gradients(plain), gradients(fused), dtype)


@pytest.mark.parametrize("norm_first", [False, True])
def test_post_norm_is_the_default_and_norm_first_gives_pre_norm(norm_first):
    layer, x = EncoderLayer(*WIDTHS, norm_first=norm_first), randn(B, S, D_MODEL) + 3
    normed = torch.allclose(layer.double()(x).mean(-1), torch.zeros(B, S).double(), atol=1e-9)
    assert normed is not norm_first
    assert EncoderLayer(*WIDTHS).norm_first is DecoderLayer(*WIDTHS).norm_first is False
