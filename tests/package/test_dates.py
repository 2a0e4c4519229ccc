"""dates: two languages, three disjoint splits, characters as ids, batches by number."""

import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from datetime import date, datetime, timedelta
from zlib import crc32

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from attention_core import dates, shift_targets
from attention_core.dates import (
    BOTH,
    DAY_FORMS,
    FORMS,
    SOURCE,
    SPLITS,
    TARGET,
    DateBatches,
    Vocabulary,
    chinese_date,
    chinese_number,
    collate,
    days_of,
    examples,
    join,
    write,
)

DAY = date(2026, 5, 3)


def made(split="train", number=997, seed=0, **options):
    return examples(split, number, generator=torch.Generator().manual_seed(seed), **options)


# -------------------------------------------------------------- the two languages


def read_number(text):
    """Chinese numbers up to 99, read from left to right."""
    tens, ten, ones = text.rpartition("十")
    value = {"": 0} | {digit: n for n, digit in enumerate("〇一二三四五六七八九")}
    return 10 * ((value[tens] or 1) if ten else 0) + value[ones]


def test_a_number_can_be_read_back():
    assert [read_number(chinese_number(n)) for n in range(1, 100)] == list(range(1, 100))
    written = [chinese_number(n) for n in (1, 10, 11, 20, 21, 30, 31, 99)]
    assert written == ["一", "十", "十一", "二十", "二十一", "三十", "三十一", "九十九"]


def test_the_zero_of_a_year_is_a_circle():
    assert chinese_date(date(2000, 10, 20)) == "二〇〇〇年十月二十日"
    assert chinese_date(date(1911, 12, 31)) == "一九一一年十二月三十一日"
    assert chinese_date(date(2068, 4, 7)) == "二〇六八年四月七日"


WRITTEN = [
    ("day first", [DAY], "3 May 2026", "二〇二六年五月三日"),
    ("month first", [date(1945, 8, 15)], "August 15, 1945", "一九四五年八月十五日"),
    ("short", [date(1999, 9, 30)], "30 Sep 1999", "一九九九年九月三十日"),
    ("iso", [date(2007, 2, 1)], "2007-02-01", "二〇〇七年二月一日"),
    ("weekday", [DAY], "Sunday, 3 May 2026", "二〇二六年五月三日星期日"),
    ("weekday", [date(2026, 5, 4)], "Monday, 4 May 2026", "二〇二六年五月四日星期一"),
    ("weekday", [date(2026, 5, 9)], "Saturday, 9 May 2026", "二〇二六年五月九日星期六"),
    ("range", [DAY, date(2026, 5, 7)], "3–7 May 2026", "二〇二六年五月三日至七日"),
    (
        "range",
        [DAY, date(2026, 6, 1)],
        "from 3 May to 1 June 2026",
        "二〇二六年五月三日至六月一日",
    ),
]


@pytest.mark.parametrize(("form", "days", "source", "target"), WRITTEN)
def test_each_form_is_written_as_people_write_it(form, days, source, target):
    example = write(days, form)
    assert (example.source, example.target) == (source, target)
    assert (example.form, example.days) == (form, tuple(days))


def test_ordinals_have_their_endings():
    written = [write([date(2026, 1, n)], "ordinal").source for n in range(1, 32)]
    assert written[2] == "the 3rd of January 2026"
    endings = [re.fullmatch(r"the \d+(..) of January 2026", text)[1] for text in written]
    assert endings == ["st", "nd", "rd"] + ["th"] * 17 + ["st", "nd", "rd"] + ["th"] * 7 + ["st"]


def read_english(text, form):
    """The days of a text, read by Python's own parser."""
    if form == "range" and text.startswith("from"):
        first, last = text.removeprefix("from ").split(" to ")
        first += last[-5:]
    elif form == "range":
        first, rest = text.split("–")
        first, last = first + rest[rest.index(" ") :], rest
    else:
        first = last = re.sub(r"the (\d+).. of", r"\1", text) if form == "ordinal" else text
    pattern = {"month first": "%B %d, %Y", "short": "%d %b %Y", "iso": "%Y-%m-%d"}
    pattern |= {"weekday": "%A, %d %B %Y"}
    days = [datetime.strptime(t, pattern.get(form, "%d %B %Y")).date() for t in (first, last)]
    return tuple(dict.fromkeys(days))


