"""The scenes of the book, one for each chapter, with their captions."""

from dataclasses import replace
from typing import Any

from attention_core.drawing._machine import count_mistakes
from attention_core.drawing._scene import Numbers, Scene

# Chosen so that 早 looks at 上 more than 上 looks back, that the rounded weights add up to 1, and
# that they give the rounded mixtures.
_MATRICES: dict[str, Any] = {
    "w_q": ((0, 0), (1, 0), (0, 0), (0, 1), (0, -1)),
    "w_k": ((0, 1), (1, 0), (1, 0), (0, 1), (0, 0)),
    "w_v": ((0, 0), (1, 0), (0, 0), (0, 1), (0, 0)),
}
_OTHERS: dict[str, Any] = {
    "w_q": ((1, 0), (0, 0), (0, 1), (0, 0), (0, 0)),
    "w_k": ((1, 0), (0, 0), (0, 1), (0, 0), (0, 0)),
}
_HEADS = [
    Numbers(Scene("inside", lit="", title="", parts="divide", **matrices)).weights
    for matrices in (_MATRICES, _OTHERS)
]
_JOURNEY: dict[str, Any] = {
    "tokens": ("Your", "journey", "starts", "with", "one", "step"),
    "x": (
        (0.43, 0.15, 0.89), (0.55, 0.87, 0.66), (0.57, 0.85, 0.64),
        (0.22, 0.58, 0.33), (0.77, 0.25, 0.10), (0.05, 0.80, 0.55),
    ),
    "focus": 1,
}  # fmt: skip

_MACHINE = (
    "Data flow of the Transformer, from top to bottom. On the left the encoder: five tokens, "
    "positions, then two layers of self-attention and feed-forward; out comes the memory. On the "
    "right the decoder: four tokens, positions, then two layers of masked self-attention, "
    "cross-attention and feed-forward. Cross-attention takes its queries from the decoder, and "
    "keys and values from the memory. What each box returns is added to the lanes of the tokens, "
    "and a norm follows. At the end, a linear map and a softmax give the probabilities of the "
    "next tokens."
)
_GREY_MACHINE = "The encoder and the decoder of chapter 9, in grey."

