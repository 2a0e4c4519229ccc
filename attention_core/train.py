"""Train a model to translate dates: ``python -m attention_core.train --steps 2000``.

The same under ``torchrun --nproc-per-node 2 -m attention_core.train ...``, where several
processes share the work, with gloo on CPUs or with nccl on GPUs, one GPU for each process.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from attention_core import _options
from attention_core._arguments import count, device_name, share
from attention_core.continuation import Continuation
from attention_core.dates import BOTH, SOURCE, TARGET, DateBatches
from attention_core.distributed import processes
from attention_core.language_model import LanguageModel
from attention_core.recurrent import RecurrentConfig, RecurrentTranslator
from attention_core.training import (
    evaluate,
    fit,
    load_training,
    save_trained,
    save_training,
    warmup_rate,
)
from attention_core.training.files import check_can_write, read_saved
from attention_core.transformer import Transformer, TransformerConfig

MODELS = ("transformer", "gru", "gru-attention", "decoder-only")
#: How often a run reports its loss and writes its checkpoint.
REPORTS = 10
WARMUP = 400
NUM_HEADS = 4
#: Options that may differ when a run is resumed. All others are stored and compared.
FREE_OPTIONS = frozenset({"device", "checkpoint", "resume", "stop", "save", "command"})


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command's options.

    >>> arguments().parse_args(["--steps", "7", "--model", "gru"]).model
    'gru'
    """
    parser = argparse.ArgumentParser(
        prog="python -m attention_core.train",
        description="Train a model to translate English dates into Chinese ones.",
    )
    parser.add_argument("--model", choices=MODELS, default="transformer")
    parser.add_argument("--d-model", type=_width, default=64, help="width (default: %(default)s)")
    # Examples are drawn anew for every batch, so there is little to overfit.
    parser.add_argument("--dropout", type=share, default=0.0, help="(default: %(default)s)")
    parser.add_argument("--label-smoothing", type=share, default=0.1, help="(default: %(default)s)")
    parser.add_argument(
        "--steps", type=count, default=2000, help="updates in all (default: %(default)s)"
    )
    parser.add_argument(
        "--batch-size",
        type=partial(count, maximum=2**16),
        default=64,
        help="pairs per update (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=partial(count, minimum=0),
        default=0,
        help="of weights, batches and dropout (default: %(default)s)",
    )
    parser.add_argument(
        "--device", type=device_name, help="cpu or cuda (default: cuda if there is one)"
    )
    parser.add_argument("--checkpoint", type=Path, help="file to write, ten times in a run")
    parser.add_argument(
        "--resume", action="store_true", help="go on from the checkpoint, if it exists"
    )
    parser.add_argument(
        "--stop", type=count, help="stop after this update; --resume goes on from there"
    )
    parser.add_argument(
        "--save", type=Path, help="file for the finished model, in half precision, with its sizes"
    )
    parser.set_defaults(command=f"{parser.prog} ...")
    return parser


def _width(text: str) -> int:
    number = count(text, maximum=2**12)
    if number % NUM_HEADS:
        raise argparse.ArgumentTypeError(
            f"must be divisible by the number of heads, {NUM_HEADS}, got {number}"
        )
    return number


