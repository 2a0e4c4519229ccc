"""Examples of the task and their batches: three splits, disjoint by day."""

import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache

import torch
from torch import Generator, Tensor

from attention_core import _options
from attention_core.dates.forms import (
    DAY_FORMS,
    FIRST,
    FORMS,
    LAST,
    Example,
    check_examples,
    join,
    write,
)
from attention_core.dates.vocabulary import Vocabulary

SPLITS = ("train", "validation", "test")


def days_of(split: str) -> tuple[date, ...]:
    """Return the days of ``"train"``, ``"validation"`` or ``"test"``, in order.

    No day is in two splits. Of ten days between 1900 and 2099, eight are for training, and one
    for each of the others.

    Raises:
        ValueError: split is not one of these

    >>> len(days_of("train")), len(days_of("validation")), len(days_of("test"))
    (58439, 7305, 7305)
    """
    if not isinstance(split, str) or split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    return _days_of(split)


@cache
def _days_of(split: str) -> tuple[date, ...]:
    number = (LAST - FIRST).days + 1
    order = torch.randperm(number, generator=Generator().manual_seed(0)).tolist()
    start, end = {"train": (0, 8), "validation": (8, 9), "test": (9, 10)}[split]
    chosen = sorted(order[start * number // 10 : end * number // 10])
    return tuple(FIRST + timedelta(days=n) for n in chosen)


@cache
def _set_of(split: str) -> frozenset[date]:
    return frozenset(days_of(split))


def examples(
    split: str,
    number: int,
    *,
    generator: Generator,
    forms: Sequence[str] = FORMS,
    parts: int | Sequence[int] = 1,
) -> list[Example]:
    """Draw examples whose days all belong to the split; each form is equally likely.

    Args:
        number: how many
        generator: of the random numbers; the same state gives the same examples
        forms: the ways of writing that may occur
        parts: how many dates are joined into one example, which makes longer texts; from
            several numbers each example draws one

    Raises:
        ValueError: split or a form is unknown, forms or parts is empty, number is negative,
            or a number of parts is below 1
        TypeError: number or a number of parts is not an int, forms is not a sequence, or
            generator is not a torch.Generator

    >>> made = examples("test", 2, generator=torch.Generator().manual_seed(3), parts=2)
    >>> [example.source for example in made]
    ['13 June 2048; 10 June 1927', '1926-07-02; the 4th of November 1995']
    """
    parts = _check_choice(split, forms, parts)
    number = _options.check_count("number", number, minimum=0)
    if not isinstance(generator, Generator):
        raise TypeError(f"generator must be a torch.Generator, got {type(generator).__name__}")
    # Python draws single numbers far faster than torch, so torch gives only the seed.
    seed = bytes(torch.randint(256, (8,), generator=generator).tolist())
    return _examples(split, number, random.Random(seed), forms, parts)


def _check_choice(
    split: str, forms: Sequence[str], parts: int | Sequence[int]
) -> int | tuple[int, ...]:
    """Check that the split and the forms exist; return the numbers of parts as Python ints."""
    days_of(split)
    if isinstance(forms, str) or not isinstance(forms, Sequence):
        raise TypeError(f"forms must be a list of forms, got {type(forms).__name__} {forms!r}")
    if not forms or any(form not in FORMS for form in forms):
        raise ValueError(f"forms must be some of {', '.join(FORMS)}, got {tuple(forms)}")
    if isinstance(parts, Sequence) and not isinstance(parts, str):
        if not parts:
            raise ValueError("parts must hold at least one number, got none")
        return tuple(
            _options.check_count(f"parts[{n}]", count, minimum=1) for n, count in enumerate(parts)
        )
    return _options.check_count("parts", parts, minimum=1)


def _examples(
    split: str,
    number: int,
    draw: random.Random,
    forms: Sequence[str],
    parts: int | Sequence[int],
) -> list[Example]:
    made = []
    for _ in range(number):
        count = parts if isinstance(parts, int) else draw.choice(parts)
        dates = []
        for _ in range(count):
            form = draw.choice(forms)
            days = _range(split, draw) if form == "range" else [draw.choice(days_of(split))]
            dates.append(write(days, form))
        made.append(dates[0] if count == 1 else join(dates))
    return made


def _range(split: str, draw: random.Random) -> list[date]:
    """Draw two days of one year: in half of the cases of one month, in the others of two."""
    days, known = days_of(split), _set_of(split)
    one_month = draw.random() < 0.5
    while True:  # until both ends fit, so that all pairs that do are equally likely
        first = draw.choice(days)
        last = first + timedelta(days=draw.randint(1, 30 if one_month else 365))
        same_month = first.month == last.month
        if last in known and first.year == last.year and same_month == one_month:
            return [first, last]


def _all_texts() -> tuple[str, str]:
    """Write every day of 2000 in every form, which gives every character of the task."""
    days = [date(2000, 1, 1) + timedelta(days=n) for n in range(366)]
    single = [write([day], form) for day in days for form in DAY_FORMS]
    ranges = [write([day, day + timedelta(days=1)], "range") for day in days[:-1]]
    joined = join(single + ranges)
    return joined.source, joined.target


#: The vocabularies of the two languages: no character is missing, and none is superfluous.
SOURCE, TARGET = (Vocabulary(text) for text in _all_texts())
#: One vocabulary of both languages, for a model that reads source and target as one sequence.
#: Chinese characters come later in Unicode, so those of the source keep their ids.
BOTH = Vocabulary(SOURCE.characters + TARGET.characters)


def collate(examples: Sequence[Example], *, target: Vocabulary = TARGET) -> tuple[Tensor, Tensor]:
    """Make one batch of the examples: ids, padded to the longest text of each language.

    Args:
        target: the vocabulary of the targets, `TARGET` or `BOTH`; the ids of the sources are
            the same in `SOURCE` and `BOTH`

    Shape:
        returns: src (B, S), characters only; tgt (B, L + 1), with BOS and EOS

    Raises:
        ValueError: there is no example, or a character is not in the vocabulary
        TypeError: examples is not a sequence of `Example`, or target is not a `Vocabulary`

    >>> src, tgt = collate([write([date(2026, 5, 3)], "iso"), write([date(2026, 5, 3)], "short")])
    >>> src.shape, tgt.shape
    (torch.Size([2, 10]), torch.Size([2, 11]))
    """
    check_examples("examples", examples)
    _options.check_kind("target", target, Vocabulary)
    src = [SOURCE.encode(example.source) for example in examples]
    tgt = [[target.BOS, *target.encode(example.target), target.EOS] for example in examples]
    return _pad(src), _pad(tgt)


def _pad(rows: list[list[int]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [Vocabulary.PAD] * (longest - len(row)) for row in rows])


class DateBatches:
    """Generate an endless sequence of batches; ``batches[step]`` depends only on the arguments.

    So training can resume where it stopped, and any process can make any batch. The sequence
    can be indexed but not iterated, because it has no end; for a few batches write
    ``[batches[step] for step in range(8)]``. Texts of similar length share a batch, which
    saves padding: the examples of ``pool`` consecutive steps are sorted by length and cut
    into batches, and the batches are shuffled.

    Args:
        split, forms, parts: as in `examples`
        batch_size: examples in a batch
        seed: another one gives other batches
        pool: steps whose examples are sorted together; with 1 each batch is drawn by itself
        target: as in `collate`

    Shape:
        batches[step]: src (B, S) and tgt (B, L + 1), as `collate` returns them

    Raises:
        ValueError: as `examples`; batch_size or pool is below 1, seed or a step is negative
        TypeError: batch_size, seed, pool, parts or a step is not an int; target is not a
            `Vocabulary`; or the sequence is iterated

    Source: Vaswani et al. 2017, section 5.1 (sentences batched by approximate length).
    The book's chapter 10.

    >>> batches = DateBatches("train", 2, seed=0, pool=4, forms=["iso"])
    >>> src, tgt = batches[1000]
    >>> SOURCE.decode(src[0]), TARGET.decode(tgt[0])
    ('2073-03-25', '二〇七三年三月二十五日')
    """

    def __init__(
        self,
        split: str,
        batch_size: int,
        *,
        seed: int,
        pool: int = 16,
        forms: Sequence[str] = FORMS,
        parts: int | Sequence[int] = 1,
        target: Vocabulary = TARGET,
    ) -> None:
        self.parts = _check_choice(split, forms, parts)
        self.batch_size = _options.check_count("batch_size", batch_size, minimum=1)
        self.seed = _options.check_count("seed", seed, minimum=0)
        self.pool = _options.check_count("pool", pool, minimum=1)
        _options.check_kind("target", target, Vocabulary)
        self.split, self.forms, self.target = split, tuple(forms), target
        self._made: tuple[int, list[list[Example]]] = (-1, [])  # the latest pool

    def __getitem__(self, step: int) -> tuple[Tensor, Tensor]:
        step = _options.check_count("step", step, minimum=0)
        number, place = divmod(step, self.pool)
        if self._made[0] != number:
            self._made = (number, self._make(number))
        return collate(self._made[1][place], target=self.target)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        # Without this method Python would iterate by index from 0, without end.
        raise TypeError("DateBatches has no end; take some: [batches[i] for i in range(8)]")

    def _make(self, number: int) -> list[list[Example]]:
        # Python uses all of a string as seed; torch would use only 32 bits of a number.
        draw = random.Random(f"{self.seed}, {number}")
        size = self.batch_size
        made = _examples(self.split, size * self.pool, draw, self.forms, self.parts)
        made.sort(key=lambda example: (len(example.source), len(example.target)))
        batches = [made[n : n + size] for n in range(0, len(made), size)]
        draw.shuffle(batches)
        return batches
