"""The number of parameters of a Transformer, by formula; tests compare with ``numel()``."""

from collections.abc import Callable
from functools import partial
from typing import Any

from attention_core import _options
from attention_core.layers import FeedForward, LayerNorm
from attention_core.modern import RMSNorm, SwiGLU
from attention_core.transformer import TransformerConfig

_Part = Callable[..., Any]


def attention_parameters(
    d_model: int,
    *,
    num_heads: int | None = None,
    num_kv_heads: int | None = None,
    bias: bool = True,
) -> int:
    """Count the parameters of four projections with bias: 4d² + 4d, whatever the number of heads.

    With fewer key heads, the projections of keys and values have d_kv = d H_kv / H rows in
    place of d: 2d² + 2d d_kv, and 2d + 2d_kv biases.

    See chapter 9 of the book, and chapter 15 for fewer key heads.

    Args:
        num_heads: needed only together with num_kv_heads
        num_kv_heads, bias: as in `MultiHeadAttention`

    Raises:
        ValueError, TypeError: d_model is not an int of at least 1, a number of heads does not
            divide what it must, or num_kv_heads is given without num_heads

    >>> attention_parameters(512)
    1050624
    >>> attention_parameters(576, num_heads=9, num_kv_heads=3, bias=False)
    884736
    """
    _options.check_count("d_model", d_model, minimum=1)
    _options.check_flag("bias", bias)
    d_kv = d_model
    if num_heads is not None:
        num_heads = _options.check_heads("d_model", d_model, num_heads)
        d_kv = d_model // num_heads * _options.check_kv_heads(num_heads, num_kv_heads)
    elif num_kv_heads is not None:
        raise ValueError(f"num_kv_heads needs num_heads, got {num_kv_heads} and no num_heads")
    widths = 2 * d_model + 2 * d_kv  # rows of all four matrices
    return widths * d_model + (widths if bias else 0)


def feed_forward_parameters(d_model: int, d_ff: int) -> int:
    """Count the parameters of two matrices and two biases: 2 d d_ff + d_ff + d.

    Raises:
        ValueError, TypeError: a width is not an int of at least 1

    >>> feed_forward_parameters(512, 2048)
    2099712
    """
    _check_widths(d_model, d_ff)
    return 2 * d_model * d_ff + d_ff + d_model


def swiglu_parameters(d_model: int, d_ff: int) -> int:
    """Count the parameters of a `SwiGLU`, three matrices without biases: 3 d d_ff.

    See chapter 15 of the book.

    Raises:
        ValueError, TypeError: a width is not an int of at least 1

    >>> swiglu_parameters(576, 1536)
    2654208
    """
    _check_widths(d_model, d_ff)
    return 3 * d_model * d_ff


def encoder_layer_parameters(
    d_model: int,
    d_ff: int | None = None,
    *,
    num_heads: int | None = None,
    num_kv_heads: int | None = None,
    attention_bias: bool = True,
    norm: _Part = LayerNorm,
    feed_forward: _Part = FeedForward,
) -> int:
    """Count the parameters of an encoder layer, with two norms: 12d² + 13d for d_ff = 4d.

    Args:
        d_ff: inner width; 4 d_model unless given
        num_heads: needed only together with num_kv_heads
        num_kv_heads, attention_bias: as in `EncoderLayer`
        norm: `LayerNorm`, with 2d parameters, or `RMSNorm`, with d
        feed_forward: `FeedForward` or `SwiGLU`; these two and the norms may be partials, such as
            ``partial(FeedForward, activation=torch.nn.functional.gelu)``

    Raises:
        ValueError, TypeError: as `attention_parameters` and `feed_forward_parameters`, or norm
            or feed_forward is another class

    >>> encoder_layer_parameters(512) == 12 * 512**2 + 13 * 512
    True
    """
    attention = attention_parameters(
        d_model, num_heads=num_heads, num_kv_heads=num_kv_heads, bias=attention_bias
    )
    d_ff = 4 * d_model if d_ff is None else d_ff
    between = _count_of(
        "feed_forward",
        feed_forward,
        {FeedForward: feed_forward_parameters, SwiGLU: swiglu_parameters},
    )
    inner: int = between(d_model, d_ff)
    return attention + inner + 2 * _norm_parameters(d_model, norm)


