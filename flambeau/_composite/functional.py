"""Functions over several tensors or dimensions, written in other ops."""

from __future__ import annotations

import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op("torch.tensordot(Tensor a, Tensor b, any dims=2) -> Tensor", out=True)
def tensordot(a, b, dims):
    """Sums the product of two tensors over pairs of dimensions.

    `dims` is a number n (the last n of `a` with the first n of `b`) or two lists of dimensions, also as a tensor.
    Raises RuntimeError when dimensions are missing, repeated or differ in size.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    from_a, from_b = _contracted_dims(a, b, dims)
    for one, other in zip(from_a, from_b, strict=True):
        if a.size(one) != b.size(other):
            raise RuntimeError(
                f"tensordot: dimension {one} of a has size {a.size(one)}, dimension {other} of b, {b.size(other)}"
            )
    kept_a = [dim for dim in range(a.dim()) if dim not in from_a]
    kept_b = [dim for dim in range(b.dim()) if dim not in from_b]
    inner = 1
    for dim in from_a:
        inner *= a.size(dim)
    rows, columns = [a.size(dim) for dim in kept_a], [b.size(dim) for dim in kept_b]
    left = a.permute(kept_a + from_a).reshape(_product(rows), inner)
    right = b.permute(from_b + kept_b).reshape(inner, _product(columns))
    return left.mm(right).reshape(rows + columns)


def _product(sizes):
    total = 1
    for size in sizes:
        total *= size
    return total


def _contracted_dims(a, b, dims):
    if hasattr(dims, "tolist"):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot: dims={dims} for tensors of {a.dim()} and {b.dim()} dimensions")
        return list(range(a.dim() - dims, a.dim())), list(range(dims))
    one, other = (list(part) for part in dims)
    if len(one) != len(other):
        raise RuntimeError(f"tensordot: dims pairs {len(one)} dimensions of a with {len(other)} of b")
    return _positive_dims(a, one), _positive_dims(b, other)


def _positive_dims(tensor, dims):
    positive = []
    for dim in dims:
        if not -tensor.dim() <= dim < tensor.dim():
            raise IndexError(f"tensordot: dimension {dim} of a tensor with {tensor.dim()} dimensions")
        dim %= tensor.dim()
        if dim in positive:
            raise RuntimeError(f"tensordot: dimension {dim} is named twice")
        positive.append(dim)
    return positive


@op("torch.unravel_index(Tensor indices, any shape) -> any")
def unravel_index(indices, shape):
    """Turns positions in a flattened tensor of a shape into one index tensor for each dimension.

    Indices outside the tensor wrap around. Raises TypeError for indices or sizes that are not integers, ValueError for
    negative sizes.

    >>> torch.unravel_index(torch.tensor([5, 1]), (2, 3))
    (tensor([1, 0]), tensor([2, 1]))
    """
    if indices.dtype.is_floating_point or indices.dtype.is_complex or str(indices.dtype).endswith("bool"):
        raise TypeError(f"unravel_index: indices are {indices.dtype}, expected integers")
    sizes = (shape,) if isinstance(shape, int) else shape
    if not isinstance(sizes, (tuple, list)) or any(not isinstance(size, int) for size in sizes):
        raise TypeError(f"unravel_index: shape is a size or a sequence of sizes, got {shape!r}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index: shape has a negative size: {tuple(sizes)}")
    parts, step = [], 1
    for size in reversed(sizes):
        parts.append(indices.floor_divide(step).remainder(size) if size else indices)
        step *= size
    return tuple(reversed(parts))


@op("norm(Tensor input, any p='fro', int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor", out=True)
def norm(input, p, dim, keepdim, dtype):
    """The norm of a tensor: ``"fro"`` (default), ``"nuc"`` or the p-norm of a number.

    Without `dim` a number treats the tensor as one vector. Prefer `linalg.vector_norm` and `linalg.matrix_norm`, which
    say which is meant. Raises RuntimeError for other orders and for tensors of integers.

    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if p == "nuc" or (isinstance(p, str) and p != "fro"):
        dims = (-2, -1) if dim is None else dim
        return root.linalg.matrix_norm(input, p, dims, keepdim, dtype=dtype)
    if p == "fro" and dim is not None and len(dim) > 2:
        raise RuntimeError(f"norm: p='fro' is the norm of a vector or matrix, got {len(dim)} dimensions in dim")
    order = 2 if p in (None, "fro") else p
    return root.linalg.vector_norm(input, order, dim, keepdim, dtype=dtype)


@op("inner(Tensor input, Tensor other) -> Tensor", out=True)
def inner(input, other):
    """Sums of products over the last dimension of both; of numbers, their product.

    >>> torch.inner(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if input.dim() == 0 or other.dim() == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner: the last dimensions must have the same size, got {tuple(input.shape)} and {tuple(other.shape)}"
        )
    return root.tensordot(input, other, ([-1], [-1]))
