"""The formulas beside the drawings, as MathML; class ``dr-old`` greys what is known."""


def _letter(name: str, kind: str = "") -> str:
    return f'<mi class="dr-{kind}">{name}</mi>' if kind else f"<mi>{name}</mi>"


def _sign(sign: str) -> str:
    return f"<mo>{sign}</mo>"


def _sub(base: str, index: str) -> str:
    return f"<msub>{base}<mrow>{index}</mrow></msub>"


def _up(base: str, index: str) -> str:
    return f"<msup>{base}<mrow>{index}</mrow></msup>"


def _old(*parts: str) -> str:
    return f'<mrow class="dr-old">{"".join(parts)}</mrow>'


def _root(content: str) -> str:
    return f"<msqrt>{content}</msqrt>"


def _formula(*parts: str) -> str:
    return f'<math display="block"><mrow>{"".join(parts)}</mrow></math>'


def _transposed(base: str) -> str:
    return _up(base, '<mi mathvariant="normal">⊤</mi>')


def _attention(q: str, k: str, v: str, under: str = "", more: str = "") -> str:
    """Return softmax(q kᵀ / under + more) v, with the frame in grey where all is not new."""
    product = f"{q}{_transposed(k)}"
    if under:
        product = f"<mfrac><mrow>{product}</mrow>{under}</mfrac>"
    space = '<mspace width="0.17em"/>'
    return _formula("<mi>softmax</mi>", _sign("("), product, more, _sign(")"), space, v)


_X = _letter("X")
_OLD_Q, _OLD_K, _OLD_V = (_old(_letter(x)) for x in "QKV")
_D_K = _sub(_letter("d"), _letter("k"))
_E = _letter("e")


def _shrunk(index: str) -> str:
    """Return the o of a block, shrunk to the common maximum."""
    m = _sub(_letter("m"), f"<mn>{index}</mn>")
    o = _sub(_letter("o"), f"<mn>{index}</mn>")
    return o + _up(_E, m + _sign("−") + _letter("m"))


FORMULAS = {
    1: _attention(_X, _X, _X),
    2: _attention(_letter("q", "q"), _letter("K", "k"), _letter("V", "v")),
    3: _attention(_letter("Q", "q"), _letter("K", "k"), _letter("V", "v")),
    4: _attention(_OLD_Q, _OLD_K, _OLD_V, under=_root(_D_K)),
    5: _attention(_OLD_Q, _OLD_K, _OLD_V, under=_old(_root(_D_K)), more=_sign("+") + _letter("M")),
    6: _formula(
        "<mi>Concat</mi>",
        _sign("("),
        _sub("<mtext>head</mtext>", "<mn>0</mn>"),
        _sign(","),
        _sub("<mtext>head</mtext>", "<mn>1</mn>"),
        _sign(")"),
        _up(_letter("W"), _letter("O")),
    ),
    7: _formula(_old(_X), _sign("+"), _letter("P")),
    8: _formula(
        "<mi>LayerNorm</mi>",
        _sign("("),
        _letter("x"),
        _sign("+"),
        _letter("f"),
        _sign("("),
        _letter("x"),
        _sign(")"),
        _sign(")"),
    ),
    10: _formula(
        "<mtext>loss</mtext>",
        _sign("="),
        _sign("−"),
        "<mi>ln</mi>",
        '<mspace width="0.17em"/>',
        _letter("p"),
        _sign("("),
        "<mtext>right token</mtext>",
        _sign(")"),
    ),
    11: _formula(
        _sub(_letter("h"), _letter("t")),
        _sign("="),
        _letter("f"),
        _sign("("),
        _sub(_letter("h"), f"{_letter('t')}{_sign('−')}<mn>1</mn>"),
        _sign(","),
        _sub(_letter("x"), _letter("t")),
        _sign(")"),
    ),
    13: _formula(_letter("o"), _sign("="), _shrunk("1"), _sign("+"), _shrunk("2")),
    14: _attention(_OLD_Q, _OLD_K, _OLD_V, under=_root("<mn>32</mn>")),
    15: _attention(
        f"{_letter('R')}{_OLD_Q}",
        f"<mrow>{_sign('(')}{_letter('R')}{_OLD_K}{_sign(')')}</mrow>",
        _OLD_V,
        under=_old(_root(_D_K)),
    ),
}
