"""What the tables of published numbers share: how numbers are written, and a model is asked."""

import base64
from typing import Any

import torch
from torch import Tensor

from attention_core import record_attention
from attention_core.masks import padding_mask
from attention_core.published import SentenceEncoder, WordPieces

NO_WORDS = ("[CLS]", "[SEP]", ".", ",")


def exact(x: Tensor) -> dict[str, Any]:
    """Write numbers in float32, in base64. `load_table` makes a tensor of them."""
    raw = x.detach().to(torch.float32).contiguous().numpy().tobytes()
    return {"shape": list(x.shape), "float32": base64.b64encode(raw).decode()}


def rounded(x: Tensor | list[float] | float, digits: int = 4) -> Any:
    """Write a few numbers as they are printed."""
    x = torch.as_tensor(x, dtype=torch.float64)
    flat = [round(v, digits) for v in x.flatten().tolist()]
    for size in reversed(x.shape[1:]):
        flat = [flat[i : i + size] for i in range(0, len(flat), size)]
    return {"numbers": flat} if x.dim() else flat[0]


class Encoder:
    """A sentence encoder with what the tables ask of it."""

    def __init__(self, net: SentenceEncoder, words: WordPieces) -> None:
        self.net, self.words = net, words

    def stations(self, text: str) -> Tensor:
        """The states of a text after the embedding, and after each attention and feed-forward.

        Shape: (13, L, 384)
        """
        ids = self.words([text])
        mask = padding_mask(ids, 0)
        found = [self.net.embed(ids)]
        layers: Any = self.net.encoder.layers
        for layer in layers:
            attend = layer.self_attention
            after = layer.add(
                found[-1],
                layer.self_attention_norm,
                lambda y, attend=attend: attend(y, y, y, mask),
            )
            found += [after, layer.add(after, layer.feed_forward_norm, layer.feed_forward)]
        return torch.cat(found)

    def states(self, text: str) -> Tensor:
        """The states after 0 to 6 layers. Shape: (7, L, 384)."""
        return self.stations(text)[::2]

    def maps(self, text: str) -> Tensor:
        """Shape: (6, 12, L, L)."""
        with record_attention(self.net) as found:
            self.net(self.words([text]))
        return torch.cat(list(found.values()))

    def place(self, text: str, word: str, *, last: bool = False) -> int:
        tokens = self.words.tokens(text)
        places = [i for i, token in enumerate(tokens) if token == word]
        if not places:
            raise ValueError(f"{word!r} must be a piece of {text!r}, got {tokens}")
        return places[-1 if last else 0]

    def other_words(self, text: str, asking: int) -> list[int]:
        """The places of all words but the one that asks."""
        tokens = self.words.tokens(text)
        return [i for i, t in enumerate(tokens) if t not in NO_WORDS and i != asking]
