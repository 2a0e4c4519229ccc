"""Questions in the page: predict a number, choose, fill a cell.

They are answered in the page itself, offline and by mouse, finger or keyboard, and each
foreseeable mistake gets a hint that names it. `Question.check` gives the same replies in Python.

A question is HTML that can be read without a script, made alive by a script of this package; it
shares the bundler of the live figures. The package jupyterquiz was weighed: it stores 42 KB and a
random id in each output, which nothing could compare, shows nothing where no script runs, reads
0,42 as 042, names its number field to no screen reader, and knows no tables.

Texts are plain words. ``*emphasis*``, ```code``` and ``[word]{query}`` (or key, value, scores,
weights) are marked; for formulas use signs such as q·k, √d, x².
"""

from attention_core.questions._cells import cells
from attention_core.questions._choice import choice
from attention_core.questions._number import number
from attention_core.questions._question import Question

__all__ = ["Question", "cells", "choice", "number"]
