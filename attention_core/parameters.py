"""The number of parameters of a Transformer, by formula; tests compare with ``numel()``."""

from attention_core import _options
from attention_core.transformer import TransformerConfig


def attention_parameters(d_model: int) -> int:
    """Count the parameters of four projections with bias: 4d² + 4d, whatever the number of heads.

    See chapter 9 of the book.

    Raises:
        ValueError, TypeError: d_model is not an int of at least 1

    >>> attention_parameters(512)
    1050624
    """
    _options.check_count("d_model", d_model, minimum=1)
    return 4 * d_model**2 + 4 * d_model


def feed_forward_parameters(d_model: int, d_ff: int) -> int:
    """Count the parameters of two matrices and two biases: 2 d d_ff + d_ff + d.

    Raises:
        ValueError, TypeError: a width is not an int of at least 1

    >>> feed_forward_parameters(512, 2048)
    2099712
    """
    _options.check_count("d_model", d_model, minimum=1)
    _options.check_count("d_ff", d_ff, minimum=1)
    return 2 * d_model * d_ff + d_ff + d_model


def encoder_layer_parameters(d_model: int, d_ff: int | None = None) -> int:
    """Count the parameters of an encoder layer, with two norms: 12d² + 13d for d_ff = 4d.

    Args:
        d_ff: inner width; 4 d_model unless given

    Raises:
        ValueError, TypeError: as `feed_forward_parameters`

    >>> encoder_layer_parameters(512) == 12 * 512**2 + 13 * 512
    True
    """
    d_ff = 4 * d_model if d_ff is None else d_ff
    norms = 2 * 2 * d_model
    return attention_parameters(d_model) + feed_forward_parameters(d_model, d_ff) + norms


def decoder_layer_parameters(d_model: int, d_ff: int | None = None) -> int:
    """Count the parameters of a decoder layer, with three norms: 16d² + 19d for d_ff = 4d.

    See chapter 9 of the book.

    Args and Raises: as `encoder_layer_parameters`.

    >>> decoder_layer_parameters(512) == 16 * 512**2 + 19 * 512
    True
    """
    return encoder_layer_parameters(d_model, d_ff) + attention_parameters(d_model) + 2 * d_model


def transformer_parameters(config: TransformerConfig) -> int:
    """Count the parameters of a `Transformer` with this config.

    A tied matrix counts once; sinusoidal positions have no parameters.

    See chapter 9 of the book.

    >>> base = TransformerConfig(
    ...     src_vocab_size=37_000, tgt_vocab_size=37_000, tie_embeddings=True
    ... )
    >>> f"{transformer_parameters(base):,}"
    '63,082,496'
    """
    d = config.d_model
    layers = config.num_layers * (
        encoder_layer_parameters(d, config.d_ff) + decoder_layer_parameters(d, config.d_ff)
    )
    final_norms = 2 * 2 * d if config.norm_first else 0
    rows = config.src_vocab_size + 2 * config.tgt_vocab_size
    if config.tie_embeddings:
        rows = config.tgt_vocab_size
    return layers + final_norms + rows * d
