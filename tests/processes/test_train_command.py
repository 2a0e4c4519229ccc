"""The training command: its report, resuming bit for bit, usage errors, two processes."""

import random
import re
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import torch
from torch.testing import assert_close

from attention_core import (
    decoder_layer_parameters,
    encoder_layer_parameters,
    load_checkpoint,
    save_checkpoint,
)
from attention_core import train as command
from attention_core.training import load_trained, save_training

SMALL = ["--d-model", "8", "--batch-size", "3", "--device", "cpu", "--dropout", "0.3"]
LAST = r"validation: \d+\.\d% of the dates, \d+\.\d% of the tokens"


def run(capsys, *arguments):
    """The lines that the command prints."""
    command.main([*SMALL, *map(str, arguments)])
    written = capsys.readouterr()
    assert written.err == ""
    return written.out.splitlines()


def started(*arguments):
    """Run Python with these arguments, which begin with -m, in a process of its own."""
    result = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result


def assert_same_files(a, b):
    """Two checkpoints hold the same bits. Texts are compared apart: assert_close takes none."""
    a, b = (torch.load(path, weights_only=True) for path in (a, b))
    for name in ("settings", "optimizer_kind"):
        assert a["extras"].pop(name) == b["extras"].pop(name)
    assert_close(a, b, rtol=0, atol=0)


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
    transformer, plain, attentive, alone = (command.build(name, 8) for name in command.MODELS)
    assert type(transformer).__name__ == "Transformer"
    assert transformer.config.d_model == plain.config.d_model == alone.config.d_model == 8
    assert (plain.config.attention, attentive.config.attention) == (False, True)
    assert type(alone.model).__name__ == "LanguageModel"


def test_five_layers_are_as_large_as_two_encoder_and_two_decoder_layers():
    two, one = command.build("transformer", 64), command.build("decoder-only", 64)
    sizes = [sum(p.numel() for p in model.parameters()) for model in (two, one)]
    assert sizes == [173_440, 175_936]
    five = 5 * encoder_layer_parameters(64, 128)
    four = 2 * (encoder_layer_parameters(64, 128) + decoder_layer_parameters(64, 128))
    assert (four, five) == (167_424, 167_360)
    # The rest: embeddings, the projection to logits, and one norm after each stack.
    assert [sizes[0] - four, sizes[1] - five] == [64 * (48 + 21 + 21 + 4), 64 * (66 + 66 + 2)]


def test_the_same_seed_gives_the_same_report_and_another_seed_another(capsys):
    first, again = (run(capsys, "--steps", 3, "--seed", 5) for _ in range(2))
    assert first == again
    assert run(capsys, "--steps", 3, "--seed", 6)[1:4] != first[1:4]
    assert run(capsys, "--steps", 3, "--seed", 5, "--dropout", 0)[1:4] != first[1:4]


def test_seed_and_batch_size_are_passed_to_the_batches(capsys, monkeypatch):
    asked = []

    class Asking(command.DateBatches):
        def __init__(self, split, batch_size, *, seed, target):
            asked.append((split, batch_size, seed, len(target)))
            super().__init__(split, batch_size, seed=seed, target=target)

    monkeypatch.setattr(command, "DateBatches", Asking)
    run(capsys, "--steps", 1, "--seed", 5)
    assert asked == [("train", 3, 5, 21), ("validation", 64, 0, 21)]
    run(capsys, "--steps", 1, "--seed", 5, "--model", "decoder-only")
    assert asked[2:] == [("train", 3, 5, 66), ("validation", 64, 0, 66)]


def test_the_report_of_a_long_run_has_twelve_lines(capsys):
    lines = run(capsys, "--steps", 23)
    assert_report(lines, [2, 4, 6, 9, 11, 13, 16, 18, 20, 23], "transformer: ")


def test_each_line_shows_the_mean_loss_since_the_line_before(capsys, monkeypatch):
    def fit(*_, start, steps, **__):
        return [float(step) for step in range(start + 1, steps + 1)]

    monkeypatch.setattr(command, "fit", fit)
    lines = run(capsys, "--steps", 20)
    assert lines[1:-1] == [f"step {n}, loss {n - 0.5:.4f}" for n in range(2, 21, 2)]


