"""Time `attention_core` against PyTorch and x-transformers: a Markdown table of ratios.

python benchmarks/compare.py [--quick] [--only SECTION ...] [--threads N] [--pairs N]
"""

import argparse
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from statistics import median

import memory
import models
import timing
import torch
import training as learning
from timing import Times, by_turns, check_equal, measure

from attention_core import greedy_decode

LENGTHS = (64, 256, 512, 1024, 2048)
NEW_TOKENS = 128
targets: list[tuple[str, float, float, bool]] = []  # what, measured, limit, at least?


def batch(L: int, args: argparse.Namespace) -> int:
    """512 tokens per batch, or one sentence: (8, 64), (2, 256), (1, 512), (1, 1024) ..."""
    return max(1, (256 if args.quick else 512) // L)


def ratio(times: Times, name: str, base: str) -> str:
    r = times.ratios(name, base)
    return f"{median(r):.2f} ({min(r):.2f}–{max(r):.2f})"


def print_table(header: list[str]) -> None:
    print(f"\n| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)


def print_row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_against(times: Times, base: str, *labels: object) -> None:
    ours = [name for name in times.seconds if name != base]
    cells: list[object] = [*labels, times.pairs, f"{times.median_ms(base):.3g}"]
    for name in ours:
        cells += [f"{times.median_ms(name):.3g}", ratio(times, name, base)]
    print_row(*cells)


HEADER = ["size", "L", "B", "work", "pairs", "torch ms", "explicit ms", "explicit : torch"]
HEADER += ["fused ms", "fused : torch"]


def exactly_equal(make: Callable[..., dict[str, models.Contestant]], *args: object) -> None:
    """Compare a small case in float64, where rounding cannot hide a difference."""
    torch.set_default_dtype(torch.float64)
    try:
        check_equal(make(*args, 2, 16))
    finally:
        torch.set_default_dtype(torch.float32)


def transformer(args: argparse.Namespace) -> None:
    print("\n### Encoder and decoder, against `nn.Transformer`")
    print(
        "\nPadding and causal masks; train mode with dropout 0; final norms removed from torch's."
    )
    print_table(HEADER)
    for size in models.SIZES:
        exactly_equal(models.transformers, size)
        for L in args.lengths:
            contestants = models.transformers(size, batch(L, args), L)
            check_equal(contestants)
            for mode in ("forward", "forward+backward"):
                times = measure(contestants, mode, pairs=args.pairs, budget=args.budget)
                print_against(times, "torch", size, L, batch(L, args), mode)
                if size == "paper-base" and mode == "forward+backward":
                    for name, limit in (("fused", 1.0), ("explicit", 1.5)):
                        measured = median(times.ratios(name, "torch"))
                        what = f"forward+backward, paper-base, {name} : torch, L = {L}"
                        targets.append((what, measured, limit, False))
    special_cases(args)


def special_cases(args: argparse.Namespace) -> None:
    """Time what torch alone has: is_causal without padding, nested tensors in eval mode."""
    size = "paper-base"
    for L in [L for L in args.lengths if L in (256, 1024)]:
        contestants = models.transformers(size, batch(L, args), L, padded=False)
        check_equal(contestants)
        times = measure(contestants, "forward+backward", pairs=args.pairs, budget=args.budget)
        print_against(
            times, "torch", size, L, batch(L, args), "forward+backward, no padding, is_causal"
        )
    L = 256
    contestants = models.transformers(size, batch(L, args), L)
    for contestant in contestants.values():
        contestant.module.eval()
    check_equal(contestants, where=models.real_tokens(batch(L, args), L))
    times = measure(contestants, "forward", pairs=args.pairs, budget=args.budget)
    print_against(times, "torch", size, L, batch(L, args), "forward, eval: torch's fast path")
    contestants["torch"].module.train()
    twice = {"torch": contestants["torch"], "again": contestants["torch"]}
    times = measure(twice, "forward+backward", pairs=args.pairs, budget=args.budget)
    print(f"\nNoise: nn.Transformer against itself, {size}, L = {L}, forward+backward:", end=" ")
    print(f"{ratio(times, 'again', 'torch')} in {times.pairs} pairs.", flush=True)


def attention(args: argparse.Namespace) -> None:
    print("\n### Self-attention, against `nn.MultiheadAttention(need_weights=False)`")
    print_table(HEADER)
    for size in models.SIZES:
        exactly_equal(models.attentions, size)
        for L in args.lengths:
            contestants = models.attentions(size, batch(L, args), L)
            check_equal(contestants)
            for mode in ("forward", "forward+backward"):
                times = measure(contestants, mode, pairs=args.pairs, budget=args.budget / 2)
                print_against(times, "torch", size, L, batch(L, args), mode)


def x_transformers(args: argparse.Namespace) -> None:
    print("\n### Encoder, against x-transformers\n")
    if importlib.util.find_spec("x_transformers") is None:
        print("Skipped: x-transformers is not installed (see benchmarks/README.md).")
        return
    print("No mask. Explicit against explicit, fused against `attn_flash`; ours adds biases of 0.")
    header = ["size", "L", "B", "work", "ours", "pairs", "x-transformers ms", "ours ms", "ratio"]
    print_table(header)
    for size in models.SIZES:
        for L in [L for L in args.lengths if L in (256, 1024)]:
            for variant, pair in models.x_transformers_encoders(size, batch(L, args), L).items():
                check_equal(pair)
                for mode in ("forward", "forward+backward"):
                    times = measure(pair, mode, pairs=args.pairs, budget=args.budget / 2)
                    print_against(times, "x-transformers", size, L, batch(L, args), mode, variant)


def decoding(args: argparse.Namespace) -> None:
    print(f"\n### Greedy decoding, {NEW_TOKENS} tokens for one source of 64\n")
    print("`nn.Transformer` has no cache: it and the rows `no cache` compute all tokens again.")
    print_table(["size", "way", "pairs", "ms per token", "no cache : this"])
    for size in ("small",) if args.quick else models.SIZES:
        both = models.translators(size, NEW_TOKENS + 1)
        src = torch.randint(3, 1000, (1, 64))

        ways = {
            "explicit, cache": (both.explicit, True),
            "explicit, no cache": (both.explicit, False),
            "fused, cache": (both.fused, True),
            "fused, no cache": (both.fused, False),
            "nn.Transformer, no cache": (both.torch, False),
        }
        calls = {
            name: partial(
                greedy_decode,
                model,
                src,
                bos_id=models.BOS,
                eos_id=models.EOS,
                max_len=NEW_TOKENS,
                use_cache=use_cache,
            )
            for name, (model, use_cache) in ways.items()
        }
        results = {name: call() for name, call in calls.items()}
        for name, result in results.items():
            assert result.shape == (1, NEW_TOKENS), f"{name} stopped early"
            assert torch.equal(result, results["explicit, cache"]), f"{name} writes other tokens"
        times = by_turns(calls, pairs=args.pairs, budget=2 * args.budget)
        for name in calls:
            full = name.replace(", cache", ", no cache")
            per_token = f"{times.median_ms(name) / NEW_TOKENS:.3g}"
            print_row(size, name, times.pairs, per_token, ratio(times, full, name))
            if full != name:
                what = f"greedy decoding, {size}, {name.split(',')[0]}: no cache : cache"
                targets.append((what, median(times.ratios(full, name)), 5.0, True))


def training(args: argparse.Namespace) -> None:
    print("\n### Training, chapter 10's model and batches\n")
    print(f"{learning.STEPS} updates at a time: batches, loss, gradient, clipping, Adam.")
    print_table(["model", "pairs", "updates per second", "this : torch"])
    runs = learning.runs()
    times = by_turns(runs, pairs=args.pairs, budget=5 * args.budget)
    for name in runs:
        speed = f"{learning.STEPS * 1000 / times.median_ms(name):.1f}"
        print_row(name, times.pairs, speed, ratio(times, "torch", name))
        if name == "fused":  # the one that the chapter trains
            what = f"updates per second, chapter 10's model, {name} : torch"
            targets.append((what, median(times.ratios("torch", name)), 1.0, True))


def peaks(args: argparse.Namespace) -> None:
    print("\n### Peak memory of one attention, forward and backward\n")
    print("One sentence, one head, d_k 64, MiB above the inputs. Exponent of growth: log-log")
    print("slope over the longest three; and of the increments, where fixed scratch drops out.")
    sizes = [512, 1024, 2048, 4096] if args.quick else [512, 1024, 2048, 4096, 8192]
    print_table(["mask", "attention", *(f"L = {L}" for L in sizes), "slope", "of increments"])
    for name, mask, values in memory.rows(sizes):
        exponents = memory.slope(sizes[-3:], values[-3:]), memory.increment_slope(values)
        print_row(
            mask, name, *(f"{v / 2**20:.2f}" for v in values), *(f"{e:.2f}" for e in exponents)
        )


SECTIONS: dict[str, Callable[[argparse.Namespace], None]] = {
    "transformer": transformer,
    "attention": attention,
    "decoding": decoding,
    "training": training,
    "x-transformers": x_transformers,
    "memory": peaks,
}


def main() -> None:
    sys.stdout.reconfigure(encoding="utf-8")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute: few short cases")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--pairs", type=int, default=15, help="at most; long cases take fewer")
    parser.add_argument("--lengths", type=int, nargs="+", help="instead of 64 ... 2048")
    parser.add_argument(
        "--cpu-time", action="store_true", help="time of the process: for a busy machine"
    )
    args = parser.parse_args()
    args.budget = 0.7 if args.quick else 6.0  # seconds per row, three pairs at least
    args.lengths = args.lengths or ((64, 256) if args.quick else LENGTHS)
    if args.cpu_time:
        timing.clock = time.process_time
    if args.quick:
        args.pairs = min(args.pairs, 5)
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    # Torch warns that its fast path is a prototype,
    warnings.filterwarnings("ignore", message="The PyTorch API of nested tensors")
    # and that pre-norm does not take it.
    warnings.filterwarnings("ignore", message="enable_nested_tensor is True")
    print(
        f"torch {torch.__version__}, CPU, {args.threads} threads, float32, "
        f"{'CPU' if args.cpu_time else 'wall'} time. ",
        end="",
    )
    print(f"Up to {args.pairs} pairs per row; median ratio (smallest–largest); below 1: ours wins.")
    for section in args.only:
        SECTIONS[section](args)
    if targets:
        print("\n### Targets")
        print_table(["what", "median", "target", "met"])
        for what, measured, limit, at_least in targets:
            met = measured >= limit if at_least else measured <= limit
            sign = "≥" if at_least else "≤"
            print_row(what, f"{measured:.2f}", f"{sign} {limit}", "yes" if met else "no")


if __name__ == "__main__":
    main()
