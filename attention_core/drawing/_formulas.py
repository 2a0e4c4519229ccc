"""The formulas beside the drawings, as MathML; class ``dr-old`` greys what is known.

Each carries its LaTeX, which the pages show where a browser draws no formulas.
"""

import html

LATEX = {
    1: r"\operatorname{softmax}(XX^\top)\,X",
    2: r"\operatorname{softmax}(qK^\top)\,V",
    3: r"\operatorname{softmax}(QK^\top)\,V",
    4: r"\operatorname{softmax}\left(\frac{QK^\top}{\sqrt{d_k}}\right)\,V",
    5: r"\operatorname{softmax}\left(\frac{QK^\top}{\sqrt{d_k}}+M\right)\,V",
    6: r"\operatorname{Concat}(\text{head}_0,\text{head}_1)\,W^O",
    7: r"X+P",
    8: r"\operatorname{LayerNorm}(x+f(x))",
    10: r"\text{loss}=-\ln p(\text{right token})",
    11: r"h_t=f(h_{t-1},x_t)",
    13: r"o=o_1e^{m_1-m}+o_2e^{m_2-m}",
    14: r"\operatorname{softmax}\left(\frac{QK^\top}{\sqrt{32}}\right)\,V",
    15: r"\operatorname{softmax}\left(\frac{RQ(RK)^\top}{\sqrt{d_k}}\right)\,V",
}


def _letters(*names: str, role: str = "") -> str:
    kind = f' class="dr-{role}"' if role else ""
    return "".join(f"<mi{kind}>{name}</mi>" for name in names)


def _signs(*signs: str) -> list[str]:
    return [f"<mo>{sign}</mo>" for sign in signs]


def _sub(base: str, index: str) -> str:
    return f"<msub>{base}<mrow>{index}</mrow></msub>"


def _up(base: str, index: str) -> str:
    return f"<msup>{base}<mrow>{index}</mrow></msup>"


def _old(content: str) -> str:
    return f'<mrow class="dr-old">{content}</mrow>'


def _root(content: str) -> str:
    return f"<msqrt>{content}</msqrt>"


_OPEN, _CLOSE, _COMMA, _PLUS, _MINUS, _EQUALS = _signs("(", ")", ",", "+", "−", "=")
_SPACE = '<mspace width="0.17em"/>'
_ONE, _TWO = "<mn>1</mn>", "<mn>2</mn>"
_X, _R, _M, _x, _t, _m = map(_letters, "XRMxtm")
_OLD_Q, _OLD_K, _OLD_V = (_old(_letters(name)) for name in "QKV")
_D_K = _sub(_letters("d"), _letters("k"))


def _attention(q: str, k: str, v: str, under: str = "", more: str = "") -> str:
    """Return softmax(q kᵀ / under + more) v."""
    product = q + _up(k, '<mi mathvariant="normal">⊤</mi>')
    if under:
        product = f"<mfrac><mrow>{product}</mrow>{under}</mfrac>"
    return f"<mi>softmax</mi>{_OPEN}{product}{more}{_CLOSE}{_SPACE}{v}"


def _shrunk(index: str) -> str:
    """Return the o of a block, shrunk to the common maximum."""
    return _sub(_letters("o"), index) + _up(_letters("e"), _sub(_m, index) + _MINUS + _m)


_q, _Q, _K, _V = (_letters(name, role=name.lower()) for name in "qQKV")
_HEAD = "<mtext>head</mtext>"
_STATE = _letters("h")
_MATHML = {
    1: _attention(_X, _X, _X),
    2: _attention(_q, _K, _V),
    3: _attention(_Q, _K, _V),
    4: _attention(_OLD_Q, _OLD_K, _OLD_V, _root(_D_K)),
    5: _attention(_OLD_Q, _OLD_K, _OLD_V, _old(_root(_D_K)), _PLUS + _M),
    6: f"<mi>Concat</mi>{_OPEN}{_sub(_HEAD, '<mn>0</mn>')}{_COMMA}{_sub(_HEAD, _ONE)}{_CLOSE}"
    f"{_SPACE}{_up(_letters('W'), _letters('O'))}",
    7: _old(_X) + _PLUS + _letters("P"),
    8: f"<mi>LayerNorm</mi>{_OPEN}{_x}{_PLUS}{_letters('f')}{_OPEN}{_x}{_CLOSE}{_CLOSE}",
    10: f"<mtext>loss</mtext>{_EQUALS}{_MINUS}<mi>ln</mi>{_SPACE}{_letters('p')}{_OPEN}"
    f"<mtext>right token</mtext>{_CLOSE}",
    11: f"{_sub(_STATE, _t)}{_EQUALS}{_letters('f')}{_OPEN}{_sub(_STATE, _t + _MINUS + _ONE)}"
    f"{_COMMA}{_sub(_x, _t)}{_CLOSE}",
    13: _letters("o") + _EQUALS + _shrunk(_ONE) + _PLUS + _shrunk(_TWO),
    14: _attention(_OLD_Q, _OLD_K, _OLD_V, _root("<mn>32</mn>")),
    15: _attention(
        _R + _OLD_Q, f"<mrow>{_OPEN}{_R}{_OLD_K}{_CLOSE}</mrow>", _OLD_V, _old(_root(_D_K))
    ),
}
#: For each chapter that has one, the formula as MathML.
FORMULAS = {
    chapter: f'<math display="block" data-tex="{html.escape(LATEX[chapter])}">'
    f"<mrow>{content}</mrow></math>"
    for chapter, content in _MATHML.items()
}