SCENES = {
    1: Scene(
        "inside",
        lit="all",
        title="Attention in its barest form, on three tokens",
        about="Each column is one row of *X*. Follow 早: it meets each column, and each meeting "
        "gives a score. Softmax turns its scores into weights, which add up to 1 and mix the "
        "columns into a new 早. The framed numbers belong to the two sums written out; all is "
        "computed before rounding, so a last digit may differ.",
    ),
    2: Scene(
        "inside",
        lit="all",
        title="One word looks at six words",
        about="One word, *journey*, looks at all six. Its query is compared with the key of each "
        "word. The weights mix the values into a new *journey*. So far query, key and value are "
        "three names for the same row of numbers.",
        parts="one roles",
        **_JOURNEY,
    ),
    3: Scene(
        "inside",
        lit="tokens queries keys values matrices",
        title="Queries, keys and values, made by three matrices",
        about="Three matrices are new: they give each token a query, a key and a value. In *X*⊤, "
        "*K*⊤ and *V*⊤ each column is one token. Now a pair can have two scores: 早 gives 上 11, "
        "and 上 gives 早 6. The grey part is known from chapters 1 and 2.",
        parts="project",
        **_MATRICES,
    ),
    4: Scene(
        "inside",
        lit="division",
        title="The division by the root of the width",
        about="The division is new in the drawing. Each score is divided by the root of the width "
        "of a key, here √2, before the softmax. So the weights are more even than in the drawing "
        "of chapter 3.",
        parts="project divide",
        **_MATRICES,
    ),
    5: Scene(
        "inside",
        lit="mask",
        title="The mask",
        about="The mask is new. It sets the score of each later token to −∞, and softmax turns "
        "that into a weight of 0. Follow the row of 上, which now sees only 早 and itself.",
        parts="project divide mask",
        focus=1,
        **_MATRICES,
    ),
    6: Scene(
        "heads",
        lit="heads concat output",
        title="Two heads side by side",
        about="Two heads now work side by side. Each has its own three matrices, so the two tables "
        "of weights differ. Each returns one half of every column. Concat joins the halves, and "
        "one more matrix follows.",
        alt="Data flow, from top to bottom. Three tokens go to two heads. Each head has matrices, "
        "queries, keys, values and a table of weights of its own, and returns one half of three "
        "columns. The halves are joined, and the matrix W^O makes three new columns of them.",
        heads=_HEADS,
    ),
    7: Scene(
        "layer",
        lit="positions",
        title="Positions are added to the tokens",
        about="A vector for each place is new. It is added to the token that stands there. Without "
        "it, 早 would get the same result in 好上早 as in 早上好.",
        alt="Data flow, from top to bottom. Three columns of numbers, for the places 0, 1 and 2, "
        "are added to three tokens. The sums go to multi-head attention, which returns three "
        "new columns.",
        heads=_HEADS,
    ),
    8: Scene(
        "layer",
        lit="residual norm feed-forward",
        title="A layer of the Transformer",
        about="Each token now runs straight down in its lane. A box reads the lanes, its result is "
        "added to them, and a norm follows. Attention mixes the tokens. The feed-forward network "
        "treats each token alone.",
        alt="Data flow of a layer, from top to bottom. Three tokens run down in lanes. Positions "
        "are added. A branch leads to multi-head attention, whose result is added to the "
        "lanes; a norm follows on each lane. A second branch leads to the feed-forward network, "
        "whose result is added too; a norm follows again.",
        parts="layer",
        heads=_HEADS,
    ),
    9: Scene(
        "machine",
        lit="all",
        title="The Transformer",
        about="The encoder reads 大家早上好, and its memory goes to the cross-attention of each "
        "decoder layer. Look at the pink tables. They are a square, a triangle, and a rectangle "
        "where the two halves meet. Their shades are invented here.",
        alt=_MACHINE,
        parts="key",
    ),
    10: Scene(
        "machine",
        lit="learning writing",
        title="The Transformer learns, and writes",
        about="Two loops are new. To learn, the loss compares the probabilities with the right "
        "tokens, and its gradients change all parameters. To write, the model appends the token "
        "that it chose to its input and runs again.",
        alt=f"{_GREY_MACHINE} A loop on the left leads through the loss back to the model, "
        "with the gradients. A loop on the right appends the last token to the decoder's input.",
        parts="loops",
    ),
    11: Scene(
        "chain",
        lit="states path",
        title="A recurrent network and attention on the same words",
        about="The recurrent network hands one state from word to word, so 大 reaches 好 in four "
        "steps. Attention connects them in one, by the outlined weight. The price is a table with "
        "a weight for each pair of words.",
        alt="Above, a chain: five words, a state for each, and an arrow from each state to the "
        "next, four steps from 大 to 好. Below, the same words in a table of 5 by 5 weights; the "
        "weight in the row of 好 and the column of 大 is outlined, one step.",
    ),
    12: Scene(
        "machine",
        lit="marks",
        title="Where published mistakes sit in the Transformer",
        about="This is the machine of chapter 9. Each number counts published mistakes "
        "by the part that they break, {total} in all. Attention itself holds {attention} of them.",
        alt=f"{_GREY_MACHINE} Marks count the mistakes in each part: {{marks}}.",
        parts="marks",
    ),
    13: Scene(
        "blocks",
        lit="cut numerators summary merge",
        title="One query meets the keys in two blocks",
        about="The keys come in two blocks. Each block keeps its largest score *m*, the sum *ℓ* of "
        "its numerators, and its weighted sum *o* of values. Merged, they give the new 早 of "
        "chapter 4. So no table of weights is stored, and another machine can work on each block.",
        **_MATRICES,
    ),
    14: Scene(
        "encoder",
        lit="weights sizes sentence",
        title="A published sentence encoder, with the weights of two heads",
        about="This is the encoder of chapter 9, with the sizes of a published model. The tables "
        "hold its weights for the sentence of chapter 2. In head 0.2, each token looks at the one "
        "before it. The mean of all columns is the vector of the sentence.",
        alt="Data flow, from top to bottom. The nine tokens of Your journey starts with one step, "
        "384 numbers each, get positions and run through six layers of self-attention and "
        "feed-forward. Two tables show recorded weights: in head 0.2 the cells below the "
        "diagonal are dark, in head 3.1 they are more scattered. The mean of the columns is the "
        "vector of the sentence.",
        width=384,
        layers=6,
    ),
    15: Scene(
        "decoder",
        lit="norm rotary grouped-heads swiglu sizes",
        title="A decoder alone, with the parts that have changed since 2017",
        about="The decoder is left, here with the sizes of SmolLM2. RMSNorm stands before each box "
        "and at the end. RoPE rotates queries and keys by their positions, and three query heads "
        "share one key and one value. In the feed-forward network, one way is the gate of the "
        "other.",
        alt="Data flow of a decoder alone, from top to bottom: five tokens, then thirty layers. "
        "Each has masked self-attention, with rotated queries and keys and nine query heads on "
        "three key-value heads, and a feed-forward network with a gate; RMSNorm stands before "
        "both. After a last RMSNorm come the probabilities of the next tokens; the last is "
        "Paris.",
        target=("The", "capital", "of", "France", "is", "Paris"),
        width=576,
        layers=30,
        vocab=49152,
    ),
}

_PAGES = {
    "01_dot_products.ipynb": ("Chapter 1: What does X·Xᵀ mean?", "compare share mix"),
    "03_query_key_value.ipynb": ("Chapter 3: Why three versions of each word?", "matrices"),
    "04_scaling.ipynb": ("Chapter 4: Why divide by √dₖ?", "division"),
    "05_masks.ipynb": ("Chapter 5: What may a word look at?", "mask"),
    "06_multi_head.ipynb": ("Chapter 6: Why look several times?", "heads"),
    "07_positions.ipynb": ("Chapter 7: How does attention know order?", "positions"),
    "08_layers.ipynb": ("Chapter 8: What surrounds attention?", "feed-forward"),
    "09_transformer.ipynb": ("Chapter 9: What is the whole machine?", "cross"),
}
#: What earlier chapters explain, with the file and the title of the chapter.
LINKS = {part: (page, name) for page, (name, parts) in _PAGES.items() for part in parts.split()}


def scene_of(chapter: int) -> Scene:
    """Return the scene of a chapter.

    Raises:
        ValueError: the book has no such chapter
        TypeError: chapter is not an int
    """
    if not isinstance(chapter, int) or isinstance(chapter, bool):
        raise TypeError(f"chapter must be an int, got {type(chapter).__name__}")
    if chapter not in SCENES:
        raise ValueError(f"chapter must be from 1 to {len(SCENES)}, got {chapter}")
    scene = SCENES[chapter]
    if not scene.has("marks"):
        return scene
    counts = count_mistakes()
    marks = ", ".join(f"{count} in {name}" for name, count in counts.most_common())
    about = scene.about.format(total=counts.total(), attention=counts["attention"])
    return replace(scene, about=about, alt=scene.alt.format(marks=marks))
