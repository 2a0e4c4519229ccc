"""recurrent.py in use: decoding, training, checkpoints, errors."""

import copy
import dataclasses
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from copying_transformer import PAD, batch, ids
from recurrent_models import D_MODEL, V_SRC, V_TGT, both, both_depths, build, config
from torch.testing import assert_close

from attention_core import (
    DecoderCache,
    RecurrentCache,
    beam_search,
    greedy_decode,
    load_checkpoint,
    padding_mask,
    record_attention,
    save_checkpoint,
    sequence_loss,
    shift_targets,
)
from attention_core.recurrent import RecurrentConfig, RecurrentTranslator

B, L, S = 2, 5, 7  # the sizes of `batch`
CLOSE = {"rtol": 1e-12, "atol": 1e-12}

# --------------------------------------------------------------------- decoding


@both
@both_depths
def test_a_cache_gives_what_all_tokens_at_once_give_and_does_not_grow(attention, num_layers):
    model = build(attention=attention, num_layers=num_layers)
    src, tgt = batch()
    memory, mask, expected = model.encode(src), padding_mask(src, PAD), model(src, tgt)
    for cuts in ([0, 1, 2, 3, 4, 5], [0, 2, 5], [0, 5]):
        cache = model.new_cache()
        for start, end in pairwise(cuts):
            assert cache.length == start
            logits = model.decode(tgt[:, start:end], memory, mask, cache=cache)
            assert_close(logits, expected[:, start:end], **CLOSE)
            assert cache.state.shape == (num_layers, B, D_MODEL)


@both
def test_a_reordered_cache_continues_the_chosen_rows(attention):
    model = build(attention=attention, num_layers=2)
    src = ids(1, S, vocabulary=V_SRC).expand(3, -1)
    tgt = ids(3, L, vocabulary=V_TGT)
    memory, rows = model.encode(src), torch.tensor([2, 0, 2])
    cache = model.new_cache()
    cache.reorder(rows)  # nothing there yet
    model.decode(tgt[:, :-1], memory, None, cache=cache)
    cache.reorder(rows)
    logits = model.decode(tgt[rows, -1:], memory, None, cache=cache)
    assert_close(logits, model.decode(tgt, memory, None)[rows, -1:], **CLOSE)


@both
@pytest.mark.parametrize("beam_size", [None, 1, 3])
def test_decoding_is_the_same_with_a_cache_without_and_for_each_sentence_alone(
    attention, beam_size
):
    lengths = set()
    search, more = greedy_decode, {}
    if beam_size is not None:
        search, more = beam_search, {"beam_size": beam_size}
    for seed in range(5):
        model = build(attention=attention, num_layers=2, seed=seed)
        src, _ = batch(seed)
        # Decode without an EOS, and take the fourth token of the second sentence as the EOS.
        endless = search(model, src, bos_id=1, eos_id=None, max_len=9, **more)
        options = dict(bos_id=1, eos_id=endless[1, 3].item(), max_len=9, **more)
        together = search(model, src, **options)
        assert torch.equal(together, search(model, src, **options, use_cache=False))
        for b, sentence in enumerate([src[:1], src[1:, :-3]]):
            alone = search(model, sentence, **options)[0]
            rest = together.shape[1] - len(alone)
            assert together[b].tolist() == alone.tolist() + [PAD] * rest
            lengths.add(len(alone))
    assert len(lengths) > 1


@both
def test_decoding_ends_at_the_models_own_limit_and_takes_an_empty_batch(attention):
    model = build(attention=attention, max_len=11)
    src, _ = batch()
    nothing = src[:0]
    for search in (greedy_decode, beam_search):
        assert search(model, src, bos_id=1, eos_id=None, max_len=99).shape == (B, 11)
        assert search(model, nothing, bos_id=1, eos_id=2, max_len=9).shape[0] == 0
    assert model.encode(nothing).shape == (0, S if attention else 1, D_MODEL)


def test_a_recording_step_by_step_has_the_rows_of_a_recording_at_once():
    model = build(attention=True)
    src, tgt = batch()
    with record_attention(model) as at_once:
        model(src, tgt)
    assert at_once["attention"].shape == (B, 1, L, S)
    memory, mask, cache = model.encode(src), padding_mask(src, PAD), model.new_cache()
    for i in range(L):
        with record_attention(model) as weights:
            model.decode(tgt[:, i : i + 1], memory, mask, cache=cache)
        assert_close(weights["attention"], at_once["attention"][:, :, i : i + 1], **CLOSE)


# --------------------------------------------------------------------- training


