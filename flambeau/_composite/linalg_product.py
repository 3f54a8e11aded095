"""Products and powers of matrices and vectors."""

from __future__ import annotations

import math
import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op("linalg.matrix_power(Tensor A, int n) -> Tensor", out=True)
def matrix_power(A, n):
    """A @ A @ ... n times; for n = 0 the identity, for negative n of the inverse.

    >>> torch.linalg.matrix_power(torch.tensor([[2.0]]), 3)
    tensor([[8.]])
    """
    name = "linalg.matrix_power"
    if A.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if A.size(-1) != A.size(-2):
        raise RuntimeError(f"{name}: A must be batches of square matrices, got {list(A.shape)}")
    if n == 0:
        # tril takes nothing from A but its place in the graph.
        return root.eye(A.size(-1), dtype=A.dtype, device=A.device) + A.tril(-A.size(-1))
    base = root.linalg.inv(A) if n < 0 else A
    n, result = abs(n), None
    while True:
        if n & 1:
            result = base if result is None else result @ base
        n >>= 1
        if not n:
            return result.clone() if result is A else result
        base = base @ base


@op("linalg.multi_dot(Tensor[] tensors) -> Tensor", out=True)
def multi_dot(tensors):
    """The product of at least two matrices (the first and last may be vectors), in the order that costs least."""
    name = "multi_dot"
    if len(tensors) < 2:
        raise RuntimeError(f"{name}(): expected at least 2 tensors but got {len(tensors)}")
    factors = list(tensors)
    for index, factor in enumerate(factors):
        end = index in (0, len(factors) - 1)
        if factor.dim() != 2 and not (end and factor.dim() == 1):
            raise RuntimeError(
                f"{name}(): tensor {index} must be {'1D or 2D' if end else '2D'} but got {factor.dim()}D"
            )
        if factor.dtype != factors[0].dtype:
            raise RuntimeError(
                f"{name}(): all tensors must have the same dtype, got {factors[0].dtype} and {factor.dtype}"
            )
    from_row, to_column = factors[0].dim() == 1, factors[-1].dim() == 1
    if from_row:
        factors[0] = factors[0].unsqueeze(0)
    if to_column:
        factors[-1] = factors[-1].unsqueeze(-1)
    for index in range(1, len(factors)):
        if factors[index - 1].size(1) != factors[index].size(0):
            raise RuntimeError(
                f"{name}(): tensors {index - 1} and {index} with shapes {list(factors[index - 1].shape)} and"
                f" {list(factors[index].shape)} cannot be multiplied"
            )
    result = _multiply(
        factors, _best_splits([factor.size(0) for factor in factors] + [factors[-1].size(1)]), 0, len(factors) - 1
    )
    if from_row:
        result = result.squeeze(0)
    return result.squeeze(-1) if to_column else result


def _best_splits(sizes):
    """Where to split each run of factors, by dynamic programming over the lengths of runs."""
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            cost[first][last], split[first][last] = min(
                (
                    cost[first][middle] + cost[middle + 1][last] + sizes[first] * sizes[middle + 1] * sizes[last + 1],
                    middle,
                )
                for middle in range(first, last)
            )
    return split


def _multiply(factors, split, first, last):
    if first == last:
        return factors[first]
    middle = split[first][last]
    return _multiply(factors, split, first, middle) @ _multiply(factors, split, middle + 1, last)


@op("linalg.matrix_exp(Tensor A) -> Tensor")
def matrix_exp(A):
    """The exponential of square matrices: the sum of A^k / k!.

    >>> torch.linalg.matrix_exp(torch.zeros(1, 1))
    tensor([[1.]])
    """
    name = "linalg.matrix_exp"
    if not (A.is_floating_point() or A.is_complex()):
        raise RuntimeError(f"{name}: expected a floating point or complex tensor, got {A.dtype}")
    if A.dim() < 2 or A.size(-1) != A.size(-2):
        raise RuntimeError(f"{name}: A must be batches of square matrices, got shape {list(A.shape)}")
    if A.numel() == 0:
        return A.clone()
    # Halve until the norm is at most 1, sum a polynomial that is exact there, square back.
    size = A.detach().abs().sum(-2).amax(-1).double()
    finite = root.where(size.isfinite(), size, 0.0)
    halvings = finite.clamp(min=1e-300).log2().ceil().clamp(min=0)
    result = _exponential_series(A * root.pow(2.0, -halvings).to(A.abs().dtype)[..., None, None])
    for step in range(int(halvings.max())):
        more = (halvings > step)[..., None, None]
        result = root.where(more, result @ result, result)
    return result


