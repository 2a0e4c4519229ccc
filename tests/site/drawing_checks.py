"""What a browser measures at the drawing of a chapter: its texts, where they stand, and how clear.

Each check returns a list of problems, in words; an empty list is a pass.
"""

from __future__ import annotations

import base64
import io
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

_FOLDER = Path(mpl.get_data_path()) / "fonts" / "ttf"
#: Wide, with serifs, and narrow; they come with matplotlib, so they are the same everywhere.
FONTS = {
    "wide": (_FOLDER / "DejaVuSans.ttf", _FOLDER / "DejaVuSans-Bold.ttf"),
    "serif": (_FOLDER / "DejaVuSerif.ttf", _FOLDER / "DejaVuSerif-Bold.ttf"),
    "narrow": (_FOLDER / "STIXGeneral.ttf", _FOLDER / "STIXGeneralBol.ttf"),
}

# Boxes in units of the drawing. That of a text has the height of its letters.
_MEASURE = """svg => {
  const paper = svg.getBoundingClientRect(), scale = paper.width / 354;
  const place = r => ({
    left: (r.left - paper.left) / scale, right: (r.right - paper.left) / scale,
    top: (r.top - paper.top) / scale, bottom: (r.bottom - paper.top) / scale,
  });
  const texts = [...svg.querySelectorAll('text')].map(text => {
    const box = place(text.getBoundingClientRect()), parts = [text, ...text.children];
    const sizes = parts.filter(part => part.textContent.trim())
      .map(part => parseFloat(getComputedStyle(part).fontSize));
    // Letters fill three quarters of a line, in the middle.
    const [low, high] = text.hasAttribute('transform') ? ['left', 'right'] : ['top', 'bottom'];
    const middle = (box[low] + box[high]) / 2, letters = 0.38 * sizes[0];
    [box[low], box[high]] = [middle - letters, middle + letters];
    // A mark lies on top of what it marks.
    const mark = text.previousElementSibling?.tagName === 'circle';
    return {...box, text: text.textContent, mark, size: Math.min(...sizes) * scale};
  });
  const shapes = [...svg.querySelectorAll('.dr-edge:not(.dr-paper), .dr-box, .dr-chip')]
    .map(shape => ({...place(shape.getBoundingClientRect()), text: shape.className.baseVal}));
  return {texts, shapes, height: paper.height / scale, pixels: paper.height};
}"""
_COLOURS = """svg => [...svg.querySelectorAll('text, tspan')]
  .filter(part => [...part.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .map(part => {
    const box = part.getBoundingClientRect(), style = getComputedStyle(part);
    return {text: part.textContent, fill: style.fill, opacity: parseFloat(style.fillOpacity),
            box: [box.x, box.y, box.width, box.height]};
  })"""


def use_font(tab: Tab, name: str) -> None:
    """Set the text of the page in one of FONTS."""
    faces = [
        f"@font-face {{ font-family: Tried-{name}; font-weight: {weight}; "
        f"src: url(data:font/ttf;base64,{base64.b64encode(path.read_bytes()).decode()}); }}"
        for path, weight in zip(FONTS[name], ("400", "600 700"), strict=True)
    ]
    family = f'Tried-{name}, "Book Chinese", sans-serif'
    page = f"html {{ --pst-font-family-base: {family} !important; }}"
    tab.add_style_tag(content="\n".join([*faces, page]))
    tab.evaluate("document.fonts.ready")


def measure(tab: Tab) -> dict[str, Any]:
    """Return where texts and shapes of the drawing stand."""
    measured: dict[str, Any] = tab.locator("svg.dr").evaluate(_MEASURE)
    return measured


def touching(measured: dict[str, Any], *, gap: float = 1.5) -> list[str]:
    """Return the texts that touch each other or cut a shape, or that leave the paper."""
    texts, problems = measured["texts"], []
    for text in texts:
        outside = text["left"] < -0.5 or text["right"] > 354.5
        if outside or text["top"] < -1 or text["bottom"] > measured["height"] + 1:
            problems.append(f"{text['text']!r} leaves the paper")
        for shape in () if text["mark"] else measured["shapes"]:
            wide, high = _overlap(text, shape)
            inside = (
                text["left"] >= shape["left"]
                and text["right"] <= shape["right"]
                and text["top"] >= shape["top"] - 1
                and text["bottom"] <= shape["bottom"] + 1
            )
            if not inside and wide > 0 and high > 0.5:
                problems.append(f"{text['text']!r} cuts {shape['text']}")
    for one, other in combinations(texts, 2):
        wide, high = _overlap(one, other)
        # Single characters may stand close, as in a word.
        apart = 0 if len(one["text"]) == len(other["text"]) == 1 else gap
        if wide > -apart and high > 0.5:
            problems.append(f"{one['text']!r} touches {other['text']!r}")
    return problems


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> tuple[float, float]:
    wide = min(one["right"], other["right"]) - max(one["left"], other["left"])
    high = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return wide, high


def contrasts(tab: Tab) -> dict[str, float]:
    """Return the contrast of each text of the drawing with the pixels around its letters."""
    drawing = tab.locator("svg.dr")
    drawing.scroll_into_view_if_needed()
    parts, origin = drawing.evaluate(_COLOURS), drawing.bounding_box()
    hide = tab.add_style_tag(content="svg.dr text { visibility: hidden; }")
    picture = np.asarray(Image.open(io.BytesIO(drawing.screenshot())).convert("RGB"), dtype=float)
    hide.evaluate("style => style.remove()")
    assert origin is not None
    found: dict[str, float] = {}
    for part in parts:
        x, y, wide, high = part["box"]
        left, top = x - origin["x"], y - origin["y"]
        rows = slice(int(top + high / 4), int(top + high * 0.8))
        behind = picture[rows, max(int(left), 0) : int(left + wide)].reshape(-1, 3)
        if not len(behind):
            continue
        paper = behind[np.argsort(_luminance(behind))[len(behind) // 2]]
        color = np.array([float(c) for c in part["fill"].strip("rgba()").split(",")[:3]])
        seen = part["opacity"] * color + (1 - part["opacity"]) * paper
        dark, light = sorted([float(_luminance(seen)), float(_luminance(paper))])
        ratio = (light + 0.05) / (dark + 0.05)
        found[part["text"]] = min(ratio, found.get(part["text"], ratio))
    return found


def _luminance(colors: Any) -> Any:
    v = colors / 255
    linear = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])
