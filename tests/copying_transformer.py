"""A Transformer to test, and an nn.Transformer with the same parameters."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from attention_core import Transformer, TransformerConfig, from_torch, sinusoidal_encoding

# Sizes that differ (those that can be are primes), and a pad id that is not 0.
PAD = 3
SIZES = dict(
    src_vocab_size=19,
    tgt_vocab_size=23,
    d_model=33,
    num_heads=3,
    num_layers=2,
    d_ff=17,
    dropout=0.0,
    max_len=53,
    pad_id=PAD,
)


def config(**changes):
    return TransformerConfig(**{**SIZES, **changes})


def fill(model, seed):
    """Fill every parameter at random; a gain, the only vector that starts as 1, near 1."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            centre = 1.0 if parameter.dim() == 1 and (parameter == 1).all() else 0.0
            parameter.copy_(centre + 0.2 * torch.randn(parameter.shape, generator=g))


def build(dtype=torch.float64, seed=0, **changes):
    """A model in eval mode with random parameters: no gain or bias has its default."""
    functions = {name: changes.pop(name) for name in ("attention", "norm") if name in changes}
    model = Transformer(config(**changes), **functions)
    fill(model, seed)
    return model.to(dtype).eval()


def ids(*shape, vocabulary, seed=0):
    """Random tokens without padding."""
    g = torch.Generator().manual_seed(seed)
    return (PAD + 1 + torch.randint(vocabulary - 1, shape, generator=g)) % vocabulary


def batch(seed=0, S=7, L=5):
    """Source and target, (2, S) and (2, L); the second sentence of each is padded."""
    src = ids(2, S, vocabulary=SIZES["src_vocab_size"], seed=seed)
    tgt = ids(2, L, vocabulary=SIZES["tgt_vocab_size"], seed=seed + 1)
    src[1, -3:] = PAD
    tgt[1, -2:] = PAD
    return src, tgt


def torch_twin(ours):
    """Make an nn.Transformer with random parameters, and give ours its two stacks.

    With post-norm it lacks the norm that nn.Transformer adds after each stack.
    """
    c = ours.config
    options = dict(dropout=c.dropout, batch_first=True, norm_first=c.norm_first)

    def norm():
        return nn.LayerNorm(c.d_model) if c.norm_first else None

    encoder_layer = nn.TransformerEncoderLayer(c.d_model, c.num_heads, c.d_ff, **options)
    decoder_layer = nn.TransformerDecoderLayer(c.d_model, c.num_heads, c.d_ff, **options)
    theirs = nn.Transformer(
        c.d_model,
        c.num_heads,
        custom_encoder=nn.TransformerEncoder(
            encoder_layer, c.num_layers, norm=norm(), enable_nested_tensor=False
        ),
        custom_decoder=nn.TransformerDecoder(decoder_layer, c.num_layers, norm=norm()),
        **options,
    )
    fill(theirs, seed=7)
    theirs.to(ours.output.weight.dtype).train(ours.training)
    layer = ours.encoder.layers[0]
    functions = dict(attention=layer.self_attention.attention, norm=type(layer.self_attention_norm))
    ours.encoder = from_torch(theirs.encoder, **functions)
    ours.decoder = from_torch(theirs.decoder, **functions)
    return theirs


def torch_logits(ours, theirs, src, tgt):
    """The logits of the stacks of theirs between the embeddings and the output matrix of ours."""
    c = ours.config

    def embed(ids, weight):
        table = sinusoidal_encoding(ids.shape[1], c.d_model, dtype=weight.dtype)
        return F.embedding(ids, weight) * math.sqrt(c.d_model) + table

    hidden = theirs(
        embed(src, ours.src_embedding.weight),
        embed(tgt, ours.tgt_embedding.weight),
        tgt_mask=torch.ones(tgt.shape[1], tgt.shape[1]).triu(1).bool(),  # True = blocked
        src_key_padding_mask=src == c.pad_id,
        memory_key_padding_mask=src == c.pad_id,
        tgt_key_padding_mask=tgt == c.pad_id,
    )
    return hidden @ ours.output.weight.T