def read_chinese(text):
    """The days of a text and its weekday, if it has one."""
    pattern = "(....)年(.+?)月(.+?)日(?:星期(.)|至(?:(.+?)月)?(.+?)日)?"
    year, month, day, weekday, last_month, last_day = re.fullmatch(pattern, text).groups()
    year = int("".join(str("〇一二三四五六七八九".index(digit)) for digit in year))
    days = [date(year, read_number(month), read_number(day))]
    if last_day:
        days.append(date(year, read_number(last_month or month), read_number(last_day)))
    return tuple(days), weekday


def test_both_texts_say_the_same_days():
    for example in made(number=10_007):
        days, weekday = read_chinese(example.target)
        assert days == example.days == read_english(example.source, example.form)
        # strptime reads the name of a weekday, but does not compare it with the day.
        assert (weekday is not None) == (example.form == "weekday")
        if weekday:
            assert "日一二三四五六".index(weekday) == days[0].isoweekday() % 7
            assert example.source.startswith(days[0].strftime("%A, "))


def test_a_text_has_one_translation():
    translations = {}
    for n, day in enumerate(sorted(sum((days_of(split) for split in SPLITS), ()))):
        for form in DAY_FORMS if n % 7 == 0 else ["short", "day first"]:
            example = write([day], form)
            assert translations.setdefault(example.source, example.target) == example.target
    assert len(set(translations.values())) > 73_049  # with and without weekday


# ------------------------------------------------------------------- the examples


def test_every_day_from_1900_to_2099_belongs_to_one_split():
    parts = [days_of(split) for split in SPLITS]
    everything = [day for part in parts for day in part]
    wanted = [date(1900, 1, 1) + timedelta(days=n) for n in range(73_049)]
    assert sorted(everything) == wanted
    assert wanted[-1] == date(2099, 12, 31)
    assert [len(part) for part in parts] == [58_439, 7305, 7305]
    assert all(list(part) == sorted(part) for part in parts)


@pytest.mark.parametrize("split", SPLITS)
def test_a_split_has_days_of_all_years_months_and_weekdays(split):
    days = days_of(split)
    share = len(days) / 73_049
    for part_of, least in [
        (lambda day: day.year, 0.4 * 365 * share),
        (lambda day: (day.month, day.day), 0.15 * 200 * share),
        (lambda day: day.weekday(), 0.9 * 10_435 * share),
    ]:
        counts = Counter(map(part_of, days))
        del counts[2, 29]
        assert len(counts) in (200, 365, 7)
        assert min(counts.values()) >= least


def test_the_splits_never_change():
    # Otherwise a saved model could be evaluated on days that it was trained on.
    lists = [" ".join(map(str, days_of(split))).encode() for split in SPLITS]
    assert [crc32(days) for days in lists] == [987545127, 3045927607, 1096451602]


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("split", SPLITS)
def test_every_day_of_an_example_belongs_to_its_split(split, parts):
    known = set(days_of(split))
    for example in made(split, parts=parts):
        assert known.issuperset(example.days)
        found = [
            day
            for text, form in zip(example.source.split("; "), example.form.split("; "), strict=True)
            for day in read_english(text, form)
        ]
        assert tuple(found) == example.days


@pytest.mark.parametrize("split", SPLITS)
def test_all_forms_and_both_kinds_of_range_are_equally_likely(split):
    counts = Counter(example.form for example in made(split, 7 * 997))
    assert set(counts) == set(FORMS)
    assert all(0.87 * 997 < n < 1.13 * 997 for n in counts.values())  # four deviations
    ranges = [example.days for example in made(split, 1999, forms=["range"])]
    assert 0.45 < sum(first.month == last.month for first, last in ranges) / 1999 < 0.55
    assert all(first < last and first.year == last.year for first, last in ranges)


