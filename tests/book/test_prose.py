"""Every number in the text of a chapter is computed somewhere."""

import re
from decimal import Decimal
from pathlib import Path

import nbformat
import numpy as np
import prose_numbers
import pytest
from chapter_form import read
from latex_numbers import check
from prose_numbers import Sources, check_equations, claims_in_code, sources_of, unsupported

from attention_core.widgets.simple_attention import EMBEDDINGS

CHAPTERS = sorted((Path(__file__).parents[2] / "chapters").glob("*.ipynb"))
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


@each_chapter
def test_equations_hold_as_printed(path):
    notebook = read(path)
    sources = sources_of(notebook)
    problems = [
        f"{path.name}, cell {cell.get('id')}: {problem}"
        for cell in notebook.cells
        if cell.cell_type == "markdown"
        for problem in check_equations(cell.source, sources)
    ]
    assert not problems, "\n" + "\n".join(problems)


@each_chapter
def test_numbers_in_prose_are_computed(path):
    notebook = read(path)
    sources = sources_of(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            check_equations(cell.source, sources)
    problems = []
    for cell in notebook.cells:
        texts = [cell.source] if cell.cell_type == "markdown" else claims_in_code(cell.source)
        for text in texts:
            problems += [
                f"{path.name}, cell {cell.get('id')}: {problem}"
                for problem in unsupported(text, sources)
            ]
    assert not problems, "\nnumbers that no code cell prints or holds:\n" + "\n".join(problems)


@pytest.mark.parametrize("name", ["index.md", "notation.md", "references.md"])
def test_the_other_pages_state_no_number_of_their_own(name):
    text = (CHAPTERS[0].parent.parent / name).read_text(encoding="utf-8")
    chapter_numbers = Sources(exact={Decimal(number) for number in range(1, len(CHAPTERS) + 1)})
    text = text.replace("since 2017", "since then")  # the year of the paper, in a title
    if name == "index.md":  # one score, of the figure that it shows; test_front_page has the others
        chapter_numbers.exact |= {Decimal(str(n)) for row in EMBEDDINGS for n in row}
        chapter_numbers.tables.append(np.array(EMBEDDINGS))
        assert check_equations(text, chapter_numbers) == []
    else:
        assert unsupported(text, chapter_numbers) == []


def test_the_errata_state_only_numbers_of_the_chapters_they_point_at():
    text = (CHAPTERS[0].parent.parent / "errata.md").read_text(encoding="utf-8")
    sources = {path.name: sources_of(read(path)) for path in CHAPTERS}
    rows = [line for line in text.splitlines() if line.startswith("| ") and "Where |" not in line]
    assert len(rows) > 40
    for row in rows:
        named = [sources[name] for name in re.findall(r"chapters/(\w+\.ipynb)#", row)]
        assert named, row
        numbers = Sources(exact=set().union(*(s.exact | s.printed for s in named)))
        assert unsupported(row, numbers) == [], row


@pytest.mark.parametrize(
    "formula",
    [
        r"1\cdot 1+2\cdot 2+1\cdot 1+2\cdot 2+1\cdot 1=11",
        r"w = \frac{e^{11}}{2e^{11}+e^{10}} \approx 0.4223",
        r"\frac{e^1}{e^1+e^1+e^0}\approx 0.4223\qquad\frac{e^0}{e^1+e^1+e^0}\approx 0.1554",
        r"0.66\cdot 0.10=0.066",
        r"\frac{1}{3} = 0.3333",
        r"\frac12 = 50\%",
        r"\sqrt{1^2+2^2}=\sqrt5\approx 2.2361",
        r"\sqrt{10} \approx 3",
        r"\cos 60^\circ = 0.5",
        r"\ln e^2 + \log_2 8 = 5",
        r"12\cdot 512^2+13\cdot 512 = 3{,}152{,}384 \approx 3{,}152{,}000",
        r"1.7\cdot 10^{-3}\approx 0.00168",
        r"[1,2]\cdot[3,4] = [1,2][3,4]^\top = 11",
        r"\lVert[3,4]\rVert=5",
        r"\operatorname{softmax}([11,11,10])\approx[0.4223,0.4223,0.1554]",
        r"\begin{bmatrix}1&2\\3&4\end{bmatrix}\begin{bmatrix}1\\1\end{bmatrix}"
        r"=\begin{bmatrix}3\\7\end{bmatrix}",
        r"\begin{aligned} a &= 1+1 \\ &= 2 \\ b &= 3\cdot 3 \\ &+ 1 = 10\end{aligned}",
        r"\textcolor{blue}{2}\cdot\underbrace{(1+1)}_{\text{twice}} = 4",
        r"3 < 4 \le 4",
        # 1.3108 with the rounded weights: only an approximation may say 1.3107.
        r"0.4223\cdot 1+0.4223\cdot 1+0.1554\cdot 3 \approx 1.3107",
        # A side with letters has no value, so it is not checked.
        r"a\cdot b=\lVert a\rVert\,\lVert b\rVert\cos\theta",
        r"(B, L, d)",
        r"x_1 = 3, x_2 = 4",
        r"1 + \dots + n = n(n+1)/2",
    ],
)
def test_a_true_formula_passes(formula):
    assert check(formula).problems == []


@pytest.mark.parametrize(
    ("formula", "reason"),
    [
        (r"\frac{e^{11}}{2e^{11}+e^{10}} \approx 0.4224", "0.422318798 and 0.4224"),
        (r"1\cdot 1+2\cdot 1 = 4", "3 and 4"),
        (r"w = 1/3 = 0.3334", "0.333333333 and 0.3334"),
        (r"0.4223\cdot 1+0.4223\cdot 1+0.1554\cdot 3 = 1.3107", "1.3108 and 1.3107"),
        (r"0.4223\cdot 1+0.4223\cdot 1+0.1554\cdot 3 \approx 1.3112", "1.3108 and 1.3112"),
        # Two decimals cannot be the rounded parts of a result with four: they are exact.
        (r"0.56\cdot 0.43+0.87\cdot 0.15 \approx 0.3670", "0.3713 and 0.367"),
        (r"\sqrt{10} = 3", "3.16227766 and 3"),
        (r"1 = x = 2", "1 and 2"),
        (r"x = 3, 1 + 1 = 3", "2 and 3"),
        (r"[1,2]+[3,4]=[4,7]", "[4., 6.] and [4., 7.]"),
        (r"[1,2]+[3,4]=[4,6,8]", r"shapes (2,) and (3,)"),
        (r"[1,2]\cdot[3,4,5] = 11", "do not multiply"),
        (r"\begin{aligned} a &= 1+1 \\ &= 3\end{aligned}", "2 and 3"),
        (r"\cos 60^\circ=0.6", "0.5 and 0.6"),
        (r"5 < 4", "5 and 4"),
        (r"7 = 4 \le 5", "7 and 4"),
        (r"e^11 \approx 59874", "add braces"),
        (r"2 +\cdot = 3", "cannot be read"),
    ],
)
def test_a_false_formula_is_found(formula, reason):
    (problem,) = check(formula).problems
    assert reason in problem


def test_numbers_of_true_equations_become_sources():
    assert check(r"12\cdot 12 = 144").established == {"12", "144"}
    assert check(r"\frac{e^{11}}{2e^{11}+e^{10}} \approx 0.4223").established == {"0.4223"}
    assert check(r"0.4223 + 0.1554\cdot 5 \approx 1.1990").established == set()
    assert check("0.42 = 0.42").established == set()


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        (r"X = \begin{bmatrix}1 & 2\\ 3 & 4\end{bmatrix}", True),
        (r"X^\top = \begin{bmatrix}1 & 3\\ 2 & 4\end{bmatrix}", True),
        (r"x_2 = [3, 4]", True),
        (r"w \approx [0.42, 0.16]", True),
        (r"X = \begin{bmatrix}1 & 2\\ 3 & 5\end{bmatrix}", False),
        (r"w = [0.42, 0.17]", False),
        (r"[1, 1] + [4, 5] = [5, 6]", True),
    ],
)
def test_a_stated_table_is_in_the_code_or_printed(formula, found):
    code = nbformat.v4.new_code_cell("X = torch.tensor([[1, 2], [3.0, 4]]); name = [1, X]")
    code.outputs = [nbformat.v4.new_output("stream", text="tensor([0.4223,\n  0.1554])")]
    sources = sources_of(nbformat.v4.new_notebook(cells=[code]))
    assert (check_equations(f"${formula}$", sources) == []) == found


