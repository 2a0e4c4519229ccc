"""The models to compare: one set of weights in ours, in torch's and in x-transformers'."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_core import (
    Decoder,
    Encoder,
    MultiHeadAttention,
    Transformer,
    TransformerConfig,
    causal_mask,
    padding_mask,
)

SIZES: dict[str, dict[str, int]] = {
    "paper-base": {"d_model": 512, "num_heads": 8, "num_layers": 6, "d_ff": 2048},
    "small": {"d_model": 64, "num_heads": 4, "num_layers": 2, "d_ff": 256},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "explicit": {},
    "fused": {"attention": F.scaled_dot_product_attention, "norm": nn.LayerNorm},
}
PAD, EOS, BOS = 0, 1, 2


@dataclass
class Contestant:
    """A module and one way of calling it; ``call`` returns the output to compare."""

    module: nn.Module
    call: Callable[[], Tensor]
    inputs: list[Tensor] = field(default_factory=list)


def config(size: str, **others: Any) -> TransformerConfig:
    defaults = {"src_vocab_size": 1000, "tgt_vocab_size": 1000, "dropout": 0.0}
    return TransformerConfig(**{**defaults, **SIZES[size], **others})


def shake(module: nn.Module) -> None:
    """Make all biases and norms different, so that a mixed-up copy cannot look equal."""
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)


def copy_linear(ours: nn.Module, weight: Tensor, bias: Tensor | None) -> None:
    with torch.no_grad():
        ours.weight.copy_(weight)
        ours.bias.zero_() if bias is None else ours.bias.copy_(bias)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    own = (ours.q_proj, ours.k_proj, ours.v_proj)
    weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    for projection, w, b in zip(own, weights, biases, strict=True):
        copy_linear(projection, w, b)
    copy_linear(ours.out_proj, theirs.out_proj.weight, theirs.out_proj.bias)


def copy_stack(ours: Encoder | Decoder, theirs: nn.Module) -> None:
    for a, b in zip(ours.layers, theirs.layers, strict=True):
        pairs = [(a.feed_forward.inner, b.linear1), (a.feed_forward.outer, b.linear2)]
        copy_attention(a.self_attention, b.self_attn)
        if isinstance(ours, Decoder):
            copy_attention(a.cross_attention, b.multihead_attn)
            norms = (a.self_attention_norm, a.cross_attention_norm, a.feed_forward_norm)
            pairs += zip(norms, (b.norm1, b.norm2, b.norm3), strict=True)
        else:
            norms = (a.self_attention_norm, a.feed_forward_norm)
            pairs += zip(norms, (b.norm1, b.norm2), strict=True)
        for x, y in pairs:
            copy_linear(x, y.weight, y.bias)


def torch_transformer(size: str) -> nn.Transformer:
    """`nn.Transformer` without its two final norms, which the post-norm paper does not have."""
    s = SIZES[size]
    theirs = nn.Transformer(
        s["d_model"],
        s["num_heads"],
        s["num_layers"],
        s["num_layers"],
        s["d_ff"],
        dropout=0.0,
        batch_first=True,
    )
    shake(theirs)
    theirs.encoder.norm = theirs.decoder.norm = None
    return theirs


class Stacks(nn.Module):
    """Our encoder and decoder without embeddings: the part that `nn.Transformer` is."""

    def __init__(self, size: str, variant: str, theirs: nn.Transformer) -> None:
        super().__init__()
        self.encoder = Encoder(config(size), **VARIANTS[variant])
        self.decoder = Decoder(config(size), **VARIANTS[variant])
        copy_stack(self.encoder, theirs.encoder)
        copy_stack(self.decoder, theirs.decoder)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None, tgt_mask: Tensor
    ) -> Tensor:
        memory = self.encoder(src, src_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=src_mask)


def lengths(B: int, L: int) -> Tensor:
    """Return lengths from nearly L down to three quarters of it: every batch has padding."""
    return torch.tensor([L - (b + 1) * L // (4 * B) for b in range(B)])


def real_tokens(B: int, L: int) -> Tensor:
    return torch.arange(L) < lengths(B, L)[:, None]  # (B, L)


def random_inputs(*shapes: tuple[int, ...]) -> list[Tensor]:
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


@lru_cache(maxsize=1)
def stacks(size: str) -> dict[str, nn.Module]:
    theirs = torch_transformer(size)
    ours = {variant: Stacks(size, variant, theirs) for variant in VARIANTS}
    return {"torch": theirs, **ours}


def transformers(size: str, B: int, L: int, *, padded: bool = True) -> dict[str, Contestant]:
    """Make the models to compare, and, outside the timed calls, the masks that each takes."""
    d_model = SIZES[size]["d_model"]
    modules = {name: module.to(torch.get_default_dtype()) for name, module in stacks(size).items()}
    theirs = modules["torch"].train()
    src, tgt = inputs = random_inputs((B, L, d_model), (B, L, d_model))
    real, causal = real_tokens(B, L), causal_mask(L)
    ids = real.long()  # 1 for a token, PAD for padding
    if padded:
        src_mask, tgt_mask = padding_mask(ids, PAD), padding_mask(ids, PAD) & causal
        hints: dict[str, Any] = {
            "tgt_mask": ~causal,
            "src_key_padding_mask": ~real,
            "tgt_key_padding_mask": ~real,
            "memory_key_padding_mask": ~real,
        }
    else:
        # Without padding torch may use is_causal, its fastest path. Ours has no such option.
        src_mask, tgt_mask = None, causal
        hints = {
            "tgt_mask": nn.Transformer.generate_square_subsequent_mask(L),
            "tgt_is_causal": True,
        }
    contestants = {"torch": Contestant(theirs, lambda: theirs(src, tgt, **hints), inputs)}
    for variant in VARIANTS:
        ours = modules[variant].train()
        contestants[variant] = Contestant(
            ours, lambda ours=ours: ours(src, tgt, src_mask, tgt_mask), inputs
        )
    return contestants


def attentions(size: str, B: int, L: int) -> dict[str, Contestant]:
    """Make self-attentions with a padding mask; torch's returns no weights, so it is fused."""
    d_model, heads = SIZES[size]["d_model"], SIZES[size]["num_heads"]
    theirs = nn.MultiheadAttention(d_model, heads, batch_first=True)
    shake(theirs)
    inputs = random_inputs((B, L, d_model))
    x, real = inputs[0], real_tokens(B, L)
    mask = padding_mask(real.long(), PAD)
    contestants = {
        "torch": Contestant(
            theirs,
            lambda: theirs(x, x, x, key_padding_mask=~real, need_weights=False)[0],
            inputs,
        )
    }
    for variant in VARIANTS:
        options = {k: v for k, v in VARIANTS[variant].items() if k == "attention"}
        ours = MultiHeadAttention(d_model, heads, **options)
        copy_attention(ours, theirs)
        contestants[variant] = Contestant(ours, lambda ours=ours: ours(x, x, x, mask), inputs)
    return contestants


