"""The evaluation: a score counts what its docstring says, whatever the model writes."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attention_core import Transformer, TransformerConfig
from attention_core.dates import DateBatches
from attention_core.training import Accuracy, evaluate

PAD, BOS, EOS = 3, 1, 2
T = torch.ones(2, 3, dtype=torch.long)


class Speaker(nn.Module):
    """Writes a script that its first source token chooses, whatever it reads."""

    def __init__(self, *scripts):
        super().__init__()
        self.dropout = nn.Dropout(1.0)  # in training mode it says nothing but token 0
        self.weight = nn.Parameter(torch.zeros(1))
        self.config = SimpleNamespace(pad_id=PAD, max_len=17)
        self.scripts = [F.pad(torch.tensor(s), (0, 40 - len(s)), value=PAD) for s in scripts]

    def encode(self, src):
        return src

    def decode(self, tgt, memory, memory_mask=None, *, cache=None):
        assert not torch.is_grad_enabled()
        start = 0 if cache is None else cache.length
        if cache is not None:
            cache.length += tgt.shape[1]
        said = torch.stack([self.scripts[n] for n in memory[:, 0].tolist()])
        words = said[:, start : start + tgt.shape[1]]
        return self.dropout(F.one_hot(words, 11).float())

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src))

    def new_cache(self):
        return SimpleNamespace(length=0)


def sentences(*targets):
    """Sentence number n begins with the source token n; targets are padded together."""
    src = torch.tensor([[n, 5] for n, _ in targets])
    rows = [torch.tensor([BOS, *words, EOS]) for _, words in targets]
    return src, nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


SCRIPTS = [
    [5, 6, 7, EOS],  # right
    [5, 8, 7, EOS],  # one of four tokens wrong
    [5, 6, 7, 8, EOS],  # goes on where it should end: one of four wrong
    [5, EOS],  # ends too soon: [5, EOS, PAD, PAD] has one of four right
    [EOS],  # right, and empty
    [5, 6, 7, 4, 4, 4, 4, EOS],  # longer than any translation
]
TARGETS = [(0, [5, 6, 7]), (1, [5, 6, 7]), (2, [5, 6, 7]), (3, [5, 6, 7]), (4, []), (5, [5, 6, 7])]
EXPECTED = Accuracy(exact=2 / 6, tokens=(4 + 3 + 3 + 1 + 1 + 3) / 21)


def test_exact_counts_whole_sentences_and_tokens_counts_single_tokens():
    model = Speaker(*SCRIPTS)
    assert evaluate(model, [sentences(*TARGETS)], bos_id=BOS, eos_id=EOS) == EXPECTED
    for n, exact in enumerate([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]):
        result = evaluate(model, [sentences(TARGETS[n])], bos_id=BOS, eos_id=EOS)
        assert result.exact == exact


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("more", [0, 3])
def test_batch_size_and_padding_do_not_change_the_accuracy(size, more):
    cut = (sentences(*TARGETS[n : n + size]) for n in range(0, len(TARGETS), size))
    cut = ((F.pad(src, (0, more), value=PAD), F.pad(tgt, (0, more), value=PAD)) for src, tgt in cut)
    assert evaluate(Speaker(*SCRIPTS), cut, bos_id=BOS, eos_id=EOS) == EXPECTED


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_evaluated_without_dropout_and_left_as_it_was(training):
    model = Speaker(*SCRIPTS).train(training)
    assert evaluate(model, [sentences(*TARGETS)], bos_id=BOS, eos_id=EOS) == EXPECTED
    assert model.training is training
    with pytest.raises(ValueError, match="tgt must hold"):
        evaluate(model, [(T, T[:, :1])], bos_id=BOS, eos_id=EOS)
    assert model.training is training


ODD = {
    "ends at once": [EOS],
    "never ends": [5, 6, 7, 4, 4, 4, 4, 4, 4, 4, 4, 4],
    "padding in the place of EOS": [5, 6, 7, PAD, PAD, PAD, PAD, PAD],
    "padding, then EOS": [5, 6, 7, PAD, EOS],
    "padding in the middle": [5, PAD, 6, 7, EOS],
    "padding in the place of a token": [5, PAD, 7, EOS],
    "BOS in the middle": [5, BOS, 6, 7, EOS],
    "BOS at the beginning": [BOS, 5, 6, 7, EOS],
    "BOS after the end": [5, 6, 7, BOS],
    "EOS in the middle": [5, 6, EOS, 7, EOS],
}


@pytest.mark.parametrize("more", [0, 3])
@pytest.mark.parametrize("name", ODD)
def test_an_output_with_special_tokens_in_wrong_places_is_not_exact(name, more):
    src, tgt = sentences((0, [5, 6, 7]))
    tgt = F.pad(tgt, (0, more), value=PAD)
    result = evaluate(Speaker(ODD[name]), [(src, tgt)], bos_id=BOS, eos_id=EOS)
    script = [*ODD[name], *[PAD] * 9]
    right = sum(a == b for a, b in zip(script, [5, 6, 7, EOS], strict=False))
    assert result == Accuracy(exact=0.0, tokens=right / 4)


def test_what_is_written_after_the_end_does_not_count():
    script = [5, 6, 7, EOS, 5, EOS, BOS, 4]
    batch = sentences((0, [5, 6, 7]))
    assert evaluate(Speaker(script), [batch], bos_id=BOS, eos_id=EOS) == Accuracy(1.0, 1.0)


def test_a_pad_id_outside_the_vocabulary_marks_padding():
    model = Speaker(*SCRIPTS)
    model.config.pad_id = -100
    src, tgt = sentences(*TARGETS)
    batch = src, tgt.masked_fill(tgt == PAD, -100)
    assert evaluate(model, [batch], bos_id=BOS, eos_id=EOS) == EXPECTED


def test_each_part_of_the_model_is_left_in_the_mode_it_had():
    """A frozen part may be in eval mode inside a model in training mode."""
    sizes = {"src_vocab_size": 11, "tgt_vocab_size": 11, "d_model": 8, "num_heads": 2}
    model = Transformer(TransformerConfig(**sizes, num_layers=2, d_ff=6, pad_id=PAD)).train()
    model.encoder.eval()
    model.decoder.layers[1].cross_attention.eval()
    modes = [part.training for part in model.modules()]
    assert len(set(modes)) == 2
    evaluate(model, [sentences(*TARGETS)], bos_id=BOS, eos_id=EOS)
    assert [part.training for part in model.modules()] == modes


def test_batches_without_an_end_are_refused_at_once():
    """Python would index them from 0 on, for ever."""
    endless = DateBatches("test", 2, seed=0)
    with pytest.raises(TypeError, match=r"DateBatches has no end; take .* for i in range\(8\)\]"):
        evaluate(Speaker(*SCRIPTS), endless, bos_id=BOS, eos_id=EOS)
    for use in (list, iter, lambda batches: dict(enumerate(batches))):
        with pytest.raises(TypeError, match="DateBatches has no end"):
            use(endless)

    class Endless:
        def __getitem__(self, step):
            return sentences(*TARGETS)

    with pytest.raises(TypeError, match=r"finite iterable of pairs src, tgt, got Endless; take"):
        evaluate(Speaker(*SCRIPTS), Endless(), bos_id=BOS, eos_id=EOS)


def test_a_data_loader_can_be_evaluated():
    batches = torch.utils.data.DataLoader([sentences(*TARGETS)], batch_size=None)
    assert evaluate(Speaker(*SCRIPTS), batches, bos_id=BOS, eos_id=EOS) == EXPECTED


class Unsure(Speaker):
    def decode(self, *args, **options):
        return super().decode(*args, **options) * torch.nan


def evaluate_with(batches, model=None, bos_id=BOS, eos_id=EOS):
    return evaluate(model or Speaker(*SCRIPTS), batches, bos_id=bos_id, eos_id=eos_id)


GOOD = sentences((0, [5, 6, 7]))
ERRORS = [
    (lambda: evaluate_with([]), ValueError, "batches must hold at least one sentence"),
    (
        lambda: evaluate_with([GOOD], bos_id=1.0),
        TypeError,
        r"bos_id must be an int, got float 1\.0",
    ),
    (lambda: evaluate_with(GOOD), TypeError, "a batch must be a pair src, tgt, got Tensor"),
    (lambda: evaluate_with([GOOD[0]]), TypeError, "a batch must be a pair src, tgt, got Tensor"),
    (
        lambda: evaluate_with([GOOD], Unsure(*SCRIPTS)),
        ValueError,
        "must be numbers, got NaN",
    ),
    (
        lambda: evaluate_with([(GOOD[0], torch.tensor([[5, 6, EOS]]))]),
        ValueError,
        r"tgt must hold BOS = 1, tokens, EOS = 2, then padding, got the row \[5, 6, 2\]",
    ),
]
BAD_ROWS = {
    "no end": [BOS, 5, 6, 7],
    "two ends": [BOS, 5, EOS, 6, EOS],
    "padding before the end": [BOS, 5, PAD, EOS],
    "a token after the end": [BOS, 5, EOS, 6],
    "padding only": [BOS, PAD, PAD],
}


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("row", BAD_ROWS)
def test_a_target_that_is_no_sentence_is_named(row):
    src = torch.zeros(1, 2, dtype=torch.long)
    with pytest.raises(ValueError, match="tgt must hold BOS = 1, tokens, EOS = 2, then padding"):
        evaluate_with([(src, torch.tensor([BAD_ROWS[row]]))])
