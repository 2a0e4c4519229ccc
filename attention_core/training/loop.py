"""The training loop.

Under ``torchrun`` several processes train one model together: each takes its share of every
batch, and the result is that of one process with the whole batch.
"""

import sys
from collections.abc import Callable
from typing import Any, Protocol, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer

from attention_core import _checks, _options
from attention_core.distributed.launch import processes
from attention_core.masks import has_id
from attention_core.training.objective import sequence_loss, shift_targets


class Batches(Protocol):
    """The batches that `fit` takes, for example a list of pairs.

    Batches are indexed, so that interrupted training can resume in the middle. An iterator,
    a DataLoader for example, could only start again from the beginning.
    """

    def __getitem__(self, step: int, /) -> tuple[Tensor, Tensor]: ...


def fit(
    model: nn.Module,
    batches: Batches,
    *,
    steps: int,
    optimizer: Optimizer,
    rate: Callable[[int], float],
    start: int = 0,
    label_smoothing: float = 0.0,
    clip: float | None = None,
    progress: bool | None = None,
) -> list[float]:
    """Train until ``steps`` updates are made, and return the loss before each of them.

    Update number ``step``, counted from 1, learns from ``batches[step - 1]`` at the learning
    rate ``rate(step)``. The model with all its parts is put into training mode and stays in
    it: call ``model.eval()`` before decoding.

    If the loss, or with ``clip`` the gradient norm, is NaN or infinite, training stops with
    an error that names the step. On the CPU that step's update is not made; on a GPU, where
    reading a number forces a synchronisation, the last ten steps are checked together.

    Under ``torch.autocast`` the weights stay in float32. Use bfloat16: gradients in float16
    would have to be scaled, which this loop does not do.

    With several processes (``torch.distributed``) each calls `fit` with the same arguments.
    All begin with the weights of process 0; loss and gradient are those of the whole batch.

    Args:
        model: called as ``model(src, tgt)``, with ``config.pad_id``, as a `Transformer` has
        batches: ``batches[i]`` is a pair ``src, tgt``
        steps: the total number of updates, those before ``start`` included
        optimizer: of the model's parameters; its learning rate is set before each update
        start: the number of updates already made, from `load_training`
        label_smoothing: as in `sequence_loss`
        clip: the largest gradient norm, over all parameters together; a larger gradient is
            scaled down to it
        progress: show a line on stderr; by default only in a terminal

    Shape:
        src: ids (B, S)    tgt: ids (B, L + 1) with BOS and EOS
        returns: ``steps - start`` numbers

    Raises:
        ValueError: start is negative or above steps, there are fewer batches than steps, clip
            is not above 0, a batch has fewer rows than there are processes, or the loss or
            (with clip) the gradient norm is not finite; and as `shift_targets` and `sequence_loss`
        TypeError: steps or start is not an int, batches cannot be indexed, or a batch is not
            a pair of integer tensors

    Source: Vaswani et al. 2017, section 5.

    >>> from attention_core import Transformer, TransformerConfig
    >>> sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 16, "dropout": 0.0}
    >>> model = Transformer(TransformerConfig(src_vocab_size=7, tgt_vocab_size=7, **sizes))
    >>> pair = torch.tensor([[5, 6]]), torch.tensor([[1, 6, 5, 2]])
    >>> adam = torch.optim.Adam(model.parameters())
    >>> losses = fit(model, [pair] * 9, steps=9, optimizer=adam, rate=lambda step: 0.01)
    >>> len(losses), losses[8] < losses[0]
    (9, True)
    """
    start = _options.check_count("start", start, minimum=0)
    steps = _options.check_count("steps", steps, minimum=start)
    _check_batches(batches, start, steps)
    if clip is not None and not clip > 0.0:
        raise ValueError(f"clip must be above 0, or None for no limit, got {clip}")
    rank, number = processes()
    if number > 1:
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, src=0)
    if progress is None:
        progress = sys.stderr.isatty()
    model.train()
    losses: list[Tensor] = []
    norms: list[Tensor] = []
    for step in range(start + 1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = float(rate(step))
        optimizer.zero_grad()
        # Autocast's cache holds casts of the parameters from before the last update.
        torch.clear_autocast_cache()
        src, tgt = check_pair(f"batches[{step - 1}]", batches[step - 1])
        losses.append(_backward(model, src, tgt, label_smoothing))
        if clip is not None:
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), clip).detach())
        if losses[-1].device.type == "cpu" or step % 10 == 0 or step == steps:
            _check_finite("the loss", losses[-10:], step)
            _check_finite("the gradient norm", norms[-10:], step)
        optimizer.step()
        # Every tenth step only, because on a GPU reading a number forces a synchronisation.
        if progress and rank == 0 and (step % 10 == 0 or step == steps):
            end = "\n" if step == steps else ""
            print(f"\rstep {step} of {steps}, loss {losses[-1]:.4f} ", end=end, file=sys.stderr)
            sys.stderr.flush()
    return [loss.item() for loss in losses]