def _exponential_series(A):
    """sum of A^k / k! for k up to 18, with powers up to A^4 kept and the rest by Horner's rule in A^4."""
    powers = [root.eye(A.size(-1), dtype=A.dtype, device=A.device).expand(A.shape), A, A @ A]
    powers.append(powers[2] @ A)
    fourth = powers[2] @ powers[2]
    result = None
    for block in (16, 12, 8, 4, 0):
        part = sum(powers[k] / math.factorial(block + k) for k in range(4) if block + k <= 18)
        result = part if result is None else result @ fourth + part
    return result


@op("linalg.vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", out=True)
def vecdot(x, y, dim):
    """The dot products of x (conjugated) and y along a dimension.

    >>> torch.linalg.vecdot(torch.ones(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """
    if x.dtype != y.dtype:
        raise RuntimeError(f"linalg.vecdot: Expected x and y to have the same dtype, got {x.dtype} and {y.dtype}")
    if x.dim() and y.dim() and dim == -1:
        shape = root.broadcast_shapes(x.shape, y.shape)
        if shape == x.shape == y.shape and (x.is_floating_point() or x.is_complex()):
            return (x.conj().unsqueeze(-2) @ y.unsqueeze(-1)).squeeze(-1).squeeze(-1)
    return (x.conj() * y).sum(dim, dtype=x.dtype)


@op("linalg.cross(Tensor input, Tensor other, *, int dim=-1) -> Tensor", out=True)
def cross(input, other, dim):
    """The cross product of vectors of 3 elements along a dimension.

    >>> torch.linalg.cross(torch.tensor([1.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    if input.dim() != other.dim():
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, got {input.dim()} and {other.dim()}"
        )
    if input.size(dim) != 3 or other.size(dim) != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3, got {input.size(dim)} and {other.size(dim)}"
        )
    a, b = root.broadcast_tensors(input, other)
    first = a.new_tensor([1, 2, 0], dtype=root.int64)
    second = a.new_tensor([2, 0, 1], dtype=root.int64)
    at = a.index_select(dim, first) * b.index_select(dim, second)
    return at - a.index_select(dim, second) * b.index_select(dim, first)


@op("linalg.diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
def diagonal(A, offset, dim1, dim2):
    """A view of the diagonals of matrices, along a new last dimension."""
    return A.diagonal(offset, dim1, dim2)


@op("linalg.vander(Tensor x, *, int? N=None) -> Tensor")
def vander(x, N):
    """The matrices with rows 1, x, x^2, ... up to N columns (default: as many as x has elements).

    >>> torch.linalg.vander(torch.tensor([2, 3]))
    tensor([[1, 2],
            [1, 3]])
    """
    if str(x.dtype).endswith("bool"):
        raise RuntimeError("torch.linalg.vander: expected a numeric tensor, got torch.bool")
    if x.dim() == 0 and N is None:
        raise RuntimeError("torch.linalg.vander: Expected dim(x) > 0")
    count = x.size(-1) if N is None else N
    if count <= 1:
        raise RuntimeError(f"torch.linalg.vander: N must be greater than 1, got {count}")
    x = x.reshape(1) if x.dim() == 0 else x
    powers = x.unsqueeze(-1).expand(*x.shape, count - 1).cumprod(-1)
    ones = root.ones(*x.shape, 1, dtype=powers.dtype, device=x.device)
    return root.cat([ones, powers], -1)
