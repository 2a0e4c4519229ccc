"""Live figures without a browser: JavaScript agrees with Python, and errors name the trait."""

from __future__ import annotations

import html
import json
import random
import re

import numpy as np
import pytest
import torch
import traitlets
from live_states import FIGURES, STATES, as_numbers, differences
from node_runs import from_javascript

from attention_core.widgets import MaskPainter, SimpleAttention, TwoVectors
from attention_core.widgets.figure import script_of
from attention_core.widgets.traits import CountTrait, NumberTrait, TensorTrait, as_tensor


def test_every_figure_has_random_states():
    assert STATES.keys() == FIGURES.keys()


@pytest.mark.parametrize("module", FIGURES)
def test_javascript_computes_the_numbers_of_the_package(module, tmp_path):
    draw = random.Random(module)
    states = [FIGURES[module]().state()]
    states += [FIGURES[module](**STATES[module](draw)).state() for _ in range(60)]
    problems = []
    for state, shown in zip(states, from_javascript(module, states, tmp_path), strict=True):
        problems += differences(module, state, as_numbers(shown))
    assert not problems, "\n".join(problems[:5])


def test_the_comparison_finds_a_wrong_formula(tmp_path, monkeypatch):
    """The comparison can fail: with a formula changed, it does."""
    text = script_of("two_vectors").replace("dot / lengthQ :", "dot / lengthK :")
    monkeypatch.setattr("node_runs.script_of", lambda _: text)
    state = {"q": [1.0, 3.0], "k": [2.0, 0.0]}
    (shown,) = from_javascript("two_vectors", [state], tmp_path)
    (problem,) = differences("two_vectors", state, as_numbers(shown))
    assert problem.startswith("two_vectors, projection:")


@pytest.mark.parametrize("module", FIGURES)
def test_the_stored_form_is_a_table_and_the_state(module):
    figure = FIGURES[module]()
    data, _ = figure._repr_mimebundle_()
    stored = data["text/html"]
    state = json.loads(re.search(r"<script[^>]*>(.*?)</script>", stored)[1])
    assert state == figure.state()
    assert type(figure)(**state).state() == figure.state()
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", stored)
    assert sum(bool(re.search(r"\d", cell)) for cell in cells) >= 3
    assert html.unescape(re.search(r"<caption>(.*?)</caption>", stored)[1])
    assert data["text/plain"] == repr(figure)
    assert " at 0x" not in repr(figure)
    assert len(repr(figure)) <= 80
    # The same again: nothing random is stored in the notebook.
    assert stored == type(figure)().static_html()


@pytest.mark.parametrize("module", FIGURES)
def test_what_the_page_sends_arrives_in_python(module):
    figure, draw = FIGURES[module](), random.Random(module)
    state = FIGURES[module](**STATES[module](draw)).state()
    before = figure.numbers()
    figure.set_state(state)  # what ipywidgets does with a message of the page
    assert figure.state() == state
    assert figure.numbers() == FIGURES[module](**state).numbers() != before


def test_traits_take_tensors_of_any_kind_and_keep_their_own():
    mine = torch.tensor([1, 2], requires_grad=False)
    figure = TwoVectors(q=mine, k=(0.5, 1))
    mine[0] = 99
    assert figure.q.dtype == torch.float64
    assert figure.q.tolist() == [1.0, 2.0]
    figure.q = torch.nn.Parameter(torch.ones(2))
    assert figure.numbers()["length_q"] == pytest.approx(2**0.5)
    assert not figure.q.requires_grad


class Square(traitlets.HasTraits):
    m = TensorTrait([[1.0]], shape=("n", "n"))


