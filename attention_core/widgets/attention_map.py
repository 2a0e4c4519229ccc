"""Show attention weights: every layer and head of a trained model, or a tensor of your own."""

from collections.abc import Sequence
from typing import Any

import torch
import traitlets
from torch import Tensor

from attention_core.dates import TARGET
from attention_core.widgets.dates_model import run_of
from attention_core.widgets.figure import LiveFigure, Numbers, Table
from attention_core.widgets.traits import CountTrait, as_tensor

SOURCE_TEXT = "24 November 2026"


def example_maps() -> list[dict[str, Any]]:
    """Return all attention weights of the package's model for one date, rounded to 3 decimals."""
    run = run_of(SOURCE_TEXT)
    source, target = list(SOURCE_TEXT), list(TARGET.decode(run.ids))
    writes, has_read = [*target, "EOS"], ["BOS", *target]

    def one(name: str, queries: list[str], keys: list[str], weights: Tensor) -> dict[str, Any]:
        return {"name": name, "queries": queries, "keys": keys, "weights": _rounded(weights)}

    return [
        one("encoder", source, source, run.encoder),
        one("decoder", writes, has_read, run.decoder),
        one("cross", writes, source, run.cross),
    ]


def _rounded(weights: Tensor) -> Any:
    def plain(x: Any) -> Any:
        return [plain(inner) for inner in x] if isinstance(x, list) else round(x, 3)

    return plain(weights.tolist())


class MapsTrait(traitlets.TraitType[Any, Any]):
    """The maps of a figure: a list of dicts with name, queries, keys and weights.

    The weights have shape (layers, H, L, S); layers and H are the same in all maps. queries is
    a list of L strings, which label the rows, and keys a list of S strings, which label the
    columns.
    """

    info_text = "a list of maps, each with name, queries, keys and weights"

    def validate(self, obj: Any, value: Any) -> list[dict[str, Any]]:
        if not isinstance(value, (list, tuple)) or not value:
            raise traitlets.TraitError(f"{self.name} must be {self.info_text}, got {value!r:.60}")
        maps = [_checked(one) for one in value]
        names = [one["name"] for one in maps]
        if len(set(names)) < len(names):
            raise traitlets.TraitError(f"each map must have its own name, got {names}")
        sizes = {_sizes(one)[:2] for one in maps}
        if len(sizes) > 1:
            raise traitlets.TraitError(
                f"all maps must have the same numbers of layers and heads, got {sorted(sizes)}"
            )
        return maps


def _checked(one: Any) -> dict[str, Any]:
    fields = {"name", "queries", "keys", "weights"}
    if not isinstance(one, dict) or one.keys() != fields:
        found = sorted(one) if isinstance(one, dict) else type(one).__name__
        raise traitlets.TraitError(f"a map must have name, queries, keys and weights, got {found}")
    name, queries, keys = one["name"], list(one["queries"]), list(one["keys"])
    if not all(isinstance(text, str) for text in (name, *queries, *keys)):
        raise traitlets.TraitError("the name, the queries and the keys of a map must be strings")
    try:
        weights = as_tensor(one["weights"])
    except TypeError as error:
        raise traitlets.TraitError(f"weights must be numbers: {error}") from None
    if weights.dim() != 4 or not weights.numel() or weights.shape[2:] != (len(queries), len(keys)):
        raise traitlets.TraitError(
            f"weights must have shape (layers, H, {len(queries)}, {len(keys)}) for "
            f"{len(queries)} queries and {len(keys)} keys, got {tuple(weights.shape)}"
        )
    if not (weights.isfinite().all() and weights.min() >= 0 and weights.max() <= 1 + 1e-9):
        raise traitlets.TraitError(
            f"weights must lie between 0 and 1, got {weights.min():g} to {weights.max():g}"
        )
    return {"name": name, "queries": queries, "keys": keys, "weights": weights.tolist()}


def _sizes(one: dict[str, Any]) -> tuple[int, int, int, int]:
    weights = one["weights"]
    return len(weights), len(weights[0]), len(one["queries"]), len(one["keys"])


