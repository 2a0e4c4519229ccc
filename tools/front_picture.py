"""Copy the picture that README shows out of its chapter.

    python tools/front_picture.py

The chapter's picture is verified when the chapter runs; a test compares the copy with it.
"""

import base64
from pathlib import Path

from chapter_form import pictures, read

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "_static" / "attention.png"


def source() -> bytes:
    """The PNG of the heat map in chapter 2."""
    notebook = read(ROOT / "chapters" / "02_simple_attention.ipynb")
    cell = next(cell for cell in notebook.cells if cell.id == "picture-code")
    return base64.b64decode(pictures(cell.outputs)[0].data["image/png"])


if __name__ == "__main__":
    COPY.write_bytes(source())