@both
def test_a_small_model_learns_to_copy_three_tokens(attention):
    bos, eos, pad = 1, 2, 0
    torch.manual_seed(0)
    sizes = dict(src_vocab_size=7, tgt_vocab_size=7, d_model=32, dropout=0.0)
    model = RecurrentTranslator(RecurrentConfig(**sizes, attention=attention))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def sentences(number):
        src = torch.randint(3, 7, (number, 3))
        src[number // 2 :, -1] = pad  # half of them are shorter
        tgt = F.pad(src, (1, 1), value=pad)
        tgt[:, 0] = bos
        tgt[torch.arange(number), 1 + (src != pad).sum(dim=1)] = eos
        return src, tgt

    for _ in range(200):
        src, tgt = sentences(64)
        read, predicted = shift_targets(tgt)
        loss = sequence_loss(model(src, read), predicted, pad_id=pad)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    src, _ = sentences(200)
    output = greedy_decode(model.eval(), src, bos_id=bos, eos_id=eos, max_len=5)
    right = (F.pad(output, (0, 5 - output.shape[1])) == F.pad(src, (0, 2))).all(dim=1)
    assert right.double().mean() > 0.95


@both
@both_depths
def test_dropout_acts_in_training_only(attention, num_layers):
    model = RecurrentTranslator(config(attention=attention, num_layers=num_layers, dropout=0.5))
    src, tgt = batch()
    for run in (lambda: model(src, tgt), lambda: model.encode(src)):
        model.train()
        assert not torch.equal(run(), run())
        model.eval()
        assert torch.equal(run(), run())
    shapes = []
    with model.dropout.register_forward_hook(lambda *call: shapes.append(tuple(call[-1].shape))):
        model(src, tgt)
    assert shapes == [(B, S, D_MODEL), (B, L, D_MODEL), (B, L, D_MODEL)]  # two words, the readout
    assert model.encoder.dropout == model.decoder.dropout == (0.5 if num_layers == 2 else 0.0)


@both
def test_a_model_comes_back_from_its_checkpoint_and_a_copy_is_its_own(attention, tmp_path):
    model, other = build(attention=attention), build(attention=attention, seed=1)
    logits = model(*batch())
    save_checkpoint(tmp_path / "model.pt", model, config=dataclasses.asdict(model.config))
    extras = load_checkpoint(tmp_path / "model.pt", other)
    assert RecurrentConfig(**extras["config"]) == model.config
    assert torch.equal(other(*batch()), logits)
    twin = copy.deepcopy(model)
    with torch.no_grad():
        model.output.weight.zero_()
    assert torch.equal(twin(*batch()), logits)


@both
@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8, torch.uint8])
def test_ids_may_be_of_any_integer_dtype(attention, dtype):
    model = build(attention=attention)
    src, tgt = batch()
    assert torch.equal(model(src.to(dtype), tgt.to(dtype)), model(src, tgt))
    assert torch.equal(model.encode(src.to(dtype)), model.encode(src))


@both
def test_the_memory_mask_must_be_given(attention):
    model = build(attention=attention)
    src, tgt = batch()
    with pytest.raises(TypeError, match="memory_mask"):
        model.decode(tgt, model.encode(src))


@both
@both_depths
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_works_forward_backward_and_step_by_step(attention, num_layers, dtype):
    model = build(torch.float32, attention=attention, num_layers=num_layers)
    src, tgt = batch()
    expected = model(src, tgt)
    with torch.autocast("cpu", dtype=dtype):
        logits = model(src, tgt)
        memory, mask, cache = model.encode(src), padding_mask(src, PAD), model.new_cache()
        steps = [model.decode(tgt[:, [i]], memory, mask, cache=cache) for i in range(L)]
        loss = sequence_loss(logits, tgt, pad_id=PAD)
        with pytest.raises(TypeError, match="memory must have the model's dtype"):
            model.decode(tgt, memory.double(), mask)
    assert_close(logits.float(), expected, rtol=0, atol=0.1)
    assert_close(torch.cat(steps, dim=1).float(), expected, rtol=0, atol=0.1)
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.dtype == torch.float32
        assert parameter.grad.isfinite().all(), name
        assert (parameter.grad != 0).any(), name


# ------------------------------------------------------------------ error texts

SRC, TGT = batch()
ROW, ROWS = torch.zeros(B, 1, D_MODEL).double(), torch.zeros(B, S, D_MODEL).double()


def make(**changes):
    return lambda: config(**{"attention": True, **changes})


def call(name, *arguments, attention=True, **options):
    return lambda: getattr(build(attention=attention), name)(*arguments, **options)


def filled_cache():
    return RecurrentCache(torch.zeros(1, B, D_MODEL).double(), 3)