class AttentionMap(LiveFigure):
    """Attention weights as lines between tokens: pick a map, a layer, a head, then a token.

    By default the figure shows the package's model for dates while it translates
    "24 November 2026". There are three maps: encoder, decoder and cross-attention. A query of
    the decoder is labelled with the character that it is about to write. Pass `weights` to
    show your own; the property `weights` returns those that are shown now.

    Args:
        weights: your own, (H, L, S), each between 0 and 1
        queries, keys: the tokens of your own weights, as strings; numbers if not given
        maps: several maps to choose from, in the form that `MapsTrait` describes
        kind: the name of the map that is shown
        layer, head: counted from 0
        side: "query" to show the weights that a query gives, "key" to show those that a key gets
        query, key: the index of the picked token, from 0; a map with fewer tokens uses its last

    >>> figure = AttentionMap(layer=1, head=1, query=5)
    >>> figure.weights.shape, figure.numbers()["row"][3]
    (torch.Size([4, 13, 16]), 0.99)
    >>> AttentionMap(torch.eye(2)[None], queries=["a", "b"]).row
    tensor([1., 0.], dtype=torch.float64)
    """

    module = "attention_map"
    heights = (514, 982)

    maps = MapsTrait().tag(sync=True)
    kind = traitlets.Unicode("cross").tag(sync=True)
    layer = CountTrait(1)
    head = CountTrait(1)
    side = traitlets.Enum(["query", "key"], "query").tag(sync=True)
    query = CountTrait(5)
    key = CountTrait(3)

    def __init__(
        self,
        weights: Any = None,
        queries: Sequence[str] | None = None,
        keys: Sequence[str] | None = None,
        **traits: Any,
    ) -> None:
        if weights is not None:
            traits = {**_single(weights, queries, keys), **traits}
        elif queries is not None or keys is not None:
            raise traitlets.TraitError("queries and keys label weights: pass weights as well")
        super().__init__(**traits)

    @traitlets.default("maps")
    def _example(self) -> list[dict[str, Any]]:
        return example_maps()

    @traitlets.validate("kind")
    def _check_kind(self, proposal: Any) -> str:
        names = [one["name"] for one in self.maps]
        if proposal["value"] not in names:
            raise traitlets.TraitError(
                f"kind must be one of {', '.join(names)}, got {proposal['value']!r}"
            )
        return str(proposal["value"])

    @traitlets.validate("layer", "head", "query", "key")
    def _check_place(self, proposal: Any) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        axis = ("layer", "head", "query", "key").index(name)
        most = max(_sizes(one)[axis] for one in self.maps)
        if value >= most:
            raise traitlets.TraitError(f"{name} must be below {most}, got {value}")
        return int(value)

    def _shown(self) -> dict[str, Any]:
        return next(one for one in self.maps if one["name"] == self.kind)

    @property
    def weights(self) -> Tensor:
        """The weights of the map and layer that are shown, (H, L, S); assign to show others."""
        return torch.tensor(self._shown()["weights"][self.layer], dtype=torch.float64)

    @weights.setter
    def weights(self, value: Any) -> None:
        shown = self._shown()
        queries, keys = shown["queries"], shown["keys"]
        if as_tensor(value).shape[1:] != (len(queries), len(keys)):
            queries = keys = None
        with self.hold_trait_notifications():
            for name, new in _single(value, queries, keys).items():
                setattr(self, name, new)

    @property
    def row(self) -> Tensor:
        """The weights that the picked query gives to the keys, (S,)."""
        weights = self.weights[self.head]
        return weights[min(self.query, len(weights) - 1)]

    @property
    def column(self) -> Tensor:
        """The weights that the picked key gets from the queries, (L,)."""
        weights = self.weights[self.head].T
        return weights[min(self.key, len(weights) - 1)]

    def numbers(self) -> Numbers:
        row, column = self.row, self.column
        # exp(entropy): this many keys with equal weights would have the same entropy.
        spread = torch.special.entr(row).sum().exp().item() if row.any() else 0.0
        return {
            "row": row.tolist(),
            "column": column.tolist(),
            "spread": spread,
            "received": column.sum().item(),
        }

    def table(self) -> Table:
        shown, weights = self._shown(), self.weights[self.head]
        rows = [
            [_visible(query), _visible(shown["keys"][int(row.argmax())]), f"{row.max():.3f}"]
            for query, row in zip(shown["queries"], weights, strict=True)
        ]
        return Table(
            f"Where each looks most ({self.kind}, layer {self.layer}, head {self.head})",
            ["query", "key", "weight"],
            rows,
        )

    def __repr__(self) -> str:
        return f"AttentionMap(kind={self.kind!r:.30}, layer={self.layer}, head={self.head})"


def _single(weights: Any, queries: Any, keys: Any) -> dict[str, Any]:
    """Return the traits that show one tensor of shape (H, L, S)."""
    try:
        tensor = as_tensor(weights)
    except TypeError as error:
        raise traitlets.TraitError(f"weights must be numbers: {error}") from None
    if tensor.dim() != 3:
        raise traitlets.TraitError(f"weights must have shape (H, L, S), got {tuple(tensor.shape)}")
    tokens = [
        [str(n) for n in range(size)] if given is None else list(given)
        for given, size in zip((queries, keys), tensor.shape[1:], strict=True)
    ]
    own = {"name": "weights", "queries": tokens[0], "keys": tokens[1], "weights": tensor[None]}
    first = {"layer": 0, "head": 0, "side": "query", "query": 0, "key": 0}
    return {"maps": [own], "kind": "weights", **first}


def _visible(token: str) -> str:
    return "␣" if token == " " else token