BAD = [
    (lambda: TwoVectors(q=[1, 2, 3]), r"q must have shape \(2,\), got \(3,\)"),
    (lambda: TwoVectors(q=[1, 5]), "q must lie between -4 and 4, got 1 to 5"),
    (lambda: TwoVectors(k=[1, float("nan")]), r"k must be finite, got \[1\.0, nan\]"),
    (lambda: TwoVectors(k="ab"), "k must be a tensor or nested lists of numbers"),
    (lambda: Square(m=[[1, 2]]), r"m must have shape \(n, n\), got \(1, 2\)"),
    (lambda: SimpleAttention(query=6), "query must be below the number of words, 6, got 6"),
    (lambda: SimpleAttention(query=-1), "query"),
    (lambda: SimpleAttention(temperature=0.0), "temperature"),
    (lambda: SimpleAttention(embeddings=[[1.0]]), r"a row for each of the 6 words, got shape"),
    (
        lambda: setattr(SimpleAttention(), "words", ["a", "b"]),
        r"a row for each of the 2 words, got shape \(6, 3\); change both inside `with figure\.hold",
    ),
    (lambda: setattr(MaskPainter(), "words", ["a", "b"]), r"embeddings .* the 2 words, got shape"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_an_error_names_the_invalid_trait(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


def _traits(kind):
    """Every figure and the names of its traits of one kind."""
    found = [
        (figure, name)
        for figure in FIGURES.values()
        for name in figure().state()
        if isinstance(figure.class_traits()[name], kind)
    ]
    assert found
    return found


NAN, INF = float("nan"), float("inf")
NUMBERS = [(figure, name, bad) for figure, name in _traits(traitlets.Float)
           for bad in (NAN, INF, -INF, "1", True, None, [1.0], -1.0)]  # fmt: skip
COUNTS = [(figure, name, bad) for figure, name in _traits(traitlets.Int)
          for bad in (NAN, INF, "1", True, [1], 1.5, -1)]  # fmt: skip


@pytest.mark.parametrize(("figure", "name", "bad"), NUMBERS + COUNTS)
def test_an_invalid_number_is_refused_by_name_from_python_and_from_the_page(figure, name, bad):
    kind = "a finite number" if isinstance(figure.class_traits()[name], NumberTrait) else "a whole"
    rule = rf"^{name} must (be {kind}|lie between|be at least)"
    with pytest.raises(traitlets.TraitError, match=rule):
        figure(**{name: bad})
    made = figure()
    before = made.state()
    with pytest.raises(traitlets.TraitError, match=rule):
        setattr(made, name, bad)
    with pytest.raises(traitlets.TraitError, match=rule):
        made.set_state({name: bad})  # a message of the page
    assert made.state() == before


def test_every_number_of_a_figure_has_a_trait_that_checks_it():
    for kind, checked in ((traitlets.Float, NumberTrait), (traitlets.Int, CountTrait)):
        for figure, name in _traits(kind):
            assert isinstance(figure.class_traits()[name], checked), (figure, name)


def test_integers_of_numpy_and_torch_are_whole_numbers():
    figure = SimpleAttention(query=torch.tensor(2), temperature=np.float32(0.5))
    assert (figure.query, figure.temperature) == (2, 0.5)
    figure.query = np.int64(3)
    assert type(figure.query) is int


def test_traits_that_belong_together_change_together_or_not_at_all():
    figure = SimpleAttention()
    with figure.hold_trait_notifications():
        figure.words, figure.embeddings = ["a", "b"], torch.eye(2)
    assert figure.weights.tolist() == pytest.approx([0.2689414214, 0.7310585786])
    with (
        pytest.raises(traitlets.TraitError, match="the 1 words"),
        figure.hold_trait_notifications(),
    ):
        figure.words = ["a"]
    assert figure.words == ["a", "b"]


def test_chinese_words_of_the_table_are_marked():
    stored = SimpleAttention(words=["早", "<〇>"], embeddings=[[1], [2]]).static_html()
    table = stored.partition("</script>")[2]
    assert '<th scope=row><span lang="zh">早</span></th>' in table
    assert '&lt;<span lang="zh">〇</span>&gt;' in table


def test_what_is_not_numeric_is_refused():
    with pytest.raises(TypeError, match="value must be numbers, got dict"):
        as_tensor({})
