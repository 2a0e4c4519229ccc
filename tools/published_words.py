"""Tables of published numbers about words: their vectors, and what attention makes of them."""

from typing import Any

import published_sentences as given
import torch
import torch.nn.functional as F
from published_measures import NO_WORDS, Encoder, exact, rounded
from torch import Tensor

from attention_core.published import BytePairs, WordPieces


def words_table(vectors: Tensor, words: WordPieces) -> dict[str, Any]:
    journey = words.tokens(given.JOURNEY)[1:-2]
    bark = [t for s in (given.BARK["dog"][0], given.BARK["tree"][0]) for t in words.tokens(s)[1:-2]]
    days = [*given.DAYS, *given.MONTHS, "matrix", "matrices"]
    names = list(dict.fromkeys([*days, *journey, *bark, *given.DOG_WORDS, *given.TREE_WORDS]))
    return {
        "chapters": [1, 2],
        "what": "Vectors of 43 words from the embedding, before any norm.",
        "from": "MiniLM",
        "names": names,
        "vectors": exact(vectors[[words.number[name] for name in names]]),
    }


def lengths_table(
    vectors: Tensor, words: WordPieces, smol: Tensor, pairs: BytePairs
) -> dict[str, Any]:
    """Who has a larger product with another than with itself?"""
    plurals = [
        (words.number[w], words.number[w + "s"])
        for w in words.pieces
        if w.isalpha() and len(w) > 2 and w + "s" in words.number
    ]
    one, many = vectors[[i for i, _ in plurals]], vectors[[j for _, j in plurals]]
    products = (one * many).sum(1)
    squares = smol.square().sum(1)
    loud = int(squares.argmax())
    days = [pairs.number[f"Ġ{day.title()}"] for day in given.DAYS]
    return {
        "chapters": [1],
        "what": (
            "Words and their plurals in MiniLM's embedding: whose product with the other is larger "
            "than with itself. Then SmolLM2's longest vector: for how many pieces the product with "
            "it is larger than with themselves; and X·Xᵀ of the seven weekdays."
        ),
        "from": "MiniLM and SmolLM2",
        "words_with_plural": len(plurals),
        "plurals_outranked": int((products > many.square().sum(1)).sum()),
        "singulars_outranked": int((products > one.square().sum(1)).sum()),
        "plurals_shorter": int((many.norm(dim=1) < one.norm(dim=1)).sum()),
        "smollm2_pieces": len(smol),
        "smollm2_longest": pairs.text([loud]),
        "smollm2_longest_length": rounded(squares[loud].sqrt()),
        "smollm2_median_length": rounded(squares.sqrt().median()),
        "smollm2_outranked_by_longest": int((smol @ smol[loud] > squares).sum()),
        "smollm2_weekdays": rounded(smol[days] @ smol[days].T),
    }


def bark_table(
    trained: Encoder, untrained: Encoder, vectors: Tensor, words: WordPieces
) -> dict[str, Any]:
    """softmax(X·Xᵀ)X without weights, for the row of bark."""

    def mean(names: list[str]) -> Tensor:
        return F.normalize(vectors[[words.number[name] for name in names]], dim=1).mean(0)

    axes = torch.stack([mean(given.DOG_WORDS), mean(given.TREE_WORDS)])

    def cosines(mixture: Tensor, names: tuple[str, str] = ("dog", "tree")) -> dict[str, Any]:
        found = F.cosine_similarity(mixture, axes)
        return {name: rounded(cosine) for name, cosine in zip(names, found, strict=True)}

    rows = []
    for sense, texts in given.BARK.items():
        for text in texts:
            step, even = _mixtures(trained, vectors, text, "bark")
            tokens = words.tokens(text)[1:-2]
            row = {"sense": sense, "tokens": tokens, **cosines(step)}
            rows.append(row | cosines(even, ("even_dog", "even_tree")))

    alone = vectors[words.number["bark"]]

    def leans(names: list[str]) -> Tensor:
        """Return dog minus tree with each name in the sentence: by the step, by the plain mean."""
        texts = [given.SWAP.format(name) for name in names]
        ends = torch.stack(
            [torch.stack(_mixtures(trained, vectors, text, "bark")) for text in texts]
        )
        found = F.cosine_similarity(ends[:, :, None], axes, dim=-1)
        return found[..., 0] - found[..., 1]

    dog, tree = F.cosine_similarity(alone, axes)

    def swapped(names: list[str]) -> list[int]:
        """Count the names, and with how many bark ends above 0, and above bark alone."""
        ends = leans(names)[:, 0]
        return [len(names), int((ends > 0).sum()), int((ends > dog - tree).sum())]

    return {
        "chapters": [2],
        "what": (
            "bark in eight sentences, and in one with a fox: the cosine of its row of "
            "softmax(X·Xᵀ)X, from static vectors, with the mean of four dog words and of four tree "
            "words, each of length 1; and that of the plain mean. Twelve words with two senses in "
            "96 sentences: how many are nearest to the mean of their sense, for this step, the "
            "plain mean, and after 0 to 6 layers, trained or random. animals, trees: how many in "
            "“that bark came from the …”, with how many dog minus tree is above 0, and above bark "
            "alone."
        ),
        "from": "MiniLM",
        "alone": cosines(alone),
        "sentences": rows,
        "fox": cosines(_mixtures(trained, vectors, given.FOX, "bark")[0]),
        "animals": swapped(given.ANIMALS),
        "trees": swapped(given.TREES),
        "senses_right": _senses_right(trained, untrained, vectors),
    }


