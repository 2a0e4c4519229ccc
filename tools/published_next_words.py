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
    """What head 23.4 does for the capitals of countries."""
    countries = list(given.CAPITALS)
    prompts = [pairs(given.CAPITAL.format(country)) for country in countries]
    if {ids.shape for ids in prompts} != {(1, 5)}:
        raise ValueError("each country must be one piece")
    ids = torch.cat(prompts)
    capitals = [pairs.number[f"Ġ{capital}"] for capital in given.CAPITALS.values()]
    rows = torch.arange(len(ids))
    with record_attention(net) as maps:
        whole = net(ids)[:, -1]
    seen = maps[f"encoder.layers.{LAYER}.self_attention"][:, HEAD, -1]
    inputs = _head_outputs(net, ids)
    donors = rows.roll(-1)  # each country gets what the next one would write
    donated = torch.tensor(capitals)[donors]

    def shifted(heads: list[int]) -> Tensor:
        """Logits of the last token, with the output of some heads taken from the donor."""
        changed = inputs.clone()
        for head in heads:
            part = slice(head * WIDTH, (head + 1) * WIDTH)
            changed[:, part] = inputs[donors][:, part]
        return _with_outputs(net, ids, changed)

    def wins(logits: Tensor) -> int:
        """For how many countries the donor's capital scores above the own one."""
        return int((logits[rows, donated] > logits[rows, torch.tensor(capitals)]).sum())

    others = [head for head in range(9) if head != HEAD]
    moved = shifted([HEAD])
    removed = inputs.clone()
    removed[:, HEAD * WIDTH : (HEAD + 1) * WIDTH] = 0
    without = _with_outputs(net, ids, removed)
    paris, berlin = capitals[0], capitals[1]
    return {
        "chapters": [9],
        "what": (
            "The capital of a country is: the rank of Paris after each of 30 layers; "
            "where the last word looks in head 23.4; and the probabilities of Paris and Berlin "
            "before and after that head's output for Germany takes the place of that for France. "
            "Then the same for all countries, each with the next one's: for how many the other "
            "capital then wins. Controls: each other head of the layer, and all eight."
        ),
        "from": "SmolLM2",
        "tokens": [pairs.text([int(i)]) for i in ids[0]],
        "rank_of_Paris": _ranks(net, ids[:1], paris),
        "row_23.4": exact(seen[0]),
        "countries": given.CAPITALS,
        "looks_at_country": rounded(seen[:, 3]),
        "right_first": int((whole.argmax(-1) == torch.tensor(capitals)).sum()),
        "right_first_without_23.4": int((without.argmax(-1) == torch.tensor(capitals)).sum()),
        "before": _chances(whole[0], Paris=paris, Berlin=berlin),
        "after": _chances(moved[0], Paris=paris, Berlin=berlin),
        "of": len(ids),
        "other_capital_wins": wins(moved),
        "other_capital_wins_by_other_heads": [wins(shifted([head])) for head in others],
        "other_capital_wins_by_all_other_heads": wins(shifted(others)),
    }


def _ranks(net: LanguageModel, ids: Tensor, token: int) -> list[int]:
    """The rank of a token, read off after each layer."""
    x, found = net.embedding(ids), []
    for layer in net.encoder.layers:
        x = layer(x, causal_mask(ids.shape[1]))
        logits = net.output(net.encoder.norm(x))[0, -1]
        found.append(int((logits > logits[token]).sum()) + 1)
    return found


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
