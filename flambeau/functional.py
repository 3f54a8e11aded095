"""Functions of tensors that take any number of them; what PyTorch keeps in `torch.functional`."""

from __future__ import annotations

import sys
from typing import Any

from ._composite import einsum as _einsum

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "chain_matmul",
    "einsum",
    "meshgrid",
]


# What PyTorch also keeps here, and here is an op.
_OPS = [
    "cdist",
    "istft",
    "lu",
    "norm",
    "pca_lowrank",
    "split",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]


def __getattr__(name: str) -> Any:
    if name in _OPS:
        return getattr(_root(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _root() -> Any:
    return sys.modules[__package__]


def _override(function: Any, tensors: Any, *args: Any, **kwargs: Any) -> Any:
    """The answer of a tensor-like argument that takes over, or None; wrapped in a tuple."""
    overrides = _root().overrides
    if not overrides.has_torch_function(tensors):
        return None
    return (overrides.handle_torch_function(function, tensors, *args, **kwargs),)


def _tensors(name: str, given: tuple) -> list[Any]:
    """Tensors given one by one or as a single list."""
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        given = tuple(given[0])
    for number, tensor in enumerate(given):
        if not isinstance(tensor, _root().Tensor):
            raise TypeError(f"{name}: argument {number} is a {type(tensor).__name__}, expected a Tensor")
    return list(given)


def einsum(*args: Any) -> Any:
    """Sums of products in Einstein's notation: ``einsum("bij,bjk->bik", a, b)``.

    Each letter names a dimension. Letters not in the output are summed over, a letter twice in one operand takes its
    diagonal, ``...`` stands for leading dimensions that broadcast. Without ``->`` the output has the letters that occur
    once, in alphabetical order. Operands may also each be followed by a list of label numbers, and those by a list for
    the output. Raises RuntimeError when labels and sizes do not fit, ValueError when nothing is given.

    >>> torch.einsum("ij,j->i", torch.ones(2, 3), torch.arange(3.0))
    tensor([3., 3.])
    """
    if len(args) < 2:
        raise ValueError("einsum: expected an equation and operands, or operands each followed by a list of labels")
    if isinstance(args[0], str):
        operands = args[1:]
        if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
            operands = tuple(operands[0])
        answer = _override(einsum, operands, *args)
        if answer:
            return answer[0]
        return _einsum.contract(_einsum.parse(args[0]), _tensors("einsum", tuple(operands)))
    equation, operands = _einsum.from_sublists(args)
    answer = _override(einsum, operands, *args)
    if answer:
        return answer[0]
    return _einsum.contract(equation, _tensors("einsum", tuple(operands)))


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that shapes (tuples or single sizes) broadcast to. Raises RuntimeError when they don't.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    result: list[int] = []
    for number, shape in enumerate(shapes):
        sizes = [shape] if isinstance(shape, int) else list(shape)
        if any(size < 0 for size in sizes):
            raise ValueError(f"broadcast_shapes: shape {number} has a negative size: {tuple(sizes)}")
        result = [1] * (len(sizes) - len(result)) + result
        for dim in range(-1, -len(sizes) - 1, -1):
            if sizes[dim] in (1, result[dim]):
                continue
            if result[dim] != 1:
                raise RuntimeError(
                    f"broadcast_shapes: shape {number}, {tuple(sizes)}, does not fit {tuple(result)} at dimension {dim}"
                )
            result[dim] = sizes[dim]
    return _root().Size(result)


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Views of tensors, all of the shape that they broadcast to. Raises RuntimeError when they don't.

    >>> torch.broadcast_tensors(torch.ones(2, 1), torch.zeros(3))[1].shape
    torch.Size([2, 3])
    """
    answer = _override(broadcast_tensors, tensors, *tensors)
    if answer:
        return answer[0]
    for number, tensor in enumerate(tensors):
        if not isinstance(tensor, _root().Tensor):
            raise TypeError(f"broadcast_tensors: argument {number} is a {type(tensor).__name__}, expected a Tensor")
    shape = broadcast_shapes(*(tensor.shape for tensor in tensors))
    return tuple(tensor.expand(shape) for tensor in tensors)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """Coordinate grids from vectors: the i-th grid holds the i-th coordinate of every point.

    `indexing` says which vector runs along the first dimension: the first (``"ij"``, default) or the second
    (``"xy"``). Raises RuntimeError for tensors of more than one dimension or of differing dtypes.

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    answer = _override(meshgrid, tensors, *tensors, indexing=indexing)
    if answer:
        return answer[0]
    vectors = _tensors("meshgrid", tensors)
    if not vectors:
        raise RuntimeError("meshgrid: expected at least one tensor")
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f"meshgrid: indexing is 'ij' or 'xy', got {indexing!r}")
    for number, vector in enumerate(vectors):
        if vector.dim() > 1:
            raise RuntimeError(
                f"meshgrid: tensor {number} has shape {list(vector.shape)}, expected one dimension at most"
            )
        if vector.dtype != vectors[0].dtype or vector.device != vectors[0].device:
            raise RuntimeError(f"meshgrid: tensor {number} is {vector.dtype}, the first one {vectors[0].dtype}")
    swap = indexing == "xy" and len(vectors) > 1
    if swap:
        vectors[0], vectors[1] = vectors[1], vectors[0]
    shape = [vector.numel() for vector in vectors]
    grids = []
    for dim, vector in enumerate(vectors):
        lone = [1] * len(shape)
        lone[dim] = shape[dim]
        grids.append(vector.reshape(lone).expand(shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of the elements of vectors, one to a row, as `itertools.product` orders them.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    answer = _override(cartesian_prod, tensors, *tensors)
    if answer:
        return answer[0]
    vectors = _tensors("cartesian_prod", tensors)
    for number, vector in enumerate(vectors):
        if vector.dim() != 1:
            raise RuntimeError(
                f"cartesian_prod: tensor {number} has shape {list(vector.shape)}, expected one dimension"
            )
    if len(vectors) == 1:
        return vectors[0]
    return _root().stack([grid.reshape(-1) for grid in meshgrid(*vectors, indexing="ij")], 1)


def block_diag(*tensors: Any) -> Any:
    """A matrix with the given matrices along its diagonal and zeros elsewhere.

    Vectors count as rows, scalars as 1×1 matrices. Raises RuntimeError for more dimensions.

    >>> torch.block_diag(torch.ones(1, 2), torch.tensor(3.0)).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]
    """
    answer = _override(block_diag, tensors, *tensors)
    if answer:
        return answer[0]
    blocks = _tensors("block_diag", tensors)
    root = _root()
    if not blocks:
        return root.empty(1, 0)
    for number, block in enumerate(blocks):
        if block.dim() > 2:
            raise RuntimeError(f"block_diag: tensor {number} has {block.dim()} dimensions, expected at most 2")
    blocks = [block if block.dim() == 2 else block.reshape(1, -1) for block in blocks]
    width = sum(block.size(1) for block in blocks)
    rows, left = [], 0
    for block in blocks:
        rows.append(root.nn.functional.pad(block, (left, width - left - block.size(1))))
        left += block.size(1)
    return root.cat(rows, 0)


def _each(function: Any, one: Any, tensors: tuple) -> Any:
    """Applies `one` to a single tensor, or to each of several (a tuple then)."""
    answer = _override(function, tensors, *tensors)
    if answer:
        return answer[0]
    if len(tensors) == 1 and isinstance(tensors[0], _root().Tensor):
        return one(tensors[0])
    if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
        raise TypeError(f"{function.__name__}: expected a Tensor or a list of them, got a {type(tensors[0]).__name__}")
    return tuple(one(tensor) for tensor in _tensors(function.__name__, tensors))


def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dimension: scalars become vectors of one element.

    >>> torch.atleast_1d(torch.tensor(1))
    tensor([1])
    """
    return _each(atleast_1d, lambda tensor: tensor.reshape(1) if tensor.dim() == 0 else tensor, tensors)


def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dimensions: vectors become rows.

    >>> torch.atleast_2d(torch.arange(2))
    tensor([[0, 1]])
    """

    def one(tensor: Any) -> Any:
        if tensor.dim() == 0:
            return tensor.reshape(1, 1)
        return tensor.unsqueeze(0) if tensor.dim() == 1 else tensor

    return _each(atleast_2d, one, tensors)


def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dimensions: vectors become 1×n×1, matrices get a last dimension.

    >>> torch.atleast_3d(torch.arange(2)).shape
    torch.Size([1, 2, 1])
    """

    def one(tensor: Any) -> Any:
        if tensor.dim() == 0:
            return tensor.reshape(1, 1, 1)
        if tensor.dim() == 1:
            return tensor.unsqueeze(0).unsqueeze(-1)
        return tensor.unsqueeze(-1) if tensor.dim() == 2 else tensor

    return _each(atleast_3d, one, tensors)


def chain_matmul(*matrices: Any, out: Any = None) -> Any:
    """The product of matrices, in the order that takes the fewest multiplications. Prefer `linalg.multi_dot`.

    Raises RuntimeError for no matrices, for other than two dimensions and for sizes that don't fit.

    >>> torch.chain_matmul(torch.ones(1, 2), torch.ones(2, 3)).tolist()
    [[2.0, 2.0, 2.0]]
    """
    answer = _override(chain_matmul, matrices, *matrices)
    if answer:
        return answer[0]
    factors = _tensors("chain_matmul", matrices)
    if not factors:
        raise RuntimeError("chain_matmul: expected at least one matrix")
    for number, factor in enumerate(factors):
        if factor.dim() != 2:
            raise RuntimeError(f"chain_matmul: argument {number} has {factor.dim()} dimensions, expected 2")
    result = (
        factors[0] if len(factors) == 1 else _multiply_in_order(factors, _best_splits(factors), 0, len(factors) - 1)
    )
    return result if out is None else out.copy_(result)


def _best_splits(factors: list[Any]) -> dict[tuple[int, int], int]:
    """Where to cut each run of factors in two; the classic dynamic programme over the sizes."""
    sizes = [factors[0].size(0), *(factor.size(1) for factor in factors)]
    cost = {(i, i): 0 for i in range(len(factors))}
    cut = {}
    for length in range(1, len(factors)):
        for first in range(len(factors) - length):
            last = first + length
            options = {
                k: cost[first, k] + cost[k + 1, last] + sizes[first] * sizes[k + 1] * sizes[last + 1]
                for k in range(first, last)
            }
            cut[first, last] = min(options, key=options.__getitem__)
            cost[first, last] = options[cut[first, last]]
    return cut


def _multiply_in_order(factors: list[Any], cut: dict[tuple[int, int], int], first: int, last: int) -> Any:
    if first == last:
        return factors[first]
    middle = cut[first, last]
    left = _multiply_in_order(factors, cut, first, middle)
    return left.mm(_multiply_in_order(factors, cut, middle + 1, last))
