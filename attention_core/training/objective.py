"""The training objective: shifted targets, the loss and the learning rate schedule."""

import torch
from torch import Tensor

from attention_core import _checks, _options
from attention_core.masks import has_id


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
    """Average the cross-entropy, in nats, over the tokens that are not padding.

    With ``label_smoothing`` the target distribution spreads that share evenly over all tokens
    except padding, which is never a label and gets probability 0. ``pad_id`` is only
    compared with the targets, so it may lie outside the vocabulary, as torch's -100 does.
    A NaN among the logits makes the loss NaN.

    Shape:
        logits: (B, L, V)    targets: ids (B, L)
        returns: a scalar; 0 if every target is padding. For logits in half precision the
        loss is computed and returned in float32, as under autocast

    Raises:
        ValueError: the shapes do not fit, label_smoothing is not between 0 and 1, or a target
            is neither a token of the vocabulary nor pad_id (checked on the CPU; on a GPU,
            where that would force a synchronisation, torch's own assertion fails)
        TypeError: logits are not floating-point, targets are not integers, or pad_id is not
            an int

    Source: Vaswani et al. 2017, section 5.4; Szegedy et al. 2016, section 7.

    >>> sequence_loss(torch.zeros(1, 4, 5), torch.tensor([[2, 1, 0, 0]]), pad_id=0)
    tensor(1.6094)
    """
    _checks.check_floating("logits", logits, min_dim=3)
    _checks.check_ids("targets", targets)
    pad_id = _options.check_int("pad_id", pad_id)
    _options.check_probability("label_smoothing", label_smoothing)
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            "logits must have shape (B, L, V) and targets (B, L), "
            f"got logits {_checks.shape(logits)} and targets {_checks.shape(targets)}"
        )
    V = logits.shape[-1]
    # In half precision the sum over a large batch overflows, and the mean has only three digits.
    precise = torch.promote_types(logits.dtype, torch.float32)
    log_p = torch.log_softmax(logits, dim=-1, dtype=precise)
    padded = has_id(targets, pad_id)
    looked_up = targets.long().masked_fill(padded, 0).unsqueeze(-1)
    try:
        loss = -log_p.gather(-1, looked_up).squeeze(-1)
    except RuntimeError:
        _check_vocabulary(logits, targets, padded, pad_id)
        raise
    if label_smoothing > 0.0:
        allowed = ~has_id(torch.arange(V, device=logits.device), pad_id)
        uniform = -log_p.masked_fill(~allowed, 0.0).sum(dim=-1) / allowed.sum().clamp(min=1)
        loss = (1.0 - label_smoothing) * loss + label_smoothing * uniform
    return loss.masked_fill(padded, 0.0).sum() / (~padded).sum().clamp(min=1)


def _check_vocabulary(logits: Tensor, targets: Tensor, padded: Tensor, pad_id: int) -> None:
    """Raise an error that names the first target outside the vocabulary, if there is one."""
    V = logits.shape[-1]
    outside = targets[~padded & ((targets < 0) | (targets >= V))]
    if outside.numel():
        raise ValueError(
            f"targets must be at least 0 and below V = {V}, or equal pad_id={pad_id}, "
            f"got {outside[0].item()} and logits {_checks.shape(logits)}"
        ) from None


def warmup_rate(step: int, d_model: int, warmup: int) -> float:
    """Return the paper's learning rate: it rises linearly up to ``warmup``, then falls as 1/√step.

    Updates are counted from 1, as in `fit`. Torch's scheduler counts from 0: give it the
    number of the next update.

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
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(
    ...     optimizer, lambda step: warmup_rate(step + 1, 512, 4000)
    ... )
    """
    for name, value in (("step", step), ("d_model", d_model), ("warmup", warmup)):
        try:
            _options.check_count(name, value, minimum=1)
        except ValueError as error:
            if (name, value) != ("step", 0):
                raise
            hint = "with LambdaLR, which counts from 0, use warmup_rate(step + 1, ...)"
            raise ValueError(f"{error}; {hint}") from None
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))