def test_ranges_are_of_any_length_and_begin_anywhere():
    ranges = [example.days for example in made(number=9973, forms=["range"])]
    short = {(last - first).days for first, last in ranges if first.month == last.month}
    long = {(last - first).days for first, last in ranges if first.month != last.month}
    assert short == set(range(1, 31))
    assert set(range(20, 250)) <= long
    assert {first.day for first, last in ranges if first.month != last.month} == set(range(1, 32))
    assert {last.month for _, last in ranges} == set(range(1, 13))


def test_only_the_wanted_forms_occur():
    assert {example.form for example in made(forms=["iso", "short"])} == {"iso", "short"}


def test_the_same_generator_gives_the_same_examples_and_then_others():
    g = torch.Generator().manual_seed(5)
    first, second = (examples("train", 31, generator=g) for _ in range(2))
    assert first == made(number=31, seed=5)
    assert first == made(number=37, seed=5)[:31]
    assert len({example.source for example in first + second + made(seed=6, number=31)}) > 85
    assert made(number=0) == []


def test_parts_joins_several_dates_each_in_its_own_form():
    longest = max(len(example.source) for example in made())
    for example in made(parts=5, number=211):
        assert example.source.count("; ") == example.target.count("；") == 4
        sources, targets = example.source.split("; "), example.target.split("；")
        forms = example.form.split("; ")
        for source, target, form in zip(sources, targets, forms, strict=True):
            assert read_chinese(target)[0] == read_english(source, form)
        assert len(example.source) > longest
        assert len(set(forms)) > 1


# -------------------------------------------------------- from texts to tensors


def test_the_vocabularies_hold_what_can_be_written_and_nothing_else():
    source, target = set(), set()
    for example in made(number=5003) + made("test", number=5003, parts=2):
        SOURCE.encode(example.source)
        TARGET.encode(example.target)
        source |= set(example.source)
        target |= set(example.target)
    assert source == set(SOURCE.characters)
    assert target == set(TARGET.characters)


def test_every_character_keeps_its_id():
    # A trained model knows the characters by these numbers only.
    assert SOURCE.characters == " ,-0123456789;ADFJMNOSTWabcdefghilmnoprstuvy–"
    assert TARGET.characters == "〇一七三九二五八六十四年日星月期至；"
    assert (Vocabulary.PAD, Vocabulary.BOS, Vocabulary.EOS) == (0, 1, 2)
    assert (len(SOURCE), len(TARGET)) == (48, 21)
    assert TARGET.encode("〇一；") == [3, 4, 20]


def test_one_vocabulary_of_both_languages_keeps_the_ids_of_the_source():
    assert BOTH.characters == SOURCE.characters + TARGET.characters
    assert len(BOTH) == 66
    for example in made(number=53):
        assert BOTH.encode(example.source) == SOURCE.encode(example.source)
        ids = [n + 45 for n in TARGET.encode(example.target)]
        assert BOTH.encode(example.target) == ids


@hypothesis.settings(deadline=None)
@hypothesis.given(st.text(min_size=1))
@hypothesis.example("cafe\u0301, caf\u00e9")
def test_any_text_comes_back_whole_in_nfc(text):
    vocabulary = Vocabulary(text)
    ids = vocabulary.encode(text)
    composed = unicodedata.normalize("NFC", text)
    assert vocabulary.decode(ids) == vocabulary.decode(torch.tensor(ids)) == composed
    assert len(ids) == len(composed)
    assert sorted(set(ids)) == list(range(3, len(vocabulary)))
    assert vocabulary.encode(unicodedata.normalize("NFD", text)) == ids
    assert Vocabulary(unicodedata.normalize("NFD", text)).characters == vocabulary.characters


def test_decoding_stops_at_eos_and_skips_what_is_no_character():
    V = Vocabulary("abc")
    assert V.decode([V.PAD, V.BOS, 3, V.PAD, 5, V.EOS, 4, 99]) == "ac"
    assert V.decode([]) == V.decode(torch.tensor([V.EOS, 3])) == ""


