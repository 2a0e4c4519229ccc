"""Saved files are written whole or not at all, and files of another kind are named."""

import contextlib
import os
import pathlib
import re
import sys

import pytest
import torch
from torch.testing import assert_close

from attention_core import RecurrentConfig, RecurrentTranslator
from attention_core.training import (
    load_checkpoint,
    load_trained,
    load_training,
    save_checkpoint,
    save_trained,
    save_training,
)
from attention_core.training.files import check_can_write


def build(seed=0):
    sizes = {"src_vocab_size": 7, "tgt_vocab_size": 11, "d_model": 8}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return RecurrentTranslator(RecurrentConfig(**sizes, attention=False))


def adam(model):
    return torch.optim.Adam(model.parameters())


def names(folder):
    return [path.name for path in folder.iterdir()]


def load_own(path):
    load_checkpoint(path, model := build(seed=9))
    return model


def resume_own(path):
    load_training(path, model := build(seed=9), adam(model))
    return model


KINDS = {
    "save_checkpoint": (save_checkpoint, load_own),
    "save_training": (lambda path, model: save_training(path, model, adam(model), 3), resume_own),
    "save_trained": (save_trained, load_trained),
}


@pytest.fixture(params=KINDS)
def kind(request):
    """(name of the function, save(path, model), load(path) -> model)"""
    return request.param, *KINDS[request.param]


def assert_holds(path, load, model):
    for name, x in load(path).state_dict().items():
        assert_close(x, model.state_dict()[name], rtol=1e-3, atol=1e-3)


# ---------------------------------------------------------- written whole


