"""What an importer relies on: the names, their documentation, and a light import."""

import inspect
import subprocess
import sys

import pytest

import attention_core

# Names that neither take nor return tensors, and so document no shape.
NO_SHAPE = {
    "Accuracy",
    "DecoderCache",
    "KeyValueCache",
    "RecurrentCache",
    "RecurrentConfig",
    "TransformerConfig",
    "attention_parameters",
    "decoder_layer_parameters",
    "encoder_layer_parameters",
    "feed_forward_parameters",
    "from_torch",
    "load_checkpoint",
    "load_training",
    "normalised_score",
    "record_attention",
    "save_checkpoint",
    "save_training",
    "to_torch",
    "transformer_parameters",
    "warmup_rate",
}


# The signatures. A change of a name or default breaks the code of users.
CALLS = """
Accuracy(exact, tokens)
AdditiveAttention(d_query, d_key, d_hidden)
Decoder(config, *, attention, norm)
DecoderCache(num_layers)
DecoderLayer(d_model, num_heads, d_ff, *, dropout=0.0, norm_first=False, attention, norm)
Encoder(config, *, attention, norm)
EncoderLayer(d_model, num_heads, d_ff, *, dropout=0.0, norm_first=False, attention, norm)
FeedForward(d_model, d_ff, *, dropout=0.0)
KeyValueCache(*, grows)
LayerNorm(d_model, *, eps=1e-05)
LearnedPositions(d_model, *, max_len=5000, dropout=0.0)
MultiHeadAttention(d_model, num_heads, *, dropout=0.0, bias=True, attention)
RecurrentCache(state=None, length=0)
RecurrentConfig(*, src_vocab_size, tgt_vocab_size, d_model=64, num_layers=1, dropout=0.1, \
max_len=5000, pad_id=0, attention)
RecurrentTranslator(config)
SinusoidalPositions(d_model, *, max_len=5000, dropout=0.0)
Transformer(config, *, attention, norm)
TransformerConfig(*, src_vocab_size, tgt_vocab_size, d_model=512, num_heads=8, num_layers=6, \
d_ff=2048, dropout=0.1, max_len=5000, pad_id=0, norm_first=False, tie_embeddings=False)
attention_parameters(d_model)
attention_scores(q, k)
attention_weights(q, k, mask=None)
beam_search(model, src, *, bos_id, eos_id, max_len, beam_size=4, length_penalty=0.6, \
patience=1.0, use_cache=True)
causal_mask(length, *, device=None)
decoder_layer_parameters(d_model, d_ff=None)
encoder_layer_parameters(d_model, d_ff=None)
evaluate(model, batches, *, bos_id, eos_id)
feed_forward_parameters(d_model, d_ff)
fit(model, batches, *, steps, optimizer, rate, start=0, label_smoothing=0.0, clip=None, \
progress=None)
from_torch(theirs, config=None, *, attention, norm)
greedy_decode(model, src, *, bos_id, eos_id, max_len, use_cache=True)
load_checkpoint(path, model)
load_training(path, model, optimizer)
masked_softmax(scores, mask=None)
merge_heads(x)
normalised_score(log_probability, length, alpha)
padding_mask(ids, pad_id)
reach_matrix(function, x)
record_attention(model)
save_checkpoint(path, model, **extras)
save_training(path, model, optimizer, step, **extras)
scaled_dot_product_attention(q, k, v, mask=None, *, dropout_p=0.0)
sequence_loss(logits, targets, *, pad_id, label_smoothing=0.0)
shift_targets(tgt)
sinusoidal_encoding(max_len, d_model, *, base=10000.0, dtype=None, device=None)
sinusoidal_shift(offset, d_model, *, base=10000.0, dtype=None, device=None)
split_heads(x, num_heads)
to_torch(ours)
transformer_parameters(config)
warmup_rate(step, d_model, warmup)
""".strip().splitlines()


def test_the_signature_of_every_public_name_is_unchanged():
    calls = []
    for name in attention_core.__all__:
        signature = inspect.signature(getattr(attention_core, name))
        parameters = []
        for parameter in signature.parameters.values():
            # The two functions that may be replaced are compared by name only.
            if parameter.name in ("attention", "norm") and name != "RecurrentConfig":
                default = {
                    "attention": attention_core.scaled_dot_product_attention,
                    "norm": attention_core.LayerNorm,
                }[parameter.name]
                assert parameter.default is default
                parameter = parameter.replace(default=inspect.Parameter.empty)
            parameters.append(parameter.replace(annotation=inspect.Parameter.empty))
        calls.append(name + str(inspect.Signature(parameters)))
    assert calls == CALLS


@pytest.mark.parametrize("name", attention_core.__all__)
def test_every_public_name_is_documented_with_its_shape_and_an_example(name):
    doc = getattr(attention_core, name).__doc__
    assert ">>> " in doc
    assert ("Shape:" in doc) != (name in NO_SHAPE)


def test_importing_the_package_needs_torch_only():
    code = (
        "import sys, attention_core; "
        "heavy = {'matplotlib', 'seaborn', 'IPython', 'pandas'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
