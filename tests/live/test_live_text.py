"""A reader's text stays text, in every place of a figure: attribute, script data, table, page."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
import torch
from booksite.live import bundler

from attention_core._html import script_json
from attention_core.widgets import AttentionMap, Heads, MaskPainter, SimpleAttention
from attention_core.widgets.figure import HERE, LiveFigure, Table

NASTY = [
    "</script><img src=x onerror=wrong=1>",
    "--></style><b>",
    "<!--<script>",  # would begin a comment or a script that nothing ends
    "\"'><svg onload=wrong=1>",
    "&lt;i&gt; & &amp;",
    "早上好<〇>",
    "שלום \u202eabc",
    "__proto__",
    "toString",
    " ",
]


def _map():
    size = len(NASTY)
    weights = torch.eye(size)[None, None].tolist()
    one = {"queries": NASTY, "keys": NASTY[::-1], "weights": weights}
    return AttentionMap(
        maps=[{"name": "toString", **one}, {"name": NASTY[0], **one}],
        kind="toString", layer=0, head=0, query=0, key=0,
    )  # fmt: skip


FIGURES = {
    "simple_attention": lambda: SimpleAttention(
        words=NASTY, embeddings=torch.eye(len(NASTY)).tolist(), query=0
    ),
    "mask_painter": lambda: MaskPainter(
        words=NASTY[:8], embeddings=torch.eye(8).tolist(), mask=torch.ones(8, 8).tolist()
    ),
    "heads": lambda: Heads(words=NASTY, x=torch.ones(len(NASTY), 6).tolist()),
    "attention_map": _map,
}


class Reader(HTMLParser):
    """What a browser would see: tags, the text of scripts, and all other text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict]] = []
        self.script, self.texts, self.open = "", [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag in ("td", "th", "caption"):
            self.texts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] == "script":
            self.script += data
        elif self.texts:
            self.texts[-1] += data


@pytest.mark.parametrize("name", FIGURES)
def test_the_stored_form_keeps_text_in_its_place(name):
    figure = FIGURES[name]()
    reader = Reader()
    reader.feed(figure.static_html())
    reader.close()
    assert json.loads(reader.script) == figure.state()
    allowed = {"div", "script", "table", "caption", "thead", "tbody", "tr", "th", "td", "span"}
    assert {tag for tag, _ in reader.tags} <= allowed
    assert not [a for _, attrs in reader.tags for a in attrs if a.startswith("on")]
    table = figure.table()
    cells = [table.caption, *table.columns, *(cell for row in table.rows for cell in row)]
    assert reader.texts == cells
    # Without "<" in the data an HTML parser cannot end or comment out the script early.
    assert "<" not in reader.script


def test_script_data_refuses_values_that_json_does_not_have():
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json({"x": float("nan")})


def test_captions_and_columns_are_escaped():
    html = Table(NASTY[0], [NASTY[3]], [[NASTY[4], 1.0]]).html()
    assert "<img" not in html
    assert "<svg" not in html
    assert "&amp;lt;i&amp;gt;" in html


_LOOK = """root => ({
  words: [...root.querySelectorAll('th, .live-cell, .token, .live-sentence button, legend, label')]
    .map(e => e.textContent),
  labels: [...root.querySelectorAll('[aria-label]')].map(e => e.getAttribute('aria-label')),
  tags: root.querySelectorAll('script, img, b, i:not(:empty), style, [onload]').length,
  said: root.querySelector('.live-reading').textContent,
  wrong: window.wrong ?? null,
})"""


def page_of(figure: LiveFigure) -> str:
    """A page with one figure, as the book's build makes it."""
    script = bundler(HERE).page_script([HERE / f"{figure.module}.js"], HERE / "host.js")
    return f"<!doctype html><meta charset=utf-8>{figure.static_html()}<script>{script}</script>"


@pytest.mark.parametrize("name", FIGURES)
def test_the_page_keeps_text_in_its_place(name, browser):
    figure = FIGURES[name]()
    tab = browser.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.set_content(page_of(figure))
    found = tab.locator(".live-figure").evaluate(_LOOK)
    assert errors == []
    assert found["tags"] == 0
    assert found["wrong"] is None
    shown = "\n".join([*found["words"], *found["labels"]])
    words = figure.words if hasattr(figure, "words") else NASTY
    for word in words:
        assert (word if word != " " else "␣" if name == "attention_map" else " ") in shown
    assert "native code" not in found["said"]
    tab.close()
