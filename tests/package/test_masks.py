"""masks.py: which way True points, where the diagonal lies, and what is refused."""

import inspect

import numpy as np
import pytest
import torch

from attention_core import causal_mask, padding_mask


def test_causal_mask_lets_a_token_see_itself_and_nothing_later():
    allowed = [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert torch.equal(causal_mask(3), torch.tensor(allowed).bool())
    assert torch.equal(~causal_mask(3), torch.ones(3, 3).triu(diagonal=1).bool())


@pytest.mark.parametrize("length", [0, 1, 7])
def test_causal_mask_has_its_shape_and_dtype(length):
    mask = causal_mask(length)
    assert mask.shape == (length, length)
    assert mask.dtype == torch.bool
    assert mask.sum() == length * (length + 1) // 2


def test_masks_follow_the_device():
    assert causal_mask(3, device="meta").device.type == "meta"
    assert padding_mask(torch.zeros(2, 3).long().to("meta"), 0).device.type == "meta"


def test_device_is_keyword_only():
    parameter = inspect.signature(causal_mask).parameters["device"]
    assert parameter.kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_padding_mask_is_true_on_real_tokens(dtype):
    ids = torch.tensor([[5, 6, 0], [7, 0, 0]], dtype=dtype)
    mask = padding_mask(ids, pad_id=0)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]
    assert torch.equal(padding_mask(ids, pad_id=6)[0, 0, 0], torch.tensor([True, False, True]))


@pytest.mark.parametrize(
    ("dtype", "pad_id", "alias"),
    [
        (torch.uint8, 256, 0),
        (torch.uint8, -1, 255),
        (torch.int8, 200, -56),
        (torch.int16, 2**16, 0),
        (torch.int32, 2**32, 0),
        (torch.int64, 2**64, 0),
        (torch.int64, 2**63, -(2**63)),
    ],
)
def test_a_pad_id_that_the_dtype_cannot_hold_hides_no_token(dtype, pad_id, alias):
    # Cast to the dtype, as torch's comparison does, pad_id would become the alias.
    ids = torch.tensor([[alias, 7]], dtype=dtype)
    assert padding_mask(ids, pad_id).tolist() == [[[[True, True]]]]
    assert padding_mask(ids, alias).tolist() == [[[[False, True]]]]


def test_numpy_numbers_are_accepted():
    ids = torch.tensor([[5, 0]])
    assert torch.equal(padding_mask(ids, np.int32(0)), padding_mask(ids, 0))
    assert torch.equal(causal_mask(np.int64(3)), causal_mask(3))


def test_padding_and_causal_masks_combine():
    mask = padding_mask(torch.tensor([[5, 6, 0]]), pad_id=0) & causal_mask(3)
    assert mask.shape == (1, 1, 3, 3)
    assert mask[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: causal_mask(-1), ValueError, "length must be at least 0, got -1"),
        (lambda: causal_mask(3.0), TypeError, r"length must be an int, got float 3\.0"),
        (lambda: causal_mask(True), TypeError, "length must be an int, got bool True"),
        (
            lambda: padding_mask(torch.zeros(3).long(), 0),
            ValueError,
            r"ids must have shape \(B, length\), got shape \(3,\)",
        ),
        (
            lambda: padding_mask(torch.zeros(2, 3), 0),
            TypeError,
            r"ids must be an integer tensor, got dtype torch\.float32",
        ),
        (
            lambda: padding_mask(torch.ones(2, 3).bool(), 0),
            TypeError,
            r"ids must be an integer tensor, got dtype torch\.bool",
        ),
        (lambda: padding_mask([[1, 0]], 0), TypeError, r"ids must be a torch\.Tensor, got list"),
        (
            lambda: padding_mask(torch.zeros(2, 3).long(), None),
            TypeError,
            "pad_id must be an int, got NoneType None",
        ),
        (
            lambda: padding_mask(torch.zeros(2, 3).long(), True),
            TypeError,
            "pad_id must be an int, got bool True",
        ),
    ],
)
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
