"""The training loop: equal to one by hand, resumed bit for bit, the same in two processes.

Run as a script, this file is one of the processes that the tests at the end start.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from copying_transformer import PAD, SIZES, build, ids
from torch import nn
from torch.testing import assert_close

from attention_core import greedy_decode, sequence_loss, shift_targets
from attention_core.distributed import processes
from attention_core.training import (
    evaluate,
    fit,
    load_training,
    loop,
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
    torch.manual_seed(100 + seed)  # for dropout
    model = build(dropout=dropout, seed=seed)
    return model, kind(model.parameters(), **{"lr": 0.1, **options})


def assert_bit_identical(ours, theirs):
    """Two pairs of a model and its optimizer have the same state."""
    assert_close(ours[0].state_dict(), theirs[0].state_dict(), rtol=0, atol=0)
    assert_close(ours[1].state_dict(), theirs[1].state_dict(), rtol=0, atol=0)


# -------------------------------------------------------------------- the loop


@pytest.mark.parametrize("clip", [None, 0.1, 1e9])
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_fit_equals_a_training_loop_written_by_hand(clip, share):
    # Not Adam, which would hide the gradient norm.
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
            norm = sum((x.grad**2).sum() for x in by_hand.parameters()).sqrt()
            assert norm > clip
            for parameter in by_hand.parameters():
                parameter.grad *= clip / norm
        sgd.param_groups[0]["lr"] = 0.1 / (step + 1)
        sgd.step()
        expected.append(loss.item())
    # Torch clips by the norm + 1e-6.
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


def test_every_parameter_group_gets_the_learning_rate():
    model = build()
    first, *rest = model.parameters()
    optimizer = torch.optim.SGD([{"params": [first]}, {"params": rest}], lr=0.1)
    fit(model, Pairs(), steps=1, optimizer=optimizer, rate=lambda step: 0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.25]


def test_zero_updates_leave_model_and_optimizer_unchanged():
    model, optimizer = trainee()
    assert fit(model, Pairs(), steps=5, start=5, optimizer=optimizer, rate=rate) == []
    assert_bit_identical((model, optimizer), trainee())


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


class Spoiled(Pairs):
    """From batch 12 on the model's output weights are ``value``."""

    def __init__(self, model, value):
        super().__init__()
        self.model, self.value = model, value

    def __getitem__(self, step):
        if step == 12:
            with torch.no_grad():
                self.model.output.weight[5] = self.value
        return super().__getitem__(step)


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_training_stops_where_the_loss_stops_being_finite(value):
    model, optimizer = trainee()
    with pytest.raises(ValueError, match="the loss must stay finite, got nan at step 13; a lower"):
        fit(model, Spoiled(model, value), steps=30, optimizer=optimizer, rate=rate)
    spoiled = ~model.output.weight.isfinite()
    assert spoiled.any(dim=1).tolist() == [n == 5 for n in range(23)]  # no update spread it
    assert all(x.isfinite().all() for n, x in model.named_parameters() if n != "output.weight")


def test_on_a_gpu_the_losses_are_checked_ten_at_a_time(monkeypatch):
    """A loss that claims to be on a GPU, so that none is needed."""
    looked = []

    class OnGpu(torch.Tensor):
        device = torch.device("cuda")

    model, optimizer = trainee()
    monkeypatch.setattr(
        loop,
        "_backward",
        lambda *_: (model.output.weight.sum() * 0 + 1).detach().as_subclass(OnGpu),
    )
    monkeypatch.setattr(
        loop, "_check_finite", lambda name, values, step: looked.append((step, len(values)))
    )
    fit(model, Pairs(), steps=27, start=5, optimizer=optimizer, rate=rate)
    assert looked[::2] == [(10, 5), (20, 10), (27, 10)]


def test_the_first_of_several_losses_that_are_not_finite_is_named():
    losses = [torch.tensor(x) for x in (1.0, torch.inf, torch.nan)]
    with pytest.raises(ValueError, match="the loss must stay finite, got inf at step 19;"):
        loop._check_finite("the loss", losses, 20)


def test_a_gradient_that_is_not_finite_makes_no_update():
    """The square root has an infinite slope at 0, where the loss is finite."""
    model, optimizer = trainee()
    forward = model.forward
    model.forward = lambda src, tgt: forward(src, tgt) + (model.output.weight[0, 0] * 0).sqrt()
    before = {name: x.clone() for name, x in model.state_dict().items()}
    with pytest.raises(ValueError, match="the gradient norm must stay finite, got nan at step 1;"):
        fit(model, Pairs(), steps=1, optimizer=optimizer, rate=rate, clip=1.0)
    assert_close(dict(model.state_dict()), before, rtol=0, atol=0)


