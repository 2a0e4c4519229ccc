"""The parts of `conversion`: each function converts one kind of module.

Modules are made on the meta device, which draws no random numbers, and their parameters
are then replaced by copies.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_core.attention import MultiHeadAttention
from attention_core.blockwise import blockwise_attention
from attention_core.functional import scaled_dot_product_attention
from attention_core.layers import DecoderLayer, EncoderLayer, FeedForward, LayerNorm
from attention_core.transformer import Decoder, Encoder, Transformer, TransformerConfig

Norm = Callable[..., nn.Module]
_Layer = TypeVar("_Layer", bound=nn.Module)

# Names of the same part, ours and torch's.
_ATTENTIONS = {"self_attention": "self_attn", "cross_attention": "multihead_attn"}
_LINEARS = {"inner": "linear1", "outer": "linear2"}
_NORMS = {
    EncoderLayer: {"self_attention_norm": "norm1", "feed_forward_norm": "norm2"},
    DecoderLayer: {
        "self_attention_norm": "norm1",
        "cross_attention_norm": "norm2",
        "feed_forward_norm": "norm3",
    },
}
_LAYERS: dict[type, tuple[type, type]] = {
    Encoder: (EncoderLayer, nn.TransformerEncoderLayer),
    Decoder: (DecoderLayer, nn.TransformerDecoderLayer),
}
# Functions that give the same numbers as torch's attention.
_SAME = (scaled_dot_product_attention, blockwise_attention, F.scaled_dot_product_attention)


def check_type(name: str, module: object, kinds: Iterable[type]) -> None:
    kinds = list(kinds)
    if type(module) not in kinds:
        raise TypeError(
            f"{name} must be exactly a {' or a '.join(k.__name__ for k in kinds)}, "
            f"got {type(module).__name__}"
        )


def name_of(function: Any) -> str:
    """Return the name of a function or of a module's class; of a partial, its options too."""
    if isinstance(function, partial):
        options = ", ".join(f"{key}={value!r}" for key, value in function.keywords.items())
        return f"{name_of(function.func)}({options})"
    return getattr(function, "__name__", type(function).__name__)


def _activation_of(owner: str, given: Any) -> Callable[[Tensor], Tensor]:
    """Return torch's function of this activation: ReLU, or the exact GELU."""
    if given in (F.relu, torch.relu) or type(given) is nn.ReLU:
        return F.relu
    if given is F.gelu or (type(given) is nn.GELU and given.approximate == "none"):
        return F.gelu
    name = repr(given) if type(given) is nn.GELU else name_of(given)
    raise ValueError(f"activation of {owner} must be ReLU or the exact GELU, got {name}")


def _copied(parameter: Tensor) -> nn.Parameter:
    return nn.Parameter(parameter.detach().clone(), requires_grad=parameter.requires_grad)


def _joined(parameters: list[Tensor]) -> nn.Parameter:
    trained = any(x.requires_grad for x in parameters)
    return nn.Parameter(torch.cat([x.detach() for x in parameters]), requires_grad=trained)


def _copied_linear(given: nn.Linear) -> nn.Linear:
    made = nn.Linear(
        given.in_features, given.out_features, bias=given.bias is not None, device="meta"
    )
    made.weight = _copied(given.weight)
    if given.bias is not None:
        made.bias = _copied(given.bias)
    return made


def _copied_norm(given: Any, norm: Norm, like: Tensor) -> nn.Module:
    if type(given) not in (LayerNorm, nn.LayerNorm):
        raise ValueError(
            f"each norm must be a LayerNorm, of this package or torch's, got {type(given).__name__}"
        )
    width = like.shape[-1]
    made: Any = norm(width, eps=given.eps)
    for name, value in (("weight", 1.0), ("bias", 0.0)):
        constant = nn.Parameter(like.new_full((width,), value), requires_grad=False)
        numbers = getattr(given, name)
        setattr(made, name, constant if numbers is None else _copied(numbers))
    norm_made: nn.Module = made
    return norm_made


# ----------------------------------------------------------------- from torch's


