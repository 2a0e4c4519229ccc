"""A memory mask of three axes is (B, L, S) in every model, whatever the number of heads is."""

import pytest
import recurrent_models
import torch
from copying_transformer import batch, build

MODELS = {
    "as many heads as sentences": lambda: build(num_heads=2, d_model=34),
    "three heads": build,
    "recurrent": lambda: recurrent_models.build(attention=True),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_memory_mask_of_three_axes_is_one_for_each_sentence(name):
    model = MODELS[name]()
    src, tgt = batch()
    B, L, S = *tgt.shape, src.shape[1]
    mask = torch.rand(B, L, S, generator=torch.Generator().manual_seed(1)) < 0.6
    mask[..., 0] = True
    memory = model.encode(src)
    expected = model.decode(tgt, memory, mask[:, None])
    assert torch.equal(model.decode(tgt, memory, mask), expected)
    for b in range(B):
        alone = model.decode(tgt[b : b + 1], memory[b : b + 1], mask[b : b + 1])
        torch.testing.assert_close(alone[0], expected[b])


@pytest.mark.parametrize("name", MODELS)
def test_a_memory_mask_of_three_axes_that_is_too_long_is_named(name):
    model = MODELS[name]()
    src, tgt = batch()
    mask = torch.ones(src.shape[0], tgt.shape[1], src.shape[1] + 1).bool()
    with pytest.raises(ValueError, match=r"got mask \(2, 5, 8\); a mask of 3 axes is \(B, L, S\)"):
        model.decode(tgt, model.encode(src), mask)
