"""conversion.py: torch's modules become ours and ours torch's, with equal results."""

import copy
import warnings
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from copying_transformer import PAD, SIZES, batch, build, fill, torch_logits
from samples import filled
from torch import nn
from torch.testing import assert_close

from attention_core import (
    AdditiveAttention,
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    RMSNorm,
    SwiGLU,
    TransformerConfig,
    causal_mask,
    from_torch,
    rotary_attention,
    to_torch,
)
from attention_core.alternatives import local_attention
from attention_core.blockwise import blockwise_attention

D, H, FF, N = 12, 3, 17, 2
FUSED = {"attention": F.scaled_dot_product_attention, "norm": nn.LayerNorm}
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def numbers(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).double()


X, MEMORY = numbers(2, 5, D), numbers(2, 7, D, seed=1)
MAY, CAUSAL = numbers(2, 1, 1, 7, seed=2) > -0.7, causal_mask(5)  # True = may attend


def attention(**options):
    return nn.MultiheadAttention(D, H, **{"batch_first": True, **options})


def layer(kind, **options):
    return kind(D, H, FF, **{"dropout": 0.0, "batch_first": True, **options})


def encoder(norm=True, **options):
    return nn.TransformerEncoder(
        layer(nn.TransformerEncoderLayer, **options),
        N,
        norm=nn.LayerNorm(D, bias=options.get("bias", True)) if norm else None,
        enable_nested_tensor=False,
    )


def decoder(norm=True, **options):
    final = nn.LayerNorm(D, bias=options.get("bias", True)) if norm else None
    return nn.TransformerDecoder(layer(nn.TransformerDecoderLayer, **options), N, norm=final)


def whole(encoder_layers=N, decoder_layers=N, **options):
    with warnings.catch_warnings():  # torch warns of nested tensors, which are not used here
        warnings.simplefilter("ignore")
        options = {"batch_first": True, **options}
        return nn.Transformer(D, H, encoder_layers, decoder_layers, FF, **options)


PARTS = {
    "attention": attention,
    "encoder layer": lambda **o: layer(nn.TransformerEncoderLayer, **o),
    "decoder layer": lambda **o: layer(nn.TransformerDecoderLayer, **o),
    "encoder": encoder,
    "encoder without final norm": lambda **o: encoder(norm=False, **o),
    "decoder": decoder,
    "decoder without final norm": lambda **o: decoder(norm=False, **o),
}


def run_theirs(theirs):
    """Torch's result, with torch's masks (True = blocked), for any batch_first."""
    first = getattr(theirs, "layers", [theirs])[0]
    first = getattr(first, "self_attn", first).batch_first
    x, memory = (t if first else t.transpose(0, 1) for t in (X, MEMORY))
    blocked = ~MAY[:, 0, 0]
    if isinstance(theirs, nn.MultiheadAttention):
        output = theirs(x, memory, memory, key_padding_mask=blocked)[0]
    elif isinstance(theirs, nn.TransformerEncoderLayer | nn.TransformerEncoder):
        output = theirs(memory, src_key_padding_mask=blocked)
    else:
        output = theirs(x, memory, tgt_mask=~CAUSAL, memory_key_padding_mask=blocked)
    return output if first else output.transpose(0, 1)


def run_ours(ours):
    if isinstance(ours, MultiHeadAttention):
        return ours(X, MEMORY, MEMORY, MAY)
    if isinstance(ours, EncoderLayer | Encoder):
        return ours(MEMORY, MAY)
    return ours(X, MEMORY, tgt_mask=CAUSAL, memory_mask=MAY)


def theirs_of(name, **options):
    return filled(PARTS[name](**options)).double()


OPTIONS = [
    {},
    {"bias": False},
    {"batch_first": False},
    {"norm_first": True},
    {"norm_first": True, "bias": False},
    {"layer_norm_eps": 0.3},
    {"activation": nn.ReLU()},
    {"activation": torch.relu},
    {"activation": "gelu"},
    {"activation": nn.GELU(), "norm_first": True},
]
CASES = [
    (name, options)
    for name in PARTS
    for options in OPTIONS
    if name != "attention" or options.keys() <= {"bias", "batch_first"}
]


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("functions", [{}, FUSED], ids=["explicit", "fused"])
def test_a_converted_module_gives_torchs_output_and_converts_back(name, options, functions):
    theirs = theirs_of(name, **options)
    ours = from_torch(theirs, **functions)
    assert_close(run_ours(ours), run_theirs(theirs), **CLOSE)
    back = to_torch(ours)
    assert type(back) is type(theirs)
    assert_close(run_theirs(back), run_theirs(theirs), **CLOSE)
    state = back.state_dict()
    assert all(torch.equal(x, state[key]) for key, x in theirs.state_dict().items())
    # A bias that theirs lacks is 0 and does not train.
    for key in state.keys() - theirs.state_dict().keys():
        assert (state[key] == 0).all()
        assert not dict(back.named_parameters())[key].requires_grad
    again = from_torch(back, **functions)
    assert torch.equal(run_ours(again), run_ours(ours))


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("bias", [False, True])
def test_a_converted_module_trains_like_the_original(name, bias):
    theirs = theirs_of(name, bias=bias)
    ours = from_torch(theirs)
    for module, run in ((ours, run_ours), (theirs, run_theirs)):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1, weight_decay=0.1)
        for _ in range(3):
            run(module).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert_close(run_ours(ours), run_theirs(theirs), **CLOSE)


