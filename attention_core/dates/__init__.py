"""A language that can be learned in two minutes: dates in English, dates in Chinese.

The year moves to the front, the name of the month becomes a number, lengths vary; and there
is one right answer, so a translation is right or wrong. Examples are made, not read from a
file: as many as wanted, and the same ones from the same seed, in every process.

Training, validation and test are disjoint by day: no day that a model is examined on was
seen in training, in any form.
"""

from attention_core.dates.batches import (
    SOURCE,
    SPLITS,
    TARGET,
    DateBatches,
    collate,
    days_of,
    examples,
)
from attention_core.dates.forms import (
    DAY_FORMS,
    FIRST,
    FORMS,
    LAST,
    Example,
    chinese_date,
    chinese_number,
    join,
    write,
)
from attention_core.dates.vocabulary import Vocabulary

__all__ = [
    "DAY_FORMS",
    "FIRST",
    "FORMS",
    "LAST",
    "SOURCE",
    "SPLITS",
    "TARGET",
    "DateBatches",
    "Example",
    "Vocabulary",
    "chinese_date",
    "chinese_number",
    "collate",
    "days_of",
    "examples",
    "join",
    "write",
]
