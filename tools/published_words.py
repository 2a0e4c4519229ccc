"""Tables of published numbers about words: their vectors, and what attention makes of them."""

from typing import Any

import published_sentences as given
import torch
import torch.nn.functional as F
from published_measures import Encoder, exact, rounded
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
            "than with itself. Then the longest vector of SmolLM2's embedding: for how many pieces "
            "the product with it is larger than with themselves; and X·Xᵀ of its seven weekdays."
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


def bark_table(vectors: Tensor, words: WordPieces) -> dict[str, Any]:
    """softmax(X·Xᵀ)X without weights, for the row of bark."""

    def mean(names: list[str]) -> Tensor:
        return F.normalize(vectors[[words.number[name] for name in names]], dim=1).mean(0)

    axes = torch.stack([mean(given.DOG_WORDS), mean(given.TREE_WORDS)])
    bark = vectors[words.number["bark"]]
    rows = []
    for sense, texts in given.BARK.items():
        for text in texts:
            tokens = words.tokens(text)[1:-2]
            x = vectors[[words.number[token] for token in tokens]]
            weights = (x @ bark).softmax(0)
            cosines = F.cosine_similarity(weights @ x, axes)
            rows.append(
                {
                    "sense": sense,
                    "tokens": tokens,
                    "weights": rounded(weights),
                    "dog": rounded(cosines[0]),
                    "tree": rounded(cosines[1]),
                }
            )
    alone = F.cosine_similarity(bark, axes)
    return {
        "chapters": [2],
        "what": (
            "bark in eight sentences: the row of softmax(X·Xᵀ) from static vectors, and the cosine "
            "of its mixture with the mean of four dog words and of four tree words, each of "
            "length 1."
        ),
        "from": "MiniLM",
        "alone": {"dog": rounded(alone[0]), "tree": rounded(alone[1])},
        "sentences": rows,
    }


def one_table(trained: Encoder, untrained: Encoder, vectors: Tensor) -> dict[str, Any]:
    """The word one in five uses, held out one by one."""
    words = trained.words
    texts = [text for group in given.ONE.values() for text in group]
    labels = torch.tensor([use for use, group in enumerate(given.ONE.values()) for _ in group])

    def mixed(text: str) -> Tensor:
        ids = words([text])[0, 1:-1]
        x = vectors[ids]
        asking = trained.place(text, "one") - 1
        return ((x @ x[asking]).softmax(0) @ x)[None]

    def right(rows: Tensor) -> list[int]:
        """Whose nearest centre is that of its use? Shape: (layers, 30, d) -> layers counts."""
        rows = F.normalize(rows, dim=-1)
        found = torch.zeros(len(rows), dtype=torch.long)
        for i, label in enumerate(labels):
            kept = torch.arange(len(labels)) != i
            centres = torch.stack([rows[:, kept & (labels == u)].mean(1) for u in range(5)], 1)
            nearest = F.cosine_similarity(rows[:, i, None], centres, dim=-1).argmax(1)
            found += nearest == label
        return [int(n) for n in found]

    def rows_of(encoder: Encoder) -> Tensor:
        return torch.stack(
            [encoder.states(text)[:, encoder.place(text, "one")] for text in texts], 1
        )

    rows = F.normalize(rows_of(trained), dim=-1)
    target = trained.states(given.JOURNEY)[:, trained.place(given.JOURNEY, "one")]
    centres = torch.stack([rows[:, labels == use].mean(1) for use in range(5)], 1)
    return {
        "chapters": [2],
        "what": (
            "The word one: 30 sentences, five uses. Its cosine in the sentence of the journey with "
            "the mean of each use, after 0 to 6 layers; and for how many of the 30 the nearest "
            "mean of the others is that of its own use, with the controls."
        ),
        "from": "MiniLM",
        "uses": list(given.ONE),
        "sentences": texts,
        "target": given.JOURNEY,
        "cosine_by_layer": rounded(F.cosine_similarity(target[:, None], centres, dim=-1)),
        "right_of_30": right(rows),
        "untrained_right_of_30": right(rows_of(untrained)),
        "static_mixture_right_of_30": right(torch.stack([mixed(text) for text in texts], 1))[0],
    }
