"""Run the package's model for dates on one text, in float64, and record its attention."""

from functools import cache, lru_cache
from importlib.resources import files
from struct import pack
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_core.dates import SOURCE, TARGET
from attention_core.decoding import greedy_decode
from attention_core.recording import record_attention
from attention_core.training import load_trained

#: The greatest length of a source, and of a translation, in characters.
MOST = 40


class Run(NamedTuple):
    """The translation of one text; each step reads one more character and scores the next.

    Shape:
        ids: the ids of the translation, without BOS and EOS
        logits: (steps, V), one step more than ids, for EOS, unless `MOST` ended the translation
        encoder: (layers, H, S, S)    decoder: (layers, H, steps, steps)
        cross: (layers, H, steps, S)
    """

    ids: list[int]
    logits: Tensor
    encoder: Tensor
    decoder: Tensor
    cross: Tensor


@cache
def dates_model() -> Any:
    """Return the package's Transformer for dates in float64, its table of positions included."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return load_trained().requires_grad_(False)
    finally:
        torch.set_default_dtype(before)


@lru_cache(maxsize=128)
def run_of(source: str) -> Run:
    """Translate ``source`` with greedy decoding, and record all attention weights.

    >>> TARGET.decode(run_of("3 May 2026").ids)
    '二〇二六年五月三日'
    """
    model = dates_model()
    src = torch.tensor([SOURCE.encode(source)])
    found = greedy_decode(model, src, bos_id=TARGET.BOS, eos_id=TARGET.EOS, max_len=MOST)
    ids = found[0].tolist()
    read = torch.tensor([[TARGET.BOS, *ids][:MOST]])
    with torch.no_grad(), record_attention(model) as recorded:
        logits = model(src, read)[0]

    def layers(stack: str, part: str) -> Tensor:
        names = [f"{stack}.layers.{n}.{part}" for n in range(model.config.num_layers)]
        return torch.stack([recorded[name][0] for name in names])

    return Run(
        ids,
        logits,
        layers("encoder", "self_attention"),
        layers("decoder", "self_attention"),
        layers("decoder", "cross_attention"),
    )


@cache
def packed() -> tuple[dict[str, Any], bytes]:
    """Return what a page needs to run the model: its config and shapes, and its parameters.

    The parameters are float16 in little-endian byte order, one tensor after the other.
    """
    with (files("attention_core") / "data" / "dates.pt").open("rb") as file:
        saved = torch.load(file, map_location="cpu", weights_only=True)
    tensors: dict[str, Tensor] = saved["model"]
    shapes = [[name, list(x.shape)] for name, x in tensors.items()]
    data = b"".join(pack(f"<{x.numel()}e", *x.flatten().tolist()) for x in tensors.values())
    return {"config": saved["extras"]["config"], "shapes": shapes}, data