@pytest.mark.parametrize("name", PARTS)
def test_conversion_shares_no_parameters_and_draws_no_random_numbers(name):
    theirs = theirs_of(name)
    state = torch.get_rng_state()
    ours = from_torch(theirs)
    back = to_torch(ours)
    assert torch.equal(torch.get_rng_state(), state)
    expected = run_theirs(theirs)
    with torch.no_grad():
        for module in (ours, back):
            for parameter in module.parameters():
                parameter.zero_()
    assert torch.equal(run_theirs(theirs), expected)


@pytest.mark.parametrize("name", PARTS)
def test_dtype_device_mode_dropout_and_frozen_parameters_are_kept(name):
    theirs = PARTS[name](dropout=0.25).bfloat16().to("meta").eval().requires_grad_(False)
    ours = from_torch(theirs)
    back = to_torch(ours)
    for module in (ours, back):
        assert not module.training
        assert all(not part.training for part in module.modules())
        assert {(x.dtype, x.device.type) for x in module.parameters()} == {(torch.bfloat16, "meta")}
        assert not any(x.requires_grad for x in module.parameters())
        found = {m.p for m in module.modules() if isinstance(m, nn.Dropout)}
        found |= {
            m.dropout for m in module.modules() if isinstance(m.__dict__.get("dropout"), float)
        }
        assert found == {0.25}
    assert from_torch(theirs.train()).training
    assert to_torch(ours.train()).training


@pytest.mark.parametrize(
    "function", [partial(blockwise_attention, block_size=3), F.scaled_dot_product_attention]
)
def test_an_equivalent_attention_function_converts_to_torch(function):
    ours = filled(EncoderLayer(D, H, FF, attention=function)).double()
    assert_close(run_theirs(to_torch(ours)), run_ours(ours), **CLOSE)


# -------------------------------------------------------------- the whole Transformer

BOTH_NORMS = pytest.mark.parametrize("norm_first", [False, True])


@BOTH_NORMS
@pytest.mark.parametrize("functions", [{}, FUSED], ids=["explicit", "fused"])
def test_a_whole_transformer_converts_to_torch_and_back(norm_first, functions):
    ours = build(norm_first=norm_first, **functions)
    src, tgt = batch()
    theirs = to_torch(ours)
    assert type(theirs) is nn.Transformer
    assert theirs.batch_first
    expected = ours(src, tgt)
    assert_close(torch_logits(ours, theirs, src, tgt), expected, **CLOSE)
    back = from_torch(theirs, ours.config, **functions)
    for name in ("src_embedding", "tgt_embedding", "output"):  # which theirs lacks
        getattr(back, name).weight = getattr(ours, name).weight
    assert torch.equal(back(src, tgt), expected)
    assert back.config == ours.config
    assert not back.training


@BOTH_NORMS
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_an_nn_transformer_made_by_torch_converts_to_ours(norm_first, bias, batch_first):
    """Made as its documentation says: with a norm after each stack, in post-norm too."""
    theirs = whole(dropout=0.0, norm_first=norm_first, bias=bias, batch_first=batch_first)
    fill(theirs, seed=3)
    theirs.double().eval()
    sizes = dict(d_model=D, num_heads=H, num_layers=N, d_ff=FF, dropout=0.0)
    config = TransformerConfig(
        src_vocab_size=19, tgt_vocab_size=23, pad_id=PAD, norm_first=norm_first, **sizes
    )
    ours = from_torch(theirs, config)
    src, tgt = batch()
    if batch_first:
        expected = torch_logits(ours, theirs, src, tgt)
        assert_close(ours(src, tgt), expected, **CLOSE)
    twin = copy.deepcopy(ours)
    twin.load_state_dict(ours.state_dict())
    assert torch.equal(twin(src, tgt), ours(src, tgt))
    memory = run_ours(ours.encoder)
    assert_close(memory, run_theirs(theirs.encoder), **CLOSE)
    assert_close(run_ours(ours.decoder), run_theirs(theirs.decoder), **CLOSE)


