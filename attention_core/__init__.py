"""Attention and the Transformer in small functions, each equal to PyTorch's.

Dimension key, used in every docstring and in the book:

=============  ==============================================================
``B``          batch size: how many sequences are computed together
``L``          query (target) length
``S``          key and value (source) length; in self-attention ``S = L``
``H``          number of heads, ``num_heads``
``V``          vocabulary size
``d_model``    width of a token's vector outside attention
``d_k``        width of one query and of one key
``d_v``        width of one value
``d_ff``       inner width of the feed-forward layer
=============  ==============================================================

Rows are tokens. ``query, key, value`` are tensors before projection, ``q, k, v``
after it; ``scores`` are the numbers before softmax, ``weights`` those after it.

Masks are bool, and **True means "may attend"**, as in
``torch.nn.functional.scaled_dot_product_attention`` and opposite to
``torch.nn.MultiheadAttention``. Combine them with ``&``.
"""

from attention_core.attention import AdditiveAttention, MultiHeadAttention
from attention_core.cache import DecoderCache, EncoderCache, KeyValueCache
from attention_core.conversion import from_torch, to_torch
from attention_core.decoding import beam_search, greedy_decode, normalised_score
from attention_core.functional import (
    attention_scores,
    attention_weights,
    masked_softmax,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from attention_core.generation import generate, sampling_probabilities
from attention_core.language_model import LanguageModel
from attention_core.layers import DecoderLayer, EncoderLayer, FeedForward, LayerNorm
from attention_core.masks import causal_mask, padding_mask, window_mask
from attention_core.modern import RMSNorm, SwiGLU
from attention_core.parameters import (
    attention_parameters,
    decoder_layer_parameters,
    encoder_layer_parameters,
    feed_forward_parameters,
    language_model_parameters,
    swiglu_parameters,
    transformer_parameters,
)
from attention_core.positional import (
    LearnedPositions,
    SinusoidalPositions,
    sinusoidal_encoding,
    sinusoidal_shift,
)
from attention_core.reach import reach_matrix
from attention_core.recording import record_attention
from attention_core.recurrent import RecurrentCache, RecurrentConfig, RecurrentTranslator
from attention_core.relative import (
    alibi_attention,
    alibi_slopes,
    apply_rotary,
    rotary_attention,
)
from attention_core.training import (
    Accuracy,
    evaluate,
    fit,
    load_checkpoint,
    load_training,
    save_checkpoint,
    save_training,
    sequence_loss,
    shift_targets,
    warmup_rate,
)
from attention_core.transformer import Decoder, Encoder, Transformer, TransformerConfig

# A literal: pyproject.toml and the book read it without importing the package.
__version__ = "0.3.0"

__all__ = [
    "Accuracy",
    "AdditiveAttention",
    "Decoder",
    "DecoderCache",
    "DecoderLayer",
    "Encoder",
    "EncoderCache",
    "EncoderLayer",
    "FeedForward",
    "KeyValueCache",
    "LanguageModel",
    "LayerNorm",
    "LearnedPositions",
    "MultiHeadAttention",
    "RMSNorm",
    "RecurrentCache",
    "RecurrentConfig",
    "RecurrentTranslator",
    "SinusoidalPositions",
    "SwiGLU",
    "Transformer",
    "TransformerConfig",
    "alibi_attention",
    "alibi_slopes",
    "apply_rotary",
    "attention_parameters",
    "attention_scores",
    "attention_weights",
    "beam_search",
    "causal_mask",
    "decoder_layer_parameters",
    "encoder_layer_parameters",
    "evaluate",
    "feed_forward_parameters",
    "fit",
    "from_torch",
    "generate",
    "greedy_decode",
    "language_model_parameters",
    "load_checkpoint",
    "load_training",
    "masked_softmax",
    "merge_heads",
    "normalised_score",
    "padding_mask",
    "reach_matrix",
    "record_attention",
    "rotary_attention",
    "sampling_probabilities",
    "save_checkpoint",
    "save_training",
    "scaled_dot_product_attention",
    "sequence_loss",
    "shift_targets",
    "sinusoidal_encoding",
    "sinusoidal_shift",
    "split_heads",
    "swiglu_parameters",
    "to_torch",
    "transformer_parameters",
    "warmup_rate",
    "window_mask",
]
