"""The formula translator: what it draws, and what it refuses to draw wrongly."""

from __future__ import annotations

import re

import pytest
from booksite.latex import FormulaError, convert

THIN = '<mspace width="0.1667em" />'


def drawn(latex: str, *, display: bool = True) -> str:
    return re.sub(r' data-tex="[^"]*"', "", convert(latex, display=display))


@pytest.mark.parametrize(
    ("latex", "part"),
    [
        (r"\textcolor{#0072B2}{Q}", '<mrow class="query"><mi>Q</mi></mrow>'),
        (r"\textcolor{#b34700}{K}^\top", '<mi mathvariant="normal">⊤</mi>'),
        # Norms keep their height; \left\lVert grows.
        (r"\lVert a \rVert", '<mo stretchy="false" lspace="0" rspace="0">‖</mo><mi>a</mi>'),
        (r"\left\lVert a \right\rVert", '<mo stretchy="true" form="prefix">‖</mo>'),
        # Names stand upright, with a thin space before what they are applied to.
        (r"\operatorname{softmax}(x)", '<mi>softmax</mi><mo stretchy="false">(</mo>'),
        (r"a\log p", f"<mi>a</mi>{THIN}<mi>log</mi>{THIN}<mi>p</mi>"),
        (r"\operatorname*{arg\,max}_j p", '<munder><mo movablelimits="true"'),
        (r"\operatorname*{arg\,max}_j p", "arg\u2009max</mo><mi>j</mi></munder>" + THIN),
        (r"\max_j z_j", "<munder>"),
        (r"\mathrm{d}x", "<mtext>d</mtext>"),
        # Alphabets are characters: MathML Core has no attribute for them.
        (r"\mathbb{R}", "<mi>ℝ</mi>"),
        (r"\mathbf{QK}", "<mi>𝐐</mi><mi>𝐊</mi>"),
        (r"\boldsymbol{\theta}", "<mi>𝜽</mi>"),
        (r"\mathcal{L}", "<mi>ℒ</mi>"),
        # A mark that may not stretch floats above its letter in WebKit.
        (r"\hat{y}", '<mover accent="true"><mi>y</mi><mo>ˆ</mo></mover>'),
        (r"\tilde{h}", '<mover accent="true"><mi>h</mi><mo>˜</mo></mover>'),
        (r"\widehat{ab}", '</mrow><mo stretchy="true">\u0302</mo></mover>'),
        (r"\overline{x+y}", '<mrow class="overline">'),
        (r"x'", '<mi>x</mi><mo lspace="0" rspace="0">′</mo>'),
        (r"a = -\infty", '<mo form="prefix">−</mo><mi mathvariant="normal">∞</mi>'),
        (r"a - b", "<mi>a</mi><mo>−</mo><mi>b</mi>"),
        (r"a < b", "<mo>&lt;</mo>"),
        (r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", '<mo stretchy="true">[</mo><mtable><mtr>'),
        (r"\begin{cases}0&a\\1&b\end{cases}", '<mtable class="cases">'),
        (r"\underbrace{a+b}_{\text{two}}", "<mo>⏟</mo></munder><mtext>two</mtext>"),
        (r"\text{早上好}", "<mtext>早上好</mtext>"),
    ],
)
def test_a_construct_is_translated_to_mathml(latex, part):
    assert part in drawn(latex)


@pytest.mark.parametrize("name", ["aligned", "align", "align*", "split"])
def test_aligned_rows_become_a_table_with_right_and_left_cells(name):
    table = drawn(rf"\begin{{{name}}} a &= b \\ c &= d \end{{{name}}}")
    assert table.count("<mtr>") == 2
    assert table.count('<mtd class="right">') == table.count('<mtd class="left">') == 2


def test_the_latex_of_a_formula_is_kept_in_data_tex():
    made = convert("a\n< b")
    assert 'data-tex="a &lt; b"' in made
    # WebKit makes alttext the name of the formula, and screen readers speak that LaTeX.
    assert "alttext" not in made


@pytest.mark.parametrize(
    "latex",
    [
        r"\softmx{x}",  # not a command
        r"a & b",  # an alignment mark outside a table
        r"\frac{a",
        r"\frac{a}",
        r"{a}}",
        r"\begin{tabular}{c} a \end{tabular}",
        r"\begin{cases} a \end{aligned}",
        r"\left( a",
        r"\textcolor{#123456}{x}",  # not the colour of a role
        r"\textcolor{red}{x}",
        r"\color{#0072B2} x",
        r"a \tag{1}",
        r"\label{eq} a",
        r"\text{if $x$}",
        r"\newcommand{\a}{b}",
    ],
)
def test_a_formula_that_cannot_be_translated_is_refused(latex):
    with pytest.raises(FormulaError):
        convert(latex)