def attention(theirs: Any, options: dict[str, Any]) -> MultiHeadAttention:
    d_model = theirs.embed_dim
    if theirs.kdim != d_model or theirs.vdim != d_model:
        raise ValueError(
            "kdim and vdim must be embed_dim, since ours has one width d_model, "
            f"got embed_dim={d_model}, kdim={theirs.kdim}, vdim={theirs.vdim}"
        )
    if theirs.bias_k is not None or theirs.add_zero_attn:
        raise ValueError(
            "add_bias_kv and add_zero_attn must be False, since ours attends to given keys only, "
            f"got add_bias_kv={theirs.bias_k is not None}, add_zero_attn={theirs.add_zero_attn}"
        )
    bias = theirs.in_proj_bias is not None
    with torch.device("meta"):  # no random numbers: every parameter is replaced
        ours = MultiHeadAttention(
            d_model,
            theirs.num_heads,
            dropout=theirs.dropout,
            bias=bias,
            attention=options["attention"],
        )
    ours.out_proj = _copied_linear(theirs.out_proj)
    for kind in ("weight", "bias") if bias else ("weight",):
        packed = getattr(theirs, f"in_proj_{kind}")
        for letter, part in zip("qkv", packed.detach().chunk(3), strict=True):
            made = nn.Parameter(part.clone(), requires_grad=packed.requires_grad)
            setattr(getattr(ours, f"{letter}_proj"), kind, made)
    return ours


def layer(kind: type[_Layer], theirs: Any, options: dict[str, Any]) -> _Layer:
    activation = _activation_of("torch's layer", theirs.activation)
    for other in _ATTENTIONS.values():
        if hasattr(theirs, other):
            check_type(other, getattr(theirs, other), [nn.MultiheadAttention])
    first = theirs.self_attn
    with torch.device("meta"):
        ours: Any = kind(
            first.embed_dim,
            first.num_heads,
            theirs.linear1.out_features,
            dropout=_dropout_of(theirs),
            norm_first=theirs.norm_first,
            feed_forward=partial(FeedForward, activation=activation),
            **options,
        )
    for name, other in _ATTENTIONS.items():
        if hasattr(theirs, other):
            setattr(ours, name, attention(getattr(theirs, other), options))
    for name, other in _LINEARS.items():
        setattr(ours.feed_forward, name, _copied_linear(getattr(theirs, other)))
    for name, other in _NORMS[kind].items():  # type: ignore[index]
        given = getattr(theirs, other)
        setattr(ours, name, _copied_norm(given, options["norm"], theirs.linear1.weight))
    made: _Layer = ours
    return made


def _dropout_of(theirs: Any) -> float:
    """Return the one dropout probability of a layer; torch's layer has up to six."""
    found = {"self_attn": theirs.self_attn.dropout}
    if hasattr(theirs, "multihead_attn"):
        found["multihead_attn"] = theirs.multihead_attn.dropout
    for name in ("dropout", "dropout1", "dropout2", "dropout3"):
        if hasattr(theirs, name):
            found[name] = getattr(theirs, name).p
    if len(set(found.values())) > 1:
        given = ", ".join(f"{name}={p}" for name, p in found.items())
        raise ValueError(f"a layer must have one dropout probability, got {given}")
    return float(theirs.self_attn.dropout)


def stack(kind: type[_Layer], theirs: Any, options: dict[str, Any]) -> _Layer:
    if len(theirs.layers) == 0:
        raise ValueError("a stack must have at least one layer, got none")
    for each in theirs.layers:
        check_type("each layer", each, [_LAYERS[kind][1]])
    first = theirs.layers[0]
    sizes = dict(
        d_model=first.self_attn.embed_dim,
        num_heads=first.self_attn.num_heads,
        d_ff=first.linear1.out_features,
        num_layers=1,
        norm_first=first.norm_first,
    )
    with torch.device("meta"):  # layers and norm, all that it builds, are replaced
        ours: Any = kind(TransformerConfig(src_vocab_size=1, tgt_vocab_size=1, **sizes))
    ours.layers = nn.ModuleList(layer(_LAYERS[kind][0], each, options) for each in theirs.layers)
    ours.norm = nn.Identity()
    if theirs.norm is not None:
        ours.norm = _copied_norm(theirs.norm, options["norm"], first.linear1.weight)
    made: _Layer = ours
    return made


