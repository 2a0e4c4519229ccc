"""Save and load checkpoints, interrupted training, and finished models."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import as_file, files
from os import PathLike, fspath
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer

from attention_core import _checks, _options
from attention_core.distributed.launch import processes
from attention_core.language_model import LanguageModel
from attention_core.recurrent import RecurrentConfig, RecurrentTranslator
from attention_core.training.files import other_file, read_saved, write_whole
from attention_core.transformer import Transformer, TransformerConfig

_KINDS: dict[str, tuple[Any, Any]] = {
    "Transformer": (Transformer, TransformerConfig),
    "RecurrentTranslator": (RecurrentTranslator, RecurrentConfig),
    "LanguageModel": (LanguageModel, TransformerConfig),
}


def save_checkpoint(path: str | PathLike[str], model: nn.Module, **extras: Any) -> None:
    """Save the model's tensors and the ``extras``: tensors, numbers, strings, lists and dicts.

    The file is written whole or not at all: if writing fails, an older file of that name stays
    as it was. The prefix that ``torch.compile`` puts before names (``_orig_mod.``) is left
    out, so a checkpoint of a compiled model loads into a plain one.

    Raises:
        TypeError: an extra is neither a tensor nor plain data
        OSError: the file cannot be written

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.pt"
    >>> save_checkpoint(path, torch.nn.Linear(2, 3), step=5)
    >>> load_checkpoint(path, torch.nn.Linear(2, 3))
    {'step': 5}
    """
    _save(path, model.state_dict(), extras)


def _save(path: str | PathLike[str], state: Mapping[str, Any], extras: dict[str, Any]) -> None:
    state = {_plain_name(name): x for name, x in state.items()}
    for name, value in [*state.items(), *extras.items()]:
        _check_plain(name, value)
    write_whole(path, {"model": state, "extras": extras})


def _plain_name(name: str) -> str:
    """Return the name without the prefix of `torch.compile`."""
    return name.replace("_orig_mod.", "")


def load_checkpoint(path: str | PathLike[str], model: nn.Module) -> dict[str, Any]:
    """Fill ``model`` from a file of `save_checkpoint` and return the extras.

    Tensors go to the model's device and dtype. If anything does not fit, the model stays as
    it was. Only tensors and plain data are read (torch's ``weights_only=True``). Since torch
    2.6 no file can run code that way; before, a malicious file could (CVE-2025-32434), so
    read files that you do not trust with 2.6 or later only.

    Raises:
        ValueError: the file is of another kind, or its names or shapes differ from the model's
        OSError: there is no such file, or it cannot be read

    >>> load_checkpoint("missing.pt", torch.nn.Linear(2, 3))
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'missing.pt'
    """
    state, extras = read_saved(path, "save_checkpoint")
    _fill(path, model, state)
    return extras


def _fill(path: str | PathLike[str], model: nn.Module, state: dict[str, Tensor]) -> None:
    """Check all names and shapes, then load: torch alone would load a part, then raise."""
    own = model.state_dict()
    names = {_plain_name(name): name for name in own}
    wrong = [f"{name} is missing" for name in names if name not in state]
    wrong += [f"{name} is not in the model" for name in state if name not in names]
    for name, x in state.items():
        there = own.get(names.get(name, ""))
        if isinstance(there, Tensor) and not isinstance(x, Tensor):
            wrong.append(f"{name} must be a tensor, got {type(x).__name__}")
        elif isinstance(there, Tensor) and there.shape != x.shape:
            shapes = f"{_checks.shape(x)} instead of {_checks.shape(there)}"
            wrong.append(f"{name} has shape {shapes}")
    if wrong:
        more = f", and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise ValueError(
            "the file must hold the names and shapes of the model, a "
            f"{type(model).__name__}, got {fspath(path)}, where {', '.join(wrong[:3])}{more}"
        )
    model.load_state_dict({names[name]: x for name, x in state.items()})


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


def save_training(
    path: str | PathLike[str], model: nn.Module, optimizer: Optimizer, step: int, **extras: Any
) -> None:
    """Write all that is needed to resume training as if it had not been interrupted.

    That is the model, the optimizer's state, the number of updates made, and the states of
    torch's random number generators (for dropout) on the CPU and on the model's CUDA device.
    With several processes all must call it; process 0 writes. The ``extras`` are written with them,
    as in `save_checkpoint`: how the run was started, for example. `load_checkpoint` returns them.

    Raises:
        ValueError: step is negative, or an extra is named optimizer_kind or random, which
            are written anyway
        TypeError: step is not an int, or an extra is neither a tensor nor plain data
        OSError: the file cannot be written

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "training.pt"
    >>> model = torch.nn.Linear(2, 3)
    >>> save_training(path, model, torch.optim.Adam(model.parameters()), 5)
    >>> load_training(path, model, torch.optim.Adam(model.parameters()))
    5
    """
    _options.check_count("step", step, minimum=0)
    _check_names("save_training", extras, ("optimizer_kind", "random"))
    rank, number = processes()
    random: list[Any] = [None] * number
    if number > 1:
        dist.all_gather_object(random, _random_state(model))
    else:
        random = [_random_state(model)]
    if rank == 0:
        kind = type(optimizer).__name__
        extras |= {"optimizer": optimizer.state_dict(), "optimizer_kind": kind}
        save_checkpoint(path, model, **extras, step=int(step), random=random)


def _check_names(function: str, extras: Mapping[str, Any], taken: tuple[str, ...]) -> None:
    """Check that no extra has a name that the function itself writes: it would be lost."""
    for name in taken:
        if name in extras:
            raise ValueError(
                f"an extra must not be named {' or '.join(taken)}, which {function} writes "
                f"itself, got {name}={extras[name]!r}"
            )


def load_training(path: str | PathLike[str], model: nn.Module, optimizer: Optimizer) -> int:
    """Restore model and optimizer from a file of `save_training`; return the updates made.

    ``fit(..., start=load_training(path, model, optimizer))`` ends with the same weights, bit
    for bit, as an uninterrupted run on the same machine. If anything does not
    fit, model and optimizer stay as they were.

    Raises:
        ValueError: the file is of another kind, names or shapes differ from the model's, the
            optimizer is of another kind or has other groups, or the number of processes differs
        OSError: there is no such file, or it cannot be read

    >>> model = torch.nn.Linear(2, 3)
    >>> load_training("missing.pt", model, torch.optim.Adam(model.parameters()))
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'missing.pt'
    """
    rank, number = processes()
    state, extras = read_saved(path, "save_training")
    if missing := [name for name in ("optimizer", "step", "random") if name not in extras]:
        what = f"a checkpoint of a model alone: it has no {' and no '.join(missing)}"
        raise other_file(path, "save_training", what)
    if len(extras["random"]) != number:
        raise ValueError(
            "training must be resumed by as many processes as were interrupted, "
            f"got {number} for a file of {len(extras['random'])}"
        )
    _check_optimizer(path, optimizer, extras)
    _fill(path, model, state)
    optimizer.load_state_dict(extras["optimizer"])
    random, device = extras["random"][rank], next(model.parameters()).device
    torch.set_rng_state(random["cpu"])
    if device.type == "cuda" and "cuda" in random:
        torch.cuda.set_rng_state(random["cuda"], device)
    return int(extras["step"])


def _check_optimizer(
    path: str | PathLike[str], optimizer: Optimizer, extras: Mapping[str, Any]
) -> None:
    """Check the kind and the groups of the optimizer; torch checks the groups only."""
    own = type(optimizer).__name__, [len(g["params"]) for g in optimizer.param_groups]
    groups = [len(group["params"]) for group in extras["optimizer"]["param_groups"]]
    saved = extras.get("optimizer_kind", own[0]), groups  # files of version 0.1 have no kind
    if own != saved:
        raise ValueError(
            "optimizer must be as it was saved, got "
            + " for ".join(f"{kind} of {sizes} parameters" for kind, sizes in (own, saved))
            + f" in {fspath(path)}"
        )


def _random_state(model: nn.Module) -> dict[str, Tensor]:
    state, device = {"cpu": torch.get_rng_state()}, next(model.parameters()).device
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def save_trained(path: str | PathLike[str], model: nn.Module, **extras: Any) -> None:
    """Write a `Transformer`, `RecurrentTranslator` or `LanguageModel` for use, not for training.

    Its parameters are rounded to float16, which halves the file. Its sizes are written too, so
    `load_trained` needs nothing else. The ``extras`` go with them, as in `save_checkpoint`:
    how the model was made, for example.

    Raises:
        ValueError: a weight is NaN, infinite, or beyond float16's range of 65504; or an
            extra is named kind or config; or model is a LanguageModel without sinusoids, whose
            attention function holds the positions and cannot be saved
        TypeError: model is of no such kind, or an extra is neither a tensor nor plain data
        OSError: the file cannot be written

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.pt"
    >>> sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 16}
    >>> config = TransformerConfig(src_vocab_size=7, tgt_vocab_size=7, **sizes)
    >>> save_trained(path, Transformer(config), command="by hand")
    >>> load_trained(path).config == config
    True
    """
    kind = type(model).__name__
    if kind not in _KINDS or type(model) is not _KINDS[kind][0]:
        raise TypeError(f"model must be a {' or a '.join(_KINDS)}, got {kind}")
    if isinstance(model, LanguageModel) and model.positions is None:
        raise ValueError("model must have been made with positions=True, got positions=False")
    _check_names("save_trained", extras, ("kind", "config"))
    given: Any = model.config
    # Sizes may be NumPy numbers, which could not be loaded.
    config = {k: x.item() if hasattr(x, "item") else x for k, x in asdict(given).items()}
    half = {name: _halved(name, x) for name, x in model.state_dict().items()}
    _save(path, half, {"kind": kind, "config": config, **extras})


def _halved(name: str, x: Tensor) -> Tensor:
    """Return the tensor in float16 on the CPU; refuse NaN, infinity and numbers too large."""
    if not x.is_floating_point():
        return x.cpu()
    half = x.to("cpu", torch.float16)
    if not half.isfinite().all():
        lost = x[~half.isfinite().to(x.device)][0].item()
        raise ValueError(
            f"weights must be finite and at most {torch.finfo(torch.float16).max:.0f} in size, "
            f"because they are rounded to float16, got {lost} in {name}"
        )
    return half


def load_trained(path: str | PathLike[str] | None = None) -> Any:
    """Load a model of `save_trained` on the CPU, in eval mode and torch's default dtype.

    Without a path, load the model that comes with the package: a Transformer that translates
    the dates of `attention_core.dates`.

    Returns:
        a `Transformer` or `LanguageModel` (with the explicit attention), or a
        `RecurrentTranslator`

    Raises:
        ValueError: the file is of another kind, or its tensors do not fit its sizes
        OSError: there is no such file, or it cannot be read

    >>> model = load_trained()
    >>> model.config.d_model, model.config.num_layers, model.training
    (64, 2, False)
    """
    if path is None:
        return _load_own("dates.pt")
    state, extras = read_saved(path, "save_trained")
    kind, sizes = extras.get("kind"), extras.get("config")
    if not isinstance(kind, str) or kind not in _KINDS or not isinstance(sizes, Mapping):
        what = "a checkpoint without the model's kind and sizes"
        raise other_file(path, "save_trained", what)
    model_of, config_of = _KINDS[kind]
    try:
        model = model_of(config_of(**sizes))
    except (TypeError, ValueError) as error:
        what = f"one of another version of the package: {error}"
        raise other_file(path, "save_trained", what) from error
    _fill(path, model, state)
    return model.eval()


def load_continuation() -> LanguageModel:
    """Load the decoder-only model of the dates that comes with the package, as `load_trained`.

    It reads a date in English and BOS, in the ids of `attention_core.dates.BOTH`, and continues
    with the date in Chinese.

    See chapter 15 of the book.

    >>> model = load_continuation()
    >>> model.config.d_model, model.config.num_layers, model.training
    (64, 5, False)
    """
    model: LanguageModel = _load_own("continuation.pt")
    return model


def _load_own(name: str) -> Any:
    """Load a trained model of the package."""
    with as_file(files("attention_core") / "data" / name) as path:
        return load_trained(path)
