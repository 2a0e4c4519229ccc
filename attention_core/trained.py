"""Finished models: written small, with their sizes, and read back whole."""

from dataclasses import asdict
from importlib.resources import as_file, files
from os import PathLike
from typing import Any

import torch
from torch import nn

from attention_core.recurrent import RecurrentConfig, RecurrentTranslator
from attention_core.training import save_checkpoint
from attention_core.transformer import Transformer, TransformerConfig

_KINDS: dict[str, tuple[Any, Any]] = {
    "Transformer": (Transformer, TransformerConfig),
    "RecurrentTranslator": (RecurrentTranslator, RecurrentConfig),
}


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
