"""Random queries, keys, values and masks for the tests of the functions."""

import torch

# Sizes that are all different primes, so that a swapped axis cannot go unnoticed.
B, H, L, S, D_K, D_V = 2, 3, 5, 7, 11, 13
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 3e-2, torch.float16: 3e-3}
DTYPES = list(TOLERANCE)


def qkv(dtype=torch.float64, seed=0, batch=(B, H)):
    g = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(*batch, *shape, generator=g, dtype=torch.float64).to(dtype)
        for shape in [(L, D_K), (S, D_K), (S, D_V)]
    )


def random_mask(shape=(B, 1, L, S), seed=1):
    """A random bool mask in which the first query may attend to nothing."""
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[..., 0, :] = False
    return mask
