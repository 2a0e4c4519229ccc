"""The front page shows what the chapters compute, and its code runs."""

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

ROOT = Path(__file__).parents[2]
INDEX = (ROOT / "index.md").read_text(encoding="utf-8")
MACHINE = ROOT / "chapters" / "09_transformer.ipynb"


def test_the_figure_is_up_to_date():
    assert front_figure.PATH.read_text(encoding="utf-8") == front_figure.figure()


def test_the_figure_is_in_the_page_once(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    assert page.count(front_figure.figure().strip()) == 1


def test_each_arrow_leads_from_bark_alone_to_its_place_in_the_sentence():
    svg = ElementTree.fromstring(front_figure.figure())
    alone, moves = front_figure.moves()
    dots = [float(dot.get("cx")) for dot in svg.iter("circle")]
    assert len(set(dots)) == 1
    tips = [path.get("d") for path in svg.iter("path") if path.get("class") == "tip"]
    ends = [float(re.match(r"M([\d.]+) ", tip)[1]) for tip in tips]
    scale = (max(ends) - dots[0]) / (max(move.closer_to_tree for move in moves) - alone)
    wanted = [dots[0] + scale * (move.closer_to_tree - alone) for move in moves]
    assert ends == pytest.approx(wanted, abs=0.15)
    said = ["".join(text.itertext()) for text in svg.iter("text")]
    assert [move.sentence for move in moves] == said[2:6]


def test_in_each_pair_one_word_differs_and_puts_bark_on_another_side():
    _, moves = front_figure.moves()
    for one, other in zip(moves[::2], moves[1::2], strict=True):
        words, others = one.sentence.split(), other.sentence.split()
        assert sum(a != b for a, b in zip(words, others, strict=True)) == 1
        assert one.closer_to_tree < 0 < other.closer_to_tree


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
    assert torch.equal(names["ours"][:, 0], names["v"][:, 0])
