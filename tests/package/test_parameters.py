"""parameters.py: every formula equals numel() of the module that it counts."""

from functools import partial
from itertools import product

import pytest
import torch.nn.functional as F
from torch import nn

from attention_core import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    LanguageModel,
    LayerNorm,
    MultiHeadAttention,
    RMSNorm,
    SwiGLU,
    Transformer,
    TransformerConfig,
    attention_parameters,
    decoder_layer_parameters,
    encoder_layer_parameters,
    feed_forward_parameters,
    language_model_parameters,
    swiglu_parameters,
    transformer_parameters,
)


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize("num_heads", [1, 3, 5])
def test_attention_counts_the_same_for_any_number_of_heads(num_heads):
    assert attention_parameters(15) == 960 == count(MultiHeadAttention(15, num_heads))
    assert attention_parameters(15) == count(nn.MultiheadAttention(15, num_heads))


@pytest.mark.parametrize(("d_model", "d_ff"), [(7, 11), (11, 7), (13, 52), (1, 1)])
def test_the_formulas_of_layers_equal_numel_of_ours_and_of_torch(d_model, d_ff):
    assert feed_forward_parameters(d_model, d_ff) == count(FeedForward(d_model, d_ff))
    encoder, decoder = EncoderLayer(d_model, 1, d_ff), DecoderLayer(d_model, 1, d_ff)
    assert encoder_layer_parameters(d_model, d_ff) == count(encoder)
    assert decoder_layer_parameters(d_model, d_ff) == count(decoder)
    theirs = nn.TransformerEncoderLayer(d_model, 1, d_ff)
    assert encoder_layer_parameters(d_model, d_ff) == count(theirs)
    theirs = nn.TransformerDecoderLayer(d_model, 1, d_ff)
    assert decoder_layer_parameters(d_model, d_ff) == count(theirs)


@pytest.mark.parametrize("d", [1, 7, 512])
def test_a_feed_forward_of_four_times_the_width_gives_the_short_formulas(d):
    assert attention_parameters(d) == 4 * d**2 + 4 * d
    assert feed_forward_parameters(d, 4 * d) == 8 * d**2 + 5 * d
    assert encoder_layer_parameters(d) == 12 * d**2 + 13 * d
    assert decoder_layer_parameters(d) == 16 * d**2 + 19 * d
    assert encoder_layer_parameters(d, 4 * d) == encoder_layer_parameters(d)
    assert decoder_layer_parameters(d, 4 * d) == decoder_layer_parameters(d)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize(
    ("src_vocab_size", "tgt_vocab_size", "tie_embeddings"),
    [(17, 19, False), (23, 19, False), (19, 19, False), (19, 19, True)],
)
@pytest.mark.parametrize("d_ff", [11, 60])
def test_the_formula_of_a_model_equals_numel_of_the_built_model(
    src_vocab_size, tgt_vocab_size, tie_embeddings, d_ff, num_layers, norm_first
):
    config = TransformerConfig(
        src_vocab_size=src_vocab_size,
        tgt_vocab_size=tgt_vocab_size,
        d_model=15,
        num_heads=5,
        num_layers=num_layers,
        d_ff=d_ff,
        max_len=29,
        norm_first=norm_first,
        tie_embeddings=tie_embeddings,
    )
    assert transformer_parameters(config) == count(Transformer(config))


@pytest.mark.parametrize("num_kv_heads", [None, 15, 5, 3, 1])
@pytest.mark.parametrize("bias", [False, True])
def test_fewer_key_heads_and_no_biases_are_counted(num_kv_heads, bias):
    built = MultiHeadAttention(15 * 7, 15, num_kv_heads=num_kv_heads, bias=bias)
    formula = attention_parameters(15 * 7, num_heads=15, num_kv_heads=num_kv_heads, bias=bias)
    assert formula == count(built)


PARTS = {
    "num_kv_heads": [None, 1],
    "attention_bias": [False, True],
    "norm": [LayerNorm, partial(RMSNorm, eps=0.3)],
    "feed_forward": [FeedForward, SwiGLU, partial(FeedForward, activation=F.gelu)],
}
LATER = [dict(zip(PARTS, values, strict=True)) for values in product(*PARTS.values())]


