"""Look up embeddings, with one dtype of ids and one error message for all models."""

import torch
from torch import Tensor, nn

from attention_core import _checks


def to_int64(name: str, ids: Tensor) -> Tensor:
    """Check ids of any integer dtype, and return them as int64, which an embedding takes.

    Raises:
        ValueError: ids do not have shape (B, length)
        TypeError: ids is not a tensor of integers
    """
    _checks.check_ids(name, ids)
    return ids.long()


def embed(name: str, ids: Tensor, embedding: nn.Embedding) -> Tensor:
    """Look up the ids; if one is not in the vocabulary, the error names it.

    Ids are not checked beforehand, because reading their values would force a GPU to
    synchronise and would break a compiled graph. On the CPU torch raises an error during
    the look-up; on a GPU torch's own assertion fails.

    Raises:
        ValueError: on the CPU, an id is negative or not below the size of the vocabulary
    """
    vectors: Tensor
    if torch.compiler.is_compiling():  # the compiler cannot trace the except branch
        vectors = embedding(ids)
        return vectors
    try:
        vectors = embedding(ids)
    except IndexError:
        _checks.check_vocabulary(name, ids, embedding.num_embeddings)
        raise
    return vectors
