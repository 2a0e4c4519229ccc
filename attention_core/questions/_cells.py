"""The question that is answered by filling the empty cells of a table."""

import html
from collections.abc import Iterable, Sequence
from typing import Any

from attention_core.questions import _texts
from attention_core.questions._numbers import Precision, as_text, number_text
from attention_core.questions._numbers import table as plain_table
from attention_core.questions._question import Question, right_reply, wrong_reply
from attention_core.questions._verdicts import State, verdict
from attention_core.questions._words import WORDS

_Place = tuple[int, int]


class _Cells(Question):
    def __init__(self, *args: Any, blanks: list[_Place], shape: _Place, **parts: Any) -> None:
        super().__init__(*args, **parts)
        self._blanks, self._shape = blanks, shape

    def _given(self, answer: Any) -> list[str] | None:
        rows = answer.tolist() if hasattr(answer, "tolist") else answer
        if isinstance(rows, (list, tuple)):
            whole = [row if isinstance(row, (list, tuple)) else [] for row in rows]
            if [len(row) for row in whole] == [self._shape[1]] * self._shape[0]:
                return [as_text(whole[row][column]) for row, column in self._blanks]
            if len(rows) == len(self._blanks) and not any(whole):
                return [as_text(cell) for cell in rows]
        return None


def cells(
    text: str,
    table: Any,
    answer: Any,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    digits: int | None = None,
    tolerance: float | None = None,
    right: str | None = None,
    hints: Iterable[tuple[Any, str]] = (),
    otherwise: str | None = None,
) -> Question:
    """Ask for the empty cells of a table.

    Args:
        text: the question
        table: rows of numbers, with None for each cell to fill
        answer: the whole table, or a tensor of it
        rows, columns: headers; without them the rows and columns are numbered
        digits, tolerance: as for `number`
        right: the reply to right cells, which begins with "Right"
        hints: pairs of a wrong table and the reply to it; None in a table fits every number
        otherwise: the reply to all others; a sentence that names the first wrong cell follows

    Raises:
        ValueError: shapes differ, the given cells are not those of the answer, or a reply could
            never be given

    >>> question = cells(
    ...     "Which score is missing?", [[11, None], [11, 16]], torch.tensor([[11, 11], [11, 16]]),
    ...     rows=["早", "上"], columns=["早", "上"],
    ...     hints=[([[11, 16], [11, 16]], "That is 上 with itself.")],
    ... )
    >>> question
    Question: Which score is missing?
        早  上
    早  11  ?
    上  11 16
    Answer: row 早, column 上: 11
    >>> question.check([[11, 11], [11, 16]]), question.check([16])
    ('Right.', 'That is 上 with itself.')
    >>> question.check([12])
    'Not yet. Look again at row 早, column 上.'
    """
    text = _texts.tidy(text, "text")
    shown, whole = plain_table(table, "table"), plain_table(answer, "answer")
    shape = len(shown), len(shown[0])
    places = [(row, column) for row in range(shape[0]) for column in range(shape[1])]
    _same_shape(whole, shape, "answer")
    blanks = [(row, column) for row, column in places if shown[row][column] is None]
    if not blanks:
        raise ValueError(f"table must have a cell to fill, None, got {table!r}")
    if any(whole[row][column] is None for row, column in places):
        raise ValueError(f"answer must have no empty cell, got {answer!r}")
    row_names = _headers(rows, shape[0], "rows")
    column_names = _headers(columns, shape[1], "columns")
    wanted = [whole[row][column] for row, column in blanks]
    precision = Precision(wanted, digits=digits, tolerance=tolerance)
    for row, column in places:
        given = shown[row][column]
        if given is not None and abs(given - whole[row][column]) > precision.tolerance:
            raise ValueError(
                f"table has {given} in row {row + 1}, column {column + 1}, "
                f"where answer has {whole[row][column]}"
            )
    names = [
        WORDS["cell"].format(row=row_names[row], column=column_names[column])
        for row, column in blanks
    ]
    not_right = wrong_reply(otherwise, "otherwise")
    made_hints: list[tuple[list[Any], str]] = []
    for wrong, said in hints:
        values = plain_table(wrong, "a table in hints")
        _same_shape(values, shape, "a table in hints")
        at_blanks = [values[row][column] for row, column in blanks]
        stored = [None if value is None else precision.rounded(value) for value in at_blanks]
        made_hints.append((stored, _texts.to_html(wrong_reply(said, "a reply in hints"))))
    places_shown = precision.places
    if digits is None and tolerance is None:  # whole numbers to fill; the given ones need not be
        flat = [value for row in shown for value in row if value is not None]
        exact = (n for n in range(4) if all(abs(v - round(v, n)) < 1e-9 for v in flat))
        places_shown = next(exact, 4)
    cell_texts = [
        [None if value is None else number_text(value, places_shown) for value in row]
        for row in shown
    ]
    stored_answers = [precision.rounded(value) for value in wanted]
    reply = right_reply(right)
    state: State = {
        "kind": "cells",
        "answers": stored_answers,
        "tolerance": precision.tolerance,
        "signed": any(
            value is not None and value < 0
            for row in [*whole, *(row for row, _ in made_hints)]
            for value in row
        ),
        "labels": [_texts.to_plain(name) for name in names],
        "hints": made_hints,
        "says": {
            "right": _texts.to_html(reply),
            "otherwise": [
                _texts.to_html(f"{not_right} {WORDS['look'].format(cell=name)}") for name in names
            ],
            "unreadable": [
                _texts.to_html(WORDS["unreadable cell"].format(cell=name)) for name in names
            ],
            "empty": html.escape(WORDS["no cells"]),
        },
    }
    answers = [
        f"{name}: {precision.text(value)}" for name, value in zip(names, wanted, strict=True)
    ]
    question = _Cells(
        text,
        state,
        body=f'<div class="question-grid" style="--decimals:{precision.places}">'
        + _table_html(cell_texts, row_names, column_names, rows is None, columns is None)
        + "</div>",
        plain=_table_text(cell_texts, row_names, column_names, rows is None, columns is None),
        answer="; ".join(answers),
        right=reply,
        blanks=blanks,
        shape=shape,
    )
    for values, said in made_hints:
        mistake = [w if v is None else v for v, w in zip(values, stored_answers, strict=True)]
        if verdict(state, [as_text(value) for value in mistake]).reply != said:
            raise ValueError(
                f"hints has a reply to {mistake} that is never given: these numbers are right, "
                "or an earlier hint fits them"
            )
    return question


