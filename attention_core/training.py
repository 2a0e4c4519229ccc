"""What training rests on: the shift, the loss, the schedule, checkpoints."""

from collections import OrderedDict
from collections.abc import Mapping
from os import PathLike
from typing import Any

import torch
from torch import Tensor, nn

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


def save_checkpoint(path: str | PathLike[str], model: nn.Module, **extras: Any) -> None:
    """Write the model's tensors, and plain numbers, texts, lists and dicts beside them.

    What ``torch.compile`` puts before the names (``_orig_mod.``) is left out, so a
    checkpoint of a compiled model loads into a plain one.

    Raises:
        TypeError: an extra is neither a tensor nor plain data

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.pt"
    >>> save_checkpoint(path, torch.nn.Linear(2, 3), step=5)
    >>> load_checkpoint(path, torch.nn.Linear(2, 3))
    {'step': 5}
    """
    for name, value in extras.items():
        _check_plain(name, value)
    state = {name.replace("_orig_mod.", ""): x for name, x in model.state_dict().items()}
    torch.save({"model": state, "extras": extras}, path)


def load_checkpoint(path: str | PathLike[str], model: nn.Module) -> dict[str, Any]:
    """Fill ``model`` from a file of `save_checkpoint` and return the extras.

    Only tensors and plain data are read, never code; tensors go to the model's device.

    Raises:
        RuntimeError: names or shapes differ from the model's (raised by torch)

    >>> load_checkpoint("missing.pt", torch.nn.Linear(2, 3))
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'missing.pt'
    """
    saved: Mapping[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    names = {name.replace("_orig_mod.", ""): name for name in model.state_dict()}
    model.load_state_dict({names.get(name, name): x for name, x in saved["model"].items()})
    return dict(saved["extras"])


def _check_plain(name: str, value: Any) -> None:
    if type(value) in (dict, OrderedDict):
        for key, inner in value.items():
            _check_plain(f"a key of {name}", key)
            _check_plain(f"{name}[{key!r}]", inner)
    elif type(value) in (list, tuple, torch.Size):
        for i, inner in enumerate(value):
            _check_plain(f"{name}[{i}]", inner)
    # Not isinstance: np.float64 is a float and an IntEnum an int, and neither can be loaded.
    elif not (isinstance(value, Tensor) or type(value) in (str, int, float, bool, type(None))):
        raise TypeError(
            f"{name} must be a tensor or plain data, which can be loaded safely, "
            f"got {type(value).__name__}"
        )
