"""Make the table of chapter 15: the dates by continuation, against the encoder-decoder.

python benchmarks/continuation.py     # about half an hour on one core

Trains each model with several seeds on the same batches, and the decoder-only model also with
a loss that counts the source as well. Writes attention_core/data/continuation.json, with its
provenance. A run that was interrupted resumes after the last finished model.
"""

import json
import platform
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from why_attention import processor

from attention_core import evaluate, fit
from attention_core.continuation import join_pairs
from attention_core.dates import BOTH, TARGET, DateBatches
from attention_core.train import build, learning_rate

TABLE = Path(__file__).parent.parent / "attention_core" / "data" / "continuation.json"
WIDTH, BATCH, SMOOTHING = 64, 64, 0.1  # as in chapter 10
EXAMINED, SEEDS = 1000, (0, 1, 2, 3, 4)
#: Model, what the loss counts, number of updates, seeds.
RUNS = (
    ("decoder-only", "target", 2000, SEEDS),
    ("transformer", "target", 2000, SEEDS),
    ("decoder-only", "target", 500, SEEDS[:2]),
    ("decoder-only", "source and target", 500, SEEDS[:2]),
)


class WholeSequences:
    """Make batches without a source: ``source BOS target EOS`` is one target."""

    def __init__(self, batches: DateBatches) -> None:
        self.batches = batches

    def __getitem__(self, step: int) -> tuple[Tensor, Tensor]:
        src, tgt = self.batches[step]
        return src[:, :0], join_pairs(src, tgt, pad_id=BOTH.PAD)


def trained(model: str, counted: str, steps: int, seed: int) -> dict[str, Any]:
    """Train and evaluate one model."""
    torch.manual_seed(seed)
    translator = build(model, WIDTH)
    target = BOTH if model == "decoder-only" else TARGET
    batches = DateBatches("train", BATCH, seed=seed, target=target)
    fit(
        translator,
        batches if counted == "target" else WholeSequences(batches),
        steps=steps,
        optimizer=torch.optim.Adam(translator.parameters(), betas=(0.9, 0.98), eps=1e-9),
        rate=lambda step: learning_rate(step, WIDTH, steps),
        label_smoothing=SMOOTHING,
        clip=1.0,
    )
    held_out = DateBatches("test", 100, seed=5, target=target)
    score = evaluate(
        translator,
        [held_out[n] for n in range(EXAMINED // 100)],
        bos_id=target.BOS,
        eos_id=target.EOS,
    )
    return {
        "model": model,
        "counted": counted,
        "steps": steps,
        "seed": seed,
        "parameters": sum(p.numel() for p in translator.parameters()),
        "exact": score.exact,
        "tokens": round(score.tokens, 5),
    }


def provenance() -> dict[str, Any]:
    """Return when, on which machine and by which command the table was made."""
    return {
        "command": "python benchmarks/continuation.py",
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "torch": torch.__version__.split("+")[0],
        "machine": f"{platform.machine()}, 1 thread",
        "processor": processor(),
    }


def main() -> None:
    torch.set_num_threads(1)
    settings = {
        "d_model": WIDTH,
        "batch_size": BATCH,
        "label_smoothing": SMOOTHING,
        "examined": EXAMINED,
    }
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    runs = table.get("runs", []) if table.get("settings") == settings else []
    for model, counted, steps, seeds in RUNS:
        for seed in seeds:
            asked = {"model": model, "counted": counted, "steps": steps, "seed": seed}
            if any(asked.items() <= old.items() for old in runs):
                continue
            runs.append(trained(model, counted, steps, seed))
            table = {"settings": settings, "runs": runs, "made": provenance()}
            lines = json.dumps(table, indent=1, sort_keys=True)
            TABLE.write_text(lines + "\n", encoding="utf-8")
            print(json.dumps(runs[-1]), flush=True)


if __name__ == "__main__":
    main()
