"""Write attention_core/data/published.json: published numbers that the chapters show.

    python tools/published_tables.py

It needs the weights (requirements-real.txt). A test makes the tables again and compares them.
"layer.head" counts both from 0. "Untrained" is the same machine with random weights; for
bark and one, only its layers are random.
"""

import json
from pathlib import Path
from typing import Any

from published_heads import (
    journey_table,
    one_face_table,
    positions_table,
    rates_table,
    seven_heads_table,
    stations_table,
)
from published_measures import Encoder
from published_next_words import capitals_table, subjects_table
from published_words import bark_table, lengths_table, one_table, words_table

from attention_core.published import (
    SentenceEncoder,
    load_minilm,
    load_smollm2,
    minilm_folder,
    read_safetensors,
    untrained_minilm,
)
from attention_core.published.files import SHA256, SMOLLM2_FILE

FILE = Path(__file__).parents[1] / "attention_core" / "data" / "published.json"
ABOUT = (
    "Numbers computed from published weights by tools/published_tables.py. The models are under "
    "Apache-2.0 (LICENSE-APACHE-2.0.txt). What was changed: some of their numbers were taken "
    "out, or new ones computed from them. The sentences are the book's own; "
    "those that a table does not hold stand in tools/published_sentences.py."
)
SOURCES = {
    "MiniLM": {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "file": "model.safetensors",
        "sha256": SHA256["model.safetensors"],
    },
    "SmolLM2": {
        "model": "HuggingFaceTB/SmolLM2-135M-Instruct, in 4 bits",
        "licence": "Apache-2.0",
        "file": SMOLLM2_FILE,
        "sha256": SHA256[SMOLLM2_FILE],
    },
}
COMPACT = ",", ":"


def with_random_layers(net: SentenceEncoder) -> SentenceEncoder:
    """Keep embedding and positions of a model, and make its layers random."""
    control = untrained_minilm()
    kept = {k: x for k, x in net.state_dict().items() if not k.startswith("encoder.")}
    control.load_state_dict(control.state_dict() | kept, assign=True)
    return control.requires_grad_(False)


def make() -> dict[str, Any]:
    """Compute all tables."""
    raw = read_safetensors(minilm_folder() / "model.safetensors")
    vectors = raw["embeddings.word_embeddings.weight"].double()
    net, words = load_minilm()
    trained, untrained = Encoder(net, words), Encoder(untrained_minilm(), words)
    random_layers = Encoder(with_random_layers(net), words)
    model, pairs = load_smollm2()
    return {
        "words": words_table(vectors, words),
        "lengths": lengths_table(vectors, words, model.embedding.weight, pairs),
        "bark": bark_table(trained, random_layers, vectors, words),
        "one": one_table(trained, random_layers, vectors),
        "journey": journey_table(trained, untrained),
        "one_face": one_face_table(trained),
        "subjects": subjects_table(model, pairs),
        "seven_heads": seven_heads_table(trained, untrained),
        "rates": rates_table(trained, untrained, vectors),
        "positions": positions_table(raw["embeddings.position_embeddings.weight"].double()),
        "stations": stations_table(trained, untrained),
        "capitals": capitals_table(model, pairs),
    }


def as_text(tables: dict[str, Any]) -> str:
    """Write one table a line, so that a change shows where it is."""
    lines = [
        f"{json.dumps(name)}:{json.dumps(table, ensure_ascii=False, separators=COMPACT)}"
        for name, table in tables.items()
    ]
    return (
        f'{{"about":{json.dumps(ABOUT)},\n'
        f'"sources":{json.dumps(SOURCES, separators=COMPACT)},\n"tables":{{\n'
        + ",\n".join(lines)
        + "\n}}\n"
    )


if __name__ == "__main__":
    FILE.write_text(as_text(make()), encoding="utf-8", newline="\n")
    print(f"{FILE.name}: {FILE.stat().st_size} bytes")
