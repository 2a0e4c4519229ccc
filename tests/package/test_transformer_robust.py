"""transformer.py: devices, dtypes, compilers, saved weights, refused settings."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F
from copying_transformer import PAD, SIZES, batch, build, config, ids
from torch import nn
from torch.testing import assert_close

from attention_core import (
    DecoderCache,
    RecurrentCache,
    Transformer,
    TransformerConfig,
    padding_mask,
    sequence_loss,
    transformer,
)

V_SRC, V_TGT = SIZES["src_vocab_size"], SIZES["tgt_vocab_size"]
FUSED = {"attention": F.scaled_dot_product_attention, "norm": nn.LayerNorm}


# ------------------------------------------------------------- length limits


def test_a_sequence_as_long_as_max_len_works_and_a_longer_one_is_named():
    model = build(max_len=8)
    src, tgt = (ids(2, 9, vocabulary=v) for v in (V_SRC, V_TGT))
    assert model(src[:, :8], tgt[:, :8]).shape == (2, 8, V_TGT)
    text = r"between 0 and max_len=8, got length 9 from position 0 \(x \(2, 9, 33\)\)"
    with pytest.raises(ValueError, match=text):
        model(src, tgt[:, :8])
    with pytest.raises(ValueError, match=text):
        model(src[:, :8], tgt)


def test_a_cached_step_beyond_max_len_is_named_and_leaves_the_cache_as_it_was():
    model = build(max_len=8)
    src, tgt = (ids(2, 9, vocabulary=v) for v in (V_SRC, V_TGT))
    memory, cache = model.encode(src[:, :8]), model.new_cache()
    for i in range(8):
        model.decode(tgt[:, i : i + 1], memory, None, cache=cache)
    with pytest.raises(ValueError, match="max_len=8, got length 1 from position 8"):
        model.decode(tgt[:, 8:], memory, None, cache=cache)
    assert cache.length == 8
    assert cache.layers[1].self_attention.pair[0].shape[-2] == 8


# --------------------------------------------------------- devices and dtypes


def test_a_move_takes_every_parameter_and_buffer_along():
    src, tgt = batch()
    for model in (build().to("meta"), build().to(device="meta", dtype=torch.float16)):
        tensors = [*model.parameters(), *model.buffers()]
        assert all(x.device.type == "meta" for x in tensors)
        assert len({x.dtype for x in tensors}) == 1
        logits = model(src.to("meta"), tgt.to("meta"))
        assert logits.device.type == "meta"
        assert logits.dtype == tensors[0].dtype
        assert logits.shape == (2, 5, V_TGT)
    assert sum(1 for _ in model.buffers()) == 1  # the table of positions was among them


def test_a_model_can_be_made_on_the_meta_device():
    with torch.device("meta"):
        model = Transformer(config())
    src, tgt = batch()
    assert model(src.to("meta"), tgt.to("meta")).shape == (2, 5, V_TGT)


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-4), (torch.bfloat16, 0.3), (torch.float16, 3e-2)],
)
@pytest.mark.parametrize("functions", [{}, {"attention": F.scaled_dot_product_attention}])
def test_lower_precision_gives_about_the_same(dtype, tolerance, functions):
    src, tgt = batch()
    logits = build(dtype, **functions)(src, tgt)
    assert logits.dtype == dtype
    assert_close(logits.double(), build()(src, tgt), rtol=0, atol=tolerance)


def test_a_model_turned_to_double_keeps_its_logits():
    src, tgt = batch()
    model = build(torch.float32)
    before = model(src, tgt)
    after = model.double()(src, tgt)
    assert after.dtype == torch.float64
    assert_close(after.float(), before, rtol=1e-5, atol=1e-5)


INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_ids_may_be_of_any_integer_dtype_and_are_left_as_they_were(dtype):
    src, tgt = (x.to(dtype) for x in batch())
    copies = src.clone(), tgt.clone()
    model = build()
    expected = model(*batch())
    assert torch.equal(model(src, tgt), expected)
    memory, mask, cache = model.encode(src), padding_mask(batch()[0], PAD), model.new_cache()
    steps = [model.decode(tgt[:, i : i + 1], memory, mask, cache=cache) for i in range(5)]
    assert_close(torch.cat(steps, dim=1), expected, rtol=1e-12, atol=1e-12)
    assert torch.equal(src, copies[0])
    assert torch.equal(tgt, copies[1])


def test_a_padding_id_that_the_dtype_of_the_ids_cannot_hold_hides_nothing():
    # As int8, 256 would be 0: token 0 would be taken for padding.
    model = build(src_vocab_size=300, tgt_vocab_size=300, pad_id=256)
    src = torch.zeros(2, 5, dtype=torch.int8)
    assert torch.equal(model(src, src), model(src.long(), src.long()))


@pytest.mark.parametrize(
    ("src", "tgt", "text"),
    [
        (
            [[4, 19]],
            [[1]],
            "src must hold ids from 0 to 18, .* 19 tokens, got 19 in row 0, col.* 1",
        ),
        ([[4, -1]], [[1]], "src must hold ids from 0 to 18, .*, got -1 in row 0, column 1"),
        ([[4], [5]], [[1], [23]], "tgt must hold ids from 0 to 22, .*, got 23 in row 1, column 0"),
    ],
)
def test_an_id_outside_the_vocabulary_is_named(src, tgt, text):
    model = build(torch.float32)
    with pytest.raises(ValueError, match=text):
        model(torch.tensor(src), torch.tensor(tgt))
    # 200 as int8 is -56, and so it is named: as given.
    with pytest.raises(ValueError, match=r"got -56 in row 0, column 0"):
        model(torch.tensor([[200]]).to(torch.int8), torch.tensor([[1]]))
    with pytest.raises(ValueError, match="src must hold"):
        model.encode(torch.tensor([[4, 19]]))


def test_the_memory_mask_must_be_given():
    # Without it, padding would be attended to, and nothing would say so.
    src, tgt = batch()
    model = build()
    with pytest.raises(TypeError, match="memory_mask"):
        model.decode(tgt, model.encode(src))
    assert not torch.equal(model.decode(tgt, model.encode(src), None), model(src, tgt))


def test_the_padding_masks_are_computed_once(monkeypatch):
    calls = []

    def counted(ids, pad_id):
        calls.append(tuple(ids.shape))
        return padding_mask(ids, pad_id)

    monkeypatch.setattr(transformer, "padding_mask", counted)
    build()(*batch())
    assert sorted(calls) == [(2, 5), (2, 7)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("functions", [{}, FUSED], ids=["explicit", "fused"])
def test_autocast_works_forward_backward_and_step_by_step(dtype, functions):
    src, tgt = batch()
    model = build(torch.float32, **functions)
    expected = model(src, tgt)
    with torch.autocast("cpu", dtype=dtype):
        logits = model(src, tgt)
        memory, mask, cache = model.encode(src), padding_mask(src, PAD), model.new_cache()
        steps = [model.decode(tgt[:, i : i + 1], memory, mask, cache=cache) for i in range(5)]
        loss = sequence_loss(logits, tgt, pad_id=PAD)
        model.decode(tgt, memory.to(dtype), mask)  # autocast converts it
        with pytest.raises(TypeError, match="memory must have the model's dtype"):
            model.decode(tgt, memory.double(), mask)  # but not this
    assert logits.dtype == dtype
    assert_close(logits.float(), expected, rtol=0, atol=0.3)
    assert_close(torch.cat(steps, dim=1), logits, rtol=0, atol=0.3)
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.dtype == torch.float32
        assert parameter.grad.isfinite().all(), name
        assert (parameter.grad != 0).any() or name.endswith("k_proj.bias"), name


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_gpu_gives_what_the_cpu_gives():
    src, tgt = batch()
    model = build()
    expected = model(src, tgt)
    model.cuda()
    logits = model(src.cuda(), tgt.cuda())
    assert logits.is_cuda
    assert_close(logits.cpu(), expected, rtol=1e-10, atol=1e-10)
    memory, cache = model.encode(src.cuda()), model.new_cache()
    mask = (src != PAD)[:, None, None, :].cuda()
    steps = [model.decode(tgt[:, i : i + 1].cuda(), memory, mask, cache=cache) for i in range(5)]
    assert_close(torch.cat(steps, dim=1).cpu(), expected, rtol=1e-10, atol=1e-10)


# ------------------------------------------------------------------ compilers


def test_compiles_without_a_graph_break():
    model = build(num_layers=1)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    for S, L in [(7, 5), (4, 7)]:
        src, tgt = batch(S=S, L=L)
        assert_close(compiled(src, tgt), model(src, tgt), rtol=1e-12, atol=1e-12)


def test_exports_with_lengths_that_may_change():
    model = build(max_len=11, num_layers=1)
    B, S, L = (torch.export.Dim(name, min=2, max=11) for name in "BSL")
    exported = torch.export.export(
        model, batch(S=7, L=5), dynamic_shapes={"src": {0: B, 1: S}, "tgt": {0: B, 1: L}}
    ).module()
    for S, L in [(7, 5), (4, 11), (11, 3)]:
        src, tgt = batch(S=S, L=L)
        src, tgt = torch.cat([src, src[:1]]), torch.cat([tgt, tgt[:1]])
        assert_close(exported(src, tgt), model(src, tgt), rtol=1e-12, atol=1e-12)


# -------------------------------------------------------------- saved weights


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_loaded_after_a_round_trip_give_the_same_logits(dtype):
    src, tgt = batch()
    model = build(torch.float32)
    before, state = model(src, tgt), {n: x.clone() for n, x in model.state_dict().items()}
    model.to(dtype).float()
    model.load_state_dict(state)
    assert torch.equal(model(src, tgt), before)


@pytest.mark.parametrize("assign", [False, True])
def test_weights_loaded_into_a_model_made_on_meta_give_the_same_logits(assign):
    src, tgt = batch()
    model = build(torch.float32)
    with torch.device("meta"):
        other = Transformer(model.config).eval()
    if not assign:
        other.to_empty(device="cpu")
    other.load_state_dict(model.state_dict(), assign=assign)
    assert torch.equal(other(src, tgt), model(src, tgt))


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_loaded_state_dict_gives_the_same_logits(norm_first):
    src, tgt = batch()
    one, other = build(norm_first=norm_first), build(norm_first=norm_first, seed=1)
    assert not torch.equal(one(src, tgt), other(src, tgt))
    other.load_state_dict(one.state_dict(), strict=True)
    assert torch.equal(one(src, tgt), other(src, tgt))
    assert not any(name.startswith("positions") for name in one.state_dict())


def test_tied_embeddings_share_one_matrix_also_after_loading_and_moving():
    tied = {"tie_embeddings": True, "src_vocab_size": V_TGT}
    model = build(**tied)

    def is_one():
        matrix = model.output.weight
        return matrix is model.src_embedding.weight and matrix is model.tgt_embedding.weight

    assert is_one()
    count = sum(p.numel() for p in model.parameters())
    model.load_state_dict(build(seed=1, **tied).state_dict())
    assert is_one()
    model.to(device="cpu", dtype=torch.float32).double()
    assert is_one()
    untied = build(src_vocab_size=V_TGT)
    assert sum(p.numel() for p in untied.parameters()) == count + 2 * V_TGT * SIZES["d_model"]
    assert len({id(m.weight) for m in (untied.output, untied.src_embedding)}) == 2
    # A tied checkpoint fills an untied model, which then computes the same.
    model = build(**tied)
    untied.load_state_dict(model.state_dict())
    src, tgt = batch()
    assert torch.equal(untied(src, tgt), model(src, tgt))


# ---------------------------------------------------------------- error texts


def test_the_config_is_frozen_and_keyword_only_with_the_defaults_of_the_paper():
    settings = config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.d_model = 7
    with pytest.raises(TypeError, match="positional"):
        TransformerConfig(19, 23)
    assert dataclasses.replace(settings, d_ff=5).d_ff == 5
    paper = TransformerConfig(src_vocab_size=1, tgt_vocab_size=1)
    sizes = paper.d_model, paper.num_heads, paper.num_layers, paper.d_ff, paper.dropout
    assert sizes == (512, 8, 6, 2048, 0.1)
    assert (paper.norm_first, paper.tie_embeddings, paper.pad_id) == (False, False, 0)


REFUSED = [
    *(
        ({name: 0}, ValueError, f"{name} must be at least 1, got 0")
        for name in ("src_vocab_size", "tgt_vocab_size", "d_model", "num_layers", "d_ff")
    ),
    ({"max_len": 0}, ValueError, "max_len must be at least 1, got 0"),
    ({"d_ff": 2.0}, TypeError, r"d_ff must be an int, got float 2\.0"),
    ({"num_layers": True}, TypeError, "num_layers must be an int, got bool True"),
    ({"num_heads": 0}, ValueError, "num_heads must be at least 1, got 0"),
    ({"num_heads": 2}, ValueError, r"d_model=33 and num_heads=2; num_heads=1 or 3 or 11 or 33"),
    ({"dropout": 1.5}, ValueError, r"dropout must lie between 0 and 1, got 1\.5"),
    ({"pad_id": -1}, ValueError, "pad_id must be at least 0, got -1"),
    ({"pad_id": None}, TypeError, "pad_id must be an int, got NoneType None"),
    (
        {"pad_id": 19},
        ValueError,
        "token of both vocabularies, got pad_id=19 with src_vocab_size=19, tgt_vocab_size=23",
    ),
    ({"pad_id": 23, "src_vocab_size": 29}, ValueError, "both vocabularies, got pad_id=23 with"),
    (
        {"tie_embeddings": True},
        ValueError,
        "one vocabulary for both languages, got src_vocab_size=19 and tgt_vocab_size=23",
    ),
]


@pytest.mark.parametrize(("changes", "error", "text"), REFUSED)
def test_bad_settings_are_named(changes, error, text):
    with pytest.raises(error, match=text):
        config(**changes)


src, tgt, memory = torch.ones(2, 7).long(), torch.ones(2, 5).long(), torch.zeros(2, 7, 33)


def filled_cache(model):
    cache = model.new_cache()
    model.decode(tgt, memory, None, cache=cache)
    return cache


ERRORS = [
    (lambda m: m(src[0], tgt), ValueError, r"src must have shape \(B, length\), got shape \(7,\)"),
    (lambda m: m(src, tgt[0]), ValueError, r"tgt must have shape \(B, length\), got shape \(5,\)"),
    (lambda m: m(src.float(), tgt), TypeError, "src must be an integer tensor, got dtype torch.f"),
    (lambda m: m(src, tgt.bool()), TypeError, r"tgt must be an integer tensor, got dtype torch.b"),
    (lambda m: m([[1]], tgt), TypeError, r"src must be a torch\.Tensor, got list"),
    (
        lambda m: m(src[:1], tgt),
        ValueError,
        r"same batch size B, got tgt \(2, 5\) and memory \(1, 7, 33\)",
    ),
    (
        lambda m: m.decode(tgt, memory.double(), None),
        TypeError,
        r"memory must have the model's dtype, torch\.float32, got dtype torch\.float64",
    ),
    (
        lambda m: m.decode(tgt, memory.half(), None),
        TypeError,
        r"memory must have the model's dtype, torch\.float32, got dtype torch\.float16",
    ),
    (
        lambda m: m.decode(tgt, memory, None, cache=RecurrentCache()),
        TypeError,
        "cache must be a DecoderCache, got RecurrentCache",
    ),
    (
        lambda m: m.decode(tgt, memory, None, cache=DecoderCache(3)),
        ValueError,
        "cache must have as many layers as the decoder, 2, got 3",
    ),
    (
        lambda m: m.decode(tgt, memory, None, cache=DecoderCache(1)),
        ValueError,
        "cache must have as many layers as the decoder, 2, got 1",
    ),
    (
        lambda m: m.decode(tgt[:1], memory[:1], None, cache=filled_cache(m)),
        ValueError,
        "cache must hold the batch that is decoded, got 1 sentences for a cache of 2",
    ),
    (
        lambda m: m.decode(tgt, memory[:, :-1], None, cache=filled_cache(m)),
        ValueError,
        r"filled from the same memory, got memory \(2, 6, 33\) for a cache of 7 source tokens",
    ),
    (
        lambda m: m.decoder(torch.zeros(2, 5, 33), memory, cache=DecoderCache(1)),
        ValueError,
        "cache must have as many layers as the decoder, 2, got 1",
    ),
    (
        lambda m: m.decode(tgt, memory[..., :-1], None),
        ValueError,
        r"memory must have shape \(B, length, 33\), got shape \(2, 7, 32\)",
    ),
    (
        lambda m: m.decode(tgt, memory, torch.ones(2, 1, 1, 5).bool()),
        ValueError,
        r"mask must broadcast to .* = \(2, 3, 5, 7\), got mask \(2, 1, 1, 5\)",
    ),
    (
        lambda m: m.decode(tgt, memory, torch.ones(2, 1, 1, 7)),
        TypeError,
        "mask must be bool with True = may attend, got dtype torch.float32",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_bad_input_is_named(call, error, text):
    for functions in ({}, {"attention": F.scaled_dot_product_attention, "norm": nn.LayerNorm}):
        with pytest.raises(error, match=text):
            call(build(torch.float32, **functions))