# ---------------------------------------------------------------------- error texts


def changed(name, change, **options):
    module = PARTS[name](**options)
    change(module)
    return module


class Own(nn.TransformerEncoderLayer):
    pass


ONE_OF_TWO = "activation of torch's layer must be ReLU or the exact GELU, got "
TANH = {"activation": partial(F.gelu, approximate="tanh")}  # off by up to 0.0005
REFUSED = [
    (lambda: attention(kdim=5, vdim=7), ValueError, "embed_dim=12, kdim=5, vdim=7"),
    (lambda: attention(kdim=12, vdim=7), ValueError, "embed_dim=12, kdim=12, vdim=7"),
    (
        lambda: attention(add_bias_kv=True),
        ValueError,
        "add_bias_kv and add_zero_attn must be False, .* got add_bias_kv=True, add_zero_attn=False",
    ),
    (
        lambda: attention(add_zero_attn=True),
        ValueError,
        "got add_bias_kv=False, add_zero_attn=True",
    ),
    *(
        (lambda name=name: PARTS[name](**TANH), ValueError, ONE_OF_TWO + "gelu.approximate='tanh'")
        for name in ("encoder layer", "decoder layer", "encoder", "decoder")
    ),
    (
        lambda: encoder(activation=nn.GELU(approximate="tanh")),
        ValueError,
        ONE_OF_TWO + "GELU.approximate='tanh'",
    ),
    (lambda: encoder(activation=nn.SiLU()), ValueError, ONE_OF_TWO + "SiLU"),
    (lambda: encoder(activation=F.silu), ValueError, ONE_OF_TWO + "silu"),
    (
        lambda: changed("encoder layer", lambda m: setattr(m.dropout2, "p", 0.5)),
        ValueError,
        r"one dropout probability, got self_attn=0\.0, .* dropout1=0\.0, dropout2=0\.5",
    ),
    (
        lambda: changed("decoder", lambda m: setattr(m.layers[1].multihead_attn, "dropout", 0.5)),
        ValueError,
        r"one dropout probability, got self_attn=0\.0, multihead_attn=0\.5",
    ),
    (
        lambda: changed("encoder layer", lambda m: setattr(m, "norm1", nn.BatchNorm1d(D))),
        ValueError,
        "each norm must be a LayerNorm, of this package or torch's, got BatchNorm1d",
    ),
    (
        lambda: changed("encoder", lambda m: setattr(m, "norm", nn.Linear(D, D))),
        ValueError,
        "each norm must be a LayerNorm, of this package or torch's, got Linear",
    ),
    (
        lambda: changed("encoder", lambda m: setattr(m, "layers", nn.ModuleList())),
        ValueError,
        "a stack must have at least one layer, got none",
    ),
    (
        lambda: changed("encoder", lambda m: m.layers.append(Own(D, H))),
        TypeError,
        "each layer must be exactly a TransformerEncoderLayer, got Own",
    ),
    (
        lambda: Own(D, H),
        TypeError,
        "theirs must be exactly a MultiheadAttention or a TransformerEncoderLayer or .* got Own",
    ),
    (
        lambda: changed("encoder layer", lambda m: setattr(m, "self_attn", nn.Linear(D, D))),
        TypeError,
        "self_attn must be exactly a MultiheadAttention, got Linear",
    ),
    (lambda: EncoderLayer(D, H, FF), TypeError, "theirs must be exactly .* got EncoderLayer"),
    (lambda: None, TypeError, "theirs must be exactly .* got NoneType"),
]


@pytest.mark.parametrize(("make", "error", "text"), REFUSED)
def test_a_torch_module_that_ours_cannot_represent_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        from_torch(make())


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"d_model": 24}, "config.d_model must be that of the encoder, got 24 for 12"),
        ({"num_heads": 4}, "config.num_heads must be that of the encoder, got 4 for 3"),
        ({"num_layers": 3}, "config.num_layers must be that of the encoder, got 3 for 2"),
        ({"d_ff": 5}, "config.d_ff must be that of the encoder, got 5 for 17"),
        ({"dropout": 0.5}, r"config.dropout must be that of the encoder, got 0\.5 for 0\.1"),
        ({"norm_first": True}, "config.norm_first must be that of the encoder, got True for False"),
        ({"num_kv_heads": 1}, "config.num_kv_heads must be that of the encoder, got 1 for 3"),
        ({"attention_bias": False}, "config.attention_bias must be .*, got False for True"),
    ],
)
def test_a_config_of_another_model_is_refused(changes, text):
    sizes = dict(d_model=D, num_heads=H, num_layers=N, d_ff=FF) | changes
    config = TransformerConfig(src_vocab_size=19, tgt_vocab_size=23, **sizes)
    with pytest.raises(ValueError, match=text):
        from_torch(whole(), config)


