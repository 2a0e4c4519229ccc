"""Draw a Transformer with the shapes of its tensors and the number of its parameters."""

from collections.abc import Sequence
from math import prod
from typing import Any

import traitlets

from attention_core.parameters import (
    attention_parameters,
    feed_forward_parameters,
    transformer_parameters,
)
from attention_core.transformer import TransformerConfig
from attention_core.widgets.figure import LiveFigure, Numbers, Table
from attention_core.widgets.traits import CountTrait

#: The boxes of the drawing, in the order of the data flow.
PARTS = [
    "src_embedding",
    "encoder_self_attention",
    "encoder_feed_forward",
    "memory",
    "tgt_embedding",
    "decoder_self_attention",
    "cross_attention",
    "decoder_feed_forward",
    "output",
]
_CONFIG = (
    "src_vocab_size", "tgt_vocab_size", "d_model", "num_heads", "num_layers", "d_ff",
    "tie_embeddings",
)  # fmt: skip
_LENGTHS = ("batch_size", "src_length", "tgt_length")


class Shapes(LiveFigure):
    """The Transformer of chapter 9, drawn with the shapes that follow from the chosen sizes.

    The selected box shows the shapes of its q, k, v and weights, its number of parameters, and
    its number of multiplications. A part includes its norm. A tied table is counted once, at
    the output. Only the multiplications of matrix products are counted, for the whole batch;
    each stands for a multiplication and the addition after it.

    Args:
        batch_size, src_length, tgt_length: B, S and L, up to 5000
        src_vocab_size, tgt_vocab_size, d_model, num_heads, num_layers, d_ff, tie_embeddings:
            as in `TransformerConfig`
        part: the selected box, one of `PARTS`

    >>> Shapes().numbers()["whole"]["learned"]
    1196
    >>> base = Shapes(
    ...     src_vocab_size=37_000, tgt_vocab_size=37_000, d_model=512, num_heads=8,
    ...     num_layers=6, d_ff=2048, src_length=30, tgt_length=20,
    ... )
    >>> base.numbers()["whole"]["learned"], base.shapes["cross_attention"]["weights"]
    (63082496, (2, 8, 20, 30))
    """

    module = "shapes"
    heights = (668, 680)

    batch_size = CountTrait(2, least=1, most=5000)
    src_length = CountTrait(5, least=1, most=5000)
    tgt_length = CountTrait(4, least=1, most=5000)
    src_vocab_size = CountTrait(11, least=1, most=1_000_000)
    tgt_vocab_size = CountTrait(11, least=1, most=1_000_000)
    d_model = CountTrait(4, least=1, most=100_000)
    num_heads = CountTrait(2, least=1)
    num_layers = CountTrait(2, least=1, most=1000)
    d_ff = CountTrait(16, least=1, most=1_000_000)
    tie_embeddings = traitlets.Bool(True).tag(sync=True)
    part = traitlets.Enum(PARTS, "cross_attention").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)

    @traitlets.validate(*_CONFIG)
    def _check_config(self, proposal: Any) -> Any:
        sizes = {name: getattr(self, name) for name in _CONFIG}
        sizes[proposal["trait"].name] = proposal["value"]
        try:
            TransformerConfig(**sizes)
        except (TypeError, ValueError) as error:
            raise traitlets.TraitError(str(error)) from None
        return proposal["value"]

    @property
    def config(self) -> TransformerConfig:
        """The config from which `Transformer` builds this model."""
        return TransformerConfig(**{name: getattr(self, name) for name in _CONFIG})

    @property
    def shapes(self) -> dict[str, dict[str, tuple[int, ...]]]:
        """The shapes of the tensors of each part, by names like ``weights``."""
        B, S, L, d = self.batch_size, self.src_length, self.tgt_length, self.d_model
        H, inner = self.num_heads, self.d_ff
        d_k = d // H

        def attention(queries: int, keys: int) -> dict[str, tuple[int, ...]]:
            return {
                "q": (B, H, queries, d_k),
                "k": (B, H, keys, d_k),
                "v": (B, H, keys, d_k),
                "weights": (B, H, queries, keys),
                "out": (B, queries, d),
            }

        def feed_forward(length: int) -> dict[str, tuple[int, ...]]:
            return {"in": (B, length, d), "inner": (B, length, inner), "out": (B, length, d)}

        return {
            "src_embedding": {"in": (B, S), "table": (self.src_vocab_size, d), "out": (B, S, d)},
            "encoder_self_attention": attention(S, S),
            "encoder_feed_forward": feed_forward(S),
            "memory": {"out": (B, S, d)},
            "tgt_embedding": {"in": (B, L), "table": (self.tgt_vocab_size, d), "out": (B, L, d)},
            "decoder_self_attention": attention(L, L),
            "cross_attention": attention(L, S),
            "decoder_feed_forward": feed_forward(L),
            "output": {
                "in": (B, L, d),
                "table": (self.tgt_vocab_size, d),
                "out": (B, L, self.tgt_vocab_size),
            },
        }

    def numbers(self) -> Numbers:
        d, layers = self.d_model, self.num_layers
        shapes = self.shapes
        whole = transformer_parameters(self.config)
        parts: dict[str, Any] = {}
        for name, shape in shapes.items():
            part: dict[str, Any] = {kind: list(sizes) for kind, sizes in shape.items()}
            if "q" in shape:
                own, norm, times = attention_parameters(d), 2 * d, layers
                multiplied = _attention_products(shape, d)
                part["weights_count"] = prod(shape["weights"])
            elif "inner" in shape:
                own, norm, times = feed_forward_parameters(d, self.d_ff), 2 * d, layers
                multiplied = 2 * prod(shape["in"]) * self.d_ff
            else:
                counted = "table" in shape and (name == "output" or not self.tie_embeddings)
                own, norm, times = prod(shape["table"]) if counted else 0, 0, 1
                multiplied = prod(shape["out"]) * d if name == "output" else 0
            part |= {"own": own, "norm": norm, "learned": times * (own + norm)}
            part["share"] = 100 * part["learned"] / whole
            part["multiplications"] = times * multiplied
            parts[name] = part
        return {
            "parts": parts,
            "kinds": self._kinds(parts, whole),
            "whole": {
                "learned": whole,
                "layers": layers,
                "multiplications": sum(part["multiplications"] for part in parts.values()),
            },
        }

    def _kinds(self, parts: dict[str, Any], whole: int) -> dict[str, float]:
        """Return the percentage of the parameters that are of each kind."""
        layers = self.num_layers
        attention = sum(layers * part["own"] for part in parts.values() if "q" in part)
        feed_forward = sum(layers * part["own"] for part in parts.values() if "inner" in part)
        tables = sum(part["own"] for part in parts.values() if "table" in part)
        shares = {"tables": tables, "attention": attention, "feed_forward": feed_forward}
        shares["norms"] = whole - sum(shares.values())
        return {name: 100 * number / whole for name, number in shares.items()}

    def table(self) -> Table:
        n = self.numbers()
        rows: list[Sequence[Any]] = []
        for name, part in n["parts"].items():
            flows = {kind: sizes for kind, sizes in self.shapes[name].items() if kind != "in"}
            text = "; ".join(f"{kind} {sizes}" for kind, sizes in flows.items())
            rows.append(
                [_TITLES[name], text, f"{part['learned']:,}", f"{part['multiplications']:,}"]
            )
        whole = n["whole"]
        rows.append(["whole", "", f"{whole['learned']:,}", f"{whole['multiplications']:,}"])
        return Table(
            f"A Transformer with {self.num_layers} layers a side: shapes, learned numbers of all "
            "layers, multiplications",
            ["part", "shapes", "learned", "multiplications"],
            rows,
        )

    def __repr__(self) -> str:
        return f"Shapes(d_model={self.d_model}, num_heads={self.num_heads}, part={self.part!r})"


_TITLES = {
    "src_embedding": "source: embedding × √d + position",
    "encoder_self_attention": "self-attention",
    "encoder_feed_forward": "feed-forward",
    "memory": "memory",
    "tgt_embedding": "target: embedding × √d + position",
    "decoder_self_attention": "masked self-attention",
    "cross_attention": "cross-attention",
    "decoder_feed_forward": "feed-forward of the decoder",
    "output": "projection, softmax",
}


def _attention_products(shape: dict[str, tuple[int, ...]], d: int) -> int:
    """Count four projections, q · k, and weights · v; the number of heads cancels out."""
    queries, keys = prod(shape["q"]), prod(shape["k"])  # numel of q and of k: B · length · d
    return 2 * queries * d + 2 * keys * d + 2 * queries * shape["weights"][-1]