def _same_shape(table: list[list[Any]], shape: _Place, name: str) -> None:
    if (len(table), len(table[0])) != shape:
        raise ValueError(
            f"{name} must have {shape[0]} rows of {shape[1]} cells as the table has, "
            f"got {len(table)} of {len(table[0])}"
        )


def _headers(names: Sequence[str] | None, count: int, name: str) -> list[str]:
    if names is None:
        return [str(number + 1) for number in range(count)]
    if len(names) != count:
        raise ValueError(f"{name} must be {count} headers, got {list(names)}")
    return [_texts.tidy(header, name) for header in names]


def _table_html(
    table: list[list[str | None]], rows: list[str], columns: list[str], *bare: bool
) -> str:
    """Return the table; bare says that rows, and that columns, have no headers."""
    no_rows, no_columns = bare
    head = "" if no_rows else "<td></td>"
    head += "".join(f"<th scope=col>{_texts.to_html(name)}</th>" for name in columns)
    body = ""
    for name, row in zip(rows, table, strict=True):
        body += "<tr>" + ("" if no_rows else f"<th scope=row>{_texts.to_html(name)}</th>")
        body += "".join(
            '<td class="question-blank">?</td>' if cell is None else f"<td>{cell}</td>"
            for cell in row
        )
        body += "</tr>"
    top = "" if no_columns else f"<thead><tr>{head}</tr></thead>"
    return f"<table>{top}<tbody>{body}</tbody></table>"


def _table_text(
    table: list[list[str | None]], rows: list[str], columns: list[str], *bare: bool
) -> str:
    no_rows, no_columns = bare
    lines = [] if no_columns else [["", *map(_texts.to_plain, columns)]]
    lines += [
        [_texts.to_plain(name), *("?" if cell is None else cell for cell in row)]
        for name, row in zip(rows, table, strict=True)
    ]
    if no_rows:
        lines = [line[1:] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    made = []
    for line in lines:
        padded = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        if not no_rows:
            padded[0] = line[0].ljust(widths[0]) + " "
        made.append(" ".join(padded).rstrip())
    return "\n".join(made)