def gain(norm: Any) -> Tensor:
    """Return the gain; x-transformers stores it, or its difference from 1."""
    gamma: Tensor = norm.gamma + float(norm.unit_offset)
    return gamma


def x_transformers_encoders(size: str, B: int, L: int) -> dict[str, dict[str, Contestant]]:
    """Post-norm encoders: ours explicit against theirs, ours fused against their flash.

    Without a mask: theirs would also set padded queries to 0, which ours leaves alone.
    """
    from x_transformers import Encoder as TheirEncoder

    s = SIZES[size]
    inputs = random_inputs((B, L, s["d_model"]))
    x = inputs[0]
    result = {}
    for variant, flash in (("explicit", False), ("fused", True)):
        theirs = TheirEncoder(
            dim=s["d_model"],
            depth=s["num_layers"],
            heads=s["num_heads"],
            attn_dim_head=s["d_model"] // s["num_heads"],
            attn_flash=flash,
            ff_mult=s["d_ff"] // s["d_model"],
            ff_custom_activation=nn.ReLU(),
            pre_norm=False,
        )
        shake(theirs)
        ours = Encoder(config(size), **VARIANTS[variant])
        blocks = list(theirs.layers)  # attention and feed-forward by turns
        for layer, attend, feed in zip(ours.layers, blocks[::2], blocks[1::2], strict=True):
            a, b = layer.self_attention, attend[1]
            # Theirs has no bias in attention and norm; ours adds zeros there.
            for mine, other in ((a.q_proj, b.to_q), (a.k_proj, b.to_k), (a.v_proj, b.to_v)):
                copy_linear(mine, other.weight, None)
            copy_linear(a.out_proj, b.to_out.weight, None)
            inner, outer = feed[1].ff[0][0], feed[1].ff[2]
            copy_linear(layer.feed_forward.inner, inner.weight, inner.bias)
            copy_linear(layer.feed_forward.outer, outer.weight, outer.bias)
            copy_linear(layer.self_attention_norm, gain(attend[0][2]), None)
            copy_linear(layer.feed_forward_norm, gain(feed[0][2]), None)
        result[variant] = {
            "x-transformers": Contestant(theirs, lambda theirs=theirs: theirs(x), inputs),
            variant: Contestant(ours, lambda ours=ours: ours(x), inputs),
        }
    return result


class TorchTranslator(nn.Module):
    """`nn.Transformer` between our embeddings and our output: what `greedy_decode` asks for."""

    def __init__(self, theirs: nn.Transformer, ours: Transformer) -> None:
        super().__init__()
        self.theirs, self.ours, self.config = theirs, ours, ours.config

    def encode(self, src: Tensor) -> Tensor:
        x = self.ours._embed(self.ours.src_embedding, src)
        return self.theirs.encoder(x, src_key_padding_mask=src == PAD)

    def decode(
        self, tgt: Tensor, memory: Tensor, memory_mask: Tensor | None, *, cache: None
    ) -> Tensor:
        x = self.ours._embed(self.ours.tgt_embedding, tgt)
        x = self.theirs.decoder(
            x,
            memory,
            tgt_mask=~causal_mask(tgt.shape[1]),
            tgt_key_padding_mask=tgt == PAD,
            memory_key_padding_mask=None if memory_mask is None else ~memory_mask[:, 0, 0],
        )
        return self.ours.output(x)

    def new_cache(self) -> None:
        return None


def translators(size: str, max_len: int) -> SimpleNamespace:
    """Make one translator three times, whose likeliest token is never EOS or PAD."""
    theirs = torch_transformer(size)
    models = {}
    state: dict[str, Tensor] | None = None
    for variant in VARIANTS:
        ours = Transformer(config(size, max_len=max_len), **VARIANTS[variant])
        copy_stack(ours.encoder, theirs.encoder)
        copy_stack(ours.decoder, theirs.decoder)
        if state is None:
            with torch.no_grad():
                # Their logits are 0, and the largest of the thousand others is not.
                ours.output.weight[[PAD, EOS]] = 0.0
            state = ours.state_dict()
        ours.load_state_dict(state)
        models[variant] = ours.eval()
    models["torch"] = TorchTranslator(theirs, models["explicit"]).eval()
    return SimpleNamespace(**models)
