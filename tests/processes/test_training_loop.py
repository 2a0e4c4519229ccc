"""fitting.py: the loop, the examination, resumption to the bit, several processes as one.

Run as a script, this file is one of the processes that the tests at the end start.
"""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from copying_transformer import PAD, SIZES, build, ids
from torch import nn
from torch.testing import assert_close

from attention_core import greedy_decode, save_checkpoint, sequence_loss, shift_targets
from attention_core.distributed import processes
from attention_core.training import (
    Accuracy,
    evaluate,
    fit,
    load_training,
    save_training,
)

BOS, EOS = 1, 2
STEPS, B = 11, 5


class Pairs:
    """Random pairs whose lengths differ much; each batch depends on its number only."""

    def __init__(self, rows=B):
        self.rows = rows

    def __getitem__(self, step):
        src = ids(self.rows, 7, vocabulary=SIZES["src_vocab_size"], seed=2 * step)
        tgt = ids(self.rows, 13, vocabulary=SIZES["tgt_vocab_size"], seed=2 * step + 1)
        for row, length in enumerate([13, 3, 7, 2, 5][: self.rows]):
            tgt[row, length:] = PAD
            src[row, max(1, length // 2) :] = PAD
        return src, tgt


def rate(step):
    return 0.01 / step


def trainee(dropout=0.0, seed=0, kind=torch.optim.Adam, **options):
    torch.manual_seed(100 + seed)  # of the dropout
    model = build(dropout=dropout, seed=seed)
    return model, kind(model.parameters(), **{"lr": 0.1, **options})


def assert_equal_to_the_bit(ours, theirs):
    """Models and optimizers, one by one."""
    assert_close(ours[0].state_dict(), theirs[0].state_dict(), rtol=0, atol=0)
    assert_close(ours[1].state_dict(), theirs[1].state_dict(), rtol=0, atol=0)


# -------------------------------------------------------------------- the loop


@pytest.mark.parametrize("clip", [None, 0.1, 1e9])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_equals_the_loop_written_by_hand(clip, share):
    # Not Adam, which would hide the length of the gradient.
    model, sgd = trainee(kind=torch.optim.SGD)
    losses = fit(
        model,
        Pairs(),
        steps=STEPS,
        optimizer=sgd,
        rate=lambda step: 0.1 / step,
        label_smoothing=share,
        clip=clip,
    )
    expected = []
    by_hand, sgd = trainee(kind=torch.optim.SGD)
    for step in range(STEPS):
        src, tgt = Pairs()[step]
        read, predict = shift_targets(tgt)
        loss = sequence_loss(by_hand(src, read), predict, pad_id=PAD, label_smoothing=share)
        sgd.zero_grad()
        loss.backward()
        if clip == 0.1:
            length = sum((x.grad**2).sum() for x in by_hand.parameters()).sqrt()
            assert length > clip
            for parameter in by_hand.parameters():
                parameter.grad *= clip / length
        sgd.param_groups[0]["lr"] = 0.1 / (step + 1)
        sgd.step()
        expected.append(loss.item())
    # Torch clips by the length + 1e-6.
    tolerance = 1e-12 if clip is None else 1e-5
    assert losses == pytest.approx(expected, rel=tolerance)
    assert_close(model.state_dict(), by_hand.state_dict(), rtol=tolerance, atol=tolerance)


def test_updates_are_counted_from_one_and_batches_from_zero():
    asked = []

    class Asking(Pairs):
        def __getitem__(self, step):
            asked.append(step)
            return super().__getitem__(step)

    rates = []
    model, optimizer = trainee()
    options = {"optimizer": optimizer, "rate": lambda step: rates.append(step) or 0.5 / step}
    assert len(fit(model, Asking(), steps=3, **options)) == 3
    assert len(fit(model, Asking(), steps=7, start=3, **options)) == 4
    assert asked == [0, 1, 2, 3, 4, 5, 6]
    assert rates == [1, 2, 3, 4, 5, 6, 7]
    assert optimizer.param_groups[0]["lr"] == 0.5 / 7


def test_every_group_of_parameters_gets_the_rate():
    model = build()
    first, *rest = model.parameters()
    optimizer = torch.optim.SGD([{"params": [first]}, {"params": rest}], lr=0.1)
    fit(model, Pairs(), steps=1, optimizer=optimizer, rate=lambda step: 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.25]


def test_no_updates_change_nothing():
    model, optimizer = trainee()
    assert fit(model, Pairs(), steps=5, start=5, optimizer=optimizer, rate=rate) == []
    assert_equal_to_the_bit((model, optimizer), trainee())


def test_the_model_is_trained_with_dropout_also_if_it_was_in_eval_mode():
    losses = []
    for dropout in (0.0, 0.5):
        model, optimizer = trainee(dropout)
        assert not model.training
        losses += fit(model, Pairs(), steps=1, optimizer=optimizer, rate=rate)
        assert model.training
    assert losses[0] != losses[1]


@pytest.mark.parametrize(
    ("terminal", "progress", "shown"),
    [
        (True, None, True),
        (False, None, False),
        (True, False, False),
        (False, True, True),
    ],
)
def test_progress_is_shown_in_a_terminal_only(monkeypatch, capsys, terminal, progress, shown):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    model, optimizer = trainee()
    options = {"optimizer": optimizer, "rate": rate, "progress": progress}
    losses = fit(model, Pairs(), steps=STEPS, **options)
    written = capsys.readouterr()
    assert written.out == ""
    lines = f"\rstep 10 of 11, loss {losses[9]:.4f} \rstep 11 of 11, loss {losses[10]:.4f} \n"
    assert written.err == (lines if shown else "")


@pytest.fixture
def one_thread():
    """Tiny products are faster on one thread, and their sums have one order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Reversals:
    def __getitem__(self, step):
        src = torch.randint(4, 11, (32, 5), generator=torch.Generator().manual_seed(step))
        return src, F.pad(F.pad(src.flip(1), (1, 0), value=BOS), (0, 1), value=EOS)


def test_a_tiny_model_learns_to_reverse_five_tokens(one_thread):
    torch.manual_seed(0)
    sizes = {"src_vocab_size": 11, "tgt_vocab_size": 11, "d_model": 32, "num_heads": 4}
    model = build(torch.float32, **sizes, d_ff=64, norm_first=True)
    for parameter in model.parameters():  # build draws what no training would begin with
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    adam = torch.optim.Adam(model.parameters())
    examined = [Reversals()[10_000], Reversals()[10_001]]
    ids_of = {"bos_id": BOS, "eos_id": EOS}
    assert evaluate(model, examined, **ids_of).exact == 0.0
    losses = fit(
        model,
        Reversals(),
        steps=200,
        optimizer=adam,
        rate=lambda step: 5e-3 * (1 - step / 201),
        clip=1.0,
    )
    assert sum(losses[-20:]) / 20 < 0.2 < 1.0 < losses[0]
    accuracy = evaluate(model, examined, **ids_of)
    assert accuracy.exact > 0.8
    assert accuracy.tokens > 0.95


# ------------------------------------------------------------- the examination


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


def examined(*targets):
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


def test_sentences_count_if_all_is_right_and_tokens_one_by_one():
    model = Speaker(*SCRIPTS)
    assert evaluate(model, [examined(*TARGETS)], bos_id=BOS, eos_id=EOS) == EXPECTED
    for n, exact in enumerate([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]):
        result = evaluate(model, [examined(TARGETS[n])], bos_id=BOS, eos_id=EOS)
        assert result.exact == exact


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("more", [0, 3])
def test_the_cut_into_batches_and_padding_do_not_matter(size, more):
    cut = (examined(*TARGETS[n : n + size]) for n in range(0, len(TARGETS), size))
    cut = ((F.pad(src, (0, more), value=PAD), F.pad(tgt, (0, more), value=PAD)) for src, tgt in cut)
    assert evaluate(Speaker(*SCRIPTS), cut, bos_id=BOS, eos_id=EOS) == EXPECTED


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_examined_without_dropout_and_left_as_it_was(training):
    model = Speaker(*SCRIPTS).train(training)
    assert evaluate(model, [examined(*TARGETS)], bos_id=BOS, eos_id=EOS) == EXPECTED
    assert model.training is training
    with pytest.raises(ValueError, match="tgt must hold"):
        evaluate(model, [(torch.ones(2, 3).long(), torch.ones(2, 1).long())], bos_id=1, eos_id=2)
    assert model.training is training


# --------------------------------------------------------------- resumption


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("interrupted", [0, 1, 7, STEPS])
def test_an_interrupted_training_ends_with_the_same_bits(tmp_path, interrupted, clip):
    options = {"rate": rate, "clip": clip, "label_smoothing": 0.1}
    whole = trainee(dropout=0.3)
    losses = fit(whole[0], Pairs(), steps=STEPS, optimizer=whole[1], **options)

    first = trainee(dropout=0.3)
    begun = fit(first[0], Pairs(), steps=interrupted, optimizer=first[1], **options)
    save_training(tmp_path / "training.pt", *first, interrupted)
    # Another process: other weights, other random numbers, another rate.
    second = trainee(dropout=0.3, seed=1, lr=0.9)
    start = load_training(tmp_path / "training.pt", *second)
    assert start == interrupted
    rest = fit(second[0], Pairs(), steps=STEPS, start=start, optimizer=second[1], **options)
    assert_equal_to_the_bit(second, whole)
    assert begun + rest == losses


def test_saving_and_examining_do_not_disturb_training(tmp_path):
    whole, parts = trainee(dropout=0.3), trainee(dropout=0.3)
    fit(whole[0], Pairs(), steps=5, optimizer=whole[1], rate=rate)
    parts = trainee(dropout=0.3)
    for start in range(5):
        fit(parts[0], Pairs(), steps=start + 1, start=start, optimizer=parts[1], rate=rate)
        save_training(tmp_path / "training.pt", *parts, start)
        evaluate(parts[0], [Pairs()[99]], bos_id=BOS, eos_id=EOS)
    assert_equal_to_the_bit(parts, whole)


def test_an_interruption_while_writing_leaves_the_last_file(tmp_path, monkeypatch):
    path = tmp_path / "training.pt"
    save_training(path, *trainee(), 3)

    def interrupted(contents, path):
        Path(path).write_bytes(b"half a fi")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_training(path, *trainee(), 4)
    assert load_training(path, *trainee(seed=1)) == 3


def test_a_rate_of_numpy_can_be_saved(tmp_path):
    numpy = pytest.importorskip("numpy")
    model, adam = trainee()
    fit(model, Pairs(), steps=1, optimizer=adam, rate=lambda step: numpy.float64(0.01))
    save_training(tmp_path / "training.pt", model, adam, 1)
    again = trainee(seed=1)
    assert load_training(tmp_path / "training.pt", *again) == 1
    assert again[1].param_groups[0]["lr"] == 0.01


# ------------------------------------------------------------ several processes


def written(model: nn.Module) -> list[list[int]]:
    """What the trained model writes for four sources, whose exact match is then the same."""
    model.eval()
    src = Pairs()[STEPS][0]
    return greedy_decode(model, src, bos_id=BOS, eos_id=EOS, max_len=13).tolist()


def two_processes(folder: Path) -> None:
    """What each of the processes does; the tests below read what they leave."""
    dist.init_process_group("gloo")
    rank, number = processes()
    assert number == 2
    options = {"rate": lambda step: 0.1, "label_smoothing": 0.1, "clip": 0.5}

    # Weights that differ at first: all take those of process 0.
    model, sgd = trainee(seed=rank, kind=torch.optim.SGD)
    losses = fit(model, Pairs(), steps=STEPS, optimizer=sgd, progress=True, **options)
    result = {"losses": losses, "model": model.state_dict(), "written": written(model)}
    torch.save(result, folder / f"joined{rank}.pt")

    # Interrupted and resumed with dropout, which differs between the processes.
    whole = trainee(dropout=0.3)
    torch.manual_seed(rank)
    fit(whole[0], Pairs(), steps=STEPS, optimizer=whole[1], **options)
    first = trainee(dropout=0.3)
    torch.manual_seed(rank)
    fit(first[0], Pairs(), steps=4, optimizer=first[1], **options)
    save_training(folder / "training.pt", *first, 4)
    dist.barrier()  # until process 0 has written
    second = trainee(dropout=0.3, seed=1)
    start = load_training(folder / "training.pt", *second)
    fit(second[0], Pairs(), steps=STEPS, start=start, optimizer=second[1], **options)
    assert_equal_to_the_bit(second, whole)

    with pytest.raises(ValueError, match=r"a row for each of the 2 processes, got src \(1, 7\)"):
        fit(model, Pairs(rows=1), steps=1, optimizer=sgd, rate=rate)
    (folder / f"passed{rank}").touch()
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def joined(tmp_path_factory):
    """A folder in which two processes have left their results."""
    folder = tmp_path_factory.mktemp("two processes")
    command = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
    address = ["--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1"]  # 0: a free port
    run = subprocess.run(
        [sys.executable, *command, *address, __file__, folder],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    folder.joinpath("stderr").write_text(run.stderr, encoding="utf-8")
    return folder


def test_two_processes_learn_what_one_learns_from_the_joined_batch(joined):
    model, sgd = trainee(kind=torch.optim.SGD)
    options = {"rate": lambda step: 0.1, "label_smoothing": 0.1, "clip": 0.5}
    losses = fit(model, Pairs(), steps=STEPS, optimizer=sgd, **options)
    results = [torch.load(joined / f"joined{rank}.pt", weights_only=True) for rank in (0, 1)]
    for result in results:
        assert result["written"] == written(model)
        assert result["losses"] == pytest.approx(losses, rel=1e-10)
        assert_close(result["model"], model.state_dict(), rtol=1e-10, atol=1e-10)
    assert_close(results[0], results[1], rtol=0, atol=0)


def test_two_processes_resume_to_the_bit_and_refuse_a_batch_of_one_row(joined):
    assert (joined / "passed0").exists()
    assert (joined / "passed1").exists()


def test_one_of_two_processes_shows_progress(joined):
    stderr = (joined / "stderr").read_text(encoding="utf-8")
    assert stderr.count("step 11 of 11") == 1


def test_the_number_of_processes_may_not_change(joined):
    text = "as many processes as were interrupted, got 1 for a file of 2"
    with pytest.raises(ValueError, match=text):
        load_training(joined / "training.pt", *trainee())


# ---------------------------------------------------------------- error texts


def fit_with(batches=None, **changes):
    model, optimizer = trainee()
    options = {"steps": 1, "optimizer": optimizer, "rate": rate, **changes}
    return fit(model, batches or Pairs(), **options)


T = torch.ones(2, 3, dtype=torch.long)
ERRORS = [
    (lambda path: fit_with(start=-1), ValueError, "start must be at least 0, got -1"),
    (lambda path: fit_with(start=5, steps=3), ValueError, "steps must be at least 5, got 3"),
    (lambda path: fit_with(steps=1.0), TypeError, r"steps must be an int, got float 1\.0"),
    (lambda path: fit_with(start=True), TypeError, "start must be an int, got bool True"),
    (lambda path: fit_with(clip=0.0), ValueError, r"clip must be above 0, or None .* got 0\.0"),
    (lambda path: fit_with(clip=float("nan")), ValueError, "clip must be above 0, .* got nan"),
    (lambda path: fit_with(label_smoothing=2.0), ValueError, "label_smoothing must lie between"),
    (lambda path: fit_with([(T, T[:, :1])]), ValueError, r"tgt must hold .* got shape \(2, 1\)"),
    (lambda path: fit_with([(T[:0], T[:0])]), ValueError, r"a batch must have .* src \(0, 3\)"),
    (
        lambda path: evaluate(build(), [], bos_id=1, eos_id=2),
        ValueError,
        "batches must hold at least one sentence, got none",
    ),
    (
        lambda path: evaluate(build(), [(T, T)], bos_id=1.0, eos_id=2),
        TypeError,
        r"bos_id must be an int, got float 1\.0",
    ),
    (lambda path: save_training(path, *trainee(), -1), ValueError, "step must be at least 0"),
    (lambda path: save_training(path, *trainee(), 0.5), TypeError, "step must be an int, got fl"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_bad_input_is_named(tmp_path, call, error, text):
    with pytest.raises(error, match=text):
        call(tmp_path / "training.pt")
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_the_model_alone_cannot_be_resumed(tmp_path):
    save_checkpoint(tmp_path / "model.pt", build(), step=3)
    with pytest.raises(ValueError, match=r"a file of save_training, got .*model\.pt without"):
        load_training(tmp_path / "model.pt", *trainee())


if __name__ == "__main__":
    two_processes(Path(sys.argv[1]))