def build(name: str, d_model: int, dropout: float = 0.0) -> nn.Module:
    """Build a small model, one of `MODELS`, for the vocabularies of the dates.

    The Transformer is pre-norm, which trains more reliably with so few updates. Its
    feed-forward layers are 2 d_model wide. It uses torch's fused attention and norm, which
    are faster than ours and give the same results. All this holds for the decoder-only model,
    too. Its five layers have nearly as many parameters as the Transformer's two encoder and
    two decoder layers; its vocabulary is `BOTH`.

    Raises:
        ValueError: name is unknown, d_model is not divisible by 4, the number of heads, or
            dropout is not between 0 and 1

    >>> type(build("transformer", 8)).__name__
    'Transformer'
    """
    if name not in MODELS:
        raise ValueError(f"name must be one of {', '.join(MODELS)}, got {name!r}")
    if name in ("transformer", "decoder-only"):
        two = name == "transformer"
        config = TransformerConfig(
            src_vocab_size=len(SOURCE if two else BOTH),
            tgt_vocab_size=len(TARGET if two else BOTH),
            d_model=d_model,
            num_heads=NUM_HEADS,
            num_layers=2 if two else 5,
            d_ff=2 * d_model,
            dropout=dropout,
            norm_first=True,
        )
        fused: dict[str, Any] = {"attention": F.scaled_dot_product_attention, "norm": nn.LayerNorm}
        if two:
            return Transformer(config, **fused)
        return Continuation(LanguageModel(config, **fused))
    return RecurrentTranslator(
        RecurrentConfig(
            src_vocab_size=len(SOURCE),
            tgt_vocab_size=len(TARGET),
            d_model=d_model,
            dropout=dropout,
            attention=name == "gru-attention",
        )
    )


