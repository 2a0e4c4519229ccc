"""What a drawing shows, in words and with its numbers: its accessible name and its plain text."""

from attention_core.drawing._blocks import Blocks, cells
from attention_core.drawing._pen import Row
from attention_core.drawing._scene import Numbers, Scene
from attention_core.drawing._text import number


def describe(scene: Scene) -> str:
    """Return the description of a drawing, which ends with the names of its new parts.

    >>> describe(Scene("chain", lit="states path", title="A chain", alt="Five words."))
    'Five words. New here: states, path.'
    """
    if scene.view == "inside":
        shown = _inside(scene)
    elif scene.view == "blocks":
        shown = _blocks(scene)
    else:
        shown = scene.alt
    new = "" if scene.lit == "all" else f" New here: {scene.lit.replace(' ', ', ')}."
    return f"{shown}{new}"


def _row(numbers: Row) -> str:
    return ", ".join(number(x) for x in numbers)


def _inside(scene: Scene) -> str:
    steps, row = Numbers(scene), 0 if scene.has("one") else scene.focus
    asking, asked = scene.tokens[scene.focus], ", ".join(scene.tokens)
    text = "Data flow of attention, from top to bottom. "
    if scene.has("project"):
        text += "Three matrices make a query, a key and a value of each token. "
    if scene.has("project") or scene.has("roles"):
        text += f"The query of {asking} meets the keys of {asked}. "
    else:
        text += f"The row of {asking} meets the columns of {asked}. "
    text += f"Scores: {_row(steps.scores[row])}. "
    if scene.has("divide"):
        masked = " and masked" if scene.has("mask") else ""
        text += f"Divided by √{len(steps.k[0])}{masked}: {_row(steps.inputs[row])}. "
    return f"{text}Weights: {_row(steps.weights[row])}. New {asking}: {_row(steps.mixture[row])}."


def _blocks(scene: Scene) -> str:
    steps, asking = Blocks(scene), scene.tokens[scene.focus]
    one, two = (_row(cells(summary)) for summary in steps.summaries)
    return (
        "Data flow of attention in two blocks, from top to bottom. "
        f"The query of {asking} meets the keys of {', '.join(scene.tokens[:-1])} in one block and "
        f"that of {scene.tokens[-1]} in another. "
        f"Scaled scores: {_row(steps.scores[0])} and {_row(steps.scores[1])}. "
        "Each block keeps its largest score, the sum of its numerators, and its weighted sum of "
        f"values: {one} and {two}. Merged: {_row(cells(steps.merged))}. "
        f"Divided by the sum, this is the new {asking}: {_row(steps.new)}."
    )