def transformer(config: TransformerConfig, theirs: Any, options: dict[str, Any]) -> Transformer:
    for name, kind in (("encoder", nn.TransformerEncoder), ("decoder", nn.TransformerDecoder)):
        given = getattr(theirs, name)
        check_type(name, given, [kind])
        if len(given.layers) != config.num_layers:
            raise ValueError(
                f"config.num_layers must be that of the {name}, "
                f"got {config.num_layers} for {len(given.layers)}"
            )
        for each in given.layers:
            found = dict(
                d_model=each.self_attn.embed_dim,
                num_heads=each.self_attn.num_heads,
                d_ff=each.linear1.out_features,
                dropout=each.self_attn.dropout,
                norm_first=each.norm_first,
            )
            if config.num_kv_heads is not None:
                found["num_kv_heads"] = each.self_attn.num_heads
            if not config.attention_bias:
                found["attention_bias"] = each.self_attn.in_proj_bias is not None
            for size, value in found.items():
                if getattr(config, size) != value:
                    raise ValueError(
                        f"config.{size} must be that of the {name}, "
                        f"got {getattr(config, size)} for {value}"
                    )
    like = theirs.encoder.layers[0].linear1.weight
    ours = Transformer(config, **options).to(device=like.device, dtype=like.dtype)
    ours.encoder = stack(Encoder, theirs.encoder, options)
    ours.decoder = stack(Decoder, theirs.decoder, options)
    return ours


# ------------------------------------------------------------------- to torch's


def to_attention(ours: Any) -> nn.MultiheadAttention:
    function = ours.attention
    if isinstance(function, partial) and function.func is blockwise_attention:
        function = function.func  # its block_size does not change the numbers
    if function not in _SAME:
        raise ValueError(
            "attention must be scaled_dot_product_attention, of this package or torch's, or "
            f"blockwise_attention, got {name_of(ours.attention)}"
        )
    if ours.num_kv_heads != ours.num_heads:
        raise ValueError(
            "num_kv_heads must be num_heads, since torch's module has as many key heads as "
            f"query heads, got num_kv_heads={ours.num_kv_heads} and num_heads={ours.num_heads}"
        )
    bias = ours.out_proj.bias is not None
    theirs: Any = nn.MultiheadAttention(
        ours.d_model,
        ours.num_heads,
        dropout=ours.dropout,
        bias=bias,
        batch_first=True,
        device="meta",
    )
    projections = [ours.q_proj, ours.k_proj, ours.v_proj]
    theirs.in_proj_weight = _joined([x.weight for x in projections])
    theirs.out_proj.weight = _copied(ours.out_proj.weight)
    if bias:
        theirs.in_proj_bias = _joined([x.bias for x in projections])
        theirs.out_proj.bias = _copied(ours.out_proj.bias)
    attention: nn.MultiheadAttention = theirs
    return attention


def to_layer(kind: type[_Layer], ours: Any) -> _Layer:
    if type(ours.feed_forward) is not FeedForward:
        raise ValueError(
            "feed_forward must be exactly a FeedForward, the only one that torch's layer has, "
            f"got {type(ours.feed_forward).__name__}"
        )
    first, inner = ours.self_attention, ours.feed_forward.inner
    theirs: Any = kind(
        first.d_model,
        first.num_heads,
        inner.out_features,
        dropout=ours.dropout.p,
        activation=_activation_of("our feed-forward", ours.feed_forward.activation),
        norm_first=ours.norm_first,
        batch_first=True,
        device="meta",
    )
    for name, other in _ATTENTIONS.items():
        if hasattr(ours, name):
            setattr(theirs, other, to_attention(getattr(ours, name)))
    for name, other in _LINEARS.items():
        setattr(theirs, other, _copied_linear(getattr(ours.feed_forward, name)))
    for name, other in _NORMS[type(ours)].items():
        setattr(theirs, other, _copied_norm(getattr(ours, name), nn.LayerNorm, inner.weight))
    made: _Layer = theirs
    return made


def to_stack(kind: type[_Layer], ours: Any) -> _Layer:
    layers: Any = nn.ModuleList(to_layer(_LAYERS[type(ours)][1], each) for each in ours.layers)
    norm = None
    if type(ours.norm) is not nn.Identity:
        norm = _copied_norm(ours.norm, nn.LayerNorm, layers[0].linear1.weight)
    # Nested tensors would shorten the encoder's result to the longest sentence.
    more = {"enable_nested_tensor": False} if kind is nn.TransformerEncoder else {}
    theirs: Any = kind(layers[0], 1, norm=norm, **more)
    theirs.layers, theirs.num_layers = layers, len(layers)
    made: _Layer = theirs
    return made


def to_transformer(ours: Any) -> nn.Transformer:
    c = ours.config
    # The constructor re-initialises the parameters of given stacks, so they are set later.
    empty = nn.Identity()
    theirs = nn.Transformer(
        c.d_model, c.num_heads, custom_encoder=empty, custom_decoder=empty, batch_first=True
    )
    theirs.encoder = to_stack(nn.TransformerEncoder, ours.encoder)
    theirs.decoder = to_stack(nn.TransformerDecoder, ours.decoder)
    return theirs
