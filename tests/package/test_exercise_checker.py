"""The decorator of the exercises' checks: sentences only, and "Right" to right answers only."""

import warnings

import numpy as np
import pytest
import torch

from attention_core.exercises import checker, torch_calls


@checker
def lenient(answer):
    """Says "Right" to anything, as a comparison with NaN or a broadcast may do by mistake."""
    return "Right."


@checker
def three(answer):
    """A careless check: NaN is never larger, and broadcasting hides an axis."""
    off = (torch.as_tensor(answer, dtype=torch.float64) - torch.tensor([1.0, 2.0, 3.0])).abs()
    return "No." if (off > 0.01).any() else "Right."


@checker
def doubles(answer):
    results = [answer(torch.tensor(values)) for values in ([1.0, 2.0], [3.0, 4.0])]
    right = torch.tensor([[2.0, 4.0], [6.0, 8.0]])
    return (
        "No."
        if any((a - b).abs().max() > 0.01 for a, b in zip(results, right, strict=True))
        else "Right."
    )


RIGHT = [
    [1, 2, 3],
    (1.0, 2.0, 3.0),
    torch.tensor([1, 2, 3]),
    torch.tensor([1.0, 2.0, 3.0], dtype=torch.float16),
    np.array([1, 2, 3]),
    np.array([1.0, 2.0, 3.0], dtype=np.float32),
    [np.float64(1), np.float64(2), np.float64(3)],
    [torch.tensor(1.0), torch.tensor(2.0), torch.tensor(3.0)],
]


@pytest.mark.parametrize("answer", RIGHT, ids=repr)
def test_a_right_answer_is_right_in_every_form(answer):
    assert three(answer) == "Right."


WRONG = {
    "nan": [1, float("nan"), 3],
    "infinity": [1, float("inf"), 3],
    "nan in a tensor": torch.tensor([1, torch.nan, 3]),
    "nan in a table": [[1.0, 2.0], [float("nan"), 4.0]],
    "nan in an array": np.array([1, np.nan, 3]),
    "a complex number": torch.tensor([1, 2j, 3]),
    "a complex number in a list": [1, 2 + 1j, 3],
    "an axis too many": [[1, 2, 3]],
    "an axis too many in a tensor": torch.tensor([[1, 2, 3]]),
    "an axis too many in an array": np.array([[1, 2, 3]]),
    "two axes too many around a number": [[5]],
    "nothing": [],
    "no numbers": torch.zeros(0, 3),
    "an empty part": [torch.zeros(0), torch.zeros(2)],
}


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_no_question_can_have_is_never_right(name):
    assert lenient(WRONG[name]).startswith("Not right: the answer ")
    assert not three(WRONG[name]).startswith("Right")


def test_the_hint_of_the_check_comes_before_that_of_the_decorator():
    """Its hint says more than that an answer is not finite."""

    @checker
    def check(answer):
        return "Take off the largest." if answer != answer else "Right."

    assert check(float("nan")) == "Take off the largest."
    assert check(float("inf")) == "Not right: the answer holds inf, which is no finite number."


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_a_function_may_answer_in_any_precision_and_with_numpy(dtype):
    assert doubles(lambda x: (2 * x).to(dtype)) == "Right."
    assert doubles(lambda x: (2 * x).to(dtype).numpy()) == "Right."


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_a_function_that_gives_nan_once_is_not_right(value):
    def sometimes(x):
        return 2 * x if x[0] < 2 else 2 * x * 0 + value

    assert not doubles(sometimes).startswith("Right")


def test_dots_and_answers_that_cannot_be_checked_get_a_sentence():
    assert three(...) == "Your turn: replace the dots."
    for answer in (None, "three", {}, object(), [[1, 2], [3]], lambda x: x):
        assert three(answer).startswith("This answer cannot be checked: ")


@pytest.mark.parametrize(
    "softmax",
    [
        lambda s: torch.softmax(s, 0),
        lambda s: s.softmax(0),
        torch.nn.functional.softmax,
        torch.nn.Softmax(0),
        lambda s: torch.log_softmax(s, 0).exp(),
        lambda s: torch.special.softmax(s, 0),
    ],
)
def test_each_way_to_call_a_function_of_torch_is_noticed(softmax):
    with warnings.catch_warnings(), torch_calls() as names:
        warnings.simplefilter("ignore")  # the axis may be left out, with a warning
        softmax(torch.ones(3))
    assert [name for name in names if "softmax" in name]


def test_calls_outside_the_block_are_not_noticed():
    with torch_calls() as names:
        torch.exp(torch.ones(3))
    torch.ones(3).softmax(0)
    assert names == {"ones", "exp"}
