"""Torch's numbers under our names, so that both can be compared one by one.

Each function reads a module of torch and returns a state dict for ours:

    ours.load_state_dict(attention_state(theirs))

With ``read=gradient`` the result holds torch's gradients instead of its weights, to be
compared with ``{name: p.grad for name, p in ours.named_parameters()}``.
"""

from collections.abc import Callable, Iterable

from torch import Tensor, nn

Read = Callable[[Tensor], Tensor]
State = dict[str, Tensor]


def weight(parameter: Tensor) -> Tensor:
    return parameter.detach()


def gradient(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


def _plain(theirs: nn.Module, read: Read) -> State:
    """A module whose parameters have the same names in both libraries."""
    return {name: read(parameter) for name, parameter in theirs.named_parameters()}


def _joined(parts: Iterable[tuple[str, State]]) -> State:
    return {f"{prefix}.{name}": x for prefix, state in parts for name, x in state.items()}


def attention_state(theirs: nn.MultiheadAttention, read: Read = weight) -> State:
    """Torch packs the projections of query, key and value into one matrix."""
    state = {}
    for kind in ("weight", "bias"):
        packed = getattr(theirs, f"in_proj_{kind}")
        if packed is not None:
            for letter, part in zip("qkv", read(packed).chunk(3), strict=True):
                state[f"{letter}_proj.{kind}"] = part
            state[f"out_proj.{kind}"] = read(getattr(theirs.out_proj, kind))
    return state


def encoder_layer_state(theirs: nn.TransformerEncoderLayer, read: Read = weight) -> State:
    return _joined(
        [
            ("self_attention", attention_state(theirs.self_attn, read)),
            ("feed_forward.inner", _plain(theirs.linear1, read)),
            ("feed_forward.outer", _plain(theirs.linear2, read)),
            ("self_attention_norm", _plain(theirs.norm1, read)),
            ("feed_forward_norm", _plain(theirs.norm2, read)),
        ]
    )


def decoder_layer_state(theirs: nn.TransformerDecoderLayer, read: Read = weight) -> State:
    return _joined(
        [
            ("self_attention", attention_state(theirs.self_attn, read)),
            ("cross_attention", attention_state(theirs.multihead_attn, read)),
            ("feed_forward.inner", _plain(theirs.linear1, read)),
            ("feed_forward.outer", _plain(theirs.linear2, read)),
            ("self_attention_norm", _plain(theirs.norm1, read)),
            ("cross_attention_norm", _plain(theirs.norm2, read)),
            ("feed_forward_norm", _plain(theirs.norm3, read)),
        ]
    )


def encoder_state(theirs: nn.TransformerEncoder, read: Read = weight) -> State:
    """For `Encoder`. nn.Transformer puts a norm after the stack in post-norm too, where ours
    has none: set ``theirs.norm = None`` first."""
    parts = [(f"layers.{i}", encoder_layer_state(x, read)) for i, x in enumerate(theirs.layers)]
    return _joined([*parts, *_final_norm(theirs, read)])


def decoder_state(theirs: nn.TransformerDecoder, read: Read = weight) -> State:
    """For `Decoder`; the final norm as in `encoder_state`."""
    parts = [(f"layers.{i}", decoder_layer_state(x, read)) for i, x in enumerate(theirs.layers)]
    return _joined([*parts, *_final_norm(theirs, read)])


def _final_norm(theirs: nn.Module, read: Read) -> list[tuple[str, State]]:
    return [] if theirs.norm is None else [("norm", _plain(theirs.norm, read))]
