"""Translation by continuation: one sequence, the loss on its target, one cache a length."""

import pytest
import torch
from torch.testing import assert_close

from attention_core import (
    LanguageModel,
    TransformerConfig,
    beam_search,
    evaluate,
    fit,
    generate,
    greedy_decode,
    sequence_loss,
    shift_targets,
)
from attention_core.continuation import Continuation, ContinuationCache, join_pairs

PAD, BOS, EOS, V = 3, 1, 2, 23
IDS = {"bos_id": BOS, "eos_id": EOS}
# Sources of 4, 2, 7 and 4 tokens; targets of 3, 5, 1 and 0.
SOURCES = [[4, 5, 6, 7], [8, 9], [10, 11, 12, 13, 14, 15, 16], [9, 8, 7, 6]]
TARGETS = [[17, 18, 19], [20, 21, 22, 17, 18], [19], []]


def padded(rows, more=0):
    longest = max(map(len, rows)) + more
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def batch(more=0):
    return padded(SOURCES, more), padded([[BOS, *words, EOS] for words in TARGETS], more)


@pytest.fixture
def model():
    torch.manual_seed(0)
    config = TransformerConfig(
        src_vocab_size=V,
        tgt_vocab_size=V,
        d_model=12,
        num_heads=2,
        num_layers=3,
        d_ff=7,
        dropout=0.0,
        max_len=31,
        pad_id=PAD,
    )
    return Continuation(LanguageModel(config).double()).eval()


def real(logits, tgt):
    """The logits after the real tokens of each target."""
    return [row[: int((ids != PAD).sum())] for row, ids in zip(logits, tgt, strict=True)]


def test_source_and_target_stand_in_one_row_with_the_padding_at_its_end():
    src, tgt = batch()
    rows = [s + [BOS, *t, EOS] for s, t in zip(SOURCES, TARGETS, strict=True)]
    expected = padded(rows, src.shape[1] + tgt.shape[1] - max(map(len, rows)))
    assert torch.equal(join_pairs(src, tgt, pad_id=PAD), expected)
    # Wherever the padding was, and in any integer dtype.
    src, tgt = src.flip(1).flip(0).to(torch.uint8), tgt.flip(0).to(torch.int32)
    expected = [s[::-1] + [BOS, *t, EOS] for s, t in zip(SOURCES, TARGETS, strict=True)][::-1]
    joined = join_pairs(src, tgt, pad_id=PAD)
    assert joined.dtype == torch.int64
    assert [[n for n in row if n != PAD] for row in joined.tolist()] == expected


def test_a_row_of_logits_is_that_of_the_plain_text(model):
    src, tgt = batch()
    read, _ = shift_targets(tgt)
    for logits, source, words in zip(model(src, read), SOURCES, TARGETS, strict=True):
        text = torch.tensor([[*source, BOS, *words]])
        alone = model.model(text)[0, len(source) :]
        assert_close(logits[: len(alone)], alone, rtol=0, atol=1e-12)


def test_padding_and_batch_mates_do_not_change_the_logits(model):
    src, tgt = batch()
    expected = real(model(src, tgt), tgt)
    for more in (1, 5):
        wide = batch(more)
        for row, other in zip(expected, real(model(*wide), wide[1]), strict=True):
            assert_close(row, other, rtol=0, atol=1e-12)
    for n, row in enumerate(expected):
        alone = model(src[n : n + 1], tgt[n : n + 1])
        assert_close(real(alone, tgt[n : n + 1])[0], row, rtol=0, atol=1e-12)