@contextlib.contextmanager
def files_limited_to(size):
    """As ``ulimit -f``: a longer file cannot be written, as on a full disk."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [0, 5000])
def test_a_write_that_fails_half_way_leaves_the_old_file_whole(tmp_path, kind, size):
    _, save, load = kind
    save(tmp_path / "model.pt", build())
    good = (tmp_path / "model.pt").read_bytes()
    with files_limited_to(size), pytest.raises(OSError, match="File too large"):
        save(tmp_path / "model.pt", build(seed=1))
    assert (tmp_path / "model.pt").read_bytes() == good
    assert names(tmp_path) == ["model.pt"]
    assert_holds(tmp_path / "model.pt", load, build())


def test_an_interruption_while_writing_leaves_the_old_file_whole(tmp_path, kind, monkeypatch):
    _, save, load = kind
    save(tmp_path / "model.pt", build())

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path / "model.pt", build(seed=1))
    assert names(tmp_path) == ["model.pt"]
    assert_holds(tmp_path / "model.pt", load, build())


@pytest.mark.skipif(sys.platform == "win32", reason="links need special rights on Windows")
@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing yet"])
def test_a_symbolic_link_stays_one_and_its_target_is_written(tmp_path, kind, there):
    _, save, load = kind
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "real.pt", tmp_path / "link.pt"
    if there:
        save(target, build())
    link.symlink_to("elsewhere/real.pt")
    save(link, build(seed=1))
    assert link.is_symlink()
    assert not target.is_symlink()
    assert_holds(target, load, build(seed=1))
    assert names(tmp_path / "elsewhere") == ["real.pt"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_a_file_keeps_its_permissions(tmp_path, kind):
    _, save, _ = kind
    save(tmp_path / "model.pt", build())
    (tmp_path / "model.pt").chmod(0o640)
    save(tmp_path / "model.pt", build())
    assert (tmp_path / "model.pt").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not pathlib.Path("/dev/null").exists(), reason="there is no such device")
def test_a_device_is_written_to_and_not_replaced(kind):
    _, save, _ = kind
    save("/dev/null", build())
    assert not pathlib.Path("/dev/null").is_file()


def test_a_place_that_cannot_be_written_to_is_named(tmp_path, kind, monkeypatch):
    _, save, _ = kind
    for try_to_write in (lambda path: save(path, build()), check_can_write):
        with pytest.raises(FileNotFoundError, match=r"folder that exists, got .*nowhere.m\.pt"):
            try_to_write(tmp_path / "nowhere" / "m.pt")
        with pytest.raises(IsADirectoryError, match="path must be a file to write, got the folder"):
            try_to_write(tmp_path)
    save(tmp_path / "m.pt", build())
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as root
    with pytest.raises(PermissionError, match=r"path must be writable, got .*m\.pt"):
        save(tmp_path / "m.pt", build())


def test_check_can_write_changes_no_file(tmp_path):
    (tmp_path / "old.pt").write_text("old")
    for name in ("old.pt", "new.pt"):
        check_can_write(tmp_path / name)
    assert names(tmp_path) == ["old.pt"]
    assert (tmp_path / "old.pt").read_text() == "old"


# -------------------------------------------------------- files of another kind


def own_bytes(tmp_path, save):
    save(tmp_path / "whole.pt", build())
    return (tmp_path / "whole.pt").read_bytes()


OTHERS = {
    "an empty file": (lambda whole: b"", "is empty"),
    "a text": (
        lambda whole: "Übung: 1, 2\n".encode(),
        r"is text that begins with 'Übung: 1, 2\\n'",
    ),
    "a long text": (lambda whole: b"word " * 99, "is text that begins with 'word word"),
    "bytes": (lambda whole: bytes(range(128, 256)), "is no torch file, or a damaged one"),
    "half a file": (lambda whole: whole[: len(whole) // 2], "is truncated: the end of the archive"),
    "all but the last byte": (lambda whole: whole[:-1], "is truncated: the end of the archive"),
    "a pickle": (lambda whole: b"\x80\x02]q\x00.", "is no torch file, or a damaged one"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_file_that_torch_cannot_read_is_named(tmp_path, kind, other):
    name, save, load = kind
    make, text = OTHERS[other]
    (tmp_path / "other.pt").write_bytes(make(own_bytes(tmp_path, save)))
    text = rf"path must be a file of {name}, got {re.escape(str(tmp_path))}.other\.pt, which {text}"
    with pytest.raises(ValueError, match=text):
        load(tmp_path / "other.pt")


SAVED = [
    (build().state_dict(), r"is a plain state dict, which begins with 'src_embedding\.weight'"),
    ({"model": {}}, "is a saved dict of 'model'"),
    ({}, "is a saved dict of nothing"),
    ({"model": {}, "extras": 3}, "is a saved dict of 'model', 'extras'"),
    (dict.fromkeys("abcdef", 1), "is a saved dict of 'a', 'b', 'c', 'd', 'e', ..."),
    ([1], "is a saved list"),
    (torch.zeros(2), "is a saved Tensor"),
]


@pytest.mark.parametrize(("contents", "text"), SAVED)
def test_a_torch_file_of_something_else_is_named(tmp_path, kind, contents, text):
    name, _, load = kind
    torch.save(contents, tmp_path / "other.pt")
    with pytest.raises(ValueError, match=rf"a file of {name}, got .*other\.pt, which {text}$"):
        load(tmp_path / "other.pt")


def test_a_missing_file_is_named_by_the_system(tmp_path, kind):
    _, _, load = kind
    with pytest.raises(FileNotFoundError, match="No such file"):
        load(tmp_path / "missing.pt")


def test_the_three_kinds_are_not_taken_for_one_another(tmp_path):
    save_checkpoint(tmp_path / "checkpoint.pt", build(), step=3)
    save_trained(tmp_path / "trained.pt", build())
    for path in tmp_path.iterdir():
        text = "of save_training, .* which is a checkpoint of a model alone: it has no optimizer"
        with pytest.raises(ValueError, match=text):
            resume_own(path)
    text = "a file of save_trained, got .* a checkpoint without the model's kind and sizes"
    with pytest.raises(ValueError, match=text):
        load_trained(tmp_path / "checkpoint.pt")


@pytest.mark.parametrize(
    ("extras", "text"),
    [
        ({"kind": "Linear", "config": {}}, "a checkpoint without the model's kind and sizes"),
        ({"kind": [1], "config": {}}, "a checkpoint without the model's kind and sizes"),
        ({"kind": "Transformer", "config": 5}, "a checkpoint without the model's kind and sizes"),
        ({"kind": "Transformer", "config": {"d_modle": 8}}, "one of another version .*d_modle"),
        ({"kind": "Transformer", "config": {}}, "one of another version .*src_vocab_size"),
    ],
)
def test_sizes_that_make_no_model_are_named(tmp_path, extras, text):
    save_checkpoint(tmp_path / "model.pt", build(), **extras)
    with pytest.raises(ValueError, match=f"a file of save_trained, got .*, which is {text}"):
        load_trained(tmp_path / "model.pt")


# ------------------------------------------------------------- nothing half loaded


def test_a_training_that_cannot_be_resumed_changes_nothing(tmp_path):
    path = tmp_path / "training.pt"
    save_training(path, model := build(), adam(model), 3)
    other = build(seed=9)
    before, random = {k: x.clone() for k, x in other.state_dict().items()}, torch.get_rng_state()
    optimizers = {
        "got SGD of .* for Adam of": torch.optim.SGD(other.parameters(), lr=0.1),
        r"got Adam of \[1\] parameters for Adam of \[": torch.optim.Adam([other.output.weight]),
    }
    for text, optimizer in optimizers.items():
        with pytest.raises(ValueError, match=f"optimizer must be as it was saved, {text}"):
            load_training(path, other, optimizer)
    save_checkpoint(path, build(), optimizer=1, step=3, random=[])
    with pytest.raises(ValueError, match="got 1 for a file of 0"):
        load_training(path, other, adam(other))
    save_checkpoint(path, build(), step=3)
    with pytest.raises(ValueError, match=r"no optimizer and no random$"):
        load_training(path, other, adam(other))
    assert_close(dict(other.state_dict()), before, rtol=0, atol=0)
    assert torch.equal(torch.get_rng_state(), random)


@pytest.mark.parametrize("name", ["random", "optimizer_kind"])
def test_an_extra_with_the_name_of_a_state_is_refused(tmp_path, name):
    text = f"must not be named optimizer_kind or random, .* got {name}='mine'"
    model = build()
    with pytest.raises(ValueError, match=text):
        save_training(tmp_path / "training.pt", model, adam(model), 3, **{name: "mine"})
    assert not names(tmp_path)


def test_an_extra_with_the_name_of_a_weight_is_checked_like_others(tmp_path):
    with pytest.raises(TypeError, match="weight must be a tensor or plain data"):
        save_checkpoint(tmp_path / "m.pt", torch.nn.Linear(2, 3), weight=object())
    save_checkpoint(tmp_path / "m.pt", torch.nn.Linear(2, 3), weight=5)
    assert load_checkpoint(tmp_path / "m.pt", torch.nn.Linear(2, 3)) == {"weight": 5}


def test_a_step_from_numpy_is_saved_as_a_number(tmp_path):
    numpy = pytest.importorskip("numpy")
    model = build()
    save_training(tmp_path / "training.pt", model, adam(model), numpy.int64(3))
    assert load_training(tmp_path / "training.pt", model, adam(model)) == 3