def test_a_resumed_run_prints_and_writes_what_an_uninterrupted_one_does(capsys, tmp_path):
    whole = run(capsys, "--steps", 20, "--checkpoint", tmp_path / "whole.pt")
    # The first run finds no checkpoint and starts from the beginning.
    parts = ["--steps", 20, "--checkpoint", tmp_path / "parts.pt", "--resume"]
    stopped = run(capsys, *parts, "--stop", 7)
    assert stopped[:-2] == whole[:4]
    assert stopped[-1] == "stopped; --resume makes the other 13 updates"
    resumed = run(capsys, *parts)
    assert resumed[0] == whole[0]
    # The line of step 8 averages one update here, and two in the uninterrupted run.
    assert resumed[2:] == whole[5:]
    again = run(capsys, *parts, "--stop", 99)
    assert again == [whole[0], whole[-1]]
    assert_same_files(tmp_path / "whole.pt", tmp_path / "parts.pt")
    assert torch.load(tmp_path / "whole.pt", weights_only=True)["extras"]["step"] == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts.pt", "whole.pt"]


def test_without_resume_training_starts_over_despite_a_checkpoint(capsys, tmp_path):
    arguments = ["--steps", 3, "--checkpoint", tmp_path / "model.pt"]
    assert run(capsys, *arguments) == run(capsys, *arguments)


def test_python_m_runs_the_command_and_writes_nothing_to_stderr():
    result = started("-m", "attention_core.train", *SMALL, "--steps", 10)
    assert result.stderr == ""
    assert_report(result.stdout.splitlines(), range(1, 11), "transformer: ")


def test_two_processes_write_one_report_and_each_resumes_its_own_random_state(capsys, tmp_path):
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", 2, "--rdzv-backend", "c10d"]
    address = ["--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1"]  # 0: a free port
    arguments = ["-m", "attention_core.train", *SMALL, "--resume"]
    arguments += ["--batch-size", 4]
    path = tmp_path / "model.pt"
    reports = []
    for stop in (5, 10):
        rest = ["--steps", 10, "--stop", stop, "--dropout", 0, "--checkpoint", path]
        result = started(*launch, *address, *arguments, *rest)
        reports.append(result.stdout.splitlines())
    assert reports[0].pop() == "stopped; --resume makes the other 5 updates"
    assert_report(reports[1], range(6, 11), "transformer: ")
    assert reports[0][0] == reports[1][0]
    assert reports[0][0].endswith(" on cpu in 2 processes")
    first, second = torch.load(path, weights_only=True)["extras"]["random"]
    assert not torch.equal(first["cpu"], second["cpu"])
    # Without dropout, which differs between processes, two processes learn what one does.
    alone = run(capsys, "--steps", 10, "--dropout", 0, "--batch-size", 4)
    lines = [*reports[0][1:], *reports[1][1:-1]]
    for line, expected in zip(lines, alone[1:-1], strict=True):
        assert float(line.split()[-1]) == pytest.approx(float(expected.split()[-1]), abs=2e-4)


