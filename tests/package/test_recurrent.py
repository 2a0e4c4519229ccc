"""recurrent.py: equal to its formulas written out; which token reaches which; padding."""

import pytest
import torch
import torch.nn.functional as F
from copying_transformer import PAD, batch, ids
from recurrent_models import D_MODEL, V_SRC, V_TGT, both, both_depths, build, written_out
from torch.testing import assert_close

from attention_core import (
    padding_mask,
    reach_matrix,
    record_attention,
    sequence_loss,
    shift_targets,
)

B, L, S = 2, 5, 7  # the sizes of `batch`
CLOSE = {"rtol": 1e-12, "atol": 1e-12}

# ------------------------------------------------------------------ the formulas


@both
@both_depths
def test_equals_the_formulas_written_out_word_by_word(attention, num_layers):
    model = build(attention=attention, num_layers=num_layers)
    src, tgt = batch()
    with record_attention(model) as recorded:
        logits = model(src, tgt)
    assert logits.shape == (B, L, V_TGT)
    for b, (s, n) in enumerate([(S, L), (S - 3, L - 2)]):
        expected_memory, expected_weights, expected = written_out(model, src[b, :s], tgt[b, :n])
        assert_close(model.encode(src)[b, : len(expected_memory)], expected_memory, **CLOSE)
        assert_close(logits[b, :n], expected, **CLOSE)
        if attention:
            assert_close(recorded["attention"][b, 0, :n, :s], expected_weights, **CLOSE)
            assert (recorded["attention"][b, 0, :, s:] == 0.0).all()
    assert recorded.keys() == ({"attention"} if attention else set())


@both
@both_depths
def test_gradients_are_those_of_the_formulas(attention, num_layers):
    model = build(attention=attention, num_layers=num_layers)
    src, tgt = batch()
    logits = model(src, tgt)[1, : L - 2]
    _, _, expected = written_out(model, src[1, : S - 3], tgt[1, : L - 2])
    parameters = dict(model.named_parameters())
    ours, theirs = (
        torch.autograd.grad(x.square().sum(), list(parameters.values())) for x in (logits, expected)
    )
    for name, one, other in zip(parameters, ours, theirs, strict=True):
        assert_close(one, other, **CLOSE, msg=lambda text, name=name: f"{name}: {text}")


@both
def test_float32_agrees_with_float64(attention):
    exact, single = (build(dtype, attention=attention) for dtype in (torch.float64, torch.float32))
    logits = single(*batch())
    assert logits.dtype == torch.float32
    assert_close(logits.double(), exact(*batch()), rtol=1e-5, atol=1e-5)


