"""parameters.py: every formula equals numel() of the module that it counts."""

import pytest
from torch import nn

from attention_core import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    Transformer,
    TransformerConfig,
    attention_parameters,
    decoder_layer_parameters,
    encoder_layer_parameters,
    feed_forward_parameters,
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
        (lambda: encoder_layer_parameters(0), ValueError, "d_model must be at least 1, got 0"),
        (lambda: decoder_layer_parameters(True), TypeError, "d_model must be an int, got bool"),
        (lambda: decoder_layer_parameters(3, 2.5), TypeError, r"d_ff must be an int, got float 2"),
    ],
)
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
