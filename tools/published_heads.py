"""Tables of published numbers about MiniLM's heads, its positions and its layers."""

from collections import Counter, defaultdict
from typing import Any

import published_sentences as given
import torch
import torch.nn.functional as F
from published_measures import NO_WORDS, Encoder, exact, rounded
from torch import Tensor

from attention_core.masks import padding_mask

SEVEN = [(0, 2), (1, 8), (1, 3), (2, 9), (3, 1), (2, 0), (4, 5)]
Case = tuple[str, int, int]  # a text, the place that asks, the place that is looked for


def journey_table(trained: Encoder, untrained: Encoder) -> dict[str, Any]:
    attention: Any = trained.net.encoder.layers[3].self_attention
    x = trained.states(given.JOURNEY)[3]
    q, k, v = (
        projection(x).view(len(x), 12, 32)[:, 1]
        for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    return {
        "chapters": [3, 4, 6, 8],
        "what": (
            "The sentence of the journey in head 3.1: queries, keys and values (width 32), and its "
            "map softmax(QKᵀ/√32); and the map of head 0.2. alike: the mean cosine of two words "
            "after 0 to 6 layers, and without residuals."
        ),
        "from": "MiniLM",
        "tokens": trained.words.tokens(given.JOURNEY),
        "q": exact(q),
        "k": exact(k),
        "v": exact(v),
        "map_3.1": exact(trained.maps(given.JOURNEY)[3, 1]),
        "map_0.2": exact(trained.maps(given.JOURNEY)[0, 2]),
        "alike": {
            "whole": alike(trained),
            "none": alike(trained, attention=0, feed_forward=0),
            "none at attention": alike(trained, attention=0),
            "none at feed-forward": alike(trained, feed_forward=0),
            "untrained, none": alike(untrained, attention=0, feed_forward=0),
        },
    }


def alike(encoder: Encoder, *, attention: float = 1, feed_forward: float = 1) -> list[float]:
    """The mean cosine of two words of the journey after 0 to 6 layers. A residual may be 0."""
    text = given.JOURNEY
    words = [i for i, t in enumerate(encoder.words.tokens(text)) if t not in NO_WORDS]
    ids = encoder.words([text])
    mask = padding_mask(ids, 0)
    found = [encoder.net.embed(ids)]
    layers: Any = encoder.net.encoder.layers
    for layer in layers:
        x = found[-1]
        x = layer.self_attention_norm(attention * x + layer.self_attention(x, x, x, mask))
        found.append(layer.feed_forward_norm(feed_forward * x + layer.feed_forward(x)))
    rows = F.normalize(torch.cat(found)[:, words], dim=-1)
    cosines = rows @ rows.mT
    pairs = ~torch.eye(len(words), dtype=torch.bool)
    means: list[float] = rounded(cosines[:, pairs].mean(1), 2)["numbers"]
    return means


def one_face_table(trained: Encoder) -> dict[str, Any]:
    """Head 3.1 finds the object of a verb; with one matrix for two jobs it does not."""
    attention: Any = trained.net.encoder.layers[3].self_attention

    def faces(x: Tensor) -> dict[str, Tensor]:
        q, k = (
            projection(x).view(len(x), 12, 32)[:, 1]
            for projection in (attention.q_proj, attention.k_proj)
        )
        return {
            "queries and keys": q @ k.T / 32**0.5,
            "queries for both": q @ q.T / 32**0.5,
            "keys for both": k @ k.T / 32**0.5,
            "exchanged": k @ q.T / 32**0.5,
            "no weights": x @ x.T / 384**0.5,
        }

    hits: Counter[str] = Counter()
    weights: dict[str, float] = defaultdict(float)
    for text, verb, noun in given.OBJECTS:
        asking, wanted = trained.place(text, verb), trained.place(text, noun)
        others = trained.other_words(text, asking)
        for name, scores in faces(trained.states(text)[3]).items():
            row = scores[asking].softmax(-1)
            hits[name] += others[int(row[others].argmax())] == wanted
            weights[name] += float(row[wanted]) / len(given.OBJECTS)
    return {
        "chapters": [3],
        "what": (
            "In head 3.1: in how many sentences the verb's largest weight among the other words "
            "falls on its object, and the object's mean weight. With one matrix for queries and "
            "keys, with both exchanged, and with X·Xᵀ/√384 of the same rows."
        ),
        "from": "MiniLM",
        "sentences": [list(case) for case in given.OBJECTS],
        "of": len(given.OBJECTS),
        "hits": dict(hits),
        "mean_weight": {name: rounded(value) for name, value in weights.items()},
    }


def seven_heads_table(trained: Encoder, untrained: Encoder) -> dict[str, Any]:
    maps, control = trained.maps(given.QUEEN), untrained.maps(given.QUEEN)
    layers, heads = [layer for layer, _ in SEVEN], [head for _, head in SEVEN]
    return {
        "chapters": [6],
        "what": (
            "Seven heads on one sentence, and those of the untrained machine; the least and the "
            "largest weight in its 72 maps."
        ),
        "from": "MiniLM",
        "tokens": trained.words.tokens(given.QUEEN),
        "heads": [f"{layer}.{head}" for layer, head in SEVEN],
        "maps": exact(maps[layers, heads]),
        "untrained": exact(control[layers, heads]),
        "untrained_least": rounded(control.min()),
        "untrained_largest": rounded(control.max()),
    }


def rates_table(trained: Encoder, untrained: Encoder, vectors: Tensor) -> dict[str, Any]:
    """How often each of the seven heads looks where it should, on other sentences."""
    texts = list(dict.fromkeys(text for text, *_ in given.OBJECTS + given.TWICE))
    jobs = {
        "0.2": ("previous token", *_neighbours(trained, texts, -1)),
        "1.8": ("next token", *_neighbours(trained, texts, 1)),
        "1.3": ("he or she: the person", _pronouns(trained), False),
        "2.9": (
            "the same word earlier",
            [(s, trained.place(s, w, last=True), trained.place(s, w)) for s, w in given.TWICE],
            False,
        ),
        "3.1": (
            "verb: its object",
            [(s, trained.place(s, v), trained.place(s, o)) for s, v, o in given.OBJECTS],
            False,
        ),
        "2.0": (
            "object: its verb",
            [(s, trained.place(s, o), trained.place(s, v)) for s, v, o in given.OBJECTS],
            False,
        ),
        "4.5": ("[CLS]", [(s, i, 0) for s in texts for i in trained.other_words(s, -1)], True),
    }
    rows = {}
    for name, (job, cases, all_tokens) in jobs.items():
        layer, head = map(int, name.split("."))
        hits, weights = _ask(trained, cases, all_tokens)
        control, control_weights = _ask(untrained, cases, all_tokens)
        chance = sum(1 / len(_choices(trained, case, all_tokens)) for case in cases)
        rows[name] = {
            "job": job,
            "of": len(cases),
            "hits": int(hits[layer, head]),
            "mean_weight": rounded(weights[layer, head]),
            "best_other_head": int(_without(hits, layer, head).max()),
            "best_rule_of_place": _best_rule(trained, cases),
            "chance": rounded(chance, 1),
            "untrained_best_of_72": int(control.max()),
            "untrained_mean_weight": rounded(control_weights[layer, head]),
        }
    return {
        "chapters": [6],
        "what": (
            "For seven heads: for how many words the largest weight falls where the job "
            "says, and the mean weight there. For [CLS] and the neighbours, every token counts; "
            "else only the other words. Controls: the best of 71 other heads, the best rule "
            "of place (one distance, the first or last word), chance, and the best of 72 untrained "
            "heads. told: head 1.3's rows of she and he, “the king told the girl that she was "
            "tired”, then king and girl exchanged. miss: what he gives queen and king in “the "
            "queen told the king that he was tired”. static: by X·Xᵀ of static "
            "vectors, in how many of 64 the person leads the other words, and the other person."
        ),
        "from": "MiniLM",
        "heads": rows,
        "told": rounded(_told(trained)),
        "miss": rounded(_miss(trained)),
        "static": _static(trained, vectors),
    }


def _neighbours(encoder: Encoder, texts: list[str], step: int) -> tuple[list[Case], bool]:
    return [(s, i, i + step) for s in texts for i in encoder.other_words(s, -1)], True


def _pronouns(encoder: Encoder) -> list[Case]:
    """Both orders of each pair, both pronouns."""
    cases = []
    for woman, man in given.PEOPLE:
        for first, second in ((woman, man), (man, woman)):
            for pronoun, person in (("she", woman), ("he", man)):
                text = given.TOLD.format(first, second, pronoun)
                cases.append((text, encoder.place(text, pronoun), encoder.place(text, person)))
    return cases


def _told(encoder: Encoder) -> Tensor:
    """The pronoun's row in head 1.3: she and he, in both orders. Shape: (4, 12)."""
    woman, man = given.FRONT
    texts = [
        (given.TOLD.format(first, second, pronoun), pronoun)
        for first, second in ((man, woman), (woman, man))
        for pronoun in ("she", "he")
    ]
    return torch.stack([encoder.maps(s)[1, 3, encoder.place(s, p)] for s, p in texts])


def _miss(encoder: Encoder) -> Tensor:
    """What he gives the queen and the king in a sentence where the queen gets more. Shape: (2,)."""
    text = given.TOLD.format("queen", "king", "he")
    row = encoder.maps(text)[1, 3, encoder.place(text, "he")]
    return row[[encoder.place(text, "queen"), encoder.place(text, "king")]]


def _static(encoder: Encoder, vectors: Tensor) -> list[int]:
    """Count where the pronoun's product is largest with the person: of all words, of the two."""
    found = [0, 0]
    people = {name for pair in given.PEOPLE for name in pair}
    for text, asking, wanted in _pronouns(encoder):
        tokens = encoder.words.tokens(text)
        x = vectors[[encoder.words.number[token] for token in tokens]]
        products = x @ x[asking]
        others = encoder.other_words(text, asking)
        two = [i for i in others if tokens[i] in people]
        found[0] += others[int(products[others].argmax())] == wanted
        found[1] += two[int(products[two].argmax())] == wanted
    return found


def _choices(encoder: Encoder, case: Case, all_tokens: bool) -> list[int]:
    text, asking, _ = case
    if all_tokens:
        return list(range(len(encoder.words.tokens(text))))
    return encoder.other_words(text, asking)


def _ask(encoder: Encoder, cases: list[Case], all_tokens: bool) -> tuple[Tensor, Tensor]:
    """Count hits and average the weights, for all heads. Shapes: (6, 12)."""
    hits, weights = torch.zeros(6, 12), torch.zeros(6, 12, dtype=torch.float64)
    known: dict[str, Tensor] = {}
    for case in cases:
        text, asking, wanted = case
        if text not in known:
            known[text] = encoder.maps(text)
        row = known[text][:, :, asking]
        choices = _choices(encoder, case, all_tokens)
        hits += row[..., choices].argmax(-1) == choices.index(wanted)
        weights += row[..., wanted] / len(cases)
    return hits, weights


def _best_rule(encoder: Encoder, cases: list[Case]) -> int:
    """Count how often the best rule of place finds what is looked for."""
    rules: Counter[str] = Counter()
    for text, asking, wanted in cases:
        others = encoder.other_words(text, asking)
        rules[f"at distance {wanted - asking}"] += 1
        rules["first"] += wanted == others[0]
        rules["last"] += wanted == others[-1]
    return max(rules.values())


def _without(hits: Tensor, layer: int, head: int) -> Tensor:
    others = hits.clone()
    others[layer, head] = -1
    return others


def positions_table(places: Tensor) -> dict[str, Any]:
    """The learned positions, without the vector of the segment. Shape: (512, 384)."""
    rows = places[1:511]
    centred = rows - rows.mean(0)
    _, sizes, axes = torch.linalg.svd(centred, full_matrices=False)
    axes = axes[:10]
    # The sign of an axis is free: its largest number is made positive.
    largest = axes.abs().argmax(1, keepdim=True)
    axes = axes * axes.gather(1, largest).sign()
    unit = F.normalize(places[1:127], dim=1)
    products = unit @ unit.T
    shares = sizes.square() / sizes.square().sum()
    return {
        "chapters": [7],
        "what": (
            "Learned positions 1 to 510 in ten principal components, their shares of the variance, "
            "and the mean cosine of positions 1 to 126 by distance."
        ),
        "from": "MiniLM",
        "components": exact(centred @ axes.T),
        "shares": rounded(shares[:12]),
        "cosine_by_distance": rounded(
            torch.stack([products.diagonal(offset).mean() for offset in range(25)])
        ),
    }


def stations_table(trained: Encoder, untrained: Encoder) -> dict[str, Any]:
    """Attention fetches, the feed-forward sharpens."""

    def gaps(encoder: Encoder) -> Tensor:
        """Mean cosine within a sense, less that between senses. Shape: (words, 13)."""
        found = []
        for word, (first, second) in given.SENSES.items():
            texts = [*first, *second]
            rows = torch.stack([encoder.stations(s)[:, encoder.place(s, word)] for s in texts], 1)
            rows = F.normalize(rows, dim=-1)
            cosines = rows @ rows.mT
            same = torch.zeros(8, 8, dtype=torch.bool)
            same[:4, :4] = same[4:, 4:] = True
            within = cosines[:, same & ~torch.eye(8, dtype=torch.bool)].mean(1)
            found.append(within - cosines[:, ~same].mean(1))
        return torch.stack(found)

    ours, control = gaps(trained), gaps(untrained)
    grows = (ours.diff(dim=1) > 0).sum(0)
    return {
        "chapters": [9],
        "what": (
            "Twelve words with two senses, four sentences each: the word's mean cosine within a "
            "sense less that between senses, after the embedding and each attention and "
            "feed-forward; and for how many words each step enlarges it."
        ),
        "from": "MiniLM",
        "words": list(given.SENSES),
        "stations": ["embedding", *(f"{p} {i}" for i in range(6) for p in ("attention", "ff"))],
        "gap": rounded(ours.mean(0)),
        "untrained_gap": rounded(control.mean(0)),
        "grows_after_attention": grows[::2].tolist(),
        "grows_after_feed_forward": grows[1::2].tolist(),
    }
