"""Live figures: they answer the mouse, a finger or the keyboard, in Jupyter and on plain pages.

Needs `anywidget` (``pip install "attention-core[live]"``); the rest of the package never
imports this.
"""

from attention_core.widgets.figure import LiveFigure
from attention_core.widgets.simple_attention import SimpleAttention
from attention_core.widgets.two_vectors import TwoVectors

__all__ = ["LiveFigure", "SimpleAttention", "TwoVectors"]