def decoder_layer_parameters(
    d_model: int,
    d_ff: int | None = None,
    *,
    num_heads: int | None = None,
    num_kv_heads: int | None = None,
    attention_bias: bool = True,
    norm: _Part = LayerNorm,
    feed_forward: _Part = FeedForward,
) -> int:
    """Count the parameters of a decoder layer, with three norms: 16d² + 19d for d_ff = 4d.

    See chapter 9 of the book.

    Args and Raises: as `encoder_layer_parameters`.

    >>> decoder_layer_parameters(512) == 16 * 512**2 + 19 * 512
    True
    """
    heads: Any = {"num_heads": num_heads, "num_kv_heads": num_kv_heads}
    rest: Any = {"attention_bias": attention_bias, "norm": norm, "feed_forward": feed_forward}
    layer = encoder_layer_parameters(d_model, d_ff, **heads, **rest)
    cross = attention_parameters(d_model, **heads, bias=attention_bias)
    return layer + cross + _norm_parameters(d_model, norm)


def transformer_parameters(
    config: TransformerConfig, *, norm: _Part = LayerNorm, feed_forward: _Part = FeedForward
) -> int:
    """Count the parameters of a `Transformer` with this config.

    A tied matrix counts once; sinusoidal positions have no parameters.

    See chapter 9 of the book.

    Args:
        norm, feed_forward: as in `encoder_layer_parameters`

    >>> base = TransformerConfig(
    ...     src_vocab_size=37_000, tgt_vocab_size=37_000, tie_embeddings=True
    ... )
    >>> f"{transformer_parameters(base):,}"
    '63,082,496'
    """
    options = _options_of(config, norm, feed_forward)
    layers = config.num_layers * (
        encoder_layer_parameters(config.d_model, config.d_ff, **options)
        + decoder_layer_parameters(config.d_model, config.d_ff, **options)
    )
    final_norms = 2 * _norm_parameters(config.d_model, norm) if config.norm_first else 0
    rows = config.src_vocab_size + 2 * config.tgt_vocab_size
    if config.tie_embeddings:
        rows = config.tgt_vocab_size
    return layers + final_norms + rows * config.d_model


def language_model_parameters(
    config: TransformerConfig, *, norm: _Part = LayerNorm, feed_forward: _Part = FeedForward
) -> int:
    """Count the parameters of a `LanguageModel` with this config.

    A tied matrix counts once; positions, sinusoidal, rotary or ALiBi, have no parameters.

    See chapter 15 of the book.

    Args:
        norm, feed_forward: as in `encoder_layer_parameters`

    >>> smol = TransformerConfig(
    ...     src_vocab_size=49_152, tgt_vocab_size=49_152, d_model=576, num_heads=9, num_layers=30,
    ...     d_ff=1536, norm_first=True, tie_embeddings=True, num_kv_heads=3, attention_bias=False
    ... )
    >>> f"{language_model_parameters(smol, norm=RMSNorm, feed_forward=SwiGLU):,}"
    '134,515,008'
    """
    options = _options_of(config, norm, feed_forward)
    layers = config.num_layers * encoder_layer_parameters(config.d_model, config.d_ff, **options)
    final_norm = _norm_parameters(config.d_model, norm) if config.norm_first else 0
    tables = 1 if config.tie_embeddings else 2
    return layers + final_norm + tables * config.tgt_vocab_size * config.d_model


def _options_of(config: TransformerConfig, norm: _Part, feed_forward: _Part) -> Any:
    return {
        "num_heads": config.num_heads,
        "num_kv_heads": config.num_kv_heads,
        "attention_bias": config.attention_bias,
        "norm": norm,
        "feed_forward": feed_forward,
    }


def _norm_parameters(d_model: int, norm: _Part) -> int:
    """Count a gain and a bias, or a gain alone."""
    return int(_count_of("norm", norm, {LayerNorm: 2, RMSNorm: 1})) * d_model


def _check_widths(d_model: int, d_ff: int) -> None:
    _options.check_count("d_model", d_model, minimum=1)
    _options.check_count("d_ff", d_ff, minimum=1)


def _count_of(name: str, given: _Part, known: dict[Any, Any]) -> Any:
    while isinstance(given, partial):
        given = given.func  # (an eps or an activation has no parameters)
    if given not in known:
        names = " or ".join(kind.__name__ for kind in known)
        got = f"{given.__module__}.{given.__name__}" if isinstance(given, type) else given
        raise ValueError(f"{name} must be {names} of attention_core, got {got}")
    return known[given]
