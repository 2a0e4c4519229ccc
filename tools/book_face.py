"""Make the pictures by which the book is known, from the drawing that grows.

README shows the whole of attention; the preview, which other sites show beside a link, the same
beside the title; the icon in the browser's tab is its table of weights, with queries on the left
and keys above. ``python tools/front_page.py`` writes them, and tests compare them.
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
from pathlib import Path

import matplotlib as mpl
import pylopdf_fonts_zh_cn
import torch
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from attention_core import drawing, plotting
from attention_core.functional import masked_softmax

STATIC = Path(__file__).resolve().parent.parent / "_static"
PICTURE, PREVIEW, ICON = (STATIC / n for n in ("attention.svg", "preview.png", "favicon.svg"))
PREVIEW_SIZE = 1200, 630  # what social networks ask for
BROWSERS = "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"

_FONTS = Path(mpl.get_data_path()) / "fonts" / "ttf"
# From packages, so that letters have the same shapes on every machine.
_FACES = (
    ("Book", "400", _FONTS / "DejaVuSans.ttf"),
    ("Book", "600 900", _FONTS / "DejaVuSans-Bold.ttf"),
    ("Chinese", "100 900", Path(pylopdf_fonts_zh_cn.__file__).with_name("NotoSansSC-Regular.otf")),
    ("Maths", "100 900", _FONTS / "STIXGeneralItalic.ttf"),
)
_PAGE = """<!DOCTYPE html><meta charset="utf-8"><style>{faces}
body {{ margin: 0; background: #fff; color: #222832; font: 26px Book, Chinese; }}
h1 {{ font: 700 66px/1.15 Book; margin: 0 0 34px; }}
p {{ margin: 0; line-height: 1.45; }}
main {{ position: absolute; left: 60px; top: 150px; width: 620px; }}
svg.dr {{ position: absolute; right: 30px; top: 12px; width: 510px !important; height: auto;
          font-family: Book, Chinese !important; }}
.dr .dr-math {{ font-family: Maths !important; }}
</style><main><h1>Attention,<br>Number<br>by Number</h1>
<p>From three characters on paper<br>to a Transformer that translates.</p></main>{drawing}"""


def picture() -> str:
    """Return the picture of README: one attention, with all its parts in colour."""
    return drawing.svg(4, lit="all")


def favicon() -> str:
    """Return the icon: the weights of chapter 1, queries on the left, keys above."""
    x = torch.tensor([[1, 2, 1, 2, 1], [1, 1, 3, 2, 1], [3, 1, 2, 1, 1]], dtype=torch.float64)
    colors = plotting.ROLE_COLORS
    places = (10.5, 16.7, 22.9)
    parts = ['<rect width="32" height="32" rx="6" fill="#fff"/>']
    parts += [f'<path fill="{colors["key"]}" d="M{x} 3h5.4v5.4h-5.4z"/>' for x in places]
    parts += [f'<path fill="{colors["query"]}" d="M3 {y}h5.4v5.4h-5.4z"/>' for y in places]
    for y, row in zip(places, masked_softmax(x @ x.mT).tolist(), strict=True):
        for at, weight in zip(places, row, strict=True):
            shade = f'fill-opacity="{0.15 + 0.85 * weight:.2f}"'
            parts.append(f'<path fill="{colors["weights"]}" {shade} d="M{at} {y}h5.4v5.4h-5.4z"/>')
    size = 'width="32" height="32" viewBox="0 0 32 32"'
    inner = "\n".join(f"  {part}" for part in parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{inner}\n</svg>\n'


def page() -> str:
    """Return the page that the preview shows: the title, and the drawing beside it."""
    faces = "".join(
        f"@font-face {{ font-family: {family}; font-weight: {weight}; "
        f"src: url(data:font/ttf;base64,{base64.b64encode(file.read_bytes()).decode()}); }}"
        for family, weight, file in _FACES
    )
    return _PAGE.format(faces=faces, drawing=drawing.svg(3, lit="all"))


def digest() -> str:
    """Return the digest of the page, which the preview carries.

    By it a test knows whether the preview is up to date: browsers of other versions would draw
    its letters a little differently.
    """
    return hashlib.sha256(page().encode()).hexdigest()


def preview() -> bytes:
    """Draw the preview as PNG, in a browser.

    Raises:
        FileNotFoundError: there is no Chromium
    """
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise FileNotFoundError(f"the preview needs one of {', '.join(BROWSERS)}")
    wide, high = PREVIEW_SIZE
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        tab = running.new_page(viewport={"width": wide, "height": high})
        tab.set_content(page())
        tab.evaluate("document.fonts.ready")
        raw = tab.screenshot()
        running.close()
    note = PngInfo()
    note.add_text("Source", digest())
    small = io.BytesIO()
    image = Image.open(io.BytesIO(raw)).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    image.save(small, format="png", optimize=True, pnginfo=note)
    return small.getvalue()


def write() -> None:
    """Write the three pictures; without a browser, a preview that is out of date stays."""
    PICTURE.write_text(picture(), encoding="utf-8", newline="\n")
    ICON.write_text(favicon(), encoding="utf-8", newline="\n")
    if not PREVIEW.is_file() or source_of(PREVIEW) != digest():
        try:
            PREVIEW.write_bytes(preview())
        except FileNotFoundError as error:
            print(f"{PREVIEW.name} is out of date: {error}")


def source_of(png: Path) -> str:
    """Return the digest that a preview carries."""
    with Image.open(png) as image:
        return str(image.info.get("Source", ""))
