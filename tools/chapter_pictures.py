"""Compare two renderings of a figure, with a tolerance for other machines.

The same figure drawn on two machines may differ in the last bit of a coordinate, and so
in the shade of some pixels along an edge. A changed value differs in one of two ways: a
few pixels by a lot (another digit, another label), or many pixels by a little (a heat
map cell of a slightly different colour). Each way has a limit. To allow for edges, which are
shaded over one pixel, the difference of a pixel is how far it lies outside the range of the
3x3 pixels around its place in the other picture.

Measured on heat maps of 6x6 cells: B, of the book (``plotting.heatmap`` and ``show``,
1280x944 pixels, 256 colours), and S, drawn with seaborn (840x714 pixels, true colours,
type of 8 to 10 points at 200 dots per inch). "Strong" counts pixels that still differ by
more than 32 of 255, "faint" those that differ by more than 4.

    ====  ===========================================  =======  =======
    kind  change                                        strong    faint
    ====  ===========================================  =======  =======
    B, S  the same code again                                0        0
    S     noise of +-2 in every pixel                        0        0
    B     all axes moved by 0.01 to 0.1 pixel                0   0 to 5
    S     the same                                           0  0 to 12
    --    limit                                              2      300
    S     letter i to l in a rotated tick label              3        4
    S     digit 6 to 8, the smallest of 45 pairs       7 to 16  11 to 20
    B     0.2098 to 0.2096                                  20       29
    B     0.1242 to 0.1243                                  49       62
    S, B  tick label "step" to "stop"                33 to 215  35 to 265
    S     one cell by 1/50 of the range, no numbers          0     8002
    B     one cell by 0.01                                  50    23512
    ====  ===========================================  =======  =======

Type of 6 points is too small: there the change of 6 to 8 leaves only 2 strong pixels.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image, ImageChops, ImageFilter

STRONG, STRONG_PIXELS = 32, 2
FAINT, FAINT_PIXELS = 4, 300


def describe_difference(stored: bytes, new: bytes) -> str:
    """Describe how two PNG files differ beyond the tolerance; return "" if they do not."""
    if stored == new:
        return ""
    before, after = _load(stored), _load(new)
    if before.size != after.size:
        return "size {}x{} became {}x{} pixels".format(*before.size, *after.size)
    difference = _difference(before, after)
    histogram = difference.histogram()
    strong, faint = sum(histogram[STRONG + 1 :]), sum(histogram[FAINT + 1 :])
    if strong <= STRONG_PIXELS and faint <= FAINT_PIXELS:
        return ""
    limit = STRONG if strong > STRONG_PIXELS else FAINT
    region = difference.point(lambda value: 255 if value > limit else 0).getbbox()
    largest = difference.getextrema()[1]
    return (
        f"{strong} pixels differ by more than {STRONG} of 255 (allowed: {STRONG_PIXELS}) and "
        f"{faint} by more than {FAINT} (allowed: {FAINT_PIXELS}); the largest difference is "
        f"{largest}; differing region (left, top, right, bottom): {region} "
        f"of {before.size[0]}x{before.size[1]}"
    )


def save_pair(stored: bytes, new: bytes, name: str) -> Path:
    """Write both pictures, and their difference, to a fresh temporary folder to look at."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    (folder / "stored.png").write_bytes(stored)
    (folder / "new.png").write_bytes(new)
    before, after = _load(stored), _load(new)
    if before.size == after.size:
        # Amplified, so that a faint difference can be seen too.
        stretched = _difference(before, after).point(lambda value: min(255, value * 8))
        stretched.save(folder / "difference.png")
    return folder


def _load(png: bytes) -> Image.Image:
    """Return the picture with premultiplied alpha, so that transparent pixels have no colour."""
    with Image.open(io.BytesIO(png)) as image:
        return image.convert("RGBA").convert("RGBa")


def _difference(before: Image.Image, after: Image.Image) -> Image.Image:
    """Return how far each pixel is outside the range of the 3x3 pixels in the other picture."""
    result = Image.new("L", before.size)
    for one, other in ((before, after), (after, before)):
        for a, b in zip(one.split(), other.split(), strict=True):
            above = ImageChops.subtract(a, b.filter(ImageFilter.MaxFilter(3)))
            below = ImageChops.subtract(b.filter(ImageFilter.MinFilter(3)), a)
            result = ImageChops.lighter(result, ImageChops.lighter(above, below))
    return result
