"""Tables of published numbers about SmolLM2: its heads 13.8 and 23.4, and its next words."""

from typing import Any

import published_sentences as given
import torch
from published_measures import exact, rounded
from torch import Tensor

from attention_core import record_attention
from attention_core.language_model import LanguageModel
from attention_core.masks import causal_mask
from attention_core.published import BytePairs

LAYER, HEAD, WIDTH = 23, 4, 64


def subjects_table(net: LanguageModel, pairs: BytePairs) -> dict[str, Any]:
    sentences = []
    for text in given.SUBJECTS:
        with record_attention(net) as maps:
            net(pairs(text))
        sentences.append(
            {
                "tokens": [pairs.text([int(i)]) for i in pairs(text)[0]],
                "map_13.8": exact(maps["encoder.layers.13.self_attention"][0, 8]),
            }
        )
    return {
        "chapters": [3, 6],
        "what": "Head 13.8 on two sentences: each of two verbs looks at its own subject.",
        "from": "SmolLM2",
        "sentences": sentences,
    }


def capitals_table(net: LanguageModel, pairs: BytePairs) -> dict[str, Any]:
    """How the capital of a country gets to the last word, and what head 23.4 does for it."""
    countries = list(given.CAPITALS)
    prompts = [pairs(given.CAPITAL.format(country)) for country in countries]
    if {ids.shape for ids in prompts} != {(1, 5)}:
        raise ValueError("each country must be one piece")
    ids = torch.cat(prompts)
    capitals = torch.tensor([pairs.number[f"Ġ{capital}"] for capital in given.CAPITALS.values()])
    rows = torch.arange(len(ids))
    with record_attention(net) as maps:
        whole = net(ids)[:, -1]
    seen = maps[f"encoder.layers.{LAYER}.self_attention"][:, HEAD, -1]
    inputs = _head_outputs(net, ids)
    donors = rows.roll(-1)  # each country gets what the next one would write
    donated = capitals[donors]
    stations = _read_off(net, ids)

    def shifted(heads: list[int]) -> Tensor:
        """Logits of the last token, with the output of some heads taken from the donor."""
        changed = inputs.clone()
        for head in heads:
            part = slice(head * WIDTH, (head + 1) * WIDTH)
            changed[:, part] = inputs[donors][:, part]
        return _with_outputs(net, ids, changed)

    def wins(logits: Tensor) -> int:
        """For how many countries the donor's capital scores above the own one."""
        return int((logits[rows, donated] > logits[rows, capitals]).sum())

    def right(logits: Tensor) -> int:
        """For how many countries the right capital comes first."""
        return int((logits.argmax(-1) == capitals).sum())

    others = [head for head in range(9) if head != HEAD]
    moved = shifted([HEAD])
    removed = inputs.clone()
    removed[:, HEAD * WIDTH : (HEAD + 1) * WIDTH] = 0
    paris, berlin = capitals[:2].tolist()
    ranks = (stations > stations[:, rows, capitals, None]).sum(-1) + 1
    read = {"embedding": 0, "ff 26": 54, "ff 28": 58, "ff 29": 60}
    last = range(20, 30)
    return {
        "chapters": [9],
        "what": (
            "The rank of Paris, read off after the embedding and after each attention and "
            "feed-forward of 30 layers; its last probabilities; the likeliest token. Head 23.4: "
            "where the last word looks, and the answer if its output is that for Germany; for all "
            "countries the next one's. Controls: the other heads. How many capitals come first "
            "without it, and without one part of the last ten layers."
        ),
        "from": "SmolLM2",
        "tokens": [pairs.text([int(i)]) for i in ids[0]],
        "rank_of_Paris": ranks[:, 0].tolist(),
        "last_of_Paris": rounded(stations[-4:, 0].softmax(-1)[:, paris]),
        "likeliest": {
            name: pairs.text([int(stations[at, 0].argmax())]) for name, at in read.items()
        },
        "row_23.4": exact(seen[0]),
        "countries": given.CAPITALS,
        "looks_at_country": rounded(seen[:, 3], 2),
        "better_after_attention_23": int((ranks[47] < ranks[46]).sum()),
        "right_first": right(whole),
        "right_first_without_23.4": right(_with_outputs(net, ids, removed)),
        "right_without_attention": [right(_read_off(net, ids, 2 * n)[-1]) for n in last],
        "right_without_ff": [right(_read_off(net, ids, 2 * n + 1)[-1]) for n in last],
        "before": _chances(whole[0], Paris=paris, Berlin=berlin),
        "after": _chances(moved[0], Paris=paris, Berlin=berlin),
        "of": len(ids),
        "other_capital_wins": wins(moved),
        "other_capital_wins_by_other_heads": [wins(shifted([head])) for head in others],
        "other_capital_wins_by_all_other_heads": wins(shifted(others)),
    }


def _read_off(net: LanguageModel, ids: Tensor, without: int | None = None) -> Tensor:
    """The logits of the last token, read off after the embedding and after each sublayer.

    Shape: (61, B, 49152), or only the last (1, B, 49152) if one of the 60 sublayers is left out
    """
    x, found = net.embedding(ids), []
    mask = causal_mask(ids.shape[1])
    layers: Any = net.encoder.layers
    for n, layer in enumerate(layers):
        attend = layer.self_attention
        found.append(x)
        if without != 2 * n:
            x = layer.add(
                x, layer.self_attention_norm, lambda y, attend=attend: attend(y, y, y, mask)
            )
        found.append(x)
        if without != 2 * n + 1:
            x = layer.add(x, layer.feed_forward_norm, layer.feed_forward)
    found = [x] if without is not None else [*found, x]
    logits: Tensor = torch.stack([net.output(net.encoder.norm(x)[:, -1]) for x in found])
    return logits


def _head_outputs(net: LanguageModel, ids: Tensor) -> Tensor:
    """What the heads of the layer hand to the output projection. Shape: (B, 9 · 64)."""
    kept: list[Tensor] = []
    layer: Any = net.encoder.layers[LAYER]
    hook = layer.self_attention.out_proj.register_forward_pre_hook(
        lambda _, inputs: kept.append(inputs[0][:, -1].clone())
    )
    try:
        net(ids)
    finally:
        hook.remove()
    return kept[0]


def _with_outputs(net: LanguageModel, ids: Tensor, outputs: Tensor) -> Tensor:
    """The logits of the last token, with other outputs of the heads at that token."""

    def replace(_: Any, inputs: tuple[Tensor]) -> tuple[Tensor]:
        return (torch.cat([inputs[0][:, :-1], outputs[:, None]], 1),)

    layer: Any = net.encoder.layers[LAYER]
    hook = layer.self_attention.out_proj.register_forward_pre_hook(replace)
    try:
        logits: Tensor = net(ids)[:, -1]
    finally:
        hook.remove()
    return logits


def _chances(logits: Tensor, **tokens: int) -> dict[str, Any]:
    chances = logits.softmax(-1)
    return {name: rounded(chances[token]) for name, token in tokens.items()}
