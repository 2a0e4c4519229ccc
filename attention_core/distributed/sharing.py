"""Attention shared by several processes in three ways, each with the result of one process.

Heads, sentences or keys can be shared. The functions run in every process of a
torch.distributed group, all with the same arguments; each takes its own part. From a
notebook, `run_processes` starts the group. On a command line,
``python -m attention_core.distributed`` does, or torch's launcher. With these options
the launcher finds the processes through files; by default it listens for other machines:

    export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
    torchrun --nproc-per-node 2 --rdzv-backend c10d --rdzv-conf store_type=file \\
        --rdzv-endpoint FILE -m attention_core.distributed --store ANOTHER_FILE
"""

import argparse
import copy
import os
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode

from attention_core._arguments import count
from attention_core.attention import MultiHeadAttention
from attention_core.blockwise import Summary, merge, mixture, summarize
from attention_core.distributed.launch import loopback, processes, run_processes
from attention_core.functional import scaled_dot_product_attention


class Share(NamedTuple):
    """Hold the results of one process.

    Args:
        output: for all sentences and queries; in `by_sentences`, for its own sentences
        gradients: of output.square().mean(), by name; in `by_keys`, only its own rows of k, v
        held: how many of the shared numbers it stores
        sent: how many numbers it sends, in the forward and in the backward pass
    """

    output: Tensor
    gradients: dict[str, Tensor]
    held: int
    sent: tuple[int, int]


def alone(attend: MultiHeadAttention, x: Tensor) -> Share:
    """Compute self-attention, and the gradients of its mean square, in one process.

    Shape:
        x: (B, L, d_model)

    >>> alone(MultiHeadAttention(4, 2), torch.zeros(1, 3, 4)).sent
    (0, 0)
    """
    attend, x = copy.deepcopy(attend), x.detach().clone().requires_grad_()
    output = attend(x, x, x)
    _backward(output)
    return Share(output.detach(), _gradients(attend) | {"x": _grad(x)}, _numel(attend), (0, 0))


def by_heads(attend: MultiHeadAttention, x: Tensor) -> Share:
    """Share the heads: each process has rows of W_q, W_k, W_v and columns of W_o.

    The outputs of all heads are added up. So each process waits for the others once in the
    forward pass, and once for each of query, key and value in the backward pass.

    Shape:
        x: (B, L, d_model), the same in all processes

    Raises:
        ValueError: the number of heads, or of key heads, is not divisible by the number of
            processes

    Source: Shoeybi et al. 2019, section 3.
    """
    _, number = processes()
    for name in ("num_heads", "num_kv_heads"):
        if getattr(attend, name) % number:
            raise ValueError(
                f"{name} must be divisible by the number of processes, "
                f"got {name}={getattr(attend, name)} and {number} processes"
            )
    plan: dict[str, Any] = {name: ColwiseParallel() for name in ("q_proj", "k_proj", "v_proj")}
    plan["out_proj"] = RowwiseParallel()
    mine: Any = parallelize_module(copy.deepcopy(attend), init_device_mesh("cpu", (number,)), plan)
    mine.num_heads = attend.num_heads // number  # its own heads, each as wide as before
    mine.num_kv_heads = attend.num_kv_heads // number
    x = x.detach().clone().requires_grad_()
    with Traffic() as forward:
        output = mine(x, x, x)
    with Traffic() as backward:
        _backward(output)
    held = sum(p.to_local().numel() for p in mine.parameters() if isinstance(p, DTensor))
    gradients = _gradients(mine) | {"x": _grad(x)}
    return Share(output.detach(), gradients, held, (forward.numbers, backward.numbers))


def by_sentences(attend: MultiHeadAttention, x: Tensor, weighted: bool = True) -> Share:
    """Share the sentences: each process has some of them and a copy of the whole module.

    Torch's DistributedDataParallel averages the gradients of the processes, which is right
    if all have equally many sentences. ``weighted`` weights each process by its number of
    sentences, which is always right.

    Shape:
        x: (B, L, d_model), the same in all processes

    Raises:
        ValueError: there are fewer sentences than processes

    Source: `torch.nn.parallel.DistributedDataParallel`.
    """
    rank, number = processes()
    if x.shape[0] < number:
        raise ValueError(
            f"x must have a sentence for each of the {number} processes, got {tuple(x.shape)}"
        )
    own = x.detach().tensor_split(number)[rank].clone()
    mine = DistributedDataParallel(copy.deepcopy(attend))
    with Traffic() as forward:
        output = mine(own, own, own)
    share = own.shape[0] * number / x.shape[0] if weighted else 1.0
    with Traffic() as backward:
        _backward(output, share)
    sent = forward.numbers, backward.numbers
    return Share(output.detach(), _gradients(mine.module), own.numel(), sent)