@both
@both_depths
def test_the_number_of_parameters_follows_the_formula(attention, num_layers):
    def gru(width, hidden):
        return 3 * (hidden * width + hidden * hidden + 2 * hidden)

    d, deeper = D_MODEL, num_layers - 1
    expected = (V_SRC + 2 * V_TGT) * d  # embeddings, and the projection to words
    expected += gru(2 * d, d) + deeper * gru(d, d)  # the decoder reads word and context
    expected += num_layers * (d * d + d) + 3 * d * d + d  # the first state, the readout
    if attention:
        expected += 2 * num_layers * gru(d, d // 2) + 2 * d * d + d
    else:
        expected += num_layers * gru(d, d)
    model = build(attention=attention, num_layers=num_layers)
    assert sum(x.numel() for x in model.parameters()) == expected


# ---------------------------------------------------------------- the bottleneck


def test_without_attention_a_sentence_of_any_length_becomes_one_vector():
    model = build(attention=False)
    for length in (1, 7, 53):
        memory = model.encode(ids(B, length, vocabulary=V_SRC))
        assert memory.shape == (B, 1, D_MODEL)
    # Decoding needs this vector only: neither the source nor its mask.
    src, tgt = batch()
    memory = model.encode(src)
    model.encode(src.flip(0, 1))
    assert torch.equal(model.decode(tgt, memory, None), model(src, tgt))
    assert torch.equal(build(attention=False).decode(tgt, memory, None), model(src, tgt))


def test_with_attention_the_memory_has_a_row_for_each_token():
    model = build(attention=True)
    src, tgt = batch()
    memory = model.encode(src)
    assert memory.shape == (B, S, D_MODEL)
    assert torch.equal(model.decode(tgt, memory, padding_mask(src, PAD)), model(src, tgt))
    assert not torch.equal(model.decode(tgt, memory, None)[1], model(src, tgt)[1])


def test_each_target_token_may_have_a_memory_mask_of_its_own():
    model = build(attention=True)
    src, tgt = batch()
    mask = torch.rand(B, 1, L, S, generator=torch.Generator().manual_seed(1)) < 0.6
    mask[0, 0, 2] = False
    with record_attention(model) as weights:
        logits = model.decode(tgt, model.encode(src), mask)
    assert torch.equal(weights["attention"] > 0, mask)
    assert logits.isfinite().all()
    cache = model.new_cache()
    steps = [
        model.decode(tgt[:, [i]], model.encode(src), mask[:, :, [i]], cache=cache) for i in range(L)
    ]
    assert_close(torch.cat(steps, dim=1), logits, **CLOSE)


# -------------------------------------------------- which token reaches which


def with_embedding(model, name, function):
    """``function`` of embedded tokens, (B, length, d_model), in place of the table's."""

    def run(x):
        hook = getattr(model, name).register_forward_hook(lambda *_: x)
        try:
            return function()
        finally:
            hook.remove()

    return run


@both
@both_depths
def test_a_target_token_reaches_its_own_logits_and_all_later_ones(attention, num_layers):
    model = build(attention=attention, num_layers=num_layers)
    src, _ = batch()
    tgt = ids(B, L, vocabulary=V_TGT)
    run = with_embedding(model, "tgt_embedding", lambda: model(src, tgt))
    reach = reach_matrix(run, model.tgt_embedding(tgt).detach())
    assert torch.equal(reach > 0, torch.ones(L, L).tril().bool())


@both
def test_every_source_token_reaches_every_row_of_memory_and_padding_none(attention):
    model = build(attention=attention)
    src = ids(B, S, vocabulary=V_SRC)
    src[:, -2:] = PAD
    run = with_embedding(model, "src_embedding", lambda: model.encode(src))
    reach = reach_matrix(run, model.src_embedding(src).detach())
    rows = S - 2 if attention else 1
    assert (reach[:rows, : S - 2] > 0).all()
    assert (reach[:, S - 2 :] == 0).all()
    assert (reach[rows:] == 0).all()


@both
@both_depths
@pytest.mark.parametrize("length", [5, 50])
def test_a_sentence_gives_the_same_alone_padded_and_in_a_batch(attention, num_layers, length):
    model = build(attention=attention, num_layers=num_layers)
    alone, tgt = ids(1, 3, vocabulary=V_SRC), ids(1, 4, vocabulary=V_TGT)
    padded = F.pad(alone, (0, length - 3), value=PAD)
    mates = ids(4, length, vocabulary=V_SRC, seed=3)
    memory, logits = model.encode(alone), model(alone, tgt)
    for src, row in [(padded, 0), (torch.cat([mates[:2], padded, mates[2:]]), 2)]:
        assert_close(model.encode(src)[row, : memory.shape[1]], memory[0], **CLOSE)
        assert_close(model(src, tgt.expand(len(src), -1))[row], logits[0], **CLOSE)
    # Padding of the target, and another target beside it, change nothing either.
    longer = F.pad(tgt, (0, 7), value=PAD)
    beside = torch.cat([longer, ids(1, 11, vocabulary=V_TGT, seed=4)])
    assert_close(model(alone, longer)[0, :4], logits[0], **CLOSE)
    assert_close(model(alone.expand(2, -1), beside)[0, :4], logits[0], **CLOSE)


@both
def test_padding_before_a_real_token_is_read_like_a_token(attention):
    model = build(attention=attention)
    real = ids(1, 4, vocabulary=V_SRC)
    shifted = F.pad(real, (2, 0), value=PAD)
    assert_close(
        model.encode(shifted)[0],
        written_out(model, shifted[0], [0])[0],
        **CLOSE,
    )


@both
def test_a_source_of_padding_only_gives_finite_logits_and_gradients(attention):
    model = build(attention=attention)
    src, tgt = batch()
    before = model(src, tgt)
    src[0] = PAD
    logits = model(src, tgt)
    assert_close(logits[1], before[1], **CLOSE)  # sentence 1 is unchanged
    assert_close(model(src[:1, :2], tgt[:1])[0], logits[0], **CLOSE)  # the length is irrelevant
    logits.square().mean().backward()
    for parameter in model.parameters():
        assert parameter.grad.isfinite().all()


@both
@both_depths
def test_every_parameter_gets_a_gradient_but_the_embeddings_of_unused_tokens(attention, num_layers):
    model = build(attention=attention, num_layers=num_layers)
    src, tgt = batch()
    read, predicted = shift_targets(tgt)
    sequence_loss(model(src, read), predicted, pad_id=PAD).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert (parameter.grad != 0).any(), name
    used = torch.zeros(V_SRC).bool()
    used[src[src != PAD]] = True
    assert torch.equal((model.src_embedding.weight.grad != 0).any(dim=1), used)
