"""The drawing as SVG, and as a figure with its caption in a chapter."""

import html
import re
import textwrap
from dataclasses import replace
from functools import cache
from pathlib import Path

from attention_core.drawing._blocks import draw_blocks
from attention_core.drawing._book import LINKS, SCENES, scene_of
from attention_core.drawing._chain import draw_chain
from attention_core.drawing._describe import describe
from attention_core.drawing._formulas import FORMULAS
from attention_core.drawing._heads import draw_heads
from attention_core.drawing._inside import draw_inside
from attention_core.drawing._layer import draw_layer
from attention_core.drawing._machine import draw_machine
from attention_core.drawing._pen import WIDTH, Pen
from attention_core.drawing._scene import Scene
from attention_core.drawing._stack import draw_decoder, draw_encoder
from attention_core.drawing._text import CHINESE, short

_VIEWS = {
    "inside": draw_inside,
    "heads": draw_heads,
    "layer": draw_layer,
    "machine": draw_machine,
    "chain": draw_chain,
    "blocks": draw_blocks,
    "encoder": draw_encoder,
    "decoder": draw_decoder,
}
# A file of its own has its size, its colours and a margin, since no page gives them.
_SCALE, _MARGIN = 1.25, 10
_ALONE = "width:auto;background:#fff;color:#222832;--dr-paper:#fff;font-family:system-ui,sans-serif"


def show(chapter: int) -> None:
    """Display the drawing of a chapter, with its caption.

    Its plain text is the description of the drawing, which is also its accessible name.

    Raises:
        ValueError: the book has no such chapter
        TypeError: chapter is not an int
    """
    from IPython.display import display

    display(data(chapter), raw=True)  # type: ignore[no-untyped-call]


def data(chapter: int) -> dict[str, str]:
    """Return what `show` displays, by its MIME type."""
    return {
        "text/html": figure(chapter),
        "text/plain": "\n".join(textwrap.wrap(description(chapter), 76)),
    }


def svg(chapter: int, *, lit: str | None = None) -> str:
    """Return the drawing of a chapter as an SVG file of its own, on white.

    Args:
        lit: the names of the parts in colour, with blanks between them, or "all"; unless given,
            those that are new in the chapter. They stand at the end of the description.

    Raises:
        ValueError: the book has no such chapter
        TypeError: chapter is not an int

    >>> svg(1)[:15], svg(1) == svg(1)
    ('<svg class="dr"', True)
    """
    scene = scene_of(chapter)
    scene = scene if lit is None else replace(scene, lit=lit)
    return _svg(scene, f"drawing-{chapter}", alone=True) + "\n"


def description(chapter: int) -> str:
    """Return in words what the drawing of a chapter shows, with its numbers.

    Raises:
        ValueError: the book has no such chapter
        TypeError: chapter is not an int
    """
    scene = scene_of(chapter)
    return f"{scene.title}. {describe(scene)}"


def figure(chapter: int) -> str:
    """Return the HTML of a drawing and its caption.

    Raises:
        ValueError: the book has no such chapter
        TypeError: chapter is not an int
    """
    scene = scene_of(chapter)
    when = ["past"] * (chapter - 1) + ["now"] + ["next"] * (len(SCENES) - chapter)
    steps = "".join(f'<i class="dr-{name}"></i>' for name in when)
    place = f"chapter {chapter} of {len(SCENES)}"
    here = f'You are here: {place} <span class="dr-steps" aria-hidden="true">{steps}</span>'
    about = CHINESE.sub(r'<span lang="zh">\g<0></span>', html.escape(scene.about))
    about = re.sub(r"\*(\w+)\*", r"<em>\1</em>", about)
    formula = FORMULAS.get(chapter, "")
    formula = f'<p class="dr-formula"><span class="math">{formula}</span></p>' if formula else ""
    # Without its style the drawing would be a heap of words. Where a front end drops the style,
    # as JupyterLab does for notebooks of others, the drawing stays hidden and the note is seen.
    drawn = _svg(scene, f"drawing-{chapter}")
    note = '<p class="dr-note">Run this cell to see the drawing.</p>'
    return (
        f'<figure class="dr-figure"><style>{_style()}</style>'
        f'<div hidden="hidden">{drawn}</div>{note}'
        f'<figcaption><p class="dr-here">{here}</p><p>{about}</p>{formula}</figcaption></figure>'
    )


@cache
def _style() -> str:
    css = Path(__file__).with_name("drawing.css").read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/|\n", "", css, flags=re.DOTALL)


def _svg(scene: Scene, uid: str, *, alone: bool = False) -> str:
    """Return the SVG element of a scene; ``uid`` keeps its ids apart from those of others."""
    tight = scene.view == "inside" and len(scene.tokens) > 4
    pen = Pen(scene.lit, LINKS, tight=tight)
    high = _VIEWS[scene.view](pen, scene) + 4
    drawn, attributes = "".join(pen.out), ""
    if pen.linked:  # numbers are for the eye, links for everybody
        links = "".join(f"{link}</a>" for link in pen.linked.values())
        drawn = f'<g aria-hidden="true">{drawn}</g><g class="dr-grey">{links}</g>'
        attributes = ' xmlns:xlink="http://www.w3.org/1999/xlink"'
    edge = _MARGIN if alone else 0
    wide, high = WIDTH + 2 * edge, high + 2 * edge
    if alone:
        size = f'width="{short(wide * _SCALE)}" height="{short(high * _SCALE)}"'
        attributes += f' {size} style="{_ALONE}"'
        drawn = f"<style>{_style()}</style>{drawn}"
    return (
        f'<svg class="dr" xmlns="http://www.w3.org/2000/svg"{attributes} '
        f'viewBox="{-edge} {-4 - edge} {short(wide)} {short(high)}" '
        f'role="{"group" if pen.linked else "img"}" aria-labelledby="{uid}-t {uid}-d">'
        f'<title id="{uid}-t">{html.escape(scene.title)}</title>'
        f'<desc id="{uid}-d">{html.escape(describe(scene))}</desc>{drawn}</svg>'
    )