def test_each_process_takes_the_gpu_of_its_local_rank(monkeypatch):
    """Record the calls of torch in their order, so that no GPU is needed."""
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
    (["--dropout", "2"], "argument --dropout: must lie between 0 and 1, got 2"),
    (["--dropout", "-0.1"], "argument --dropout: must lie between 0 and 1, got -0.1"),
    (["--dropout", "much"], "argument --dropout: must be a number, got 'much'"),
    (["--label-smoothing", "nan"], "argument --label-smoothing: must lie between 0 and 1, got nan"),
    (["--label-smoothing", "inf"], "argument --label-smoothing: must lie between 0 and 1, got inf"),
    (["--device", "foo"], "argument --device: must be a device of this machine, cpu for exa"),
    (["--device", "meta"], "argument --device: must be a device of this machine, cpu for exa"),
    (["--device", "cuda:99"], "argument --device: must be a device of this machine, cpu for exa"),
    (["--seed", str(2**64)], "argument --seed: must be at most 9223372036854775807, got 1844674"),
    (["--steps", "9" * 5000], "argument --steps: must be an integer, got '999"),
    (["--steps", str(10**400)], "argument --steps: must be at most 9223372036854775807, got 1000"),
    (["--d-model", "100000"], "argument --d-model: must be at most 4096, got 100000"),
    (["--batch-size", str(10**9)], "argument --batch-size: must be at most 65536, got 1000000000"),
    (["--stop", "0", "--checkpoint", "x"], "argument --stop: must be at least 1, got 0"),
    (["--save", "nowhere/m.pt"], "argument --save: path must lie in a folder that exists, got now"),
    (["--checkpoint", "nowhere/m.pt"], "argument --checkpoint: path must lie in a folder that"),
    (["--save", "."], "argument --save: path must be a file to write, got the folder ."),
    (["--save", ""], "argument --save: path must be a file to write, got the folder ."),
]


@pytest.mark.parametrize(("arguments", "text"), ERRORS)
def test_bad_arguments_are_named(capsys, arguments, text):
    with pytest.raises(SystemExit, match="2"):
        command.main(arguments)
    assert text in capsys.readouterr().err


def test_an_unknown_model_is_named():
    text = "name must be one of transformer, gru, gru-attention, decoder-only, got 'lstm'"
    with pytest.raises(ValueError, match=text):
        command.build("lstm", 8)


def refused(capsys, *arguments):
    """The usage error with which the command ends before it trains."""
    with pytest.raises(SystemExit, match="2"):
        command.main([*SMALL, *map(str, arguments)])
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("usage: ")
    return written.err.splitlines()[-1]


#: Another value than that of SMALL or the default, for each option that decides the run.
CHANGED = {
    "model": ("gru", "transformer"),
    "d_model": (12, 8),
    "dropout": (0.4, 0.3),
    "label_smoothing": (0.0, 0.1),
    "steps": (3, 2),
    "batch_size": (5, 3),
    "seed": (7, 0),
}


def test_every_option_must_match_on_resume_unless_it_is_listed_as_free():
    """A new option must match too, until FREE_OPTIONS lists it."""
    options = vars(command.arguments().parse_args([]))
    assert set(CHANGED) == set(options) - command.FREE_OPTIONS
    assert set(options) >= command.FREE_OPTIONS


@pytest.mark.parametrize("name", CHANGED)
def test_a_run_cannot_be_resumed_with_another_value_of_a_setting(capsys, tmp_path, name):
    path = tmp_path / "run.pt"
    start = ["--steps", 2, "--checkpoint", path]
    run(capsys, *start, "--stop", 1)
    good = path.read_bytes()
    option, (new, old) = "--" + name.replace("_", "-"), CHANGED[name]
    text = refused(capsys, *start, "--resume", option, new)
    assert text.endswith(
        "argument --resume: a run must be resumed with the settings it was begun with, "
        f"got {option} {new} for {old}"
    )
    assert path.read_bytes() == good
    assert refused(capsys, *start, "--resume", "--seed", 7, "--batch-size", 5).endswith(
        "got --batch-size 5 for 3, --seed 7 for 0"
    )


@pytest.mark.parametrize("kind", ["text", "model", "training"])
def test_a_run_cannot_be_resumed_from_a_file_of_another_kind(capsys, tmp_path, kind):
    path, model = tmp_path / "run.pt", command.build("transformer", 8)
    if kind == "text":
        path.write_text("step 5", encoding="utf-8")
    elif kind == "model":
        save_checkpoint(path, model)
    else:
        save_training(path, model, torch.optim.Adam(model.parameters()), 5)
    text = refused(capsys, "--checkpoint", path, "--resume")
    assert "argument --resume: " in text
    assert {
        "text": "which is text that begins with 'step 5'",
        "model": "the checkpoint must be one of this command, got ",
        "training": "the checkpoint must be one of this command, got ",
    }[kind] in text


