"""A question that works in Jupyter: the script of the page, in a widget."""

from typing import Any

import anywidget
import traitlets

from attention_core.widgets import bundle
from attention_core.widgets.figure import HERE


class QuestionWidget(anywidget.AnyWidget):
    """Shows the stored HTML of a question, and makes its fields. Nothing goes to the kernel."""

    _esm = bundle.module(HERE / "question.js")
    _css = (HERE / "question.css").read_text(encoding="utf-8")

    html = traitlets.Unicode().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
