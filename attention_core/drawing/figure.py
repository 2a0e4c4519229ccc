"""The drawing as SVG, and as a figure with its caption in a chapter."""

import html
import re
import textwrap
from functools import cache
from pathlib import Path

from attention_core.drawing.around import draw_heads, draw_layer
from attention_core.drawing.book import SCENES
from attention_core.drawing.inside import draw_inside
from attention_core.drawing.machine import draw_machine
from attention_core.drawing.pen import WIDTH, Pen, Row, _n, number
from attention_core.drawing.scene import Numbers, Scene

CHAPTERS = 15
_VIEWS = {
    "attention": draw_inside,
    "heads": draw_heads,
    "layer": draw_layer,
    "machine": draw_machine,
}
_CHINESE = re.compile("[\u3400-\u9fff]+")
# A file of its own fills the height of a screen.
_ALONE = "width:auto;height:100vh;margin:0 auto;max-width:100%;color:#222832;font-family:sans-serif"


def show(chapter: int) -> None:
    """Display the drawing of a chapter, with its caption.

    Its plain text is the description of the drawing, which is also its accessible name.

    Raises:
        ValueError: the book has no drawing for this chapter
        TypeError: chapter is not an int
    """
    from IPython.display import display

    display(data(chapter), raw=True)  # type: ignore[no-untyped-call]


def data(chapter: int) -> dict[str, str]:
    """Return what `show` displays, by its MIME type."""
    return {"text/html": figure(chapter), "text/plain": _wrapped(description(chapter))}


def svg(chapter: int) -> str:
    """Return the drawing of a chapter as an SVG file of its own.

    Raises:
        ValueError: the book has no drawing for this chapter
        TypeError: chapter is not an int

    >>> svg(1)[:15], svg(1) == svg(1)
    ('<svg class="dr"', True)
    """
    drawn = _svg(_scene(chapter), uid=f"drawing-{chapter}")
    start, rest = drawn.split("</desc>", 1)
    start = start.replace('class="dr"', f'class="dr" style="{_ALONE}"', 1)
    return f"{start}</desc><style>{_style()}</style>{rest}\n"


def description(chapter: int) -> str:
    """Return in words what the drawing of a chapter shows, with its numbers.

    Raises:
        ValueError: the book has no drawing for this chapter
        TypeError: chapter is not an int
    """
    scene = _scene(chapter)
    return f"{scene.title}. {_describe(scene)}"


def figure(chapter: int) -> str:
    """Return the HTML of a drawing and its caption.

    Raises:
        ValueError: the book has no drawing for this chapter
        TypeError: chapter is not an int
    """
    scene = _scene(chapter)
    when = ["past"] * (chapter - 1) + ["now"] + ["next"] * (CHAPTERS - chapter)
    steps = "".join(f'<i class="dr-{name}"></i>' for name in when)
    place = f"chapter {chapter} of {CHAPTERS}"
    here = f'You are here <span class="dr-steps" role="img" aria-label="{place}">{steps}</span>'
    about = _CHINESE.sub(r'<span lang="zh">\g<0></span>', scene.about)
    formula = f'<div class="dr-formula">{scene.formula}</div>' if scene.formula else ""
    return (
        f'<figure class="dr-figure"><style>{_style()}</style>'
        f'{_svg(scene, uid=f"drawing-{chapter}")}<figcaption><p class="dr-here">{here}</p>'
        f"<p>{about}</p>{formula}</figcaption></figure>"
    )


def _scene(chapter: int) -> Scene:
    if not isinstance(chapter, int) or isinstance(chapter, bool):
        raise TypeError(f"chapter must be an int, got {type(chapter).__name__}")
    if chapter not in SCENES:
        raise ValueError(f"chapter must be one with a drawing, {sorted(SCENES)}, got {chapter}")
    return SCENES[chapter]


@cache
def _style() -> str:
    css = Path(__file__).with_name("drawing.css").read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/|\n", "", css, flags=re.DOTALL)


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 76))


def _describe(scene: Scene) -> str:
    new = "" if "all" in scene.lit.split() else f" New here: {scene.lit.replace(' ', ', ')}."
    if scene.view != "attention":
        return f"{scene.alt or scene.about}{new}"

    def row(cells: Row) -> str:
        return ", ".join(number(v) for v in cells)

    N, f = Numbers(scene), 0 if scene.has("one") else scene.focus
    text = "Data flow of attention, from top to bottom. "
    if scene.has("project"):
        text += "Three matrices make queries, keys and values of the tokens. "
    text += f"{scene.tokens[scene.focus]} with {', '.join(scene.tokens)}: scores {row(N.scores[f])}"
    if scene.has("divide"):
        text += f"; divided{' and masked' if scene.has('mask') else ''} {row(N.inputs[f])}"
    return f"{text}; weights {row(N.weights[f])}; mixture {row(N.mixture[f])}.{new}"


def _svg(scene: Scene, *, uid: str) -> str:
    """Return the SVG element of a scene; ``uid`` keeps its ids apart from those of others."""
    tight = scene.view == "attention" and len(scene.tokens) > 4
    pen = Pen(scene.lit, scene.links, tight=tight)
    height = _VIEWS[scene.view](pen, scene)
    drawn = "".join(pen.out)
    if pen.linked:  # numbers are for the eye, links for everybody
        links = "".join(f"{link}</a>" for link in pen.linked.values())
        drawn = f'<g aria-hidden="true">{drawn}</g><g class="dr-grey">{links}</g>'
    box = f"0 -4 {_n(WIDTH)} {_n(height + 4)}"
    return (
        f'<svg class="dr" xmlns="http://www.w3.org/2000/svg" viewBox="{box}" '
        f'role="{"group" if pen.linked else "img"}" aria-labelledby="{uid}-t {uid}-d">'
        f'<title id="{uid}-t">{html.escape(scene.title)}</title>'
        f'<desc id="{uid}-d">{html.escape(_describe(scene))}</desc>{drawn}</svg>'
    )
