"""A translation task that can be learned in two minutes: dates in English to dates in Chinese.

The year moves to the front, the name of the month becomes a number, and lengths vary. There
is one right answer, so a translation is right or wrong. Examples are generated, not read from
a file: any number of them, and the same ones from the same seed, in every process.

Training, validation and test are disjoint by day: no held-out day occurs in training, in
any form.
"""

from attention_core.dates.batches import (
    BOTH,
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
    "BOTH",
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
