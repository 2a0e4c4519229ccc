"""train.py: the command prints few lines, resumes to the bit, and runs in two processes."""

import random
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import torch
from torch.testing import assert_close

from attention_core import load_checkpoint
from attention_core import train as command
from attention_core.training import load_trained

SMALL = ["--d-model", "8", "--batch-size", "3", "--device", "cpu", "--dropout", "0.3"]
LAST = r"validation: \d+\.\d% of the dates, \d+\.\d% of the tokens"


def run(capsys, *arguments):
    """The lines that the command prints."""
    command.main([*SMALL, *map(str, arguments)])
    written = capsys.readouterr()
    assert written.err == ""
    return written.out.splitlines()


def started(*arguments):
    """The same in a process of its own, by ``python -m``; ``arguments`` begin with -m."""
    result = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result


def assert_report(lines, steps, first):
    assert lines[0].startswith(first)
    for line, step in zip(lines[1:-1], steps, strict=True):
        assert re.fullmatch(rf"step {step}, loss \d\.\d{{4}}", line)
    assert re.fullmatch(LAST, lines[-1])


@pytest.mark.parametrize("model", command.MODELS)
def test_every_model_can_be_trained(capsys, model):
    lines = run(capsys, "--model", model, "--steps", 1)
    size = sum(parameter.numel() for parameter in command.build(model, 8).parameters())
    assert_report(lines, [1], f"{model}: {size:,} parameters, on cpu in one process")


def test_the_models_are_what_their_names_say():
    transformer, plain, attentive = (command.build(name, 8) for name in command.MODELS)
    assert type(transformer).__name__ == "Transformer"
    assert transformer.config.d_model == plain.config.d_model == 8
    assert (plain.config.attention, attentive.config.attention) == (False, True)


def test_the_seed_decides_every_line(capsys):
    first, again = (run(capsys, "--steps", 3, "--seed", 5) for _ in range(2))
    assert first == again
    assert run(capsys, "--steps", 3, "--seed", 6)[1:4] != first[1:4]
    assert run(capsys, "--steps", 3, "--seed", 5, "--dropout", 0)[1:4] != first[1:4]


def test_seed_and_batch_size_are_those_of_the_batches(capsys, monkeypatch):
    asked = []

    class Asking(command.DateBatches):
        def __init__(self, split, batch_size, *, seed):
            asked.append((split, batch_size, seed))
            super().__init__(split, batch_size, seed=seed)

    monkeypatch.setattr(command, "DateBatches", Asking)
    run(capsys, "--steps", 1, "--seed", 5)
    assert asked == [("train", 3, 5), ("validation", 64, 0)]


def test_twelve_lines_whatever_the_number_of_steps(capsys):
    lines = run(capsys, "--steps", 23)
    assert_report(lines, [2, 4, 6, 9, 11, 13, 16, 18, 20, 23], "transformer: ")


def test_the_lines_tell_the_mean_loss_since_the_last(capsys, monkeypatch):
    def fit(*_, start, steps, **__):
        return [float(step) for step in range(start + 1, steps + 1)]

    monkeypatch.setattr(command, "fit", fit)
    lines = run(capsys, "--steps", 20)
    assert lines[1:-1] == [f"step {n}, loss {n - 0.5:.4f}" for n in range(2, 21, 2)]


def test_a_resumed_run_prints_and_writes_what_a_whole_one_does(capsys, tmp_path):
    whole = run(capsys, "--steps", 20, "--checkpoint", tmp_path / "whole.pt")
    # The first run finds no checkpoint, and begins.
    parts = ["--steps", 20, "--checkpoint", tmp_path / "parts.pt", "--resume"]
    stopped = run(capsys, *parts, "--stop", 7)
    assert stopped[:-2] == whole[:4]
    assert stopped[-1] == "stopped; --resume makes the other 13 updates"
    resumed = run(capsys, *parts)
    assert resumed[0] == whole[0]
    # The line of step 8 speaks of one update here and of two in the whole run.
    assert resumed[2:] == whole[5:]
    again = run(capsys, *parts, "--stop", 99)
    assert again == [whole[0], whole[-1]]
    files = [torch.load(tmp_path / name, weights_only=True) for name in ("whole.pt", "parts.pt")]
    assert_close(*files, rtol=0, atol=0)
    assert files[0]["extras"]["step"] == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts.pt", "whole.pt"]