def test_a_batch_is_padded_to_the_longest_of_each_language():
    batch = [write([DAY], "iso"), write([date(2026, 12, 31)], "short")]
    src, tgt = collate(batch)
    rows = [SOURCE.encode("2026-05-03") + [0], SOURCE.encode("31 Dec 2026")]
    assert src.tolist() == rows
    first = [1, *TARGET.encode("二〇二六年五月三日"), 2, 0, 0, 0]
    assert tgt.tolist() == [first, [1, *TARGET.encode("二〇二六年十二月三十一日"), 2]]
    assert src.dtype == tgt.dtype == torch.int64
    read, predict = shift_targets(tgt)
    assert TARGET.decode(read[0]) == TARGET.decode(predict[0]) == batch[0].target


def test_a_batch_for_one_vocabulary_has_the_same_texts():
    batch = made(number=7)
    (src, tgt), (same_src, both) = collate(batch), collate(batch, target=BOTH)
    assert torch.equal(src, same_src)
    assert torch.equal(both, torch.where(tgt > 2, tgt + 45, tgt))
    plain, joined = (DateBatches("train", 5, seed=3, target=v) for v in (TARGET, BOTH))
    for step in (0, 22):
        (src, tgt), (same_src, both) = plain[step], joined[step]
        assert torch.equal(src, same_src)
        assert [TARGET.decode(row) for row in tgt] == [BOTH.decode(row) for row in both]


# ------------------------------------------------------------------- the batches


def texts(batch):
    """The examples of a batch as pairs of texts, in order."""
    src, tgt = batch
    return [(SOURCE.decode(s), TARGET.decode(t)) for s, t in zip(src, tgt, strict=True)]


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_batch_depends_on_its_step_only():
    def new():
        return DateBatches("train", 5, seed=3, pool=7)

    straight, walked = [batches[n] for batches in [new()] for n in range(23)], new()
    for step in (22, 0, 21, 7, 6, 7, 14, 13):
        assert same(walked[step], straight[step])
        assert same(new()[step], straight[step])
    assert new()[10**12][0].shape[0] == 5  # the sequence has no end


def test_numpy_integers_are_accepted():
    """8-bit numbers too, whose products would overflow."""
    options = {"seed": np.int16(3), "pool": np.int8(100), "parts": np.int8(2)}
    batches = DateBatches("train", np.int8(5), **options)
    expected = DateBatches("train", 5, seed=3, pool=100, parts=2)
    assert same(batches[np.int64(2)], expected[2])
    choice = DateBatches("train", 5, seed=3, parts=(np.int8(1), np.int8(2)))
    assert same(choice[2], DateBatches("train", 5, seed=3, parts=(1, 2))[2])


def test_changing_a_batch_in_place_does_not_change_the_sequence():
    batches = DateBatches("train", 5, seed=3)
    before = [x.clone() for x in batches[2]]
    batches[2][0].zero_()
    assert same(batches[2], before)


def test_the_batches_are_the_same_in_every_process():
    code = (
        "from attention_core.dates import DateBatches; "
        "batches = DateBatches('train', 5, seed=3, parts=2); "
        "print([x.tolist() for step in (0, 40) for x in batches[step]])"
    )
    # Another hash seed: the order of sets must not matter.
    environment = os.environ | {"PYTHONHASHSEED": "1"}
    printed = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    batches = DateBatches("train", 5, seed=3, parts=2)
    assert printed == f"{[x.tolist() for step in (0, 40) for x in batches[step]]}\n"
    assert crc32(printed.encode()) == 2435041662


def test_another_seed_gives_other_examples():
    seeds = [0, 1, 2**32, 2**32 + 1, 2**64]  # torch's own generator looks at 32 bits only
    sequences = [DateBatches("train", 11, seed=seed, pool=2) for seed in seeds]
    seen = [pair for batches in sequences for n in range(6) for pair in texts(batches[n])]
    assert len(set(seen)) > 0.95 * len(seen)


def test_the_days_and_forms_of_a_batch_are_those_asked_for():
    batches = DateBatches("validation", 11, seed=0, parts=2, forms=["iso", "range"])
    known = set(days_of("validation"))
    for source, target in texts(batches[5]):
        assert source.count(";") == 1
        for text in source.split("; "):
            assert re.fullmatch(r"\d{4}-\d\d-\d\d|from .+|\d+–.+", text)
        for text in target.split("；"):
            assert known.issuperset(read_chinese(text)[0])


