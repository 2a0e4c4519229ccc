"""Every function of attention under the transforms of torch.func: what a loop gives."""

from functools import partial

import pytest
import torch
from samples import D_K, D_MODEL, H, L, S, assert_same, filled, randn
from torch.func import functional_call, grad, hessian, jvp, vmap

from attention_core import (
    AdditiveAttention,
    MultiHeadAttention,
    attention_weights,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_core.alternatives import local_attention
from attention_core.blockwise import blockwise_attention, mixture, summarize

N, D_V = 4, 13
Q, K, V = (randn(N, H, *shape, seed=i) for i, shape in enumerate([(L, D_K), (S, D_K), (S, D_V)]))
ALLOWED = torch.rand(N, H, L, S, generator=torch.Generator().manual_seed(3)) < 0.6
ALLOWED[0, :, 0] = False  # some queries may attend to nothing
ALLOWED[1, 2, 3] = False

FUNCTIONS = {
    "explicit": scaled_dot_product_attention,
    "softmax": lambda q, k, v, m=None: masked_softmax(q @ k.mT / D_K**0.5, m) @ v,
    "weights": lambda q, k, v, m=None: attention_weights(q, k, m) @ v,
    "blockwise": partial(blockwise_attention, block_size=3),
    "one block": partial(blockwise_attention, block_size=S),
    "summaries": lambda q, k, v, m=None: mixture(summarize(q, k, v, m)),
}
every_function = pytest.mark.parametrize("name", FUNCTIONS)
# The place of the mapped axis in q, k, v and the mask; None for an argument without one.
AXES = [
    (None, None, None, 0),
    (None, None, None, -1),
    (0, None, None, None),
    (None, 0, None, 0),
    (None, None, 1, None),
    (0, 0, 0, 0),
    (1, 2, -1, 2),
]


def arguments(axes):
    """The mapped arguments with their axis at its place; of the others the first example."""
    stacked = Q, K, V, ALLOWED
    return [
        x[0] if axis is None else x.movedim(0, axis) for x, axis in zip(stacked, axes, strict=True)
    ]


def looped(function, axes):
    given = arguments(axes)
    return torch.stack(
        [
            function(
                *(x if a is None else x.select(a, n) for x, a in zip(given, axes, strict=True))
            )
            for n in range(N)
        ]
    )


@every_function
@pytest.mark.parametrize("axes", AXES)
def test_vmap_gives_what_a_loop_gives(name, axes):
    function = FUNCTIONS[name]
    assert_same(vmap(function, in_dims=axes)(*arguments(axes)), looped(function, axes))


@every_function
@pytest.mark.parametrize("axes", AXES)
def test_gradients_go_through_vmap(name, axes):
    results = []
    for run in (vmap(FUNCTIONS[name], in_dims=axes), None):
        given = [x.clone().requires_grad_(x.is_floating_point()) for x in arguments(axes)]
        if run is None:
            parts = [
                FUNCTIONS["explicit"](
                    *(x if a is None else x.select(a, n) for x, a in zip(given, axes, strict=True))
                )
                for n in range(N)
            ]
            output = torch.stack(parts)
        else:
            output = run(*given)
        results.append(torch.autograd.grad((output * randn(*output.shape)).sum(), given[:3]))
    assert_same(*results)


@every_function
def test_gradients_for_each_example_are_those_of_a_loop(name):
    def loss(q, k, v, m):
        return FUNCTIONS[name](q, k, v, m).square().sum()

    each = vmap(grad(loss, argnums=(0, 1, 2)))(Q, K, V, ALLOWED)
    shared = vmap(grad(loss, argnums=(0, 1, 2)), in_dims=(None, None, None, 0))
    for_masks = shared(Q[0], K[0], V[0], ALLOWED)
    for n in range(N):
        for ours, x in ((each, (Q[n], K[n], V[n])), (for_masks, (Q[0], K[0], V[0]))):
            leaves = [t.clone().requires_grad_() for t in x]
            output = scaled_dot_product_attention(*leaves, ALLOWED[n])
            expected = torch.autograd.grad(output.square().sum(), leaves)
            assert_same([t[n] for t in ours], list(expected))


@every_function
def test_vmap_inside_of_vmap_and_of_grad(name):
    function = FUNCTIONS[name]
    heads = vmap(vmap(function))(Q, K, V, ALLOWED)
    assert_same(heads, scaled_dot_product_attention(Q, K, V, ALLOWED))

    def loss(q):
        return vmap(function)(q, K, V, ALLOWED).square().sum()

    leaf = Q.clone().requires_grad_()
    scaled_dot_product_attention(leaf, K, V, ALLOWED).square().sum().backward()
    assert_same(grad(loss)(Q), leaf.grad)


# Torch itself compiles its forward derivatives with TorchScript, and warns of that.
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
@pytest.mark.parametrize("name", ["explicit", "softmax", "weights", "summaries"])
def test_forward_and_second_derivatives_agree_with_finite_differences(name):
    q, k, v, m = Q[1, 2], K[1, 2], V[1, 2, :, :2], ALLOWED[1, 2]
    direction, step = randn(L, D_K, seed=8), 1e-6

    def function(x):
        return FUNCTIONS[name](x, k, v, m)

    _, tangent = jvp(function, (q,), (direction,))
    differences = (function(q + step * direction) - function(q - step * direction)) / (2 * step)
    torch.testing.assert_close(tangent, differences, rtol=1e-6, atol=1e-8)

    def loss(x):
        return function(x).square().sum()

    along = torch.einsum("ijkl,kl->ij", hessian(loss)(q), direction)
    slopes = [grad(loss)(q + sign * step * direction) for sign in (1, -1)]
    torch.testing.assert_close(along, (slopes[0] - slopes[1]) / (2 * step), rtol=1e-5, atol=1e-7)


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@pytest.mark.parametrize("radius", [0, 2, 9])
def test_local_attention_under_vmap_and_grad(radius):
    x = Q, K[:, :, :L], V[:, :, :L]
    expected = local_attention(*x, radius)
    assert_same(vmap(partial(local_attention, radius=radius))(*x), expected)

    def loss(*x):
        return local_attention(*x, radius).square().sum()

    leaves = [t.clone().requires_grad_() for t in x]
    loss(*leaves).backward()
    assert_same(list(vmap(grad(loss, argnums=(0, 1, 2)))(*x)), [t.grad for t in leaves])


@pytest.mark.parametrize("name", ["multi-head", "multi-head in blocks", "additive"])
def test_modules_take_a_mapped_mask_and_give_gradients_for_each_example(name):
    if name == "additive":
        module, allowed = AdditiveAttention(D_MODEL, D_MODEL, 7), ALLOWED[:, 0]
    else:
        module, allowed = MultiHeadAttention(D_MODEL, H), ALLOWED.unsqueeze(1)
        if name == "multi-head in blocks":
            module.attention = partial(blockwise_attention, block_size=2)
    filled(module)
    x, memory = randn(1, L, D_MODEL), randn(1, S, D_MODEL, seed=1)
    loop = torch.stack([module(x, memory, memory, m) for m in allowed])
    assert_same(vmap(lambda m: module(x, memory, memory, m))(allowed), loop)

    def loss(parameters, m):
        return functional_call(module, parameters, (x, memory, memory, m)).square().sum()

    parameters = {n: p.detach() for n, p in module.named_parameters()}
    each = vmap(grad(loss), in_dims=(None, 0))(parameters, allowed)
    for i, m in enumerate(allowed):
        module.zero_grad()
        module(x, memory, memory, m).square().sum().backward()
        assert_same(
            {n: g[i] for n, g in each.items()}, {n: p.grad for n, p in module.named_parameters()}
        )


def test_padding_masks_may_be_made_under_vmap():
    ids = torch.tensor([[[5, 6, 0], [7, 0, 0]], [[1, 1, 1], [0, 0, 1]]])
    assert torch.equal(
        vmap(lambda x: padding_mask(x, 0))(ids), torch.stack([padding_mask(x, 0) for x in ids])
    )


# (Torch does not trace the vmap rule of an autograd.Function, which the blocks have.)
@pytest.mark.parametrize("name", ["explicit", "softmax", "weights", "summaries"])
def test_vmap_compiles_without_a_graph_break(name):
    def mapped(m):
        return vmap(lambda one: FUNCTIONS[name](Q[0], K[0], V[0], one))(m)

    torch.compiler.reset()
    compiled = torch.compile(mapped, fullgraph=True, backend="eager")
    assert_same(compiled(ALLOWED), mapped(ALLOWED))