def test_without_resume_the_checkpoint_is_written_anew(capsys, tmp_path):
    arguments = ["--steps", 3, "--checkpoint", tmp_path / "model.pt"]
    assert run(capsys, *arguments) == run(capsys, *arguments)


def test_it_runs_as_a_module_and_writes_nothing_else():
    result = started("-m", "attention_core.train", *SMALL, "--steps", 10)
    assert result.stderr == ""
    assert_report(result.stdout.splitlines(), range(1, 11), "transformer: ")


def test_two_processes_write_one_report_and_resume_each_its_own_random_numbers(capsys, tmp_path):
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", 2, "--rdzv-backend", "c10d"]
    address = ["--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1"]  # 0: a free port
    arguments = ["-m", "attention_core.train", *SMALL, "--resume"]
    # Shares of one size: else the random numbers would differ by how many were used.
    arguments += ["--batch-size", 4]
    path = tmp_path / "model.pt"
    reports = []
    for stop, dropout in [(5, 0), (10, 0.3)]:
        rest = ["--steps", 10, "--stop", stop, "--dropout", dropout, "--checkpoint", path]
        result = started(*launch, *address, *arguments, *rest)
        reports.append(result.stdout.splitlines())
    assert reports[0].pop() == "stopped; --resume makes the other 5 updates"
    assert_report(reports[1], range(6, 11), "transformer: ")
    assert reports[0][0] == reports[1][0]
    assert reports[0][0].endswith(" on cpu in 2 processes")
    first, second = torch.load(path, weights_only=True)["extras"]["random"]
    assert not torch.equal(first["cpu"], second["cpu"])
    # Where no dropout differs, two learn what one does.
    alone = run(capsys, "--steps", 10, "--dropout", 0, "--batch-size", 4)
    for line, expected in zip(reports[0][1:], alone[1:6], strict=True):
        assert float(line.split()[-1]) == pytest.approx(float(expected.split()[-1]), abs=2e-4)


def test_each_process_takes_the_gpu_of_its_number(monkeypatch):
    """Without a GPU: what the command asks of torch, in this order."""
    asked = []
    fake = SimpleNamespace(
        is_available=lambda: True,
        is_torchelastic_launched=lambda: True,
        init_process_group=lambda backend: asked.append(backend),
        destroy_process_group=lambda: asked.append("end"),
    )
    monkeypatch.setattr(command, "dist", fake)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", asked.append)
    monkeypatch.setattr(command, "train", lambda options, device: asked.append(device))
    monkeypatch.setenv("LOCAL_RANK", "1")
    command.main([])
    assert asked == ["cuda:1", "nccl", torch.device("cuda:1"), "end"]
    asked.clear()
    command.main(["--device", "cpu", "--dropout", "0.3"])
    assert asked == ["gloo", torch.device("cpu"), "end"]


ERRORS = [
    (["--resume"], "--resume needs the --checkpoint to go on from"),
    (["--stop", "3"], "--stop needs a --checkpoint, or what was learned is lost"),
    (["--d-model", "6"], "--d-model: must be divisible by the number of heads, 4, got 6"),
    (["--steps", "0"], "argument --steps: must be at least 1, got 0"),
    (["--batch-size", "-3"], "argument --batch-size: must be at least 1, got -3"),
    (["--d-model", "1.5"], "argument --d-model: must be an integer, got '1.5'"),
    (["--seed", "-1"], "argument --seed: must be at least 0, got -1"),
    (["--model", "lstm"], "argument --model: invalid choice: 'lstm'"),
]


@pytest.mark.parametrize(("arguments", "text"), ERRORS)
def test_bad_arguments_are_named(capsys, arguments, text):
    with pytest.raises(SystemExit, match="2"):
        command.main(arguments)
    assert text in capsys.readouterr().err


def test_an_unknown_model_is_named():
    text = "name must be one of transformer, gru, gru-attention, got 'lstm'"
    with pytest.raises(ValueError, match=text):
        command.build("lstm", 8)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (["--seed", 7], "seed 7 for 0"),
        (["--seed", 7, "--batch-size", 5], "seed 7 for 0, batch_size 5 for 3"),
        (["--steps", 3], "steps 3 for 2"),
    ],
)
def test_a_run_cannot_be_resumed_with_other_settings(capsys, tmp_path, changed, text):
    path = tmp_path / "run.pt"
    start = ["--steps", 2, "--checkpoint", path]
    run(capsys, *start, "--stop", 1)
    with pytest.raises(ValueError, match=f"settings it was begun with, got {text}$"):
        run(capsys, *start, "--resume", *changed)