def test_under_autocast_each_step_casts_the_weights_of_that_step():
    """Autocast caches cast weights until its block ends, which may be after the last step."""
    results = []
    for whole in (True, False):
        model = build(torch.float32)
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        options = {"optimizer": sgd, "rate": lambda step: 0.1}
        if whole:
            with torch.autocast("cpu", torch.bfloat16):
                evaluate(model, [(T[:1] + 4, torch.tensor([[BOS, 6, EOS]]))], bos_id=1, eos_id=2)
                losses = fit(model, Pairs(), steps=6, **options)
        else:
            losses = []
            for step in range(6):
                with torch.autocast("cpu", torch.bfloat16):
                    losses += fit(model, Pairs(), steps=step + 1, start=step, **options)
        assert {x.dtype for x in model.parameters()} == {torch.float32}
        results.append((losses, model.state_dict()))
    assert results[0][0] == results[1][0]
    assert_close(results[0][1], results[1][1], rtol=0, atol=0)


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
    for parameter in model.parameters():  # build does not initialise for training
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
    adam = torch.optim.Adam(model.parameters())
    held_out = [Reversals()[10_000], Reversals()[10_001]]
    ids_of = {"bos_id": BOS, "eos_id": EOS}
    assert evaluate(model, held_out, **ids_of).exact == 0.0
    losses = fit(
        model,
        Reversals(),
        steps=200,
        optimizer=adam,
        rate=lambda step: 5e-3 * (1 - step / 201),
        clip=1.0,
    )
    assert sum(losses[-20:]) / 20 < 0.2 < 1.0 < losses[0]
    accuracy = evaluate(model, held_out, **ids_of)
    assert accuracy.exact > 0.8
    assert accuracy.tokens > 0.95


# --------------------------------------------------------------- resumption


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("interrupted", [0, 1, 7, STEPS])
def test_a_resumed_training_ends_bit_identical_to_an_uninterrupted_one(tmp_path, interrupted, clip):
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
    assert_bit_identical(second, whole)
    assert begun + rest == losses


def test_saving_and_evaluating_do_not_disturb_training(tmp_path):
    whole, parts = trainee(dropout=0.3), trainee(dropout=0.3)
    fit(whole[0], Pairs(), steps=5, optimizer=whole[1], rate=rate)
    parts = trainee(dropout=0.3)
    held_out = torch.tensor([[5, 6]]), torch.tensor([[BOS, 6, 5, EOS]])
    for start in range(5):
        fit(parts[0], Pairs(), steps=start + 1, start=start, optimizer=parts[1], rate=rate)
        save_training(tmp_path / "training.pt", *parts, start)
        evaluate(parts[0], [held_out], bos_id=BOS, eos_id=EOS)
    assert_bit_identical(parts, whole)


def test_a_learning_rate_from_numpy_can_be_saved(tmp_path):
    numpy = pytest.importorskip("numpy")
    model, adam = trainee()
    fit(model, Pairs(), steps=1, optimizer=adam, rate=lambda step: numpy.float64(0.01))
    save_training(tmp_path / "training.pt", model, adam, 1)
    again = trainee(seed=1)
    assert load_training(tmp_path / "training.pt", *again) == 1
    assert again[1].param_groups[0]["lr"] == 0.01


# ------------------------------------------------------------ several processes


def written(model: nn.Module) -> list[list[int]]:
    """The tokens that the trained model decodes for one batch of sources."""
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
    assert_bit_identical(second, whole)

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
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
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


def test_two_processes_resume_bit_for_bit_and_refuse_a_batch_of_one_row(joined):
    assert (joined / "passed0").exists()
    assert (joined / "passed1").exists()


def test_only_one_of_two_processes_shows_progress(joined):
    stderr = (joined / "stderr").read_text(encoding="utf-8")
    assert stderr.count("step 11 of 11") == 1


def test_training_must_be_resumed_with_the_same_number_of_processes(joined):
    text = "as many processes as were interrupted, got 1 for a file of 2"
    with pytest.raises(ValueError, match=text):
        load_training(joined / "training.pt", *trainee())


# ---------------------------------------------------------------- error texts


def fit_with(batches=None, **changes):
    model, optimizer = trainee()
    options = {"steps": 1, "optimizer": optimizer, "rate": rate, **changes}
    return fit(model, batches or Pairs(), **options)


def loader():
    return torch.utils.data.DataLoader([(T[0], T[0])])


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
        lambda path: fit_with(iter([(T, T)])),
        TypeError,
        r"batches must be indexable, .* got list_iterator; list\(batches\) can be indexed",
    ),
    (lambda path: fit_with(loader()), TypeError, "batches must be indexable, .* got DataLoader"),
    (
        lambda path: fit_with([(T, T)], steps=5),
        ValueError,
        "each of the steps=5, got 1; repeat",
    ),
    (lambda path: fit_with([T]), TypeError, r"batches\[0\] must be a pair src, tgt, got Tensor"),
    (lambda path: fit_with([(T, T, T)]), TypeError, "must be a pair src, tgt, got 3 items"),
    (lambda path: fit_with([(T.tolist(), T)]), TypeError, "src must be a torch.Tensor, got list"),
    (lambda path: fit_with([(T, T.float())]), TypeError, "tgt must be an integer tensor, got dty"),
    (
        lambda path: fit_with([(T, T[:1])]),
        ValueError,
        r"the same batch size B, got src \(2, 3\) and tgt \(1, 3\)",
    ),
    (lambda path: save_training(path, *trainee(), -1), ValueError, "step must be at least 0"),
    (lambda path: save_training(path, *trainee(), 0.5), TypeError, "step must be an int, got fl"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_bad_input_is_named(tmp_path, call, error, text):
    with pytest.raises(error, match=text):
        call(tmp_path / "training.pt")
    assert not list(tmp_path.iterdir())


if __name__ == "__main__":
    two_processes(Path(sys.argv[1]))
