"""Live figures without a browser: both languages agree, and bad traits are named."""

from __future__ import annotations

import html
import json
import random
import re

import pytest
import torch
import traitlets
from live_states import FIGURES, STATES, differences
from node_runs import as_numbers, from_javascript

from attention_core.widgets import Heads, MaskPainter, SimpleAttention, TwoVectors
from attention_core.widgets.figure import TensorTrait, as_tensor, script_of


def test_every_figure_has_random_states():
    assert STATES.keys() == FIGURES.keys()


@pytest.mark.parametrize("module", FIGURES)
def test_javascript_finds_the_numbers_of_the_package(module, tmp_path):
    draw = random.Random(module)
    states = [FIGURES[module]().state()]
    states += [FIGURES[module](**STATES[module](draw)).state() for _ in range(60)]
    problems = []
    for state, shown in zip(states, from_javascript(module, states, tmp_path), strict=True):
        problems += differences(module, state, as_numbers(shown))
    assert not problems, "\n".join(problems[:5])


def test_a_wrong_module_is_found(tmp_path, monkeypatch):
    """The comparison can fail: with a formula changed, it does."""
    import live_states

    text = script_of("two_vectors").replace("dot / lengthK :", "dot / lengthQ :")
    (tmp_path / "two_vectors.mjs").write_text(text, encoding="utf-8")
    monkeypatch.setitem(globals(), "script_of", lambda _: text)
    state = {"q": [1.0, 3.0], "k": [2.0, 0.0]}
    (shown,) = from_javascript("two_vectors", [state], tmp_path)
    (problem,) = live_states.differences("two_vectors", state, as_numbers(shown))
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
    # Twice the same: nothing random goes into the notebook.
    assert stored == type(figure)().static_html()


@pytest.mark.parametrize("module", FIGURES)
def test_what_the_page_sends_arrives_in_python(module):
    figure, draw = FIGURES[module](), random.Random(module)
    state = FIGURES[module](**STATES[module](draw)).state()
    before = figure.numbers()
    figure.set_state(state)  # what ipywidgets does with a message of the page
    assert figure.state() == state
    assert figure.numbers() == FIGURES[module](**state).numbers() != before


def test_text_of_a_reader_stays_text():
    words = ["</script><b>", "<i>&\"'"]
    stored = SimpleAttention(words=words, embeddings=[[1.0], [2.0]], query=0).static_html()
    assert stored.count("</script>") == 1
    assert "<b>" not in stored.split("</script>")[1]
    assert json.loads(re.search(r"<script[^>]*>(.*?)</script>", stored)[1])["words"] == words


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
    (lambda: setattr(Heads(), "words", ["a"]), r"each of the 1 words, got shape \(3, 6\)"),
    (lambda: setattr(MaskPainter(), "words", ["a", "b"]), r"embeddings .* the 2 words, got shape"),
]


@pytest.mark.parametrize(("call", "text"), BAD)
def test_bad_traits_are_named(call, text):
    with pytest.raises(traitlets.TraitError, match=text):
        call()


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


def test_numbers_of_no_kind_are_refused():
    with pytest.raises(TypeError, match="value must be numbers, got dict"):
        as_tensor({})