def test_sorting_by_length_keeps_every_example_exactly_once():
    pooled, at_once = (DateBatches("train", n, seed=1, pool=p) for n, p in ((5, 7), (35, 1)))
    dealt = [pair for step in range(7, 14) for pair in texts(pooled[step])]
    assert Counter(dealt) == Counter(texts(at_once[1]))


def test_a_pool_is_sorted_by_length_and_its_batches_are_shuffled():
    batches, orders = DateBatches("train", 5, seed=1, pool=7), set()
    for pool in range(5):
        sizes = [[tuple(map(len, pair)) for pair in texts(batches[7 * pool + n])] for n in range(7)]
        order = sorted(range(7), key=lambda n: sizes[n])
        dealt = [size for n in order for size in sizes[n]]
        assert dealt == sorted(dealt)
        orders.add(tuple(order))
    assert len(orders) == 5
    assert tuple(range(7)) not in orders


def padded_share(batches, steps):
    both = [tensor for step in range(steps) for tensor in batches[step]]
    return sum((x == 0).sum().item() for x in both) / sum(x.numel() for x in both)


def test_sorting_by_length_saves_more_than_half_of_the_padding():
    single, pooled = (DateBatches("train", 61, seed=0, pool=pool) for pool in (1, 16))
    assert padded_share(single, 32) > 0.35
    assert padded_share(pooled, 32) < 0.15


def test_each_pool_is_made_once(monkeypatch):
    calls = []
    make = dates.batches._examples
    monkeypatch.setattr(dates.batches, "_examples", lambda *a: calls.append(a[1]) or make(*a))
    batches = DateBatches("train", 3, seed=0, pool=5)
    for step in range(17):
        batches[step]
    assert calls == [15] * 4


def test_every_public_name_is_documented_with_an_example():
    names = [chinese_number, chinese_date, dates.Example, write, days_of, examples, collate]
    names += [Vocabulary, Vocabulary.encode, Vocabulary.decode, DateBatches]
    assert all(">>> " in thing.__doc__ for thing in names)


# -------------------------------------------------------------------- error texts