def by_keys(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Share:
    """Share the keys and values: each process has some of them and sends a `Summary`.

    Shape:
        q: (..., L, d_k)    k: (..., S, d_k)    v: (..., S, d_v)
        mask: bool, broadcastable to (..., L, S)

    Source: Milakov and Gimelshein 2018, section 3.1, for the merge. Liu et al. 2023 pass
    the keys from process to process instead, and share the queries as well.
    """
    rank, number = processes()
    own_k, own_v = (x.detach().tensor_split(number, dim=-2)[rank].clone() for x in (k, v))
    if mask is not None:
        mask = mask.expand(*mask.shape[:-1], k.shape[-2]).tensor_split(number, dim=-1)[rank]
    q, own_k, own_v = (x.detach().clone().requires_grad_() for x in (q, own_k, own_v))
    own = summarize(q, own_k, own_v, mask)
    message = torch.cat([x.detach() for x in own], dim=-1)  # (..., L, d_v + 2)
    received = [torch.empty_like(message) for _ in range(number)]
    with Traffic() as forward:
        dist.all_gather(received, message)
    widths = [1, 1, message.shape[-1] - 2]
    parts = [Summary(*torch.split(x, widths, dim=-1)) for x in received]
    parts[rank] = own  # the same numbers, with their graph for the backward pass
    output = mixture(reduce(merge, parts))
    # Every process has the whole output, so the gradients of its own keys are complete.
    # Those of the queries are sums over all processes.
    _backward(output)
    with Traffic() as backward:
        dist.all_reduce(d_q := _grad(q))
    gradients = {"q": d_q, "k": _grad(own_k), "v": _grad(own_v)}
    held = own_k.numel() + own_v.numel()
    return Share(output.detach(), gradients, held, (forward.numbers, backward.numbers))


class Traffic(TorchDispatchMode):
    """Count the numbers that this process sends to others.

    Each number counts once, although gloo may send it several times when there are more than
    two processes.

    >>> with Traffic() as traffic:
    ...     _ = torch.zeros(3) + 1
    >>> traffic.numbers
    0
    """

    # Which argument holds what a process contributes.
    CONTRIBUTION = {"all_reduce": 0, "allreduce_": 0, "allgather_": 1}  # noqa: RUF012
    SILENT = ("wait_tensor", "_wrap_tensor_autograd")

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.numbers = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        namespace, _, name = func.name().split(".")[0].partition("::")
        if "c10d" in namespace and name not in self.SILENT:
            given = torch.utils._pytree.tree_leaves(args[self.CONTRIBUTION[name]])
            self.numbers += sum(x.numel() for x in given)
        return func(*args, **(kwargs or {}))


def _backward(output: Tensor, factor: float = 1.0) -> None:
    (output.square().mean() * factor).backward()  # type: ignore[no-untyped-call]


def _grad(x: Tensor) -> Tensor:
    assert x.grad is not None
    return x.grad.full_tensor() if isinstance(x.grad, DTensor) else x.grad


def _gradients(module: torch.nn.Module) -> dict[str, Tensor]:
    return {name: _grad(parameter) for name, parameter in module.named_parameters()}


def _numel(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def example() -> tuple[MultiHeadAttention, Tensor, tuple[Tensor, Tensor, Tensor]]:
    """Make a module, sentences for it, and q, k, v, the same in every process; all float64.

    Shape:
        the module: d_model 12, 4 heads    x: (4, 5, 12)    q: (2, 5, 3)    k, v: (2, 7, 3)

    >>> example()[1].shape
    torch.Size([4, 5, 12])
    """
    g = torch.Generator().manual_seed(0)
    attend = MultiHeadAttention(12, 4).double()
    for parameter in attend.parameters():
        parameter.data = torch.randn(parameter.shape, generator=g, dtype=torch.float64) / 3
    x, q = (torch.randn(s, generator=g, dtype=torch.float64) for s in [(4, 5, 12), (2, 5, 3)])
    k, v = torch.randn(2, 2, 7, 3, generator=g, dtype=torch.float64)
    return attend, x, (q, k, v)


def difference(a: Tensor, b: Tensor) -> float:
    """Return the largest difference between two tensors of one shape.

    >>> difference(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.5]))
    0.5
    """
    return (a - b).abs().max().item()


def report() -> str:
    """Compare the three ways, run in the current group on the `example`, with one process."""
    attend, x, (q, k, v) = example()
    rank, number = processes()
    one, lines = alone(attend, x), []
    for way in (by_heads, by_sentences):
        share = way(attend, x)
        rows = one.output if way is by_heads else one.output.tensor_split(number)[rank]
        wrong = [difference(share.output, rows)]
        wrong += [difference(g, one.gradients[name]) for name, g in share.gradients.items()]
        lines.append(_line(way.__name__, max(wrong), share))
    share = by_keys(q, k, v)
    wrong = [difference(share.output, scaled_dot_product_attention(q, k, v))]
    lines.append(_line("by_keys", max(wrong), share))
    return "\n".join(lines)


def _line(name: str, wrong: float, share: Share) -> str:
    verdict = "equal to one process" if wrong < 1e-12 else f"WRONG by {wrong:.1e}"
    return f"{name:12} {verdict}, numbers sent: {share.sent[0]} forward, {share.sent[1]} backward"


def main(argv: Sequence[str] | None = None) -> None:
    """Run `report` in a group and print the result of process 0.

    >>> main(["--processes", "0"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    parser = argparse.ArgumentParser(prog="python -m attention_core.distributed")
    parser.add_argument("--processes", type=count, default=2, help="(default: %(default)s)")
    parser.add_argument("--store", help="under torchrun: a new file through which they meet")
    options = parser.parse_args(argv)
    if not dist.is_torchelastic_launched():
        print(run_processes(report, options.processes)[0])
        return
    if options.store is None:
        parser.error("under torchrun, --store must name a new file through which they meet")
    rank, number = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    os.environ["GLOO_SOCKET_IFNAME"] = loopback()
    store = dist.FileStore(options.store, number)  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=rank, world_size=number)
    try:
        text = report()
        if rank == 0:
            print(text)
        dist.barrier()
    finally:
        dist.destroy_process_group()