def _mixtures(encoder: Encoder, vectors: Tensor, text: str, word: str) -> tuple[Tensor, Tensor]:
    """Return the word's row of softmax(X·Xᵀ)X, and the plain mean, of a text's static vectors."""
    words = encoder.words
    x = vectors[[words.number[t] for t in words.tokens(text) if t not in NO_WORDS]]
    return (x @ vectors[words.number[word]]).softmax(0) @ x, x.mean(0)


def _right(rows: Tensor, labels: Tensor) -> list[int]:
    """For how many rows is the nearest mean of the others that of its label, in each layer?

    Shape:
        rows: (layers, N, d), of N sentences
        labels: (N,)
    """
    rows = F.normalize(rows, dim=-1)
    found = torch.zeros(len(rows), dtype=torch.long)
    for i, label in enumerate(labels):
        kept = torch.arange(len(labels)) != i
        uses = range(int(labels.max()) + 1)
        centres = torch.stack([rows[:, kept & (labels == use)].mean(1) for use in uses], 1)
        found += F.cosine_similarity(rows[:, i, None], centres, dim=-1).argmax(1) == label
    return [int(n) for n in found]


def _states(encoder: Encoder, texts: list[str], word: str, after: int = 0) -> Tensor:
    """Return the states of the word, or of a piece after it. Shape: (7, number of texts, 384)."""
    return torch.stack([encoder.states(t)[:, encoder.place(t, word) + after] for t in texts], 1)


def _senses_right(trained: Encoder, untrained: Encoder, vectors: Tensor) -> dict[str, Any]:
    labels = torch.tensor([0] * 4 + [1] * 4)
    counts = []
    for word, (first, second) in given.SENSES.items():
        texts = [*first, *second]
        mixed = [torch.stack(_mixtures(trained, vectors, text, word)) for text in texts]
        counts.append(
            _right(torch.stack(mixed, 1), labels)
            + _right(_states(trained, texts, word), labels)
            + _right(_states(untrained, texts, word), labels)
        )
    step, even, *layers = torch.tensor(counts).sum(0).tolist()
    return {
        "words": len(counts),
        "of": len(labels) * len(counts),
        "step": step,
        "even": even,
        "layers": layers[:7],
        "untrained": layers[7:],
    }


def one_table(trained: Encoder, untrained: Encoder, vectors: Tensor) -> dict[str, Any]:
    """The word one in five uses, held out one by one."""
    texts = [text for group in given.ONE.values() for text in group]
    labels = torch.tensor([use for use, group in enumerate(given.ONE.values()) for _ in group])

    def cosines(rows: Tensor, target: Tensor) -> Tensor:
        """Return the cosine of the target with the mean of each use. Shape: (layers, 5)."""
        rows = F.normalize(rows, dim=-1)
        centres = torch.stack([rows[:, labels == use].mean(1) for use in range(5)], 1)
        return F.cosine_similarity(target[:, None], centres, dim=-1)

    ours, control = _states(trained, texts, "one"), _states(untrained, texts, "one")
    mixed = torch.stack([torch.stack(_mixtures(trained, vectors, t, "one")) for t in texts], 1)
    step, even = _right(mixed, labels)
    journey = given.JOURNEY
    mixture = torch.stack(_mixtures(trained, vectors, journey, "one"))
    return {
        "chapters": [2],
        "what": (
            "The word one: 30 sentences, five uses. Its cosine in the sentence of the journey with "
            "the mean of each use, after 0 to 6 layers, after 6 random layers, and of "
            "softmax(X·Xᵀ)X from static vectors; and for how many of the 30 the nearest mean of "
            "the others is that of its use. Controls: the plain mean, and the piece after one."
        ),
        "from": "MiniLM",
        "uses": list(given.ONE),
        "sentences": texts,
        "target": journey,
        "cosine_by_layer": rounded(cosines(ours, _states(trained, [journey], "one")[:, 0])),
        "untrained_cosine": rounded(
            cosines(control, _states(untrained, [journey], "one")[:, 0])[6]
        ),
        "static_cosine": rounded(cosines(mixed, mixture)[0]),
        "right_of_30": _right(ours, labels),
        "untrained_right_of_30": _right(control, labels),
        "next_right_of_30": _right(_states(trained, texts, "one", 1), labels),
        "static_mixture_right_of_30": step,
        "static_mean_right_of_30": even,
    }
