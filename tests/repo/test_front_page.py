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

ROOT = Path(__file__).parents[2]
INDEX = (ROOT / "index.md").read_text(encoding="utf-8")
MACHINE = ROOT / "chapters" / "09_transformer.ipynb"


def shown():
    """Return where bark stands alone, the moves, and the picture."""
    (svg,) = re.findall(r"<svg.*</svg>", front_figure.figure(), flags=re.DOTALL)
    return (*front_figure.moves(), ElementTree.fromstring(svg))


def paths(svg, kind):
    return [path.get("d") for path in svg.iter("path") if path.get("class") == kind]


def places(svg, kind):
    return [float(re.match(r"M([\d.]+) ", path)[1]) for path in paths(svg, kind)]


def scale_of(svg):
    """Return how many pixels stand for 1: from bark alone to halfway, which is 0."""
    (start,), (halfway,) = places(svg, "alone"), places(svg, "even")
    return (halfway - start) / -front_figure.moves()[0]


def test_the_figure_is_up_to_date():
    assert front_figure.PATH.read_text(encoding="utf-8") == front_figure.figure()


def test_the_figure_is_in_the_page_once(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    assert page.count(front_figure.figure().strip()) == 1


def test_each_arrow_leads_from_bark_alone_to_its_place_in_the_sentence():
    alone, moves, svg = shown()
    (start,) = places(svg, "alone")
    scale = scale_of(svg)
    starts = [float(re.match(r"M([\d.]+) ", way)[1]) for way in paths(svg, "way")]
    assert set(starts) == {start}
    wanted = [start + scale * (move.closer_to_tree - alone) for move in moves]
    assert places(svg, "tip") == pytest.approx(wanted, abs=0.15)
    said = ["".join(text.itertext()) for text in svg.iter("text") if text.get("class") == "said"]
    assert said == [front_figure.said(move.closer_to_tree) for move in moves]


def test_a_grey_mark_shows_the_plain_mean_of_each_sentence():
    alone, moves, svg = shown()
    (start,) = places(svg, "alone")
    wanted = [start + scale_of(svg) * (move.plain_mean - alone) for move in moves]
    assert places(svg, "mean") == pytest.approx(wanted, abs=0.15)


def test_the_page_says_truly_what_the_words_do():
    alone, moves = front_figure.moves()
    assert alone < 0
    wrong = [m.word for m in moves if (m.closer_to_tree > 0) != (m.word in front_figure.TREES)]
    assert wrong == ["fox"]
    assert "Which animal goes wrong?" in front_figure.figure()
    assert all(move.plain_mean * move.closer_to_tree > 0 for move in moves)
    assert "lands on the same side with all eight" in INDEX
    table = load_table("bark")
    (animals, left, _), (trees, stayed, _) = table["animals"], table["trees"]
    assert f"{trees - stayed} of {trees} trees pull *bark* to the tree side" in INDEX
    assert f"{left} of {animals} animals leave it on the dog side" in INDEX
    found = {" ".join(row["tokens"]): row for row in table["sentences"]}
    for word in ("wolf", "pine"):  # sentences of chapter 2, too
        row = found[f"that bark came from the {word}"]
        for kind, number in zip(("", "even_"), table["known"][word], strict=True):
            gap = row[f"{kind}dog"] - row[f"{kind}tree"]
            assert float(number) == pytest.approx(gap, abs=1.1e-4)


def test_each_word_has_a_sentence_that_says_what_it_does():
    said = [front_figure.result(move) for move in front_figure.moves()[1]]
    assert "<em>wolf</em>, <em>bark</em> moves to −0.06, further to the dog side." in said[0]
    assert said[2].endswith("moves to −0.03, and stays on the dog side.")
    assert said[3].endswith("moves to 0.03, over to the tree side. Here the step goes wrong.")
    assert said[4].endswith("moves to 0.07, over to the tree side.")


@pytest.mark.parametrize(
    ("sentence", "chapter", "printed"),
    [
        ("give *step* 0.81 of its attention", 3, "one to step: weight 0.81"),
        ("get only 0.01 back", 3, "step to one: weight 0.01"),
        ("all 63,082,496 numbers", 9, "63,082,496"),
        ("of 173,440 numbers", 15, "173,440"),
        ("even without attention", 12, "no_attention          True"),
        ("a probability of 0.77", 15, " Paris   0.7725"),
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