@pytest.mark.parametrize("how", ["same", "relative", "link", "hard link", "link to nothing yet"])
def test_the_model_and_the_checkpoint_cannot_be_one_file(capsys, tmp_path, monkeypatch, how):
    path = other = tmp_path / "run.pt"
    monkeypatch.chdir(tmp_path)
    if how == "relative":
        (tmp_path / "folder").mkdir()
        other = "folder/../run.pt"
    elif how != "same":
        other = tmp_path / "other.pt"
        if how == "hard link":
            path.touch()
            other.hardlink_to(path)
        else:
            if how == "link":
                path.touch()
            other.symlink_to("run.pt")
    text = refused(capsys, "--checkpoint", path, "--save", other)
    assert "argument --save: must name another file than --checkpoint, got" in text


def test_checking_the_paths_at_the_start_leaves_no_file_behind(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "train", lambda options, device: None)
    paths = ["--checkpoint", tmp_path / "run.pt", "--save", tmp_path / "model.pt"]
    assert run(capsys, *paths) == []
    assert not list(tmp_path.iterdir())


def test_a_killed_run_resumes_bit_for_bit(tmp_path):
    """The kill comes at a random moment, and the next run starts from the last checkpoint."""
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
    assert_same_files(*files.values())


def test_the_learning_rate_is_that_of_the_paper_times_the_share_of_steps_left():
    rates = [command.learning_rate(step, 64, 1000) for step in (1, 100, 400, 500, 1000)]
    paper = [64**-0.5 * min(s**-0.5, s * 400**-1.5) for s in (1, 100, 400, 500, 1000)]
    left = [1, 0.901, 0.601, 0.501, 0.001]
    assert rates == pytest.approx([a * b for a, b in zip(paper, left, strict=True)], rel=1e-12)
    with pytest.raises(ValueError, match="step must be at most steps=9, got 10"):
        command.learning_rate(10, 64, 9)


def test_the_command_passes_this_learning_rate_to_fit(capsys, monkeypatch):
    asked = []

    def fit(*_, rate, start, steps, **__):
        asked.extend(rate(step) for step in range(start + 1, steps + 1))
        return [0.0] * (steps - start)

    monkeypatch.setattr(command, "fit", fit)
    run(capsys, "--steps", 20)
    assert asked == [command.learning_rate(step, 8, 20) for step in range(1, 21)]


def test_a_saved_model_keeps_its_loss_curve_as_a_hundred_means(capsys, tmp_path, monkeypatch):
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
def test_the_command_passes_its_label_smoothing_to_fit(capsys, monkeypatch, smoothing):
    asked = []

    def fit(*_, label_smoothing, start, steps, **__):
        asked.append(label_smoothing)
        return [0.0] * (steps - start)

    monkeypatch.setattr(command, "fit", fit)
    run(capsys, "--steps", 1, "--label-smoothing", smoothing)
    run(capsys, "--steps", 1)
    assert asked == [smoothing, 0.1]


@pytest.mark.parametrize("model", command.MODELS)
def test_a_saved_model_has_the_trained_weights_in_float16_and_its_command(capsys, tmp_path, model):
    path, checkpoint = tmp_path / "model.pt", tmp_path / "run.pt"
    files = ["--save", path, "--checkpoint", checkpoint]
    run(capsys, "--model", model, "--steps", 2, *files)
    trained = command.build(model, 8)
    load_checkpoint(checkpoint, trained)
    saved = load_trained(path)
    assert saved.config.d_model == 8
    trained = getattr(trained, "model", trained)  # of a Continuation, its language model
    assert type(saved) is type(trained)
    for name, x in trained.state_dict().items():
        assert_close(saved.state_dict()[name], x.half().float(), rtol=0, atol=0)
    extras, made = (torch.load(file, weights_only=True)["extras"] for file in (checkpoint, path))
    assert made["losses"] == extras["losses"]
    assert len(made["losses"]) == 2
    made = made["command"]
    assert made.startswith("python -m attention_core.train --d-model 8 ")
    assert made.endswith(f"--model {model} --steps 2 --save {path} --checkpoint {checkpoint}")