def test_stacks_of_different_depth_and_custom_stacks_are_refused():
    config = TransformerConfig(
        src_vocab_size=19, tgt_vocab_size=23, d_model=D, num_heads=H, num_layers=N, d_ff=FF
    )
    with pytest.raises(ValueError, match="num_layers must be that of the decoder, got 2 for 3"):
        from_torch(whole(decoder_layers=3), config)
    with pytest.raises(TypeError, match="decoder must be exactly a TransformerDecoder, got Linear"):
        from_torch(whole(custom_decoder=nn.Linear(1, 1)), config)


def test_a_config_is_required_for_a_whole_transformer_and_refused_for_a_part():
    config = TransformerConfig(**SIZES)
    with pytest.raises(TypeError, match=r"config must be .* got NoneType for Transformer"):
        from_torch(whole())
    with pytest.raises(TypeError, match=r"None for a part .* got TransformerConfig for Multihead"):
        from_torch(attention(), config)
    with pytest.raises(TypeError, match=r"config must be .* got dict for Transformer"):
        from_torch(whole(), SIZES)
    with pytest.raises(TypeError, match=r"config must be .* got dict for MultiheadAttention"):
        from_torch(attention(), SIZES)


def narrow(q, k, v, mask=None, /, *, dropout_p):
    return local_attention(q, k, v, 1)


class OwnLayer(EncoderLayer):
    pass


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: MultiHeadAttention(D, H, attention=narrow), ValueError, "attention .* got narrow"),
        (lambda: DecoderLayer(D, H, FF, attention=narrow), ValueError, "attention .* got narrow"),
        (
            lambda: EncoderLayer(D, H, FF, norm=nn.Identity),
            ValueError,
            "each norm must be a LayerNorm, .* got Identity",
        ),
        (
            lambda: EncoderLayer(D, H, FF, norm=RMSNorm),
            ValueError,
            "each norm must be a LayerNorm, .* got RMSNorm",
        ),
        (
            lambda: EncoderLayer(D, H, FF, feed_forward=SwiGLU),
            ValueError,
            "feed_forward must be exactly a FeedForward, .* got SwiGLU",
        ),
        (
            lambda: DecoderLayer(D, H, FF, feed_forward=partial(FeedForward, activation=F.silu)),
            ValueError,
            "activation of our feed-forward must be ReLU or the exact GELU, got silu",
        ),
        (
            lambda: MultiHeadAttention(D, H, num_kv_heads=1),
            ValueError,
            "num_kv_heads must be num_heads, .* got num_kv_heads=1 and num_heads=3",
        ),
        (
            lambda: EncoderLayer(D, H, FF, attention=partial(rotary_attention, base=100.0)),
            ValueError,
            "attention must be scaled_dot_product_attention, .* got rotary_attention.base=100.0",
        ),
        (lambda: AdditiveAttention(D, D, D), TypeError, "ours must be exactly .* got Additive"),
        (lambda: OwnLayer(D, H, FF), TypeError, "ours must be exactly a MultiHead.* got OwnLayer"),
        (attention, TypeError, "ours must be exactly .* got MultiheadAttention"),
    ],
)
def test_a_module_that_torch_cannot_represent_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        to_torch(make())


@pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer])
def test_a_layer_whose_attention_alone_has_no_bias_converts_to_torch_and_back(kind):
    ours = filled(kind(D, H, FF, attention_bias=False)).double()
    theirs = to_torch(ours)
    assert theirs.self_attn.in_proj_bias is None
    assert theirs.linear1.bias is not None
    assert_close(run_theirs(theirs), run_ours(ours), **CLOSE)
    assert torch.equal(run_ours(from_torch(theirs)), run_ours(ours))


def test_both_kinds_of_layer_norm_convert_to_torch_with_their_eps():
    for norm in (lambda d: LayerNorm(d, eps=0.3), lambda d: nn.LayerNorm(d, eps=0.3)):
        ours = filled(EncoderLayer(D, H, FF, norm=norm)).double()
        assert to_torch(ours).norm2.eps == 0.3
        assert_close(run_theirs(to_torch(ours)), run_ours(ours), **CLOSE)


def test_each_class_of_torch_converts_to_its_counterpart():
    kinds = [MultiHeadAttention, EncoderLayer, DecoderLayer, Encoder, Encoder, Decoder, Decoder]
    assert [type(from_torch(make())) for make in PARTS.values()] == kinds
    assert type(to_torch(build())) is nn.Transformer
