"""What the model that comes with the package does with one text, in float64."""

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

#: The longest source, and the longest translation.
MOST = 40


class Run(NamedTuple):
    """One text, read and translated; a step reads one more character and scores the next.

    Shape:
        ids: what is written, without BOS and EOS
        logits: (steps, V), one step more than ids, that of EOS
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
    """The package's Transformer for dates, all of it in float64: its table of positions, too."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return load_trained().requires_grad_(False)
    finally:
        torch.set_default_dtype(before)


@lru_cache(maxsize=128)
def run_of(source: str) -> Run:
    """Translate ``source`` greedily, and record where the model looks.

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
    """What a page needs to run the model itself: sizes, names and shapes, and all numbers.

    The numbers are float16, two bytes each, the lower first, tensor after tensor.
    """
    with (files("attention_core") / "data" / "dates.pt").open("rb") as file:
        saved = torch.load(file, map_location="cpu", weights_only=True)
    tensors: dict[str, Tensor] = saved["model"]
    shapes = [[name, list(x.shape)] for name, x in tensors.items()]
    data = b"".join(pack(f"<{x.numel()}e", *x.flatten().tolist()) for x in tensors.values())
    return {"config": saved["extras"]["config"], "shapes": shapes}, data
