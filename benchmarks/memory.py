"""Peak memory of one attention, forward and backward, as the length grows."""

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from attention_core import causal_mask, scaled_dot_product_attention

FUNCTIONS = {"explicit": scaled_dot_product_attention, "fused": F.scaled_dot_product_attention}
MASKS: dict[str, Callable[[int], Tensor | None]] = {
    "none": lambda L: None,
    "padding (1, 1, 1, L)": lambda L: torch.arange(L).view(1, 1, 1, L) < L - L // 4,
    "causal (L, L)": causal_mask,
}
D_K = 64


@contextmanager
def quiet() -> Iterator[None]:
    """Some builds of the profiler tell of every start and stop on the standard error."""
    saved = os.dup(2)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def peak_bytes(call: Callable[[], None]) -> int:
    """Largest sum of bytes that torch's allocator had handed out during the call.

    The profiler sees every allocation and release on the CPU, the scratch space inside
    fused kernels too, and nothing of what was there before.
    """
    with quiet(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        call()
    events = [
        event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"
    ]
    current = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        current += event.nbytes()
        peak = max(peak, current)
    return peak


def slope(sizes: list[int], peaks: list[int]) -> float:
    """Exponent of a power law through the points: log-log slope, by least squares."""
    x, y = [math.log(n) for n in sizes], [math.log(n) for n in peaks]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return products / sum((a - mx) ** 2 for a in x)


def increment_slope(peaks: list[int]) -> float:
    """The same from the last two doublings' increments: scratch of fixed size drops out."""
    return math.log2((peaks[-1] - peaks[-2]) / (peaks[-2] - peaks[-3]))


def rows(sizes: list[int]) -> Iterator[tuple[str, str, list[int]]]:
    """Name, mask, peak bytes for each length."""
    for mask_name, make in MASKS.items():
        for name, attention in FUNCTIONS.items():
            yield name, mask_name, [peak_of(attention, make(L), L) for L in sizes]


def peak_of(attention: Callable[..., Tensor], mask: Tensor | None, L: int) -> int:
    q, k, v = (torch.randn(1, 1, L, D_K, requires_grad=True) for _ in range(3))
    cotangent = torch.ones(1, 1, L, D_K)

    def call() -> None:
        attention(q, k, v, mask, dropout_p=0.0).backward(cotangent)

    return peak_bytes(call)
