"""The calls and inputs that the tests of beam search share."""

import math

import pytest
import torch
from scripted_model import BOS, EOS, PAD

from attention_core import beam_search

both_ways = pytest.mark.parametrize("use_cache", [True, False])


def sources(n):
    return torch.tensor([[i + 1, 7, PAD] for i in range(n)])


def beam(model, src, max_len=9, **options):
    return beam_search(model, src, bos_id=BOS, eos_id=EOS, max_len=max_len, **options)


def sentence(row):
    """The tokens of a result without what fills it up (rules never say PAD)."""
    return tuple(token for token in row.tolist() if token != PAD)


def never_pad(rule):
    def without(source, tokens):
        return [-math.inf if i == PAD else x for i, x in enumerate(rule(source, tokens))]

    return without
