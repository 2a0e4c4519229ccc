"""Laws of what published weights meet: rotary positions, the record of a run, and loading."""

from typing import Any

import torch
from torch import nn

from attention_core.attention import MultiHeadAttention
from attention_core.functional import merge_heads, scaled_dot_product_attention, split_heads
from attention_core.museum.laws import _filled, _random, _same, law
from attention_core.relative import rotary_attention


@law("relative.apply_rotary")
def neighbours_turn_together(rotate: Any) -> None:
    """Numbers 2i and 2i + 1 of position m are one complex number, times e^(im/base^(2i/d))."""
    x, positions = _random(5, 6), torch.arange(5).double()
    rates = 100.0 ** (-torch.arange(0, 6, 2).double() / 6)
    turns = torch.polar(torch.ones(5, 3).double(), torch.outer(positions, rates))
    turned = torch.view_as_complex(x.reshape(5, 3, 2)) * turns
    wanted = torch.view_as_real(turned).flatten(-2)
    _same(rotate(x, base=100.0), wanted, "neighbours do not turn together")


@law("recording.record_attention")
def the_record_mixes_the_values(record: Any) -> None:
    """The recorded weights times the values are what attention returns, with any function."""
    x = _random(1, 5, 8)
    for attention in (scaled_dot_product_attention, rotary_attention):
        attend = _filled(MultiHeadAttention(8, 2, attention=attention))
        attend.out_proj = nn.Identity()
        with record(attend) as weights:
            output = attend(x, x, x)
        mixed = weights[""] @ split_heads(attend.v_proj(x), 2)
        _same(merge_heads(mixed), output, "recorded weights times values are not the output")


@law("conversion.from_torch")
def every_number_is_loaded(load: Any) -> None:
    """Every number of the file stands in the model, and the model has no other number."""
    theirs = _filled(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True))
    given, got = (
        torch.cat([p.detach().flatten() for p in module.parameters()])
        for module in (theirs, load(theirs))
    )
    lost, made = (~torch.isin(given, got)).sum(), (~torch.isin(got, given)).sum()
    assert lost == 0, f"{lost} of {len(given)} numbers of the file are not in the model"
    assert made == 0, f"{made} of {len(got)} numbers of the model are not in the file"
