"""The scenes of the book, one for each chapter."""

from typing import Any

from attention_core.drawing.scene import Numbers, Scene, softmax_rows


def _formula(body: str) -> str:
    return f'<math display="block"><mrow>{body}</mrow></math>'


def _attend(q: str, k: str, v: str, old: str = "", under: str = "", more: str = "") -> str:
    """softmax(q kᵀ / under + more) v; the class ``old`` greys what is known."""
    q_, k_, v_ = (f"dr-{old or role}" for role in "qkv")
    product = (
        f'<mrow class="{q_}"><mi>{q}</mi></mrow>'
        f'<msup class="{k_}"><mi>{k}</mi><mi mathvariant="normal">⊤</mi></msup>'
    )
    if under:
        product = f"<mfrac><mrow>{product}</mrow>{under}</mfrac>"
    return _formula(
        f'<mi class="dr-{old}">softmax</mi><mo class="dr-{old}">(</mo>'
        f'{product}{more}<mo class="dr-{old}">)</mo>'
        f'<mspace width="0.17em"/><mrow class="{v_}"><mi>{v}</mi></mrow>'
    )


_ROOT = "<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>"
_OLD_ROOT = f'<mrow class="dr-old">{_ROOT}</mrow>'
_CONCAT = (
    "<mi>Concat</mi><mo>(</mo><msub><mtext>head</mtext><mn>0</mn></msub><mo>,</mo>"
    "<msub><mtext>head</mtext><mn>1</mn></msub><mo>)</mo><msup><mi>W</mi><mi>O</mi></msup>"
)
_ADD_NORM = (
    "<mi>LayerNorm</mi><mo>(</mo><mi>x</mi><mo>+</mo>"
    "<mi>f</mi><mo>(</mo><mi>x</mi><mo>)</mo><mo>)</mo>"
)

# Chosen so that also the rounded weights add up to 1, and give the rounded mixtures.
_MATRICES: dict[str, Any] = {
    "w_q": ((0, 0), (1, 0), (0, 0), (0, 1), (0, 1)),
    "w_k": ((0, 0), (0, 1), (1, 0), (0, 0), (0, 0)),
    "w_v": ((0, 0), (1, 0), (0, 0), (0, 1), (0, 0)),
}
_HEADS = (
    Numbers(Scene("attention", "", "", parts="project divide", **_MATRICES)).weights,
    softmax_rows(((0, 1, 4), (1, 3, 1), (4, 2, 1))),
)
_JOURNEY: dict[str, Any] = {
    "tokens": ("Your", "journey", "starts", "with", "one", "step"),
    "x": (
        (0.43, 0.15, 0.89), (0.55, 0.87, 0.66), (0.57, 0.85, 0.64),
        (0.22, 0.58, 0.33), (0.77, 0.25, 0.10), (0.05, 0.80, 0.55),
    ),
    "focus": 1,
}  # fmt: skip

_BACK = {
    "01_dot_products.ipynb": ("Chapter 1: What does X·Xᵀ mean?", "scores softmax weights mix"),
    "03_query_key_value.ipynb": ("Chapter 3: Why three copies of the same words?", "project"),
    "04_scaling.ipynb": ("Chapter 4: Why divide by √dₖ?", "divide"),
    "05_masks.ipynb": ("Chapter 5: What may a word look at?", "mask"),
    "06_multi_head.ipynb": ("Chapter 6: Why look several times?", "attention"),
    "07_positions.ipynb": ("Chapter 7: How does attention know order?", "positions"),
}
LINKS = {part: (page, name) for page, (name, parts) in _BACK.items() for part in parts.split()}

