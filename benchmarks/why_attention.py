"""Make the table of chapter 11: accuracy against length, and the cost of a layer.

python benchmarks/why_attention.py lengths     # about an hour and a half on one core
python benchmarks/why_attention.py layers      # two minutes; the machine must do nothing else

Each writes its part of attention_core/data/why_attention.json, with its provenance. A run of
`lengths` that was interrupted resumes after the last finished model.
"""

import argparse
import json
import platform
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import torch
from timing import by_turns
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from attention_core import MultiHeadAttention, evaluate, fit
from attention_core.alternatives import KINDS, layer_operations, local_attention
from attention_core.dates import TARGET, DateBatches
from attention_core.train import build, learning_rate

TABLE = Path(__file__).parent.parent / "attention_core" / "data" / "why_attention.json"
MODELS = ("transformer", "gru", "gru-attention")
TRAINED_ON, EVALUATED_ON = (1, 2, 3), (1, 2, 3, 4, 5, 6)  # dates in one text
STEPS, LONG, WIDTH, BATCH, HELD_OUT = 3000, 12_000, 64, 64, 500
SCALES, SEEDS = (0.5, 1.0, 2.0), (0, 1, 2)
LENGTHS, LAYER_WIDTH, KERNEL, RADIUS = (16, 32, 64, 128, 256, 512, 1024, 2048), 128, 3, 8


def provenance() -> dict[str, Any]:
    """Return when, on which machine and by which command this part was made."""
    threads = torch.get_num_threads()
    return {
        "command": f"python benchmarks/why_attention.py {' '.join(sys.argv[1:])}",
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "torch": torch.__version__.split("+")[0],
        "machine": f"{platform.machine()}, {threads} thread{'s' if threads > 1 else ''}",
        "processor": processor(),
    }


def processor() -> str:
    """Return the processor's name: from Linux, or elsewhere from Python's ``platform``."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def read() -> dict[str, Any]:
    return json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}


def write(part: str, content: dict[str, Any]) -> None:
    table = read()
    table[part] = content
    lines = json.dumps(table, indent=1, sort_keys=True)
    TABLE.write_text(lines + "\n", encoding="utf-8")


def held_out(split: str, dates: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    batches = DateBatches(split, 100, seed=0, pool=1, parts=dates)
    return [batches[n] for n in range(HELD_OUT // 100)]


def trained(model: str, scale: float, seed: int, steps: int) -> dict[str, Any]:
    """Train and evaluate one model."""
    torch.manual_seed(seed)
    translator = build(model, WIDTH)
    losses = fit(
        translator,
        DateBatches("train", BATCH, seed=seed, parts=TRAINED_ON),
        steps=steps,
        optimizer=torch.optim.Adam(translator.parameters(), betas=(0.9, 0.98), eps=1e-9),
        rate=lambda step: scale * learning_rate(step, WIDTH, steps),
        clip=1.0,
    )
    ids = {"bos_id": TARGET.BOS, "eos_id": TARGET.EOS}
    validation = [evaluate(translator, held_out("validation", n), **ids).exact for n in TRAINED_ON]
    scores = [evaluate(translator, held_out("test", n), **ids) for n in EVALUATED_ON]
    return {
        "model": model,
        "scale": scale,
        "seed": seed,
        "steps": steps,
        "parameters": sum(p.numel() for p in translator.parameters()),
        "loss": round(sum(losses[-100:]) / 100, 4),
        "validation": round(sum(validation) / len(validation), 4),
        "exact": [score.exact for score in scores],
        "tokens": [round(score.tokens, 4) for score in scores],
    }


def lengths() -> None:
    """Train every model at three learning rates, and at the best one with other seeds."""
    content = read().get("lengths", {})
    settings = {
        "trained_on": TRAINED_ON,
        "dates": EVALUATED_ON,
        "source_length": [
            round(sum((src != 0).sum().item() for src, _ in held_out("test", n)) / HELD_OUT, 1)
            for n in EVALUATED_ON
        ],
        "examined": HELD_OUT,
        "d_model": WIDTH,
        "batch_size": BATCH,
    }
    settings = json.loads(json.dumps(settings))
    runs = content.get("runs", []) if content.get("settings") == settings else []

    def run(model: str, scale: float, seed: int, steps: int = STEPS) -> dict[str, Any]:
        asked = {"model": model, "scale": scale, "seed": seed, "steps": steps}
        for old in runs:
            if asked.items() <= old.items():
                return old
        new = trained(**asked)
        runs.append(new)
        write("lengths", {"settings": settings, "runs": runs, "made": provenance()})
        print(json.dumps(new), flush=True)
        return new

    for model in MODELS:
        tried = [run(model, scale, SEEDS[0]) for scale in SCALES]
        best = max(tried, key=lambda mark: mark["validation"])["scale"]
        for seed in SEEDS[1:]:
            run(model, best, seed)
        if model == "gru":  # does it only need more updates?
            run(model, best, SEEDS[0], LONG)


def layer(kind: str, d: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Make one layer of the kind, from (1, n, d) to (1, n, d)."""
    if kind == "recurrent":
        gru = nn.GRU(d, d, batch_first=True)
        return lambda x: gru(x)[0]
    if kind == "convolutional":
        convolution = nn.Conv1d(d, d, KERNEL, padding=KERNEL // 2)
        return lambda x: convolution(x.mT).mT
    attend = MultiHeadAttention(d, 1)
    if kind == "restricted":
        attend.attention = lambda q, k, v, mask=None, /, *, dropout_p: local_attention(
            q, k, v, RADIUS
        )
    return lambda x: attend(x, x, x)


@torch.no_grad()
def layers(pairs: int) -> None:
    """Check the FLOPs that torch counts, and time all kinds of layers by turns."""
    torch.set_num_threads(1)
    rows = []
    for n in LENGTHS:
        x = torch.randn(1, n, LAYER_WIDTH)
        calls = {kind: partial(layer(kind, LAYER_WIDTH), x) for kind in KINDS}
        for kind, call in calls.items():
            with FlopCounterMode(display=False) as counter:
                call()
            expected = layer_operations(kind, n, LAYER_WIDTH, kernel=KERNEL, radius=RADIUS)
            if counter.get_total_flops() != 2 * expected:
                sys.exit(f"{kind}, n = {n}: {counter.get_total_flops()} FLOPs, not 2 · {expected}")
        for call in calls.values():
            call()
        times = by_turns(calls, pairs=pairs, budget=20.0)
        row = {"n": n, "pairs": times.pairs}
        row |= {kind: round(times.median_ms(kind), 4) for kind in KINDS}
        rows.append(row)
        print(json.dumps(row), flush=True)
    settings = {"d": LAYER_WIDTH, "kernel": KERNEL, "radius": RADIUS, "unit": "ms, forward"}
    write("layers", {"settings": settings, "rows": rows, "made": provenance()})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("part", choices=["lengths", "layers"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=101)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.part == "lengths":
        lengths()
    else:
        layers(options.pairs)