LATER, NEXT_YEAR = date(2026, 5, 4), date(2027, 5, 3)
G = torch.Generator()
ERRORS = [
    (lambda: days_of(["test"]), ValueError, r"split must be one of .* got \['test'\]"),
    (lambda: examples("test", 1, generator=None), TypeError, "generator must be a torch.Generator"),
    (lambda: examples("test", 1, generator=G, forms="iso"), TypeError, "forms must be a list of f"),
    (lambda: examples("test", 1, generator=G, forms=5), TypeError, "forms must be a list of forms"),
    (lambda: collate(["a"]), TypeError, "examples must be a list of Example, got list of str"),
    (
        lambda: collate([write([DAY], "iso")], target="〇一"),
        TypeError,
        "target must be a Vocabulary, got str",
    ),
    (
        lambda: DateBatches("train", 1, seed=0, target=len),
        TypeError,
        "target must be a Vocabulary, got builtin_function_or_method",
    ),
    (lambda: collate(write([DAY], "iso")), TypeError, "must be a list of Example, got Example"),
    (lambda: join([]), ValueError, "parts must hold at least one, got none"),
    (lambda: join([DAY]), TypeError, "parts must be a list of Example, got list of date"),
    (lambda: write(DAY, "iso"), TypeError, "days must be a list of dates, got date datetime"),
    (lambda: write("2026", "iso"), TypeError, "days must be a list of dates, got str '2026'"),
    (lambda: TARGET.decode(3), TypeError, "ids must be a list of ids, got int 3"),
    (lambda: chinese_number(0), ValueError, "number must be at least 1, got 0"),
    (lambda: chinese_number(100), ValueError, "number must be at most 99, got 100"),
    (lambda: chinese_number(1.0), TypeError, r"number must be an int, got float 1\.0"),
    (
        lambda: chinese_date(datetime(2026, 5, 3)),
        TypeError,
        r"day must be a datetime\.date, got datetime datetime",
    ),
    (lambda: chinese_date("2026-05-03"), TypeError, r"day must be a datetime\.date, got str"),
    (
        lambda: chinese_date(date(1899, 12, 31)),
        ValueError,
        "day must lie between 1900-01-01 and 2099-12-31, got 1899-12-31",
    ),
    (lambda: write([date(2100, 1, 1)], "iso"), ValueError, "day must lie between"),
    (lambda: write([DAY, datetime(2026, 5, 7)], "range"), TypeError, "day must be a datetime"),
    (lambda: write([DAY], "roman"), ValueError, "form must be one of day first, .*, got 'roman'"),
    (lambda: write([DAY], "range"), ValueError, "days must be 2 for the form 'range', got 1"),
    (lambda: write([DAY, LATER], "iso"), ValueError, "days must be 1 for the form 'iso', got 2"),
    (
        lambda: write([LATER, DAY], "range"),
        ValueError,
        "days must run forward within a year, got 2026-05-04 to 2026-05-03",
    ),
    (lambda: write([DAY, DAY], "range"), ValueError, "days must run forward within a year, got"),
    (lambda: write([DAY, NEXT_YEAR], "range"), ValueError, "days must run forward within a year"),
    (
        lambda: days_of("dev"),
        ValueError,
        "split must be one of train, validation, test, got 'dev'",
    ),
    (lambda: made("dev"), ValueError, "split must be one of"),
    (lambda: made(number=-1), ValueError, "number must be at least 0, got -1"),
    (lambda: made(number=2.0), TypeError, "number must be an int, got float"),
    (
        lambda: made(forms=["iso", "roman"]),
        ValueError,
        r"forms must be some of day first, .*, range, got \('iso', 'roman'\)",
    ),
    (lambda: made(forms=[]), ValueError, r"forms must be some of .*, got \(\)"),
    (lambda: made(parts=0), ValueError, "parts must be at least 1, got 0"),
    (lambda: Vocabulary(""), ValueError, "text must hold at least one character, got ''"),
    (lambda: Vocabulary(["a"]), TypeError, "text must be a str, got list"),
    (lambda: SOURCE.encode(""), ValueError, "text must hold at least one character, got ''"),
    (lambda: SOURCE.encode(b"May"), TypeError, "text must be a str, got bytes"),
    (
        lambda: SOURCE.encode("3\u200bMay"),
        ValueError,
        r"text must consist of .* characters, got '\\u200b' \(U\+200B\) in '3\\u200bMay'",
    ),
    (lambda: SOURCE.encode("cafe\u0301"), ValueError, r"got 'é' \(U\+00E9\) in 'café'"),
    (lambda: TARGET.encode("二○二六年"), ValueError, r"got '○' \(U\+25CB\)"),
    (lambda: TARGET.decode([3, 21]), ValueError, "an id must be below 21, got 21"),
    (lambda: TARGET.decode([3, -1]), ValueError, "an id must be at least 0, got -1"),
    (lambda: TARGET.decode([3, 2.0]), TypeError, r"an id must be an int, got float 2\.0"),
    (
        lambda: TARGET.decode(torch.zeros(2, 3, dtype=torch.long)),
        ValueError,
        r"ids must have shape \(length,\), got \(2, 3\)",
    ),
    (lambda: collate([]), ValueError, "examples must hold at least one, got none"),
    (lambda: DateBatches("dev", 5, seed=0), ValueError, "split must be one of"),
    (lambda: DateBatches("test", 0, seed=0), ValueError, "batch_size must be at least 1, got 0"),
    (lambda: DateBatches("test", 5, seed=-1), ValueError, "seed must be at least 0, got -1"),
    (lambda: DateBatches("test", 5, seed=0, pool=0), ValueError, "pool must be at least 1, got"),
    (lambda: DateBatches("test", 5, seed=0, forms="iso"), TypeError, "forms must be a list"),
    (lambda: DateBatches("test", 5, seed=0, parts=True), TypeError, "parts must be an int, got"),
    (lambda: DateBatches("test", 5, seed=0)[-1], ValueError, "step must be at least 0, got -1"),
    (lambda: DateBatches("test", 5, seed=0)[:3], TypeError, "step must be an int, got slice"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