@pytest.mark.parametrize(
    "text",
    [
        "The weight 0.4223 is about 0.42 or nearly 42 %, $w\\approx 0.422$.",
        "Signs count: −0.5 and -0.5000, but 3-11 is a range.",
        "Table: | 11 | 0.0017 | 1.7e-3 | $1.7\\cdot 10^{-3}$ |",
        "In all 63,082,496 or $63{,}082{,}496$ parameters, about 12 a row.",
        "A literal 0.25 may be written 0.250, and 11 as 11.0.",
        "See §3.2.1, Eq. 12, chapters 10 and 12, Exercise 12, {cite}`vaswani2017`.",
        "Since version 2.5 of torch, and since version 0.10.2.",
        "See [Vaswani et al. 2017](https://example.org/1706.03762) or Bahdanau et al. (2015).",
        "Cheng and colleagues (2016) let a reader look back.",
        "```{literalinclude} ../attention_core/functional.py\n:lines: 10-25\n```",
        '<span style="width: 37px">wide</span> `float64` `12_bug_museum` 5 cats',
        "10. a numbered list\n",
    ],
)
def test_numbers_with_a_source_pass(text):
    printed = "0.4223 0.0017 -0.5000 11 0.4242 63082496 11.97"
    exact = {Decimal("0.25"), Decimal("-0.5"), Decimal(11)}
    assert unsupported(text, Sources(prose_numbers.numbers_in(printed), exact)) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("A weight of 0.4224.", "0.4224"),
        ("A weight of 0.42.", "0.42"),
        ("A weight of about 0.43.", "0.43"),
        ("A weight of 0.42231.", "0.42231"),
        ("A weight of 0.42230.", "0.42230"),
        ("A value of -0.4223.", "-0.4223"),
        ("Sixty: $n = 60$.", "60"),
        ("100x faster", "100"),
        ("43 % of it", "43 %"),
        ("In 2017 it began.", "2017"),
        ("`0.77` in code", "0.77"),
        ("| a | 0.77 |", "0.77"),
        ("```{admonition} About 0.77\ntext\n```", "0.77"),
        ("exactly 12 rows", "12"),
    ],
)
def test_numbers_without_a_source_are_found(text, number):
    problems = unsupported(text, Sources(prose_numbers.numbers_in("0.4223 11.97")))
    assert [problem.split(" in ")[0] for problem in problems] == [number]


def test_alternative_text_is_checked_and_is_no_source():
    code = 'x = 0.5  # about 0.25\nshow(fig, alt=f"from 0.75 to {x:.12f}")'
    assert list(claims_in_code(code)) == ["# about 0.25", "from 0.75 to  …"]
    cell = nbformat.v4.new_code_cell(code)
    cell.outputs = [
        nbformat.v4.new_output("display_data", {"image/png": "", "text/plain": "from 0.75"}),
        nbformat.v4.new_output("stream", text="tensor([0.1250, 1.e-3])"),
    ]
    sources = sources_of(nbformat.v4.new_notebook(cells=[cell]))
    assert sources.printed == {Decimal("0.1250"), Decimal("0.001")}
    assert sources.exact == {Decimal("0.5")}


def test_formulas_are_found():
    text = "$a$ and `$5`, $$b\n=c$$\n\n```{math}\n:label: x\nd\n```\n\n```python\n$no$\n```\n\\$3"
    assert [formula.strip() for formula in prose_numbers.formulas(text)] == [
        "a",
        "b\n=c",
        "d",
    ]
