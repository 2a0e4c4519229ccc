"""What training minimises and how fast: the shifted targets, the loss, the learning rate."""

import torch
from torch import Tensor

from attention_core import _checks


def shift_targets(tgt: Tensor) -> tuple[Tensor, Tensor]:
    """Split target sentences into what the decoder reads and what it must predict.

    From BOS a b EOS the decoder reads BOS a b, and at each of these predicts a b EOS.

    Shape:
        tgt: ids (B, L + 1) with BOS and EOS
        returns: ids (B, L) to read, ids (B, L) to predict

    Raises:
        ValueError: tgt is not (B, at least 2)
        TypeError: tgt is not an integer tensor

    >>> shift_targets(torch.tensor([[1, 5, 6, 2]]))
    (tensor([[1, 5, 6]]), tensor([[5, 6, 2]]))
    """
    _checks.check_ids("tgt", tgt)
    if tgt.shape[1] < 2:
        raise ValueError(f"tgt must hold at least BOS and EOS, got shape {_checks.shape(tgt)}")
    return tgt[:, :-1], tgt[:, 1:]


def sequence_loss(
    logits: Tensor, targets: Tensor, *, pad_id: int, label_smoothing: float = 0.0
) -> Tensor:
    """Cross-entropy in nats, averaged over real tokens only.

    With ``label_smoothing`` the target distribution gives that share to all tokens alike,
    except to padding, which is never a right answer and gets nothing.

    Shape:
        logits: (B, L, V)    targets: ids (B, L)
        returns: a scalar; 0 if every target is padding

    Raises:
        ValueError: the shapes do not fit, or label_smoothing is not between 0 and 1
        TypeError: logits are not floating-point, or targets are not integers

    Source: Vaswani et al. 2017, section 5.4; Szegedy et al. 2016, section 7.

    >>> sequence_loss(torch.zeros(1, 4, 5), torch.tensor([[2, 1, 0, 0]]), pad_id=0)
    tensor(1.6094)
    """
    _checks.check_floating("logits", logits, min_dim=3)
    _checks.check_ids("targets", targets)
    _checks.check_probability("label_smoothing", label_smoothing)
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            "logits must have shape (B, L, V) and targets (B, L), "
            f"got logits {_checks.shape(logits)} and targets {_checks.shape(targets)}"
        )
    log_p = torch.log_softmax(logits, dim=-1)
    real = targets != pad_id
    loss = -log_p.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)
    if label_smoothing > 0.0:
        V = logits.shape[-1]
        allowed = torch.arange(V, device=logits.device) != pad_id
        uniform = -log_p.masked_fill(~allowed, 0.0).sum(dim=-1) / allowed.sum()
        loss = (1.0 - label_smoothing) * loss + label_smoothing * uniform
    return loss.masked_fill(~real, 0.0).sum() / real.sum().clamp(min=1)


def warmup_rate(step: int, d_model: int, warmup: int) -> float:
    """The paper's learning rate: linear up to step ``warmup``, then falling as 1/√step.

    Args:
        step: number of the update, counted from 1
        d_model: width of the model
        warmup: number of updates until the peak

    Raises:
        ValueError: an argument is below 1
        TypeError: an argument is not an int

    Source: Vaswani et al. 2017, equation (3). The book's chapter 10.

    >>> f"{warmup_rate(4000, 512, 4000):.4e}"
    '6.9877e-04'
    """
    for name, value in (("step", step), ("d_model", d_model), ("warmup", warmup)):
        _checks.check_count(name, value, minimum=1)
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
