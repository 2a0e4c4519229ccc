"""A museum of mistakes: which part each stands in for, and which law finds it.

`planted` puts exhibits into the package in the place of the right parts, for a while.
Then the laws of `attention_core.museum.laws` can be asked, or `attention_core.museum.demos`
can train the planted program on a small task, and show how little that tells.
"""

from attention_core.museum.demos import Learned, learn_to_classify, learn_to_reverse
from attention_core.museum.exhibits import EXHIBITS, Exhibit, planted
from attention_core.museum.laws import LAWS, Law, find, law, laws_of

__all__ = [
    "EXHIBITS",
    "LAWS",
    "Exhibit",
    "Law",
    "Learned",
    "find",
    "law",
    "laws_of",
    "learn_to_classify",
    "learn_to_reverse",
    "planted",
]
