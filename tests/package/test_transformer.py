"""transformer.py: equality with nn.Transformer, causality, padding, gradients."""

import math

import pytest
import torch
import torch.nn.functional as F
from copying import torch_gradients
from copying_transformer import (
    PAD,
    SIZES,
    batch,
    build,
    ids,
    torch_logits,
    torch_twin,
)
from samples import torch_fills_empty_rows
from torch import nn
from torch.testing import assert_close

from attention_core import padding_mask, record_attention, sequence_loss

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}
V_SRC, V_TGT, H, D_MODEL = (
    SIZES[name] for name in ("src_vocab_size", "tgt_vocab_size", "num_heads", "d_model")
)
FUSED = {"attention": F.scaled_dot_product_attention, "norm": nn.LayerNorm}

both_norms = pytest.mark.parametrize("norm_first", [False, True])
both_kernels = pytest.mark.parametrize("functions", [{}, FUSED], ids=["explicit", "fused"])


def gradients(module):
    return {name: x.grad for name, x in module.named_parameters()}


# ------------------------------------------------------------------- equality


@both_norms
@both_kernels
@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_equals_nn_transformer_in_values_and_gradients(dtype, functions, norm_first):
    ours = build(dtype, norm_first=norm_first, **functions)
    theirs = torch_twin(ours)
    src, tgt = batch()
    logits = ours(src, tgt)
    assert logits.shape == (2, 5, V_TGT)
    assert logits.dtype == dtype
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    assert_close(logits, torch_logits(ours, theirs, src, tgt), **tolerance)

    weights = torch.randn(logits.shape, generator=torch.Generator().manual_seed(5)).to(dtype)
    (ours(src, tgt) * weights).mean().backward()
    our_gradients = gradients(ours)
    ours.zero_grad()
    (torch_logits(ours, theirs, src, tgt) * weights).mean().backward()
    expected = gradients(ours)  # of the embeddings and the output, which torch's model lacks
    expected |= {f"encoder.{n}": x for n, x in torch_gradients(theirs.encoder).items()}
    expected |= {f"decoder.{n}": x for n, x in torch_gradients(theirs.decoder).items()}
    assert our_gradients.keys() == expected.keys()
    for name, x in expected.items():
        assert_close(our_gradients[name], x, **tolerance)


@both_norms
def test_the_encoder_stack_equals_nn_transformer_encoder(norm_first):
    ours = build(norm_first=norm_first)
    theirs = torch_twin(ours).encoder
    src, _ = batch()
    x = torch.randn(2, 7, D_MODEL, generator=torch.Generator().manual_seed(2)).double()
    expected = theirs(x, src_key_padding_mask=src == PAD)
    assert_close(ours.encoder(x, padding_mask(src, PAD)), expected, rtol=1e-12, atol=1e-12)
    assert_close(ours.encoder(x), theirs(x), rtol=1e-12, atol=1e-12)


@both_norms
def test_the_decoder_stack_equals_nn_transformer_decoder(norm_first):
    ours = build(norm_first=norm_first)
    theirs = torch_twin(ours).decoder
    src, _ = batch()
    g = torch.Generator().manual_seed(2)
    x, memory = (torch.randn(2, n, D_MODEL, generator=g).double() for n in (5, 7))
    causal = torch.ones(5, 5).tril().bool()
    expected = theirs(x, memory, tgt_mask=~causal, memory_key_padding_mask=src == PAD)
    mask = padding_mask(src, PAD)
    output = ours.decoder(x, memory, tgt_mask=causal, memory_mask=mask)
    assert_close(output, expected, rtol=1e-12, atol=1e-12)
    assert_close(ours.decoder(x, memory), theirs(x, memory), rtol=1e-12, atol=1e-12)


