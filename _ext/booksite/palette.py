"""Read the colour of each role, for formulas, words, pictures and live figures.

The colours are defined in ``attention_core/plotting.py``. They are read from its source, because
importing it would load torch for every build. Authors write the light shades in formulas,
``\\textcolor{#0072B2}{Q}``; the stylesheet gets both shades from here. Jupyter does not load the
book's stylesheet, so ``live.css`` repeats the colours, and a test compares them.
"""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "attention_core" / "plotting.py"
PLACE = "/* palette.py inserts the role colours here. */"  # in book.css


def read(source: str, name: str) -> dict[str, str]:
    """Return the dict that Python source assigns to ``name``."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            try:
                table: dict[str, str] = ast.literal_eval(node.value)
            except ValueError:
                break
            return table
    raise ValueError(f"{SOURCE.name} must have a table {name} of colours in plain strings")


_TEXT = SOURCE.read_text(encoding="utf-8")
ROLE_COLORS = read(_TEXT, "ROLE_COLORS")
ROLE_COLORS_DARK = read(_TEXT, "ROLE_COLORS_DARK")


def css() -> str:
    """Return the CSS rules of the role colours, as custom properties and as classes."""
    rules = [
        f"{where} {{ {' '.join(f'--role-{role}: {color};' for role, color in colors.items())} }}"
        for where, colors in (("html", ROLE_COLORS), ('html[data-theme="dark"]', ROLE_COLORS_DARK))
    ]
    rules += [f".{role} {{ color: var(--role-{role}); }}" for role in ROLE_COLORS]
    # Bold as well: a role is never marked by colour alone.
    rules.append(
        f"span:is({', '.join(f'.{role}' for role in ROLE_COLORS)}) {{ font-weight: 600; }}"
    )
    return "\n".join(rules)
