"""A book of a few pages that has everything the rewritings look for."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

BOOK = Path(__file__).parents[2]
FILES = {
    "_toc.yml": """\
format: jb-book
root: index
chapters:
- file: one
- file: two
  sections:
  - file: three
""",
    "index.md": "# Attention, Number by Number\n\nIt begins here.\n",
    "one.md": """\
# One

First {cite}`vaswani2017`.

```python
a = 1
```

| a long heading that does not fit on a phone | another |
|---|---|
| 1 | 2 |

```{image} a.png
:width: 20px
:alt: A grey square of twenty by ten pixels
```
""",
    "two.md": "# Two\n\n```{bibliography}\n```\n",
    "three.md": """\
# Three

```{py:function} attention_over_queries_keys_and_values(%s) -> float

Says.
```
""".replace("%s", ", ".join(f"{name}: list[list[list[float]]]" for name in "qkv")),
    "references.bib": """\
@article{vaswani2017, title={Attention}, author={Vaswani, A.}, journal={N}, year={2017}}
""",
    "_static/progress.js": "// read\n",
}


def write(folder: Path) -> None:
    """Write the sources, with the settings of the book, but without its extension."""
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    Image.new("L", (40, 20), 128).save(folder / "a.png")
    config = (BOOK / "_config.yml").read_text(encoding="utf-8")
    for line in (
        "  local_extensions:\n    booksite: _ext\n",
        "    html_math_renderer: mathml\n",
        "  favicon: _static/favicon.svg\n",
    ):
        assert line in config
        config = config.replace(line, "")
    (folder / "_config.yml").write_text(config, encoding="utf-8")
