"""Checkpoints of a model: what is saved can be loaded, safely, compiled or not."""

import collections
import enum
import pickle

import numpy as np
import pytest
import torch
from copying_transformer import batch, build
from torch.testing import assert_close

from attention_core import load_checkpoint, save_checkpoint


def compiled(model):
    return torch.compile(model, backend="eager")


def with_compiled_encoder(model):
    model.encoder = compiled(model.encoder)
    return model


WRAPS = [lambda model: model, compiled, with_compiled_encoder]


@pytest.mark.parametrize("wrap_saved", WRAPS, ids=["plain", "compiled", "part"])
@pytest.mark.parametrize("wrap_loaded", WRAPS, ids=["plain", "compiled", "part"])
def test_plain_and_compiled_models_share_checkpoints(tmp_path, wrap_saved, wrap_loaded):
    save_checkpoint(tmp_path / "model.pt", wrap_saved(build()))
    names = torch.load(tmp_path / "model.pt", weights_only=True)["model"]
    assert list(names) == list(build().state_dict())
    model = wrap_loaded(build(seed=1))
    assert load_checkpoint(tmp_path / "model.pt", model) == {}
    with torch.no_grad():
        assert torch.equal(model(*batch()), build()(*batch()))


def test_extras_come_back_as_they_were(tmp_path):
    model = build()
    optimizer = torch.optim.Adam(model.parameters())
    src, tgt = batch()
    model(src, tgt).mean().backward()
    optimizer.step()
    extras = {
        "step": 5,
        "rate": 0.25,
        "name": "zh",
        "done": False,
        "none": None,
        "nested": {"sizes": [1, (2, 3)], "x": torch.arange(3)},
        "optimizer": optimizer.state_dict(),
    }
    save_checkpoint(str(tmp_path / "model.pt"), model, **extras)
    loaded = load_checkpoint(str(tmp_path / "model.pt"), build(seed=1))
    assert list(loaded) == list(extras)
    moments, state = loaded.pop("optimizer"), extras.pop("optimizer")
    assert moments["param_groups"] == state["param_groups"]
    assert_close(moments["state"], state["state"])
    assert torch.equal(loaded["nested"].pop("x"), extras["nested"].pop("x"))
    assert loaded == extras


Pair = collections.namedtuple("Pair", "a")
Colour = enum.IntEnum("Colour", "RED")
UNSAFE = [
    ({"x": {1, 2}}, "x must be a tensor or plain data, which can be loaded safely, got set"),
    ({"x": object()}, "x must be .* got object"),
    ({"x": {"a": [0, print]}}, r"x\['a'\]\[1\] must be .* got builtin_function_or_method"),
    ({"x": np.zeros(2)}, "x must be .* got ndarray"),
    # Subclasses of numbers, tuples and dicts that torch refuses to load.
    ({"x": np.float64(0.5)}, "x must be .* got float64"),
    ({"x": Colour.RED}, "x must be .* got Colour"),
    ({"x": [Pair(1)]}, r"x\[0\] must be .* got Pair"),
    ({"x": collections.defaultdict(int, a=1)}, "x must be .* got defaultdict"),
    ({"x": {Colour.RED: 1}}, "x.* must be .* got Colour"),
]


@pytest.mark.parametrize(("extras", "text"), UNSAFE)
def test_what_could_not_be_loaded_safely_is_not_saved(tmp_path, extras, text):
    with pytest.raises(TypeError, match=text):
        save_checkpoint(tmp_path / "model.pt", build(), **extras)
    assert not (tmp_path / "model.pt").exists()


class Code:
    """Would run a function of its own when it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("code of the file was run",)


def test_code_in_a_file_is_not_run(tmp_path):
    contents = {"model": build().state_dict(), "extras": {"x": Code()}}
    torch.save(contents, tmp_path / "model.pt")
    text = "which is a torch file with more than tensors and plain data, or a damaged one"
    with pytest.raises(ValueError, match=text) as raised:
        load_checkpoint(tmp_path / "model.pt", build())
    assert isinstance(raised.value.__cause__, pickle.UnpicklingError)


def test_a_checkpoint_of_another_shape_is_refused_and_the_model_stays_as_it_was(tmp_path):
    save_checkpoint(tmp_path / "model.pt", build(d_ff=11, seed=1))
    model, before = build(), build().state_dict()
    text = (
        r"the names and shapes of the model, a Transformer, got .*model\.pt, where "
        r"encoder\.layers\.0\.feed_forward\.\w+\.weight has shape \(11, 33\) instead of "
        r"\(17, 33\), .*, and 9 more$"
    )
    with pytest.raises(ValueError, match=text):
        load_checkpoint(tmp_path / "model.pt", model)
    text = r"where encoder\.layers\.2\.\S+ is missing"
    with pytest.raises(ValueError, match=text):
        load_checkpoint(tmp_path / "model.pt", build(d_ff=11, num_layers=3))
    text = r"where encoder\.layers\.1\.\S+ is not in the model"
    with pytest.raises(ValueError, match=text):
        load_checkpoint(tmp_path / "model.pt", build(d_ff=11, num_layers=1))
    assert_close(model.state_dict(), before, rtol=0, atol=0)


def test_a_number_in_place_of_a_tensor_is_refused(tmp_path):
    state = {**torch.nn.Linear(2, 3).state_dict(), "bias": 5}
    torch.save({"model": state, "extras": {}}, tmp_path / "model.pt")
    with pytest.raises(ValueError, match="where bias must be a tensor, got int"):
        load_checkpoint(tmp_path / "model.pt", torch.nn.Linear(2, 3))