def test_training_counts_the_target_and_not_the_source(model):
    """The loss is that of one sequence whose labels within the source are padding."""
    src, tgt = batch()
    ids = join_pairs(src, tgt, pad_id=PAD)
    labels = ids[:, 1:].clone()
    for row, source in zip(labels, SOURCES, strict=True):
        row[: len(source)] = PAD  # the rest of the source, and BOS
    expected = sequence_loss(model.model(ids[:, :-1]), labels, pad_id=PAD, label_smoothing=0.1)
    gradients = torch.autograd.grad(expected, list(model.parameters()))
    rate = 0.01
    before = [x.detach().clone() for x in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    options = {"steps": 1, "rate": lambda step: rate, "label_smoothing": 0.1}
    losses = fit(model, [(src, tgt)], optimizer=optimizer, **options)
    assert losses == pytest.approx([expected.item()], abs=1e-12)
    for old, new, gradient in zip(before, model.parameters(), gradients, strict=True):
        assert_close(new.detach(), old - rate * gradient, rtol=0, atol=1e-12)


@pytest.mark.parametrize("steps", [(1,) * 7, (3, 1, 2, 1)])
def test_decoding_with_a_cache_gives_the_same_logits(model, steps):
    src, tgt = batch()
    cache, parts, at = model.new_cache(), [], 0
    for n in steps:
        parts.append(model.decode(tgt[:, at : at + n], model.encode(src), None, cache=cache))
        at += n
        assert cache.length == at
    whole = model(src, tgt)
    for row, other in zip(real(torch.cat(parts, 1), tgt), real(whole, tgt), strict=True):
        assert_close(row, other, rtol=0, atol=1e-12)
    # Sources of 7, 4 and 2 tokens: each cache holds no padding of the source.
    assert [len(rows) for rows, _, _ in cache.groups] == [1, 2, 1]
    assert [own.length for _, _, own in cache.groups] == [7 + at, 4 + at, 2 + at]


def test_every_way_of_decoding_gives_the_same_tokens(model):
    src, _ = batch()
    options = IDS | {"max_len": 11}
    # greedy_decode never takes BOS, generate may; with a logit of 0 it does not win.
    torch.nn.init.zeros_(model.model.output.weight[BOS])
    written = greedy_decode(model, src, **options)
    assert torch.equal(greedy_decode(model, src, **options, use_cache=False), written)
    for n, source in enumerate(SOURCES):
        alone = generate(model.model, torch.tensor([[*source, BOS]]), max_len=11, eos_id=EOS)
        assert [n for n in written[n].tolist() if n != PAD] == alone[0].tolist()
    beams = beam_search(model, src, **options, beam_size=5)
    assert torch.equal(beam_search(model, src, **options, beam_size=5, use_cache=False), beams)


def test_it_learns_to_translate(model):
    torch.manual_seed(0)
    pairs = [batch()] * 60
    optimizer = torch.optim.Adam(model.parameters())
    fit(model, pairs, steps=60, optimizer=optimizer, rate=lambda step: 0.01)
    assert evaluate(model, pairs[:1], **IDS).exact == 1.0


def test_an_empty_batch_and_an_empty_source_are_allowed(model):
    src, tgt = batch()
    assert model(src[:0], tgt[:0]).shape == (0, 7, V)
    assert greedy_decode(model, src[:0], **IDS, max_len=5).shape == (0, 0)
    # Without a source the logits are those of the language model.
    assert_close(model(src[:, :0], tgt), model.model(tgt), rtol=0, atol=1e-12)
    assert greedy_decode(model, src[:, :0], **IDS, max_len=5).shape[0] == 4


def test_it_follows_its_model_to_the_meta_device(model):
    src, tgt = batch()
    assert model.to("meta")(src.to("meta"), tgt.to("meta")).shape == (4, 7, V)


def test_bad_input_is_named(model):
    src, tgt = batch()
    T = torch.ones(2, 3, dtype=torch.long)
    with pytest.raises(ValueError, match=r"same batch size B, got src \(4, 7\) and tgt \(2, 3\)"):
        join_pairs(src, T, pad_id=PAD)
    with pytest.raises(TypeError, match="pad_id must be an int, got str"):
        join_pairs(src, tgt, pad_id="0")
    with pytest.raises(TypeError, match="tgt must"):
        join_pairs(src, tgt.double(), pad_id=PAD)
    with pytest.raises(TypeError, match="model must be a LanguageModel, got Linear"):
        Continuation(torch.nn.Linear(2, 3))
    with pytest.raises(TypeError, match="cache must be a ContinuationCache, got EncoderCache"):
        model.decode(tgt, src, None, cache=model.model.new_cache())
    with pytest.raises(ValueError, match=r"from 0 to 22, .* got 99"):
        model(src, tgt.masked_fill(tgt == 19, 99))


def test_an_error_leaves_the_cache_as_it_was(model):
    src, tgt = batch()
    cache = model.new_cache()
    with pytest.raises(ValueError, match="got 99"):
        model.decode(tgt.masked_fill(tgt == 19, 99), src, None, cache=cache)
    assert (cache.length, cache.groups) == (0, [])
    model.decode(tgt[:, :2], src, None, cache=cache)
    wrong = [
        (tgt[:, 2:].masked_fill(tgt[:, 2:] == 18, 99), "got 99"),
        (tgt[:3, 2:], "got 3 sentences for a cache of 4"),
        (tgt[:, 2:3].repeat(1, 23), "max_len"),  # 7 + 2 + 23 is too long, 4 + 2 + 23 is not
    ]
    for new, text in wrong:
        with pytest.raises(ValueError, match=text):
            model.decode(new, src, None, cache=cache)
    with pytest.raises(ValueError, match=r"rows must keep .* got \[1, 0, 2, 3\]"):
        cache.reorder(torch.tensor([1, 0, 2, 3]))
    rest = model.decode(tgt[:, 2:], src, None, cache=cache)
    for row, whole in zip(real(rest, tgt[:, 2:]), model(src, tgt)[:, 2:], strict=True):
        assert_close(row, whole[: len(row)], rtol=0, atol=1e-12)


def test_rows_of_one_length_may_change_places(model):
    src, tgt = batch()
    cache, swapped = model.new_cache(), torch.tensor([3, 1, 2, 0])
    model.decode(tgt[:, :1], src, None, cache=cache)
    cache.reorder(swapped)
    logits = model.decode(tgt[swapped, 1:], src, None, cache=cache)
    expected = model(src[swapped], tgt[swapped])[:, 1:]
    for row, other in zip(
        real(logits, tgt[swapped, 1:]), real(expected, tgt[swapped, 1:]), strict=True
    ):
        assert_close(row, other, rtol=0, atol=1e-12)
    assert isinstance(cache, ContinuationCache)
