"""Time contestants by turns, so that a drift of the machine cancels in their ratios."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import torch
from models import Contestant
from torch import Tensor
from torch.testing import assert_close

clock: Callable[[], float] = time.perf_counter


@dataclass
class Times:
    """Seconds of each contestant, round by round."""

    seconds: dict[str, list[float]]

    @property
    def pairs(self) -> int:
        return len(next(iter(self.seconds.values())))

    def median_ms(self, name: str) -> float:
        return median(self.seconds[name]) * 1000

    def ratios(self, name: str, base: str) -> list[float]:
        """One ratio per round, each from two neighbouring measurements."""
        return [a / b for a, b in zip(self.seconds[name], self.seconds[base], strict=True)]


def by_turns(
    calls: dict[str, Callable[[], object]],
    *,
    pairs: int,
    budget: float,
    least: int = 3,
    before: Callable[[], None] | None = None,
) -> Times:
    """Run all calls once per round, the order rotated, for ``pairs`` rounds or ``budget`` s.

    Every call must have run before, as in `check_equal`, so that nothing is measured cold.
    Garbage is collected before the first round, and not during the rounds.
    """
    names = list(calls)
    times = Times({name: [] for name in names})
    gc.collect()
    gc.disable()
    start = time.perf_counter()
    for i in range(pairs):
        if i >= least and (time.perf_counter() - start) * (i + 1) / i > budget:
            break
        for name in names[i % len(names) :] + names[: i % len(names)]:
            if before is not None:
                before()
            begin = clock()
            calls[name]()
            times.seconds[name].append(clock() - begin)
    gc.enable()
    return times


def forward(contestant: Contestant) -> Tensor:
    with torch.no_grad():
        return contestant.call()


def forward_backward(contestant: Contestant) -> Tensor:
    output = contestant.call()
    output.backward(torch.ones_like(output) / output.shape[-1])
    return output


def clear(contestants: dict[str, Contestant]) -> None:
    for contestant in contestants.values():
        contestant.module.zero_grad(set_to_none=True)
        for x in contestant.inputs:
            x.grad = None


def check_equal(contestants: dict[str, Contestant], where: Tensor | None = None) -> None:
    """Check that all contestants have equal outputs and equal gradients of the inputs.

    In float64 everything agrees to 1e-12. In float32 outputs agree to 1e-5; a number close
    to 0 may pass the ReLU of one and not of another, which changes its gradient, so
    gradients are compared as a whole, to 1e-2 of their norm.

    Args:
        where: compare the outputs there only; leaves the gradients out
    """
    expected: list[Tensor] = []
    for name, contestant in contestants.items():
        clear(contestants)
        if where is None:
            output = contestant.call()
            # A plain sum over a norm's output has gradient 0; a weighted sum has not.
            cotangent = torch.linspace(-1, 1, output.numel()).reshape(output.shape)
            output.backward(cotangent)
            found = [output.detach(), *(x.grad.clone() for x in contestant.inputs)]
        else:
            found = [forward(contestant)[where]]
        expected = expected or found
        exact = found[0].dtype == torch.float64
        assert_near(found[0], expected[0], 1e-12 if exact else 1e-5, f"output of {name}")
        for a, b in zip(found[1:], expected[1:], strict=True):
            error = (a - b).norm() / b.norm()
            assert_near(error, error * 0, 1e-12 if exact else 1e-2, f"gradient of {name}")
    clear(contestants)


def assert_near(ours: Tensor, theirs: Tensor, tolerance: float, what: str) -> None:
    # rtol is for large numbers, atol for those that are small by cancellation.
    assert_close(ours, theirs, rtol=tolerance, atol=tolerance, msg=lambda m: f"{what}: {m}")


def measure(contestants: dict[str, Contestant], mode: str, *, pairs: int, budget: float) -> Times:
    work = {"forward": forward, "forward+backward": forward_backward}[mode]
    calls = {name: lambda c=c: work(c) for name, c in contestants.items()}
    return by_turns(calls, pairs=pairs, budget=budget, before=lambda: clear(contestants))
