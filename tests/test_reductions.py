"""Reductions, scans, sorting and softmax against PyTorch, over shapes, strides and types; and what they promise."""

import itertools
import math

import numpy as np
import pytest

import flambeau as torch

reference = pytest.importorskip("torch")

SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4), (40, 70), (3, 1, 130), (5, 0, 2), (9, 2100)]
LAYOUTS = ["contiguous", "transposed", "strided", "expanded"]
FLOATS = ["float32", "float64", "float16", "bfloat16"]
REDUCTIONS = ["sum", "mean", "amax", "amin", "var", "std", "logsumexp"]


def ours(tensor):
    if tensor.dtype == reference.bfloat16:
        return torch.from_numpy(tensor.float().numpy()).to(torch.bfloat16)
    return torch.from_numpy(tensor.numpy())


def laid_out(shape, layout, dtype="float32"):
    """A tensor of the shape in both libraries."""
    base = reference.randn(tuple(2 * size for size in shape)).to(getattr(reference, dtype))
    if layout == "contiguous":
        base = base[tuple(slice(0, size) for size in shape)].contiguous()
        return base, ours(base)
    if layout == "expanded":
        row = base[tuple(slice(0, 1 if i == 0 else size) for i, size in enumerate(shape))].contiguous()
        return row.expand(shape), ours(row).expand(shape)
    mine = ours(base)
    if layout == "transposed":
        base, mine = base.movedim(0, -1) if shape else base, mine.movedim(0, -1) if shape else mine
        cut = tuple(slice(0, size) for size in shape[1:] + shape[:1])
        return base[cut], mine[cut]
    cut = tuple(slice(size % 2, 2 * size, 2) for size in shape)
    return base[cut], mine[cut]


def same(mine, theirs, tolerance=1e-5):
    assert tuple(mine.shape) == tuple(theirs.shape)
    assert str(mine.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    if theirs.dtype in (reference.float16, reference.bfloat16):
        mine, theirs, tolerance = mine.float(), theirs.float(), 2e-2
    np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance)


def dims_of(shape):
    every = range(len(shape))
    return [dims for count in range(1, len(shape) + 1) for dims in itertools.combinations(every, count)]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.filterwarnings("ignore")
def test_reduces_any_dimensions_of_any_layout(name, layout):
    for shape in SHAPES:
        if 0 in shape and name in ("amax", "amin"):
            continue
        theirs, mine = laid_out(shape, layout)
        for dims, keepdim in itertools.product(dims_of(theirs.shape), (False, True)):
            same(getattr(mine, name)(dims, keepdim=keepdim), getattr(theirs, name)(dims, keepdim=keepdim))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int32", "bool"])
def test_reduces_every_type(dtype):
    theirs = reference.randint(0, 3, (33, 65)).to(getattr(reference, dtype))
    mine = ours(theirs)
    for dim in (0, 1):
        for name in ("sum", "prod", "any", "all", "amax", "count_nonzero", "cumsum", "cumprod"):
            same(getattr(mine, name)(dim), getattr(theirs, name)(dim))


@pytest.mark.parametrize("size", [10, 1000, 2_000_000])
def test_sums_are_as_exact_as_their_type_shows(size):
    values = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    exact = math.fsum(values.tolist())
    bound = 1e-7 * np.abs(values).sum() ** 0.5 + abs(exact) * 1e-7
    assert abs(torch.from_numpy(values).sum().item() - exact) <= bound


