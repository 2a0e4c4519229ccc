"""A page of the site with questions of every kind, and what is asked of them in a browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from booksite.questions import add_scripts
from question_states import questions_in

from attention_core.questions import cells, choice, number
from attention_core.widgets.figure import HERE

PAGE = "questions.html"
GRAM = [[11, 11, 10], [11, 16, 12], [10, 12, 8]]
#: Number, choice and cells first: the tests name them by their place.
QUESTIONS = [
    number(
        "早 scores 11, 11 and 10. What [weight]{weights} does it get? Give two decimals.",
        0.4223, digits=2, right="Right: e¹¹ divided by the sum of three *exponentials*.",
        hints={11 / 32: "You divided by the sum. Take `exp` first.", 1 / 3: "They are not equal."},
    ),
    choice(
        "You double every score before softmax. What happens to the [weights]{weights}?",
        {
            "They stay the same.": "Softmax looks at differences, and those doubled too.",
            "The largest weight grows.": "Right: differences double.",
            "They all double.": "They would add up to 2.",
        },
        right="The largest weight grows.",
    ),
    cells(
        "Fill the two empty cells.", [[11, None, 10], [11, 16, None], [10, 12, 8]], GRAM,
        rows=["早", "上", "好"], columns=["早", "上", "好"], right="Right: it is symmetric.",
        hints=[([[11, None, 10], [11, 16, 8], [10, 12, 8]], "That is 好 with itself.")],
    ),
    cells(
        "Three columns of signed decimals must fit a phone.",
        [[None, None, -0.25], [0.5, None, None], [-0.25, 0, None]],
        [[-0.5, 0.1234, -0.25], [0.5, 1.5, 0], [-0.25, 0, -1.25]],
        digits=2, rows=["Your", "one", "step"], columns=["Your", "one", "step"],
    ),
    cells(
        "Which query does the oil stall have?", [[None] * 4], [[0, 0, 8, 0]],
        rows=["query of oil"], columns=["rice", "cloth", "tea", "oil"],
        hints=[([[0, 0, 0, 8]], "Oil sells oil.")],
    ),
    number("How many percent are left?", 15.54, digits=0, unit="%"),
]  # fmt: skip


def site_with_questions(site: Path, folder: Path) -> Path:
    """Return a copy of the site, made of links, with one page more that has all questions."""
    (folder / "_static").mkdir(parents=True)
    entries = [*site.iterdir(), *(site / "_static").iterdir()]
    for entry in entries:
        link = folder / entry.relative_to(site)
        if entry.suffix == ".html":
            shutil.copyfile(entry, link)  # add_scripts may write to it
        elif entry.name == "questions":
            shutil.copytree(entry, link)
        elif entry.name != "_static":
            link.symlink_to(entry, target_is_directory=entry.is_dir())
    page = (site / "notation.html").read_text(encoding="utf-8")
    outputs = "".join(
        '<div class="cell docutils container"><div class="cell_output docutils container">'
        f'<div class="output text_html">{question.static_html()}</div></div></div>'
        for question in QUESTIONS
    )
    start, _, rest = page.partition("</h1>")
    (folder / PAGE).write_text(f"{start}</h1>{outputs}{rest}", encoding="utf-8")
    add_scripts(folder, HERE)  # follows no links to folders
    return folder


def pages_with_questions(site: Path) -> list[str]:
    """Return the pages of the site that have questions."""
    return [
        path.relative_to(site).as_posix()
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts and 'data-question="' in path.read_text(encoding="utf-8")
    ]


def states_on(page: Path) -> list[tuple[str, dict[str, Any], str]]:
    return questions_in(page.read_text(encoding="utf-8"))
