"""Live figures: interactive by mouse, touch and keyboard, in Jupyter and on static pages.

This subpackage needs `anywidget` (``pip install "attention-core[live]"``). The rest of the
package does not import it.
"""

from attention_core.widgets.attention_map import AttentionMap
from attention_core.widgets.figure import LiveFigure
from attention_core.widgets.heads import Heads
from attention_core.widgets.mask_painter import MaskPainter
from attention_core.widgets.norm_residual import NormResidual
from attention_core.widgets.positions import Positions
from attention_core.widgets.query_key_value import QueryKeyValue
from attention_core.widgets.scaling import Scaling
from attention_core.widgets.shapes import Shapes
from attention_core.widgets.simple_attention import SimpleAttention
from attention_core.widgets.trained_heads import TrainedHeads
from attention_core.widgets.translator import Translator
from attention_core.widgets.two_vectors import TwoVectors

__all__ = [
    "AttentionMap",
    "Heads",
    "LiveFigure",
    "MaskPainter",
    "NormResidual",
    "Positions",
    "QueryKeyValue",
    "Scaling",
    "Shapes",
    "SimpleAttention",
    "TrainedHeads",
    "Translator",
    "TwoVectors",
]
