"""The front page shows what the chapters compute, and its code runs."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import front_figure
import pytest
import torch
import torch.nn.functional as F
from booksite.stored import stored_drawing

from attention_core import attention_weights
from attention_core.published import load_table
from attention_core.training import load_trained
from attention_core.widgets.simple_attention import EMBEDDINGS, WORDS

ROOT = Path(__file__).parents[2]
INDEX = (ROOT / "index.md").read_text(encoding="utf-8")
MACHINE = ROOT / "chapters" / "09_transformer.ipynb"


STATES = front_figure.states()


def drawings():
    """Return the drawing of each state."""
    (svg,) = re.findall(r"<svg.*</svg>", front_figure.figure(), flags=re.DOTALL)
    return [group for group in ElementTree.fromstring(svg) if group.tag == "g"]


def test_the_figure_is_up_to_date():
    assert front_figure.PATH.read_text(encoding="utf-8") == front_figure.figure()


def test_the_figure_is_in_the_page_once(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    assert page.count(front_figure.figure().strip()) == 1


def test_an_arc_leads_from_the_pronoun_to_each_token_as_thick_as_its_weight():
    for state, group in zip(STATES, drawings(), strict=True):
        texts = [text for text in group.iter("text") if not text.text.startswith("0")]
        assert [text.text for text in texts] == state.tokens
        where = {float(text.get("x")): weight
                 for text, weight in zip(texts, state.weights, strict=True)}  # fmt: skip
        asking = float(texts[state.asking].get("x"))
        found = {}
        for path in group.iter("path"):
            x = [float(n) for n in re.findall(r"[\d.]+", path.get("d"))]
            end = asking if "c" in path.get("d") else x[-2]
            assert x[0] == pytest.approx(asking if end != asking else asking - 4, abs=0.06)
            found[end] = float(path.get("stroke-width")) / front_figure.WIDEST
        assert found == pytest.approx(where, abs=3e-4)


def test_the_weights_of_both_people_and_of_the_start_are_printed_below_them():
    for state, group in zip(STATES, drawings(), strict=True):
        texts = list(group.iter("text"))
        at = {text.get("x"): text.text for text in texts if not text.text.startswith("0")}
        said = {at[text.get("x")]: text.text for text in texts if text.text.startswith("0")}
        names = ("start", state.first, state.second)
        assert said == {name: f"{state.weight(name):.2f}" for name in names}
        told = [text.text for text in texts if "told" in text.get("class", "")]
        assert told == [state.person, said[state.person]]
        assert [path.get("class") for path in group.iter("path")].count("told") == 1


def test_the_pronoun_looks_at_the_person_whom_it_fits_in_either_order():
    table = load_table("rates")
    assert [(s.first, s.second, s.pronoun) for s in STATES] == [
        ("king", "girl", "she"),
        ("king", "girl", "he"),
        ("girl", "king", "she"),
        ("girl", "king", "he"),
    ]
    for state, row in zip(STATES, table["told"], strict=True):
        assert state.weights == row.tolist()
        marks = {"start", ".", "end", state.pronoun}
        words = [t for t in state.tokens if t not in marks]
        assert max(words, key=state.weight) == state.person
        assert f"{state.weight(state.person):.2f}" in front_figure.result(state)
        assert f"{state.weight(state.other):.2f}" in front_figure.result(state)


def test_the_page_says_truly_how_often_the_head_finds_the_person():
    table = load_table("rates")
    row, (first, of_two) = table["heads"]["1.3"], table["static"]
    marks = [state.weight("start") for state in STATES]
    assert f"the mark at the start gets {min(marks):.2f} to {max(marks):.2f}" in INDEX
    above = [state.weight("start") > state.weight(state.person) for state in STATES]
    assert above == [False, False, False, True]
    assert marks[3] - STATES[3].weight("king") < 0.002  # "slightly more than the person"
    cells = dict(re.findall(r"^\| (.+) \| (\d+) \|$", INDEX, flags=re.MULTILINE))
    assert [int(n) for n in cells.values()] == [
        row["hits"],
        row["best_rule_of_place"],
        row["untrained_best_of_72"],
        first,
    ]
    assert row["hits"] == row["of"] == 64 == 16 * 2 * 2
    assert f"In all {row['of']} sentences of our count" in INDEX
    assert f"finds {row['best_rule_of_place']}, and the best" in INDEX
    queen, king = table["miss"].tolist()
    assert queen > king
    assert f"gives the queen {queen:.2f} and the king {king:.2f}" in INDEX
    assert f"the best of 72 heads with random numbers {row['untrained_best_of_72']}" in INDEX
    assert "about 16 pairs of people, in both orders, with *she* and *he*" in INDEX
    assert f"the right one of the two people in {of_two} sentences" in INDEX


def test_the_worked_weight_of_the_page_is_that_of_the_figure():
    x = torch.tensor(EMBEDDINGS, dtype=torch.float64)
    journey = WORDS.index("journey")
    scores = x @ x[journey]
    assert f"={scores[journey]:.4f}$$" in INDEX
    assert f"The sum is {scores.exp().sum():.4f}" in INDEX
    power, whole = f"e^{{{scores[journey]:.4f}}}", f"{scores.exp().sum():.4f}"
    assert rf"\frac{{{power}}}{{{whole}}}={scores.softmax(0)[journey]:.4f}" in INDEX
    # The question that the figure asks has a clear answer: no, by more than 0.05.
    weights = (x @ x.T).softmax(1)[WORDS.index("with")]
    assert weights.max() - weights[WORDS.index("with")] > 0.05


def test_every_number_of_the_page_is_compared_here():
    text = INDEX.replace("````", "")  # of folds, which hold sentences
    text = re.sub(r"```.*?```|\$\$.*?\$\$|\]\(.*?\)|#\w{6}|<.*?>", "", text, flags=re.DOTALL)
    text = re.sub(
        r"{\w+}`.*?`|\*[\w.-]+-L6-v2\*|SmolLM2-135M|^\d+\. ", "", text, flags=re.MULTILINE
    )
    found = set(re.findall(r"\d[\d,.]*\d", text))
    known = "0.20 0.29 0.25 0.22 16 64 32 72 31 28 62 1.3 0.81 0.01 63,082,496 37,000 65 173,440"
    assert found - {"10", "12", "14", "15"} == {
        *known.split(),
        "0.77",
        "0.55",
        "0.87",
        "0.66",
        "18.7453",
    }


@pytest.mark.parametrize(
    ("sentence", "chapter", "printed"),
    [
        ("gives *step* 0.81 of its attention", 3, "one to step: score  5.00, weight 0.81"),
        ("gets 0.01 back", 3, "step to one: score -0.41, weight 0.01"),
        ("the 63,082,496 numbers of its base model with 37,000 tokens", 9, "63,082,496"),
        ("The paper says 65 million", 9, "37,000 fits 0 rows"),
        ("of 173,440 numbers", 15, "173,440"),
        ("passed by a model with no attention at all", 12, "no_attention          True"),
        ("with probability 0.77", 15, " Paris   0.7725"),
    ],
)
def test_what_the_page_promises_is_shown_by_its_chapter(sentence, chapter, printed):
    assert sentence in INDEX
    (path,) = (ROOT / "chapters").glob(f"{chapter:02d}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    outputs = [out for cell in cells for out in cell.get("outputs", [])]
    texts = ["".join(out.get("text", out.get("data", {}).get("text/plain", ""))) for out in outputs]
    assert any(printed in text for text in texts)


def test_the_small_model_has_as_many_numbers_as_the_page_says():
    model = load_trained()
    assert sum(p.numel() for p in model.parameters()) == 173_440


def test_the_table_of_the_figure_is_what_attention_makes_of_the_published_vectors():
    table, words = load_table("bark"), load_table("words")
    vector = dict(zip(words["names"], words["vectors"], strict=True))
    senses = [["dog", "puppy", "howl", "growl"], ["tree", "trunk", "wood", "leaf"]]
    means = [F.normalize(torch.stack([vector[w] for w in s]), dim=1).mean(0) for s in senses]
    rows = [row for row in table["sentences"] if all(token in vector for token in row["tokens"])]
    assert len(rows) >= 2
    for row in rows:
        x = torch.stack([vector[token] for token in row["tokens"]])
        query = vector["bark"][None] * x.shape[1] ** 0.5  # undoes the division
        mixed = (attention_weights(query, x) @ x)[0]
        found = [F.cosine_similarity(mixed, mean, dim=0).item() for mean in means]
        assert found == pytest.approx([row["dog"], row["tree"]], abs=6e-5)


def test_the_drawing_is_that_of_chapter_9_without_its_caption(site):
    assert f"```{{chapter-drawing}} chapters/{MACHINE.name}#drawing\n" in INDEX
    page = (site / "index.html").read_text(encoding="utf-8")
    drawing = stored_drawing(MACHINE, "drawing")
    assert page.count(drawing[drawing.index("<svg") :]) == 1
    assert "You are here" not in page
    with pytest.raises(ValueError, match="has no cell 'x' that shows one drawing"):
        stored_drawing(MACHINE, "x")


def test_the_code_on_the_front_page_runs():
    (code,) = re.findall(r"```python\n(.*?)```", INDEX, flags=re.DOTALL)
    names = {}
    exec(code, names)
    assert torch.equal(names["a"][:, 0], names["v"][:, 0])