@pytest.mark.parametrize("call", [
    lambda x: x.sum(), lambda x: x.sum(0), lambda x: x.var(), lambda x: x.softmax(0), lambda x: x.norm(),
    lambda x: x.double().mean(1),
])  # fmt: skip
def test_bits_do_not_depend_on_threads(call):
    x, threads = torch.randn(700, 900), torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            results.append(call(x).numpy().tobytes())
    finally:
        torch.set_num_threads(threads)
    assert len(set(results)) == 1


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", [(5,), (3, 7), (40, 100), (2, 3, 70, 9), (0, 3), (3, 0), ()])
def test_softmax_and_its_gradient(name, shape):
    for dim, dtype in itertools.product(range(max(1, len(shape))), FLOATS):
        theirs = reference.randn(shape).to(getattr(reference, dtype)).requires_grad_()
        mine = ours(theirs.detach()).requires_grad_()
        same(getattr(mine, name)(dim), getattr(theirs, name)(dim))
        weights = reference.randn(shape).to(theirs.dtype)
        getattr(theirs, name)(dim).backward(weights)
        getattr(mine, name)(dim).backward(ours(weights))
        same(mine.grad, theirs.grad)


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("size", [1, 5, 50, 3000])
def test_sort_is_stable_and_puts_nan_last(dtype, size):
    theirs = reference.randint(-9, 9, (4, size)).to(getattr(reference, dtype))
    if theirs.is_floating_point():
        theirs[1, ::3] = math.nan
    mine = ours(theirs)
    for dim, descending in itertools.product((0, 1), (False, True)):
        expected = theirs.sort(dim=dim, descending=descending, stable=True)
        found = mine.sort(dim, descending=descending)
        same(found.values, expected.values)
        same(found.indices, expected.indices)


def test_sort_of_wide_and_narrow_integers():
    for high in (100, 2**62):
        theirs = reference.randint(-high, high, (5000,))
        same(ours(theirs).sort().values, theirs.sort().values)
        same(ours(theirs).unique(), theirs.unique())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_extremes_and_their_places(layout):
    for shape in ((7,), (40, 70), (2, 3, 4), (9, 2100)):
        theirs, mine = laid_out(shape, layout)
        for dim in range(len(shape)):
            if theirs.stride(dim) == 0:  # every place is as good as the first, which ours gives
                assert not mine.argmax(dim).any()
                continue
            same(mine.max(dim).indices, theirs.max(dim).indices)
            same(mine.argmin(dim), theirs.argmin(dim))
            same(mine.median(dim).values, theirs.median(dim).values)
            same(mine.topk(2, dim).values, theirs.topk(2, dim).values)


def test_variance_of_values_far_from_zero():
    x = torch.randn(300, 400, dtype=torch.float64)
    for dim in (0, 1, (0, 1)):
        assert torch.allclose((x + 1e9).var(dim), x.var(dim), rtol=1e-5)
    shifted = (x.float() + 4096).double()
    assert torch.allclose(shifted.float().var(0).double(), shifted.var(0), rtol=1e-5)


def test_products_with_zeros_have_derivatives_of_any_order():
    for zeros in (0, 1, 2):
        x = torch.tensor([0.0] * zeros + [2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda t: t.prod(), x)
        assert torch.autograd.gradgradcheck(lambda t: t.prod(), x)
        assert torch.autograd.gradcheck(lambda t: t.cumprod(0), x)
        assert torch.autograd.gradgradcheck(lambda t: t.cumprod(0), x)
        assert torch.autograd.gradgradcheck(lambda t: t.logcumsumexp(0), x)


def test_distances_of_close_and_of_large_points():
    a = torch.tensor([[1e4, 1.0], [1e4, 1.5]])
    assert torch.cdist(a, a).tolist() == [[0.0, 0.5], [0.5, 0.0]]
    large = torch.tensor([[3e30, 4e30]])
    assert torch.cdist(large, torch.zeros(1, 2)).item() == pytest.approx(5e30)
    assert torch.linalg.vector_norm(torch.tensor([3e200, 4e200], dtype=torch.float64)).item() == pytest.approx(5e200)


@pytest.mark.parametrize("call", [
    lambda t: t.zeros(3).sum(1), lambda t: t.zeros(2, 2).sum((0, 0)), lambda t: t.zeros(0).max(),
    lambda t: t.zeros(2, 0).amax(1),
    lambda t: t.zeros(3).topk(4), lambda t: t.zeros(3).kthvalue(0), lambda t: t.ones(3, dtype=t.int64).mean(),
    lambda t: t.quantile(t.zeros(3), 2.0), lambda t: t.bincount(t.tensor([-1])), lambda t: t.zeros(3).softmax(1),
    lambda t: t.searchsorted(t.zeros(2, 3), t.zeros(3, 3)), lambda t: t.cdist(t.zeros(2, 3), t.zeros(2, 4)),
])  # fmt: skip
def test_refuses_as_pytorch_does(call):
    with pytest.raises((RuntimeError, IndexError)) as theirs:
        call(reference)
    with pytest.raises(theirs.type):
        call(torch)
