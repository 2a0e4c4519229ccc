"""A museum of mistakes: the part that each one replaces, and the law that finds it.

Inside a block of `planted`, exhibits replace the right parts of the package. There the laws of
`attention_core.museum.laws` can check the package, and `attention_core.museum.demos` can train
it on a small task, which shows how few mistakes such a demonstration finds.
"""

from attention_core.museum.demos import Learned, learn_to_classify, learn_to_reverse
from attention_core.museum.exhibits import EXHIBITS, Exhibit
from attention_core.museum.laws import LAWS, Law, find, law, laws_of
from attention_core.museum.planting import planted

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