def learning_rate(step: int, d_model: int, steps: int) -> float:
    """Return the paper's learning rate times the fraction of the run that is left.

    In a run of minutes 1/√step does not fall far. The factor brings the rate to nearly 0 at
    the end, where a high rate would keep the parameters moving.

    Raises:
        ValueError: step is below 1 or above steps, or d_model is below 1
        TypeError: an argument is not an int

    >>> f"{learning_rate(1000, 64, 2000) / warmup_rate(1000, 64, WARMUP):.4f}"
    '0.5005'
    """
    _options.check_count("steps", steps, minimum=1)
    rate = warmup_rate(step, d_model, WARMUP)
    if step > steps:
        raise ValueError(f"step must be at most steps={steps}, got {step}")
    return rate * (1 - (step - 1) / steps)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command with the given arguments, or with those of the command line.

    >>> main(["--steps", "0"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    parser = arguments()
    options = parser.parse_args(argv)
    given = sys.argv[1:] if argv is None else argv
    options.command = shlex.join(["python", "-m", "attention_core.train", *given])
    if options.resume and options.checkpoint is None:
        parser.error("--resume needs the --checkpoint to go on from")
    if options.stop is not None and options.checkpoint is None:
        parser.error("--stop needs a --checkpoint, or what was learned is lost")
    _check_files(parser, options)
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        if not (dist.is_available() and dist.is_torchelastic_launched()):
            train(options, torch.device(device))
            return
        if device == "cuda":
            device = f"cuda:{os.environ['LOCAL_RANK']}"
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
        try:
            train(options, torch.device(device))
        finally:
            dist.destroy_process_group()
    except CannotResume as error:
        parser.error(f"argument --resume: {error}")


def _check_files(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Check now that the files can be written, so that no run of hours ends unsaved."""
    paths = {name: getattr(options, name) for name in ("checkpoint", "save")}
    for name, path in paths.items():
        if path is not None:
            try:
                check_can_write(path)
            except OSError as error:
                parser.error(f"argument --{name}: {error}")
    if None not in paths.values() and _is_one_file(*paths.values()):
        parser.error(
            f"argument --save: must name another file than --checkpoint, got {options.save} "
            f"and {options.checkpoint}"
        )


def _is_one_file(a: Path, b: Path) -> bool:
    if a.exists() and b.exists():
        return a.samefile(b)
    return os.path.realpath(a) == os.path.realpath(b)


class CannotResume(ValueError):
    """The checkpoint does not fit this run, so the run cannot be resumed from it."""


def train(options: argparse.Namespace, device: torch.device) -> None:
    """Train as the options say; process 0 reports on stdout and writes the files.

    It prints the model's name and size, then ten times the mean loss since the last report,
    then the accuracy on validation dates. A run that is interrupted and resumed prints the
    same lines.

    Raises:
        CannotResume: (a ValueError) the checkpoint was not written by this command, or
            belongs to a run with other settings

    >>> options = arguments().parse_args(["--steps", "1", "--d-model", "4"])
    >>> train(options, torch.device("cpu"))  # doctest: +ELLIPSIS
    transformer: ... parameters, on cpu in one process
    step 1, loss ...
    validation: 0.0% of the dates, ...% of the tokens
    """
    rank, number = processes()
    torch.manual_seed(options.seed)
    model = build(options.model, options.d_model, options.dropout).to(device)
    # The weights are the same in all processes; dropout differs between them.
    torch.manual_seed(options.seed + rank)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    target = BOTH if options.model == "decoder-only" else TARGET
    batches = DateBatches("train", options.batch_size, seed=options.seed, target=target)
    settings = {name: x for name, x in vars(options).items() if name not in FREE_OPTIONS}
    done, losses = 0, list[float]()
    if options.resume and options.checkpoint.exists():
        done, losses = _resume(options.checkpoint, settings, model, optimizer)
    if rank == 0:
        size = sum(parameter.numel() for parameter in model.parameters())
        shared = f"{number} processes" if number > 1 else "one process"
        print(f"{options.model}: {size:,} parameters, on {device.type} in {shared}")
    end = min(options.stop or options.steps, options.steps)
    reports = {options.steps * n // REPORTS for n in range(1, REPORTS + 1)} | {end}
    for report in sorted(reports):
        if not done < report <= end:
            continue
        new = fit(
            model,
            batches,
            steps=report,
            optimizer=optimizer,
            rate=lambda step: learning_rate(step, options.d_model, options.steps),
            start=done,
            label_smoothing=options.label_smoothing,
            clip=1.0,
        )
        done, losses = report, losses + new
        if options.checkpoint is not None:
            notes = {"settings": settings, "losses": losses}
            save_training(options.checkpoint, model, optimizer, done, **notes)
        if rank == 0:
            print(f"step {done}, loss {sum(new) / len(new):.4f}", flush=True)
    if rank == 0 and done < options.steps:
        print(f"stopped; --resume makes the other {options.steps - done} updates")
    elif rank == 0:
        held_out = DateBatches("validation", 64, seed=0, target=target)
        accuracy = evaluate(
            model,
            [held_out[i] for i in range(8)],
            bos_id=target.BOS,
            eos_id=target.EOS,
        )
        print(f"validation: {accuracy.exact:.1%} of the dates, {accuracy.tokens:.1%} of the tokens")
        if options.save is not None:
            notes = {"command": options.command, "losses": _means(losses, 100)}
            trained = model.model if isinstance(model, Continuation) else model
            save_trained(options.save, trained, **notes)


def _resume(
    path: Path, settings: dict[str, Any], model: nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[int, list[float]]:
    """Load the checkpoint, if it is of a run with these settings; return step and losses."""
    try:
        _, extras = read_saved(path, "save_training")
        if "settings" not in extras or "losses" not in extras:
            raise CannotResume(f"the checkpoint must be one of this command, got {path}")
        begun = extras["settings"]
        if changed := [name for name in begun if begun[name] != settings.get(name)]:
            raise CannotResume(
                "a run must be resumed with the settings it was begun with, got "
                + ", ".join(f"{_option(n)} {settings.get(n)} for {begun[n]}" for n in changed)
            )
        return load_training(path, model, optimizer), list(extras["losses"])
    except (OSError, ValueError) as error:
        raise CannotResume(str(error)) from error


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _means(numbers: Sequence[float], parts: int) -> list[float]:
    """Cut the numbers into ``parts`` runs of equal length, or fewer, and average each."""
    parts = min(parts, len(numbers))
    ends = [len(numbers) * n // parts for n in range(parts + 1)]
    return [sum(numbers[a:b]) / (b - a) for a, b in pairwise(ends)]


if __name__ == "__main__":
    main()
