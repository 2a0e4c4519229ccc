"""What the figure of trained heads says of every row, and whether it holds for given weights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from live_states import DATA
from node_runs import run_script

from attention_core.widgets.figure import script_of
from attention_core.widgets.head_maps import HEADS, LAYERS, is_word, sentences, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A row is the number of a sentence, a layer, a head and a token.
Row = tuple[int, int, int, int]

_TEXT = re.compile(
    r"(?P<name>.+?) looks (?:"
    r"most at (?P<top>.+?): (?P<most>[\d.]+), (?P<ratio>.+) the even share of (?P<even>[\d.]+)\."
    r"|nearly evenly at all tokens: the largest weight is (?P<largest>[\d.]+), at (?P<at>.+?); "
    r"an even share would be (?P<share>[\d.]+)\.)"
    r"(?: Among the words it looks most at (?P<word>.+?): (?P<second>[\d.]+)\.)?"
)
_BELOW = {"less than 1.5 times": 1.5, "less than twice": 2.0}


def rows() -> Iterator[Row]:
    for sentence in range(len(sentences())):
        for layer in range(LAYERS):
            for head in range(HEADS):
                for query in range(len(tokens_of(sentence))):
                    yield sentence, layer, head, query


def told(folder: Path, *, trained: bool) -> dict[Row, tuple[list[float], str]]:
    """Return for each row [top, word, times] and the sentence, as JavaScript computes them."""
    file = folder / "told.mjs"
    file.write_text(script_of("trained_heads"), encoding="utf-8")
    names = ("sentence", "layer", "head", "query")
    states: list[dict[str, Any]] = [
        {**dict(zip(names, row, strict=True)), "trained": trained} for row in rows()
    ]
    script = Path(__file__).with_suffix(".mjs")
    given = {"module": file.as_uri(), "states": states, "data": DATA["trained_heads"]()}
    return dict(zip(rows(), run_script(script, given), strict=True))


def _named(text: str, tokens: list[str], query: int) -> int:
    """Return the token that a sentence names, such as “one”, the second “saw”, or itself."""
    if text == "itself":
        return query
    order, word = re.fullmatch(r"(the first |the second |)(.+)", text).groups()
    same = [at for at, token in enumerate(tokens) if token == word.strip("“”")]
    assert len(same) == (2 if order else 1)
    return same[order == "the second "]


def _right_ratio(ratio: str, times: float) -> bool:
    if ratio in _BELOW:
        return times < _BELOW[ratio]
    found = re.fullmatch(r"about (\d+(?:\.5)?) times", ratio)
    if found is None:
        return False
    said = float(found[1])
    # A whole number is the nearest one; a half stands where the step holds two nearest ones.
    return times >= 2 - 0.07 and abs(times - said) <= (0.5 if said == int(said) else 0.07)


def faults(text: str, weights: list[float], tokens: list[str], query: int) -> list[str]:
    """Return what a sentence says about a row that its weights do not bear out."""
    said = _TEXT.fullmatch(text.removeprefix("Untrained: "))
    if said is None:
        return [f"not understood: {text}"]
    top = max(range(len(tokens)), key=weights.__getitem__)
    words = [at for at, token in enumerate(tokens) if is_word(token)]
    word = max(words, key=weights.__getitem__)
    most, even = weights[top], 1 / len(tokens)
    name = said["name"].replace("The ", "the ", 1)
    checks = {
        "query": _named(name, tokens, query) == query,
        "winner": _named(said["top"] or said["at"], tokens, query) == top,
        "weight": (said["most"] or said["largest"]) == f"{most:.2f}",
        "even share": (said["even"] or said["share"]) == f"{even:.2f}",
    }
    if said["ratio"]:
        checks["times"] = _right_ratio(said["ratio"], most / even)
    else:
        checks["nearly even"] = max(weights) < 1.25 * even and min(weights) >= 0.75 * even
    if said["word"]:
        checks["word"] = _named(said["word"], tokens, query) == word
        checks["its weight"] = said["second"] == f"{weights[word]:.2f}"
    elif not text.startswith("Untrained"):
        checks["a word"] = is_word(tokens[top])
    return [f"{name}: {text}" for name, right in checks.items() if not right]
