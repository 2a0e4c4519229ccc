"""From batches to a trained model: the training loop and the evaluation.

Under ``torchrun`` several processes train one model together: each takes its share of every
batch, and the result is that of one process with the whole batch.
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer

from attention_core import _checks
from attention_core.decoding import Translator, greedy_decode
from attention_core.distributed.launch import processes
from attention_core.training.objective import sequence_loss, shift_targets


class Batches(Protocol):
    """What `fit` needs of its batches; a list of pairs has it.

    That a batch can be asked for by its number, and not only the next one be drawn, is what
    makes it possible to resume in the middle.
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
    rate ``rate(step)``. The model is put into training mode and stays in it: call
    ``model.eval()`` before decoding.

    With several processes (``torch.distributed``) each calls `fit` with the same arguments.
    All begin with the weights of process 0; loss and gradient are those of the joined batch.

    Args:
        model: called as ``model(src, tgt)``, with ``config.pad_id``; a `Transformer` is
        batches: ``batches[i]`` is a pair ``src, tgt``
        steps: the number of updates when training ends, those before ``start`` included
        optimizer: of the model's parameters; its learning rate is set before each update
        start: the number of updates made before, from `load_training`
        label_smoothing: as in `sequence_loss`
        clip: the greatest length of the gradient, all parameters together; longer ones are
            shortened to it
        progress: show a line on stderr; by default only in a terminal

    Shape:
        src: ids (B, S)    tgt: ids (B, L + 1) with BOS and EOS
        returns: ``steps - start`` numbers

    Raises:
        ValueError: start is negative or above steps, clip is not above 0, or a batch has
            fewer rows than there are processes; and as `shift_targets` and `sequence_loss`
        TypeError: steps or start is not an int

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
    _checks.check_count("start", start, minimum=0)
    _checks.check_count("steps", steps, minimum=start)
    if clip is not None and not clip > 0.0:
        raise ValueError(f"clip must be above 0, or None for no limit, got {clip}")
    rank, number = processes()
    if number > 1:
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, src=0)
    if progress is None:
        progress = sys.stderr.isatty()
    model.train()
    losses = []
    for step in range(start + 1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = float(rate(step))
        optimizer.zero_grad()
        losses.append(_backward(model, *batches[step - 1], label_smoothing))
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        # Seldom, because on a GPU reading a number means waiting for it.
        if progress and rank == 0 and (step % 10 == 0 or step == steps):
            end = "\n" if step == steps else ""
            print(f"\rstep {step} of {steps}, loss {losses[-1]:.4f} ", end=end, file=sys.stderr)
            sys.stderr.flush()
    return [loss.item() for loss in losses]


def _backward(model: nn.Module, src: Tensor, tgt: Tensor, label_smoothing: float) -> Tensor:
    """The loss of the batch; its gradient is left in the parameters."""
    rank, number = processes()
    device, pad_id = next(model.parameters()).device, cast(Any, model.config).pad_id
    if src.shape[0] < number:
        # Every process sees the same batch, so all stop here and none waits for another.
        raise ValueError(
            f"a batch must have a row for each of the {number} processes, "
            f"got src {_checks.shape(src)}"
        )
    read, predict = shift_targets(tgt.to(device))
    num_tokens = (predict != pad_id).sum()
    src, read, predict = (ids[rank::number] for ids in (src.to(device), read, predict))
    loss = sequence_loss(model(src, read), predict, pad_id=pad_id, label_smoothing=label_smoothing)
    if number > 1:
        # The mean of the processes' means would be wrong: their numbers of tokens differ.
        loss = loss * (predict != pad_id).sum() / num_tokens.clamp(min=1)
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


@dataclass(frozen=True)
class Accuracy:
    """How much of what a model wrote is right, each between 0 and 1.

    See chapter 10 of the book.

    Args:
        exact: share of the sentences that greedy decoding writes without a mistake
        tokens: share of the tokens, EOS counted, that are predicted when the decoder reads
            the right beginning

    >>> Accuracy(exact=0.5, tokens=0.75)
    Accuracy(exact=0.5, tokens=0.75)
    """

    exact: float
    tokens: float


@torch.no_grad()
def evaluate(
    model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]], *, bos_id: int, eos_id: int
) -> Accuracy:
    """Compare what the model writes with the right translations.

    The model is in eval mode meanwhile. How sentences are cut into batches and padded does
    not matter.

    Args:
        model: as in `greedy_decode`, and called as ``model(src, tgt)``
        batches: pairs ``src, tgt``, as many as are to be examined: not an endless sequence

    Shape:
        src: ids (B, S)    tgt: ids (B, L + 1) with BOS and EOS

    Raises:
        ValueError: there is no sentence in batches; and as `shift_targets`
        TypeError: as `greedy_decode`

    >>> from attention_core import Transformer, TransformerConfig
    >>> sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 16}
    >>> _ = torch.manual_seed(0)
    >>> model = Transformer(TransformerConfig(src_vocab_size=7, tgt_vocab_size=7, **sizes))
    >>> pair = torch.tensor([[5, 6]]), torch.tensor([[1, 6, 5, 2]])
    >>> evaluate(model, [pair], bos_id=1, eos_id=2).exact
    0.0
    """
    device, pad_id = next(model.parameters()).device, cast(Any, model.config).pad_id
    was_training = model.training
    model.eval()
    exact = sentences = right = tokens = 0
    try:
        for src, tgt in batches:
            src, (read, predict) = src.to(device), shift_targets(tgt.to(device))
            real = predict != pad_id
            right += int(((model(src, read).argmax(dim=-1) == predict) & real).sum())
            tokens += int(real.sum())
            # One token more than the longest translation, to see that it ends in time.
            written = greedy_decode(
                cast(Translator, model),
                src,
                bos_id=bos_id,
                eos_id=eos_id,
                max_len=predict.shape[1],
            )
            room = predict.shape[1] - written.shape[1]
            written = nn.functional.pad(written, (0, room), value=pad_id)
            wanted = predict.masked_fill(predict == eos_id, pad_id)
            exact += int((written == wanted).all(dim=1).sum())
            sentences += src.shape[0]
    finally:
        model.train(was_training)
    if sentences == 0:
        raise ValueError("batches must hold at least one sentence, got none")
    return Accuracy(exact / sentences, right / max(tokens, 1))
