"""From ids to vectors: one dtype and one error message for all models."""

import torch
from torch import Tensor, nn

from attention_core import _checks


def to_int64(name: str, ids: Tensor) -> Tensor:
    """Check ids of any integer dtype and widen them: an embedding takes 32 bits or more.

    Raises:
        ValueError: ids do not have shape (B, length)
        TypeError: ids is not a tensor of integers
    """
    _checks.check_ids(name, ids)
    return ids.long()


def embed(name: str, ids: Tensor, embedding: nn.Embedding) -> Tensor:
    """Look the ids up, and name one that is not in the vocabulary.

    Nothing is checked beforehand: reading the values of ids would make a GPU wait, and
    would break a compiled graph. On the CPU torch refuses a wrong id while it looks it up;
    a GPU stops with its own assertion.

    Raises:
        ValueError: on the CPU, an id is negative or not below the size of the vocabulary
    """
    vectors: Tensor
    if torch.compiler.is_compiling():  # which cannot follow the other way out
        vectors = embedding(ids)
        return vectors
    try:
        vectors = embedding(ids)
    except IndexError:
        _checks.check_vocabulary(name, ids, embedding.num_embeddings)
        raise
    return vectors
