"""Questions in the page: predict a number, choose, fill a cell.

They are answered in the page itself, offline and by mouse, finger or keyboard, and each
foreseeable mistake gets a hint that names it. `Question.check` gives the same replies in Python.

A question is HTML that can be read without a script, made alive by a script of this package; it
shares the bundler of the live figures. The package jupyterquiz was weighed: it writes its script
and styles (42 KB) and a random id into every output, shows nothing where no script runs, asks
another host for MathJax, names no field to a screen reader, and knows no tables.

Texts are plain words. ``*emphasis*``, ```code``` and ``[word]{query}`` (or key, value, scores,
weights) are marked; for formulas use signs such as q·k, √d, x².
"""

from attention_core.questions._cells import cells
from attention_core.questions._choice import choice
from attention_core.questions._number import number
from attention_core.questions._question import Question

__all__ = ["Question", "cells", "choice", "number"]