@both_norms
@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_explicit_and_fused_agree_in_values_and_gradients(dtype, norm_first):
    src, tgt = batch()
    results = []
    for functions in ({}, FUSED):
        model = build(dtype, norm_first=norm_first, **functions)
        logits = model(src, tgt)
        sequence_loss(logits, tgt, pad_id=PAD).backward()
        results.append([logits, *gradients(model).values()])
    assert isinstance(model.decoder.layers[1].cross_attention_norm, nn.LayerNorm)
    assert model.decoder.layers[1].cross_attention.attention is F.scaled_dot_product_attention
    for ours, theirs in zip(*results, strict=True):
        assert_close(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_encode_and_decode_together_equal_forward():
    model = build()
    src, tgt = batch()
    memory = model.encode(src)
    assert memory.shape == (2, 7, D_MODEL)
    assert torch.equal(model.decode(tgt, memory, padding_mask(src, PAD)), model(src, tgt))


def test_pre_norm_has_one_more_norm_after_each_stack_and_post_norm_none():
    pre, post = build(norm_first=True), build()
    assert [name for name, _ in pre.named_parameters() if name.count(".") == 2] == [
        "encoder.norm.weight",
        "encoder.norm.bias",
        "decoder.norm.weight",
        "decoder.norm.bias",
    ]
    assert not list(post.encoder.norm.parameters()) + list(post.decoder.norm.parameters())


def test_eval_keeps_the_length_where_torch_would_shorten_it():
    ours = build(torch.float32)
    theirs = torch_twin(ours).encoder
    src = ids(2, 7, vocabulary=V_SRC)
    src[0, 5:], src[1, 3:] = PAD, PAD
    x = torch.randn(2, 7, D_MODEL, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        output = ours.encoder(x, padding_mask(src, PAD))
        expected = theirs(x, src_key_padding_mask=src == PAD)
        assert ours.encode(src).shape == (2, 7, D_MODEL)
    assert output.shape == x.shape
    real = src != PAD
    assert_close(output[real], expected[real], rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------- the future


@both_norms
@both_kernels
def test_logits_have_no_gradient_from_later_target_tokens(functions, norm_first):
    model = build(norm_first=norm_first, **functions)
    src, tgt = batch(L=5)
    tgt[1] = tgt[0]
    embedded = []
    model.tgt_embedding.register_forward_hook(lambda *call: embedded.append(call[-1]))
    for i in range(5):
        logits = model(src, tgt)
        (gradient,) = torch.autograd.grad(logits[:, i].square().sum(), embedded.pop())
        assert (gradient[:, i + 1 :] == 0.0).all()
        assert (gradient[:, : i + 1].abs().sum(dim=-1) > 0).all()


@both_norms
@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_later_target_tokens_leave_earlier_logits_bit_identical(dtype, norm_first):
    model = build(dtype, norm_first=norm_first)
    src, tgt = batch()
    before = model(src, tgt)
    for i in range(1, 5):
        other = tgt.clone()
        other[:, i:] = (other[:, i:] + 1) % V_TGT
        after = model(src, other)
        assert torch.equal(after[:, :i], before[:, :i])
        assert (after[:, i:] != before[:, i:]).any(dim=-1).all()


# ------------------------------------------------------------------- padding


@both_norms
@both_kernels
@pytest.mark.parametrize("length", [5, 50])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
def test_a_sentence_gives_the_same_alone_padded_and_in_a_batch(
    dtype, tolerance, length, functions, norm_first
):
    model = build(dtype, norm_first=norm_first, **functions)
    close = {"rtol": tolerance, "atol": tolerance}
    alone = ids(1, 3, vocabulary=V_SRC)
    tgt = ids(1, 4, vocabulary=V_TGT)
    padded = F.pad(alone, (0, length - 3), value=PAD)
    mates = ids(4, length, vocabulary=V_SRC, seed=3)
    mixed = torch.cat([mates[:2], padded, mates[2:]])
    memory, logits = model.encode(alone), model(alone, tgt)
    for src, row in [(padded, 0), (mixed, 2)]:
        assert_close(model.encode(src)[row, :3], memory[0], **close)
        assert_close(model(src, tgt.expand(len(src), -1))[row], logits[0], **close)
    # Padding of the target, and another target beside it, change nothing either.
    longer = F.pad(tgt, (0, 7), value=PAD)
    beside = torch.cat([longer, ids(1, 11, vocabulary=V_TGT, seed=4)])
    assert_close(model(alone, longer)[0, :4], logits[0], **close)
    assert_close(model(alone.expand(2, -1), beside)[0, :4], logits[0], **close)


@pytest.mark.parametrize(("S", "L"), [(3, 5), (5, 3)])
def test_cross_attention_hides_the_padding_of_the_source(S, L):
    model = build()
    src, tgt = ids(2, S, vocabulary=V_SRC), ids(2, L, vocabulary=V_TGT)
    src[1, -1] = PAD
    with record_attention(model) as weights:
        before = model(src, tgt)
    cross = [weights[f"decoder.layers.{i}.cross_attention"] for i in range(2)]
    own = [weights[f"decoder.layers.{i}.self_attention"] for i in range(2)]
    read = [weights[f"encoder.layers.{i}.self_attention"] for i in range(2)]
    for w in cross + read:
        assert w.shape == (2, H, L if any(w is x for x in cross) else S, S)
        assert (w[1, :, :, -1] == 0.0).all()
        assert (w[0] > 0).all()
        assert (w[1, :, :, :-1] > 0).all()
        assert_close(w.sum(dim=-1), torch.ones(w.shape[:-1]).double())
    for w in own:
        assert w.shape == (2, H, L, L)
        assert torch.equal(w > 0, torch.ones(L, L).tril().bool().expand(2, H, L, L))
    with torch.no_grad():
        model.src_embedding.weight[PAD] = 100 * torch.randn(D_MODEL)
    assert torch.equal(model(src, tgt), before)


def test_the_padding_of_the_target_is_not_attended_to():
    model = build()
    src, tgt = batch()
    with record_attention(model) as weights:
        model(src, tgt)
    for i in range(2):
        own = weights[f"decoder.layers.{i}.self_attention"]
        assert (own[1, :, :, -2:] == 0.0).all()
        assert (own[0, :, -1] > 0).all()


@pytest.mark.parametrize(
    "functions", [{}, pytest.param(FUSED, marks=torch_fills_empty_rows)], ids=["explicit", "fused"]
)
def test_a_source_of_padding_only_gives_finite_logits_and_gradients(functions):
    model = build(torch.float32, **functions)
    src, tgt = batch()
    before = model(src, tgt)[1]
    src[0] = PAD
    logits = model(src, tgt)
    assert logits.isfinite().all()
    assert_close(logits[1], before)  # the other sentence is unchanged
    logits.square().mean().backward()
    assert all(g.isfinite().all() for g in gradients(model).values())


# ------------------------------------------------ every parameter is in use


@both_norms
def test_every_parameter_gets_a_finite_gradient_other_than_zero(norm_first):
    model = build(norm_first=norm_first)
    src, tgt = batch()
    sequence_loss(model(src, tgt), tgt, pad_id=PAD).backward()
    for name, x in gradients(model).items():
        assert x.isfinite().all(), name
        if name.endswith("k_proj.bias"):
            # A number added to all scores of a query cancels in its softmax.
            assert_close(x, torch.zeros_like(x), rtol=0, atol=1e-12)
        else:
            assert (x != 0).any(), name
    used = torch.zeros(V_SRC).bool()
    used[src[src != PAD]] = True
    assert torch.equal((model.src_embedding.weight.grad != 0).any(dim=1), used)


def test_embeddings_are_scaled_by_the_root_of_the_width_and_follow_the_positions():
    model = build(num_layers=1)
    src = ids(1, 3, vocabulary=V_SRC)
    seen = []
    model.encoder.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model.encode(src)
    # The table, by the paper's formula in plain numbers.
    for position in range(3):
        for c in range(D_MODEL):
            angle = position / 10_000 ** ((c - c % 2) / D_MODEL)
            wave = math.cos(angle) if c % 2 else math.sin(angle)
            token = model.src_embedding.weight[src[0, position], c].item()
            expected = math.sqrt(D_MODEL) * token + wave
            assert seen[0][0, position, c].item() == pytest.approx(expected, abs=1e-7)