def _check_batches(batches: Any, start: int, steps: int) -> None:
    """Check that batches can be indexed, and, if their number is known, that it suffices."""
    if not hasattr(batches, "__getitem__"):
        raise TypeError(
            "batches must be indexable, so that batches[i] is a pair src, tgt, got "
            f"{type(batches).__name__}; list(batches) can be indexed"
        )
    if steps > start and hasattr(batches, "__len__") and len(batches) < steps:
        raise ValueError(
            f"batches must hold a batch for each of the steps={steps}, got {len(batches)}; "
            "repeat them for several passes"
        )


def check_pair(name: str, batch: Any) -> tuple[Tensor, Tensor]:
    """Check that ``batch`` is a pair of ids, src and tgt, with a row for each sentence."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        given = f"{len(batch)} items" if isinstance(batch, (tuple, list)) else type(batch).__name__
        raise TypeError(f"{name} must be a pair src, tgt, got {given}")
    src, tgt = batch
    _checks.check_ids("src", src)
    _checks.check_ids("tgt", tgt)
    if src.shape[0] != tgt.shape[0]:
        raise ValueError(
            "src and tgt must have the same batch size B, "
            f"got src {_checks.shape(src)} and tgt {_checks.shape(tgt)}"
        )
    return src, tgt


def _check_finite(name: str, values: list[Tensor], step: int) -> None:
    """Check that the last values, up to that of ``step``, are neither NaN nor infinite."""
    if not values:
        return
    bad = (~torch.stack(values).isfinite()).nonzero()
    if len(bad):
        first = int(bad[0])
        raise ValueError(
            f"{name} must stay finite, got {values[first].item()} at step "
            f"{step - len(values) + 1 + first}; a lower learning rate or clip may help"
        )


def _backward(model: nn.Module, src: Tensor, tgt: Tensor, label_smoothing: float) -> Tensor:
    """Compute the loss of the batch, and leave its gradient in the parameters."""
    rank, number = processes()
    device, pad_id = next(model.parameters()).device, cast(Any, model.config).pad_id
    if src.shape[0] < number:
        # Every process gets the same batch, so all stop here and none waits for another.
        raise ValueError(
            f"a batch must have a row for each of the {number} processes, "
            f"got src {_checks.shape(src)}"
        )
    read, predict = shift_targets(tgt.to(device))
    num_tokens = (~has_id(predict, pad_id)).sum()
    src, read, predict = (ids[rank::number] for ids in (src.to(device), read, predict))
    loss = sequence_loss(model(src, read), predict, pad_id=pad_id, label_smoothing=label_smoothing)
    if number > 1:
        # The mean of the processes' means would be wrong: their numbers of tokens differ.
        loss = loss * (~has_id(predict, pad_id)).sum() / num_tokens.clamp(min=1)
    loss.backward()  # type: ignore[no-untyped-call]
    if number == 1:
        return loss.detach()
    return _sum_over_processes(loss.detach(), model)


def _sum_over_processes(loss: Tensor, model: nn.Module) -> Tensor:
    """Add up the loss and, in place, the gradients of all processes, in one message."""
    gradients = [x.grad for x in model.parameters() if x.grad is not None]
    message = torch.cat([loss.view(1), *(x.flatten() for x in gradients)])
    dist.all_reduce(message)
    total, *sums = torch.split(message, [1, *(x.numel() for x in gradients)])
    for gradient, part in zip(gradients, sums, strict=True):
        gradient.copy_(part.view_as(gradient))
    return total.squeeze()
