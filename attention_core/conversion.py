"""Convert torch's attention, layers and Transformer to ours and back, with equal parameters.

Masks differ. Ours are bool, and **True means "may attend"**. In ``nn.MultiheadAttention``
and the modules made of it, True in ``attn_mask``, ``key_padding_mask``, ``src_mask`` and the
others means "blocked": pass ``~mask`` to the other one. A query that may attend to nothing
gets zeros from ours and NaN from torch's.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from torch import nn

from attention_core import _conversion as parts
from attention_core.attention import MultiHeadAttention
from attention_core.functional import AttentionFunction, scaled_dot_product_attention
from attention_core.layers import DecoderLayer, EncoderLayer, LayerNorm
from attention_core.transformer import Decoder, Encoder, Transformer, TransformerConfig


def from_torch(
    theirs: nn.Module,
    config: TransformerConfig | None = None,
    *,
    attention: AttentionFunction = scaled_dot_product_attention,
    norm: Callable[..., nn.Module] = LayerNorm,
) -> Any:
    """Convert a torch module to ours, with equal parameters; both then compute the same.

    ``nn.MultiheadAttention`` becomes a `MultiHeadAttention`, ``nn.TransformerEncoderLayer`` an
    `EncoderLayer`, ``nn.TransformerDecoderLayer`` a `DecoderLayer`. ``nn.TransformerEncoder`` and
    ``nn.TransformerDecoder`` become an `Encoder` and a `Decoder`, with a final norm if and
    only if torch's has one, also in post-norm. ``nn.Transformer`` becomes a `Transformer`;
    torch's has no embeddings and no output matrix, so those are initialised at random.

    Parameters are copied with their dtype, device and ``requires_grad``, and ours is in the
    same mode, train or eval. Invert masks (``~mask``): in ours True means "may attend". Ours
    takes the batch first whatever ``batch_first`` is. A norm without gain or bias becomes one
    with a gain of 1 or a bias of 0 that is not trained.

    Args:
        theirs: a torch module of exactly one of these types
        config: for ``nn.Transformer`` only, the sizes, which must be those of ``theirs``;
            vocabularies, max_len and pad_id are free
        attention: as in `MultiHeadAttention`
        norm: the class of the norms, `LayerNorm` or ``nn.LayerNorm``

    Raises:
        ValueError: theirs has what ours lacks: its own kdim or vdim, add_bias_kv,
            add_zero_attn, an activation other than ReLU and the exact GELU, or different
            dropout probabilities in one layer; or it has no layers, or a size in config
            differs
        TypeError: theirs is of another type (also a subclass, which may compute something
            else); or config is missing for an ``nn.Transformer``, or given for a part of one

    >>> theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    >>> x = torch.ones(2, 5, 12)
    >>> torch.allclose(from_torch(theirs)(x, x, x), theirs(x, x, x)[0], atol=1e-6)
    True
    """
    makers: dict[type, Any] = {
        nn.MultiheadAttention: parts.attention,
        nn.TransformerEncoderLayer: partial(parts.layer, EncoderLayer),
        nn.TransformerDecoderLayer: partial(parts.layer, DecoderLayer),
        nn.TransformerEncoder: partial(parts.stack, Encoder),
        nn.TransformerDecoder: partial(parts.stack, Decoder),
        nn.Transformer: partial(parts.transformer, cast(Any, config)),
    }
    parts.check_type("theirs", theirs, makers)
    whole = type(theirs) is nn.Transformer
    if whole != isinstance(config, TransformerConfig) or not (whole or config is None):
        raise TypeError(
            "config must be a TransformerConfig for an nn.Transformer, and None for a part of "
            f"one, got {type(config).__name__} for {type(theirs).__name__}"
        )
    ours: nn.Module = makers[type(theirs)](theirs, {"attention": attention, "norm": norm})
    return ours.train(theirs.training)


def to_torch(ours: nn.Module) -> Any:
    """Convert our module to torch's, with equal parameters; the inverse of `from_torch`.

    Torch's has ``batch_first=True``. Invert masks (``~mask``): in torch's True means
    "blocked". An ``nn.Transformer`` has neither embeddings nor positions nor an output
    matrix: those of a `Transformer` are left out.

    Args:
        ours: a module of exactly one of the types that `from_torch` makes

    Raises:
        ValueError: ours has what torch's lacks: another attention function (`rotary_attention`
            for example), fewer key heads than query heads, a feed-forward that is no
            `FeedForward` (`SwiGLU` for example) or has an activation other than ReLU and the
            exact GELU, or a norm that is neither `LayerNorm` nor ``nn.LayerNorm``
        TypeError: ours is of another type

    >>> ours = EncoderLayer(12, 3, 24)
    >>> x = torch.ones(2, 5, 12)
    >>> torch.allclose(to_torch(ours)(x), ours(x), atol=1e-6)
    True
    """
    makers: dict[type, Any] = {
        MultiHeadAttention: parts.to_attention,
        EncoderLayer: partial(parts.to_layer, nn.TransformerEncoderLayer),
        DecoderLayer: partial(parts.to_layer, nn.TransformerDecoderLayer),
        Encoder: partial(parts.to_stack, nn.TransformerEncoder),
        Decoder: partial(parts.to_stack, nn.TransformerDecoder),
        Transformer: parts.to_transformer,
    }
    parts.check_type("ours", ours, makers)
    theirs: nn.Module = makers[type(ours)](ours)
    return theirs.train(ours.training)