ERRORS = [
    (
        call("forward", SRC + V_SRC, TGT),
        ValueError,
        "src must hold ids from 0 to 18, of a vocabulary of 19 tokens, got 31 in row 0, column 0",
    ),
    (call("forward", SRC, TGT - V_TGT), ValueError, "tgt must hold ids from 0 to 22, .* got -"),
    (
        call("decode", TGT, ROWS.float(), None),
        TypeError,
        r"memory must have the model's dtype, torch\.float64, got dtype torch\.float32",
    ),
    (
        call("decode", TGT, ROWS, None, cache=DecoderCache(1)),
        TypeError,
        "cache must be a RecurrentCache, got DecoderCache",
    ),
    (
        call("decode", TGT[:1], ROWS[:1], None, cache=filled_cache()),
        ValueError,
        "cache must hold the batch that is decoded, got 1 sentences for a cache of 2",
    ),
    (make(src_vocab_size=0), ValueError, "src_vocab_size must be at least 1, got 0"),
    (make(tgt_vocab_size=0), ValueError, "tgt_vocab_size must be at least 1, got 0"),
    (make(d_model=8.0), TypeError, r"d_model must be an int, got float 8\.0"),
    (make(num_layers=0), ValueError, "num_layers must be at least 1, got 0"),
    (make(max_len=True), TypeError, "max_len must be an int, got bool True"),
    (make(dropout=1.5), ValueError, r"dropout must lie between 0 and 1, got 1\.5"),
    (make(pad_id=-1), ValueError, "pad_id must be at least 0, got -1"),
    (
        make(pad_id=19),
        ValueError,
        "pad_id must be a token of both vocabularies, got pad_id=19 with "
        "src_vocab_size=19, tgt_vocab_size=23",
    ),
    (make(attention=1), TypeError, "attention must be a bool, got int 1"),
    (make(d_model=7), ValueError, "d_model must be even with attention, .* got d_model=7"),
    (call("encode", SRC[0]), ValueError, r"src must have shape \(B, length\), got shape \(7,\)"),
    (call("encode", SRC.double()), TypeError, "src must be an integer tensor, got dtype"),
    (
        call("encode", SRC[:, :0]),
        ValueError,
        r"src must have 1 to max_len=53 tokens, got length 0 from position 0 \(src \(2, 0\)\)",
    ),
    (call("forward", SRC.repeat(1, 8), TGT), ValueError, "src must have 1 .* got length 56 from"),
    (call("forward", SRC, TGT.repeat(1, 11)), ValueError, r"tgt must have .* \(tgt \(2, 55\)\)"),
    (call("decode", TGT[:, :0], ROWS, None), ValueError, "tgt must have 1 to .* got length 0"),
    (call("decode", TGT.tolist(), ROWS, None), TypeError, r"tgt must be a torch\.Tensor, got list"),
    (
        call("decode", TGT, ROWS[..., 1:], None),
        ValueError,
        r"memory must have shape \(B, length, 22\), got shape \(2, 7, 21\)",
    ),
    (
        call("decode", TGT, ROWS[:1], None),
        ValueError,
        r"tgt and memory must have the same batch size B, got tgt \(2, 5\) and memory \(1, 7, 22\)",
    ),
    (
        call("decode", TGT, ROWS, None, attention=False),
        ValueError,
        r"memory must have one row without attention, got shape \(2, 7, 22\)",
    ),
    (
        call("decode", TGT, ROWS[:, :0], None),
        ValueError,
        r"memory must have at least one row, got shape \(2, 0, 22\)",
    ),
    (
        call("decode", TGT, ROWS, torch.ones(B, S)),
        TypeError,
        r"mask must be bool with True = may attend, got dtype torch\.float32",
    ),
    (
        call("decode", TGT, ROWS, padding_mask(SRC[:, 1:], PAD)),
        ValueError,
        r"mask must broadcast to .* = \(2, 1, 5, 7\), got mask \(2, 1, 1, 6\)",
    ),
]


@pytest.mark.parametrize(("run", "error", "text"), ERRORS)
def test_bad_input_is_named(run, error, text):
    with pytest.raises(error, match=text):
        run()


@both
def test_a_cached_step_beyond_max_len_is_refused_and_leaves_the_cache_as_it_was(attention):
    model = build(attention=attention, max_len=6, d_model=22 if attention else 11)
    src, tgt = batch()
    src = src[:, :6]
    memory, mask, cache = model.encode(src), padding_mask(src, PAD), model.new_cache()
    model.decode(tgt, memory, mask, cache=cache)
    before = cache.state.clone()
    with pytest.raises(ValueError, match=r"got length 2 from position 5 \(tgt \(2, 2\)\)"):
        model.decode(tgt[:, :2], memory, mask, cache=cache)
    assert torch.equal(cache.state, before)
    assert model.decode(tgt[:, :1], memory, mask, cache=cache).shape == (B, 1, V_TGT)


def test_a_config_cannot_be_changed_and_is_made_by_name():
    with pytest.raises(dataclasses.FrozenInstanceError):
        config(attention=True).d_model = 8
    with pytest.raises(TypeError):
        RecurrentConfig(19, 23, attention=True)