SCENES = {
    1: Scene(
        "attention",
        lit="all",
        title="Attention in its barest form, on three tokens",
        about="Follow the row of 早. It meets every column and gets a score. Softmax turns the "
        "scores into shares of 1. The shares mix the columns into a new 早. (The drawing "
        "rounds.)",
        formula=_attend("X", "X", "X", old="plain"),
    ),
    2: Scene(
        "attention",
        lit="all",
        title="One word looks at six words",
        about="New: three names. The word that asks brings a query. It is compared with the key of "
        "each word, and it mixes their values.",
        formula=_attend("q", "K", "V"),
        parts="one roles",
        **_JOURNEY,
    ),
    3: Scene(
        "attention",
        lit="tokens queries keys values project",
        title="Queries, keys and values in front of attention",
        about="New: three matrices. Each token asks with a query, is found by a key, and hands "
        "over a value. You know the grey part: it is chapter 1.",
        formula=_attend("Q", "K", "V"),
        parts="project",
        links=LINKS,
        **_MATRICES,
    ),
    4: Scene(
        "attention",
        lit="divide",
        title="The division by the root of the width",
        about="New: one division. It stands between the scores and the softmax.",
        formula=_attend("Q", "K", "V", old="old", under=_ROOT),
        parts="project divide",
        links=LINKS,
        **_MATRICES,
    ),
    5: Scene(
        "attention",
        lit="mask",
        title="The mask",
        about="New: the cells with −∞. There a token would look at a later one. Softmax gives "
        "these cells the weight 0.",
        formula=_attend("Q", "K", "V", old="old", under=_OLD_ROOT, more="<mo>+</mo><mi>M</mi>"),
        parts="project divide mask",
        focus=1,
        links=LINKS,
        **_MATRICES,
    ),
    6: Scene(
        "heads",
        lit="heads concat output",
        title="Two heads side by side",
        about="New: two attentions side by side. Each head has its own matrices, so the two tables "
        "of weights differ. Each head fills one half of a column, and a last matrix joins the "
        "halves.",
        formula=_formula(_CONCAT),
        alt="Data flow, from top to bottom. Three tokens go to two heads. Each head has queries, "
        "keys, values and a table of weights of its own, and returns one half of three "
        "columns. The halves are put together, and the matrix W^O makes three new columns of "
        "them.",
        heads=_HEADS,
        links=LINKS,
    ),
    7: Scene(
        "layer",
        lit="positions",
        title="Positions are added to the tokens",
        about="New: a vector for each place. It is added to the token that stands there.",
        alt="Data flow, from top to bottom. Positions are added to three tokens. The sums go to "
        "multi-head attention, which returns three new columns.",
        heads=_HEADS,
        links=LINKS,
    ),
    8: Scene(
        "layer",
        lit="residual norm feed-forward",
        title="A layer of the Transformer",
        about="New: what surrounds attention. Each token runs straight down its lane. A box reads "
        "the lanes, and what it finds is added to them. Attention mixes the tokens; the feed-"
        "forward layer treats each one alone.",
        formula=_formula(_ADD_NORM),
        alt="Data flow of a layer, from top to bottom. Three tokens run down in lanes. Positions "
        "are added. A branch leads to multi-head attention, whose result is added to the "
        "lanes; then each lane is normed. A second branch leads to the feed-forward layer, "
        "whose result is added too; then each lane is normed again.",
        parts="layer",
        heads=_HEADS,
        links=LINKS,
    ),
    9: Scene(
        "machine",
        lit="all",
        title="The Transformer",
        about="The encoder reads 大家早上好, and its memory goes to every layer of the decoder. "
        "Look at the pink tables: the encoder's is a square, the decoder's is a triangle, and "
        "where the two meet there is a rectangle.",
        alt="Data flow of the Transformer, from top to bottom. Left the encoder: five tokens, "
        "positions, then two layers of self-attention and feed-forward; out comes the memory. "
        "Right the decoder: four tokens, positions, then two layers of masked self-attention, "
        "cross-attention and feed-forward. Cross-attention takes its queries from the "
        "decoder, keys and values from the memory. What each box finds is added to the lanes "
        "of the tokens, and each lane is normed. At the end a linear map and a softmax give "
        "the chances of the next tokens.",
        parts="key",
    ),
    10: Scene(
        "machine",
        lit="loop",
        title="The loop of decoding",
        about="New: the loop. The token that the decoder has chosen becomes its next input.",
        parts="loop",
        links=LINKS,
    ),
    14: Scene(
        "machine",
        lit="all",
        title="A decoder alone, with the sizes of GPT-2 small",
        about="The left half is gone. What remains is a decoder without cross-attention, twelve "
        "layers deep, with its norms before the boxes.",
        alt="Data flow of a decoder alone, from top to bottom: four tokens, positions, then "
        "twelve layers of masked self-attention and feed-forward, each behind a norm, a last "
        "norm, and the chances of the next tokens.",
        parts="key pre",
        source=(),
        target=("good", "morning", "to", "you", "all"),
        width=768,
        layers=12,
        vocab=50257,
    ),
}