def test_an_interrupted_process_resumes_to_the_bit(tmp_path):
    """Killed at a moment of chance, not at a report: the next run begins at the last file."""
    files = {}
    for name in ("whole", "killed"):
        files[name] = tmp_path / f"{name}.pt"
        arguments = [sys.executable, "-m", "attention_core.train", *SMALL]
        arguments += ["--steps", "60", "--checkpoint", str(files[name]), "--resume"]
        if name == "killed":
            with subprocess.Popen(arguments, stdout=subprocess.PIPE, encoding="utf-8") as process:
                lines = [next(process.stdout) for _ in range(4)]
                time.sleep(random.random() * 0.05)
                process.kill()
            assert lines[-1].startswith("step 18")
            assert 18 <= torch.load(files[name], weights_only=True)["extras"]["step"] < 60
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    whole, killed = (torch.load(path, weights_only=True) for path in files.values())
    assert_close(killed, whole, rtol=0, atol=0)


def test_the_learning_rate_is_that_of_the_paper_times_the_share_of_steps_left():
    rates = [command.learning_rate(step, 64, 1000) for step in (1, 100, 400, 500, 1000)]
    paper = [64**-0.5 * min(s**-0.5, s * 400**-1.5) for s in (1, 100, 400, 500, 1000)]
    left = [1, 0.901, 0.601, 0.501, 0.001]
    assert rates == pytest.approx([a * b for a, b in zip(paper, left, strict=True)], rel=1e-12)
    with pytest.raises(ValueError, match="step must be at most steps=9, got 10"):
        command.learning_rate(10, 64, 9)


def test_the_command_hands_this_learning_rate_to_fit(capsys, monkeypatch):
    asked = []

    def fit(*_, rate, start, steps, **__):
        asked.extend(rate(step) for step in range(start + 1, steps + 1))
        return [0.0] * (steps - start)

    monkeypatch.setattr(command, "fit", fit)
    run(capsys, "--steps", 20)
    assert asked == [command.learning_rate(step, 8, 20) for step in range(1, 21)]


def test_a_saved_model_keeps_the_loss_in_a_hundred_numbers(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(
        command, "fit", lambda *_, start, steps, **__: [float(n) for n in range(start, steps)]
    )
    path, checkpoint = tmp_path / "model.pt", tmp_path / "run.pt"
    arguments = ["--steps", 300, "--checkpoint", checkpoint, "--resume", "--save", path]
    run(capsys, *arguments, "--stop", 100)
    assert not path.exists()
    run(capsys, *arguments)
    losses = torch.load(path, weights_only=True)["extras"]["losses"]
    assert losses == [3.0 * n + 1 for n in range(100)]


@pytest.mark.parametrize("smoothing", [0.0, 0.25])
def test_the_command_hands_its_label_smoothing_to_fit(capsys, monkeypatch, smoothing):
    asked = []

    def fit(*_, label_smoothing, start, steps, **__):
        asked.append(label_smoothing)
        return [0.0] * (steps - start)

    monkeypatch.setattr(command, "fit", fit)
    run(capsys, "--steps", 1, "--label-smoothing", smoothing)
    run(capsys, "--steps", 1)
    assert asked == [smoothing, 0.1]


@pytest.mark.parametrize("model", command.MODELS)
def test_a_saved_model_does_what_the_trained_one_did(capsys, tmp_path, model):
    path, checkpoint = tmp_path / "model.pt", tmp_path / "run.pt"
    files = ["--save", path, "--checkpoint", checkpoint]
    run(capsys, "--model", model, "--steps", 2, *files)
    trained = command.build(model, 8)
    load_checkpoint(checkpoint, trained)
    saved = load_trained(path)
    assert saved.config.d_model == 8
    for name, x in trained.state_dict().items():
        assert_close(saved.state_dict()[name], x.half().float(), rtol=0, atol=0)
    extras, made = (torch.load(file, weights_only=True)["extras"] for file in (checkpoint, path))
    assert made["losses"] == extras["losses"]
    assert len(made["losses"]) == 2
    made = made["command"]
    assert made.startswith("python -m attention_core.train --d-model 8 ")
    assert made.endswith(f"--model {model} --steps 2 --save {path} --checkpoint {checkpoint}")