def test_a_swiglu_has_three_matrices():
    assert swiglu_parameters(7, 11) == count(SwiGLU(7, 11))


@pytest.mark.parametrize("options", LATER)
def test_the_formulas_equal_numel_of_layers_and_models_of_later_parts(options):
    heads = {"num_heads": 5, **options}
    assert encoder_layer_parameters(35, 11, **heads) == count(EncoderLayer(35, 5, 11, **options))
    assert decoder_layer_parameters(35, 11, **heads) == count(DecoderLayer(35, 5, 11, **options))
    parts = {name: options[name] for name in ("norm", "feed_forward")}
    attention = {name: options[name] for name in ("num_kv_heads", "attention_bias")}
    for norm_first, tie_embeddings in product([False, True], repeat=2):
        config = TransformerConfig(
            src_vocab_size=17, tgt_vocab_size=17, d_model=35, num_heads=5, num_layers=3, d_ff=11,
            norm_first=norm_first, tie_embeddings=tie_embeddings, **attention,
        )  # fmt: skip
        for kind, formula in (
            (Transformer, transformer_parameters),
            (LanguageModel, language_model_parameters),
        ):
            assert formula(config, **parts) == count(kind(config, **parts))


def test_the_base_model_of_the_paper_has_63_082_496_parameters():
    base = TransformerConfig(src_vocab_size=37_000, tgt_vocab_size=37_000, tie_embeddings=True)
    by_hand = 6 * (3_152_384 + 4_204_032) + 37_000 * 512
    assert transformer_parameters(base) == by_hand == 63_082_496


def test_the_formula_of_a_layer_gives_the_parameters_of_bert_base():
    d = 768
    embeddings = (30_522 + 512 + 2) * d  # words, positions, segments
    norm, pooler = 2 * d, d**2 + d
    assert encoder_layer_parameters(d) == 7_087_872
    assert 12 * encoder_layer_parameters(d) + embeddings + norm + pooler == 109_482_240


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: attention_parameters(0), ValueError, "d_model must be at least 1, got 0"),
        (lambda: attention_parameters(2.0), TypeError, r"d_model must be an int, got float 2\.0"),
        (lambda: feed_forward_parameters(0, 3), ValueError, "d_model must be at least 1, got 0"),
        (lambda: feed_forward_parameters(3, 0), ValueError, "d_ff must be at least 1, got 0"),
        (lambda: encoder_layer_parameters(3, -1), ValueError, "d_ff must be at least 1, got -1"),
        (lambda: swiglu_parameters(0, 3), ValueError, "d_model must be at least 1, got 0"),
        (lambda: swiglu_parameters(3, 0), ValueError, "d_ff must be at least 1, got 0"),
        (
            lambda: attention_parameters(6, num_kv_heads=2),
            ValueError,
            "num_kv_heads needs num_heads, got 2 and no num_heads",
        ),
        (
            lambda: attention_parameters(6, num_heads=3, num_kv_heads=2),
            ValueError,
            "divisible by num_kv_heads, got num_heads=3 and num_kv_heads=2",
        ),
        (
            lambda: attention_parameters(6, num_heads=4),
            ValueError,
            "d_model must be divisible by num_heads, got d_model=6 and num_heads=4",
        ),
        (lambda: attention_parameters(6, bias=0), TypeError, "bias must be"),
        (
            lambda: encoder_layer_parameters(6, norm=nn.LayerNorm),
            ValueError,
            "norm must be LayerNorm or RMSNorm of attention_core, got torch.*LayerNorm",
        ),
        (
            lambda: decoder_layer_parameters(6, feed_forward=nn.Linear),
            ValueError,
            "feed_forward must be FeedForward or SwiGLU of .*, got torch.*Linear",
        ),
        (lambda: encoder_layer_parameters(0), ValueError, "d_model must be at least 1, got 0"),
        (lambda: decoder_layer_parameters(True), TypeError, "d_model must be an int, got bool"),
        (lambda: decoder_layer_parameters(3, 2.5), TypeError, r"d_ff must be an int, got float 2"),
    ],
)
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
