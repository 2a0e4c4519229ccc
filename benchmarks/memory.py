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
    """Silence standard error, where some builds of the profiler report each start and stop."""
    saved = os.dup(2)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def peak_bytes(call: Callable[[], None]) -> int:
    """Return the largest number of bytes that torch had allocated at once during the call.

    The profiler records every allocation and release on the CPU, also of scratch space inside
    fused kernels, but nothing that was allocated before the call.
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
    """Fit the exponent of a power law: the log-log slope, by least squares."""
    x, y = [math.log(n) for n in sizes], [math.log(n) for n in peaks]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    return products / sum((a - mx) ** 2 for a in x)


def increment_slope(peaks: list[int]) -> float:
    """Compute the exponent from the increments of the last two doublings.

    Scratch space of fixed size cancels there.
    """
    return math.log2((peaks[-1] - peaks[-2]) / (peaks[-2] - peaks[-3]))


def rows(sizes: list[int]) -> Iterator[tuple[str, str, list[int]]]:
    """Yield name, mask, and the peak bytes for each length."""
    for mask_name, make in MASKS.items():
        for name, attention in FUNCTIONS.items():
            yield name, mask_name, [peak_of(attention, make(L), L) for L in sizes]


def peak_of(attention: Callable[..., Tensor], mask: Tensor | None, L: int) -> int:
    q, k, v = (torch.randn(1, 1, L, D_K, requires_grad=True) for _ in range(3))
    cotangent = torch.ones(1, 1, L, D_K)

    def call() -> None:
        attention(q, k, v, mask, dropout_p=0.0).backward(cotangent)

    return peak_bytes(call)
