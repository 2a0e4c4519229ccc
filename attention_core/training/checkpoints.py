"""What is saved and loaded: checkpoints, interrupted training, finished models."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import as_file, files
from os import PathLike
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.optim import Optimizer

from attention_core import _checks
from attention_core.distributed.launch import processes
from attention_core.recurrent import RecurrentConfig, RecurrentTranslator
from attention_core.transformer import Transformer, TransformerConfig

_KINDS: dict[str, tuple[Any, Any]] = {
    "Transformer": (Transformer, TransformerConfig),
    "RecurrentTranslator": (RecurrentTranslator, RecurrentConfig),
}


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


def save_training(
    path: str | PathLike[str], model: nn.Module, optimizer: Optimizer, step: int, **extras: Any
) -> None:
    """Write all that training needs to go on as if it had not been interrupted.

    That is the model, the optimizer's moments, the number of updates made, and where torch's
    random numbers stand (dropout), of the CPU and of the model's CUDA device. With several
    processes all must call it; process 0 writes. ``extras`` go beside it, as in
    `save_checkpoint`: how the run was started, say. `load_checkpoint` returns them.

    Raises:
        ValueError: step is negative
        TypeError: step is not an int, or an extra is neither a tensor nor plain data

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "training.pt"
    >>> model = torch.nn.Linear(2, 3)
    >>> save_training(path, model, torch.optim.Adam(model.parameters()), 5)
    >>> load_training(path, model, torch.optim.Adam(model.parameters()))
    5
    """
    _checks.check_count("step", step, minimum=0)
    rank, number = processes()
    random: list[Any] = [None] * number
    if number > 1:
        dist.all_gather_object(random, _random_state(model))
    else:
        random = [_random_state(model)]
    if rank == 0:
        # An interruption while writing must not cost the last good file.
        part = Path(f"{path}.part")
        extras |= {"optimizer": optimizer.state_dict(), "step": step, "random": random}
        save_checkpoint(part, model, **extras)
        part.replace(path)


def load_training(path: str | PathLike[str], model: nn.Module, optimizer: Optimizer) -> int:
    """Take up the training of a file of `save_training`; returns the updates made so far.

    ``fit(..., start=load_training(path, model, optimizer))`` ends with the same weights, bit
    for bit, as if it had never been interrupted, on the same machine.

    Raises:
        ValueError: the file is not of `save_training`, or the number of processes differs
        RuntimeError: names or shapes differ from the model's (raised by torch)

    >>> load_training("missing.pt", model := torch.nn.Linear(2, 3), None)
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'missing.pt'
    """
    rank, number = processes()
    extras = load_checkpoint(path, model)
    if not {"optimizer", "step", "random"} <= extras.keys():
        raise ValueError(f"path must be a file of save_training, got {path} without its extras")
    if len(extras["random"]) != number:
        raise ValueError(
            "training must be resumed by as many processes as were interrupted, "
            f"got {number} for a file of {len(extras['random'])}"
        )
    optimizer.load_state_dict(extras["optimizer"])
    state, device = extras["random"][rank], next(model.parameters()).device
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
    return int(extras["step"])


def _random_state(model: nn.Module) -> dict[str, Tensor]:
    state, device = {"cpu": torch.get_rng_state()}, next(model.parameters()).device
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def save_trained(path: str | PathLike[str], model: nn.Module, **extras: Any) -> None:
    """Write a `Transformer` or `RecurrentTranslator` for use, not for further training.

    Its numbers are rounded to float16, which halves the file; its sizes go with it, so
    `load_trained` needs nothing else. ``extras`` go beside them, as in `save_checkpoint`:
    how the model was made, say.

    Raises:
        TypeError: model is of neither kind, or an extra is neither a tensor nor plain data

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
    config: Any = model.config
    half = _KINDS[kind][0](config)
    half.load_state_dict(model.state_dict())
    save_checkpoint(path, half.half(), kind=kind, config=asdict(config), **extras)


def load_trained(path: str | PathLike[str] | None = None) -> Any:
    """A model of `save_trained`, in eval mode, of torch's default dtype, on the CPU.

    Without a path it is the model that comes with the package: a Transformer that translates
    the dates of `attention_core.dates`.

    Returns:
        a `Transformer` (with the explicit attention) or a `RecurrentTranslator`

    Raises:
        ValueError: the file is not of `save_trained`

    >>> model = load_trained()
    >>> model.config.d_model, model.config.num_layers, model.training
    (64, 2, False)
    """
    if path is None:
        with as_file(files("attention_core") / "data" / "dates.pt") as own:
            return load_trained(own)
    saved = torch.load(path, map_location="cpu", weights_only=True)
    extras = saved.get("extras", {}) if isinstance(saved, dict) else {}
    if extras.get("kind") not in _KINDS or "config" not in extras:
        raise ValueError(f"path must be a file of save_trained, got {path} without its sizes")
    model_of, config_of = _KINDS[extras["kind"]]
    model = model_of(config_of(**extras["config"]))
    model.load_state_dict(saved["model"])
    return model.eval()
