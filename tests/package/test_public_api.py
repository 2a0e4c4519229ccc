"""What an importer relies on: the names, their documentation, and a light import."""

import inspect
import subprocess
import sys

import pytest
import torch

import attention_core

# Names that neither take nor return tensors, and so document no shape.
NO_SHAPE = {
    "Accuracy",
    "DecoderCache",
    "EncoderCache",
    "KeyValueCache",
    "RecurrentCache",
    "RecurrentConfig",
    "TransformerConfig",
    "attention_parameters",
    "decoder_layer_parameters",
    "encoder_layer_parameters",
    "feed_forward_parameters",
    "from_torch",
    "language_model_parameters",
    "load_checkpoint",
    "load_training",
    "normalised_score",
    "record_attention",
    "save_checkpoint",
    "save_training",
    "swiglu_parameters",
    "to_torch",
    "transformer_parameters",
    "warmup_rate",
}


# The signatures. A change of a name or default breaks the code of users.
CALLS = """
Accuracy(exact, tokens)
AdditiveAttention(d_query, d_key, d_hidden)
Decoder(config, *, attention, norm, feed_forward)
DecoderCache(num_layers)
DecoderLayer(d_model, num_heads, d_ff, *, dropout=0.0, norm_first=False, attention, norm, \
feed_forward, num_kv_heads=None, attention_bias=True)
Encoder(config, *, attention, norm, feed_forward)
EncoderCache(num_layers)
EncoderLayer(d_model, num_heads, d_ff, *, dropout=0.0, norm_first=False, attention, norm, \
feed_forward, num_kv_heads=None, attention_bias=True)
FeedForward(d_model, d_ff, *, dropout=0.0, activation)
KeyValueCache(*, grows)
LanguageModel(config, *, attention, norm, feed_forward, positions=True)
LayerNorm(d_model, *, eps=1e-05)
LearnedPositions(d_model, *, max_len=5000, dropout=0.0)
MultiHeadAttention(d_model, num_heads, *, dropout=0.0, bias=True, attention, num_kv_heads=None)
RMSNorm(d_model, *, eps=1e-06)
RecurrentCache(state=None, length=0)
RecurrentConfig(*, src_vocab_size, tgt_vocab_size, d_model=64, num_layers=1, dropout=0.1, \
max_len=5000, pad_id=0, attention)
RecurrentTranslator(config)
SinusoidalPositions(d_model, *, max_len=5000, dropout=0.0)
SwiGLU(d_model, d_ff, *, dropout=0.0)
Transformer(config, *, attention, norm, feed_forward)
TransformerConfig(*, src_vocab_size, tgt_vocab_size, d_model=512, num_heads=8, num_layers=6, \
d_ff=2048, dropout=0.1, max_len=5000, pad_id=0, norm_first=False, tie_embeddings=False, \
num_kv_heads=None, attention_bias=True)
alibi_attention(q, k, v, mask=None, *, dropout_p=0.0, attention)
alibi_slopes(num_heads)
apply_rotary(x, *, offset=0, base=10000.0)
attention_parameters(d_model, *, num_heads=None, num_kv_heads=None, bias=True)
attention_scores(q, k)
attention_weights(q, k, mask=None)
beam_search(model, src, *, bos_id, eos_id, max_len, beam_size=4, length_penalty=0.6, \
patience=1.0, use_cache=True)
causal_mask(length, *, device=None)
decoder_layer_parameters(d_model, d_ff=None, *, num_heads=None, num_kv_heads=None, \
attention_bias=True, norm, feed_forward)
encoder_layer_parameters(d_model, d_ff=None, *, num_heads=None, num_kv_heads=None, \
attention_bias=True, norm, feed_forward)
evaluate(model, batches, *, bos_id, eos_id)
feed_forward_parameters(d_model, d_ff)
fit(model, batches, *, steps, optimizer, rate, start=0, label_smoothing=0.0, clip=None, \
progress=None)
from_torch(theirs, config=None, *, attention, norm)
generate(model, prompt, *, max_len, eos_id=None, temperature=0.0, top_k=None, top_p=None, \
generator=None)
greedy_decode(model, src, *, bos_id, eos_id, max_len, use_cache=True)
language_model_parameters(config, *, norm, feed_forward)
load_checkpoint(path, model)
load_training(path, model, optimizer)
masked_softmax(scores, mask=None)
merge_heads(x)
normalised_score(log_probability, length, alpha)
padding_mask(ids, pad_id)
reach_matrix(function, x)
record_attention(model)
rotary_attention(q, k, v, mask=None, *, dropout_p=0.0, base=10000.0, attention)
sampling_probabilities(logits, *, temperature=1.0, top_k=None, top_p=None)
save_checkpoint(path, model, **extras)
save_training(path, model, optimizer, step, **extras)
scaled_dot_product_attention(q, k, v, mask=None, *, dropout_p=0.0)
sequence_loss(logits, targets, *, pad_id, label_smoothing=0.0)
shift_targets(tgt)
sinusoidal_encoding(max_len, d_model, *, base=10000.0, dtype=None, device=None)
sinusoidal_shift(offset, d_model, *, base=10000.0, dtype=None, device=None)
split_heads(x, num_heads)
swiglu_parameters(d_model, d_ff)
to_torch(ours)
transformer_parameters(config, *, norm, feed_forward)
warmup_rate(step, d_model, warmup)
window_mask(length, window, *, sinks=0, device=None)
""".strip().splitlines()


def test_the_signature_of_every_public_name_is_unchanged():
    calls = []
    for name in attention_core.__all__:
        signature = inspect.signature(getattr(attention_core, name))
        parameters = []
        for parameter in signature.parameters.values():
            # The parts that may be replaced are compared by name only.
            replaced = ("attention", "norm", "feed_forward", "activation")
            if parameter.name in replaced and name != "RecurrentConfig":
                default = {
                    "attention": attention_core.scaled_dot_product_attention,
                    "norm": attention_core.LayerNorm,
                    "feed_forward": attention_core.FeedForward,
                    "activation": torch.relu,
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
