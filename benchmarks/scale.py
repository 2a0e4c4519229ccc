"""Make the table of chapter 13: memory, time, decoding with a cache, half precision.

python benchmarks/scale.py     # all of it, under six minutes; the machine must do nothing else

Writes attention_core/data/scale.json, with its provenance. To make one part only, give its
name: ``python benchmarks/scale.py memory``. Everything runs on the CPU in one thread. The
compiled row needs a C++ compiler.
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

import models
import torch
import torch.nn.functional as F
from memory import D_K, peak_of
from timing import by_turns
from torch import Tensor
from why_attention import processor

from attention_core import greedy_decode, scaled_dot_product_attention
from attention_core.blockwise import blockwise_attention

TABLE = Path(__file__).parent.parent / "attention_core" / "data" / "scale.json"
HEADS, BLOCK = 4, 128
KINDS: dict[str, Callable[..., Tensor]] = {
    "explicit": scaled_dot_product_attention,
    "fused": F.scaled_dot_product_attention,
    "blockwise": partial(blockwise_attention, block_size=BLOCK),
}
MEMORY_LENGTHS = (128, 256, 512, 1024, 2048, 4096)
TIME_LENGTHS = (256, 512, 1024, 2048)
DECODED, SOURCE = (64, 128, 256, 512), 64
HALF_LENGTH, DTYPES = 1024, (torch.float32, torch.bfloat16, torch.float16)
PAIRS, BUDGET = 51, 12.0


def memory() -> dict[str, Any]:
    """Measure peak bytes of one attention, forward and backward, one head, float32, no mask."""
    rows = []
    for n in MEMORY_LENGTHS:
        row = {"n": n} | {kind: peak_of(call, None, n) for kind, call in KINDS.items()}
        rows.append(shown(row))
    return {"settings": {"d_k": D_K, "block_size": BLOCK, "unit": "bytes"}, "rows": rows}


def inputs(n: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    g = torch.Generator().manual_seed(n)
    return [torch.randn(1, HEADS, n, D_K, generator=g).to(dtype).requires_grad_() for _ in range(3)]


def both_ways(call: Callable[..., Tensor], x: list[Tensor]) -> tuple[Tensor, ...]:
    output = call(*x)
    return output, *torch.autograd.grad(output, x, torch.ones_like(output))


def times() -> dict[str, Any]:
    """Time forward and backward in ms, after a check that all results agree."""
    rows = []
    for n in TIME_LENGTHS:
        torch.compiler.reset()
        compiled = torch.compile(scaled_dot_product_attention, dynamic=False)
        x = inputs(n)
        calls = {
            kind: partial(both_ways, call, x)
            for kind, call in {**KINDS, "compiled": compiled}.items()
        }
        expected = calls["explicit"]()
        for call in calls.values():
            call()  # the compiled one is compiled by its first call
            torch.testing.assert_close(call(), expected, rtol=1e-4, atol=1e-4)
        measured = by_turns(calls, pairs=PAIRS, budget=BUDGET)
        row = {"n": n, "pairs": measured.pairs}
        rows.append(shown(row | {kind: round(measured.median_ms(kind), 3) for kind in calls}))
    settings = {"heads": HEADS, "d_k": D_K, "block_size": BLOCK, "unit": "ms, forward + backward"}
    return {"settings": settings, "rows": rows}


def decoding() -> dict[str, Any]:
    """Time greedy decoding of n tokens, with and without a cache, for one sentence."""
    translator = models.translators("small", max(SOURCE, *DECODED) + 1).explicit
    src = torch.randint(3, 1000, (1, SOURCE), generator=torch.Generator().manual_seed(0))
    rows = []
    for n in DECODED:
        calls = {
            name: partial(
                greedy_decode,
                translator,
                src,
                bos_id=models.BOS,
                eos_id=models.EOS,
                max_len=n,
                use_cache=name == "cache",
            )
            for name in ("cache", "no cache")
        }
        with_cache, without = (call() for call in calls.values())
        if with_cache.shape != (1, n) or not torch.equal(with_cache, without):
            sys.exit(f"with and without a cache, {n} tokens differ or stop early")
        measured = by_turns(calls, pairs=PAIRS, budget=BUDGET)
        row = {"n": n, "pairs": measured.pairs}
        rows.append(shown(row | {name: round(measured.median_ms(name), 2) for name in calls}))
    return {"settings": {**models.SIZES["small"], "unit": "ms"}, "rows": rows}


@torch.no_grad()
def half() -> dict[str, Any]:
    """Time the forward pass, and measure the largest error against float64.

    The inputs of both are the same rounded numbers.
    """
    given = {dtype: [x.detach() for x in inputs(HALF_LENGTH, dtype)] for dtype in DTYPES}
    calls = {
        f"{kind} {str(dtype)[6:]}": partial(KINDS[kind], *x)
        for kind in ("explicit", "fused")
        for dtype, x in given.items()
    }
    exact = {dtype: KINDS["explicit"](*(y.double() for y in x)) for dtype, x in given.items()}
    results = {name: call() for name, call in calls.items()}
    measured = by_turns(calls, pairs=PAIRS, budget=BUDGET)
    rows = []
    for name, result in results.items():
        kind, dtype = name.split()
        error = (result.double() - exact[result.dtype]).abs().max().item()
        row = {"kind": kind, "dtype": dtype, "pairs": measured.pairs}
        rows.append(shown(row | {"ms": round(measured.median_ms(name), 3), "error": error}))
    settings = {"n": HALF_LENGTH, "heads": HEADS, "d_k": D_K, "unit": "ms, forward"}
    return {"settings": settings, "rows": rows}


def shown(row: dict[str, Any]) -> dict[str, Any]:
    print(json.dumps(row), flush=True)
    return row


PARTS = {"memory": memory, "time": times, "decoding": decoding, "half": half}


def provenance() -> dict[str, Any]:
    """Return when, on which machine and by which command this part was made."""
    return {
        "command": " ".join(["python benchmarks/scale.py", *sys.argv[1:]]),
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
        "torch": torch.__version__.split("+")[0],
        "machine": f"{platform.machine()}, {torch.get_num_threads()} thread",
        "processor": processor(),
    }


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    for name in names or PARTS:
        torch.manual_seed(0)
        table[name] = PARTS[name]() | {"made": provenance()}
        text = json.dumps(table, indent=1, sort_keys=True)
        TABLE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="(default: all)")
    main(parser.parse_args().parts)
