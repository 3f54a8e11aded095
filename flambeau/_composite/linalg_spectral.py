"""Eigenvalues, singular values, and what is defined by them: rank, condition, matrix norms."""

from __future__ import annotations

import sys

from .._op import op
from .linalg_checks import check_matrix, check_square, is_real_or_complex, kernels
from .linalg_factor import needs_grad
from .linalg_solve import cutoff

root = sys.modules[__package__.partition(".")[0]]


@op("linalg.eigh(Tensor A, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)", out=True)
def eigh(A, UPLO):
    """Eigenvalues (ascending) and eigenvectors of symmetric or Hermitian matrices, of which one triangle is read.

    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    _check_triangle(A, UPLO)
    return tuple(kernels._eigh(A, UPLO, True))


def _check_triangle(A, UPLO):
    check_square("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"linalg.eigh: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")


@op("linalg.eigvalsh(Tensor A, str UPLO='L') -> Tensor", out=True)
def eigvalsh(A, UPLO):
    """The eigenvalues (ascending) of symmetric or Hermitian matrices."""
    _check_triangle(A, UPLO)
    return kernels._eigh(A, UPLO, needs_grad(A))[0]


@op("linalg.eig(Tensor A) -> (Tensor eigenvalues, Tensor eigenvectors)", out=True)
def eig(A):
    """Eigenvalues and right eigenvectors of square matrices; complex, in no particular order."""
    check_square("linalg.eig", A)
    if not A.is_meta and not A.isfinite().all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return tuple(kernels._eig(A, True))


@op("linalg.eigvals(Tensor A) -> Tensor", out=True)
def eigvals(A):
    """The eigenvalues of square matrices; complex, in no particular order."""
    check_square("linalg.eigvals", A)
    return kernels._eig(A, needs_grad(A))[0]


def _check_driver(driver):
    if driver is not None:
        raise RuntimeError(
            f"torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs, got {driver!r}"
        )


@op("linalg.svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)", out=True)
def svd(A, full_matrices, driver):
    """U, S (descending), Vh with A = U @ diag(S) @ Vh; `full_matrices` says whether U and Vh are square.

    >>> torch.linalg.svd(torch.eye(2)).S
    tensor([1., 1.])
    """
    check_matrix("linalg.svd", A)
    _check_driver(driver)
    return tuple(kernels._svd(A, full_matrices, "gesdd"))


@op("linalg.svdvals(Tensor A, *, str? driver=None) -> Tensor", out=True)
def svdvals(A, driver):
    """The singular values (descending) of matrices."""
    check_matrix("linalg.svdvals", A)
    _check_driver(driver)
    return kernels._svd(A, False, "gesdd" if needs_grad(A) else "values")[1]


def rank(A, atol, rtol, hermitian):
    name = "torch.linalg.matrix_rank"
    check_matrix(name, A)
    if hermitian:
        check_square(name, A)
    with root.no_grad():
        if A.numel() == 0:
            return root.zeros(A.shape[:-2], dtype=root.int64, device=A.device)
        values = kernels._eigh(A, "L", False)[0].abs() if hermitian else kernels._svd(A, False, "values")[1]
        return (values > cutoff(name, A, values, atol, rtol)).sum(-1)


@op("linalg.matrix_rank(Tensor A, *, any atol=None, any rtol=None, bool hermitian=False) -> Tensor", out=True)
def matrix_rank(A, atol, rtol, hermitian):
    """How many singular values are above max(atol, rtol * the largest).

    >>> torch.linalg.matrix_rank(torch.eye(3))
    tensor(3)
    """
    return rank(A, atol, rtol, hermitian)


@op("linalg.matrix_rank.tol(Tensor A, any tol, bool hermitian=False) -> Tensor", out=True)
def matrix_rank_tol(A, tol, hermitian):
    """How many singular values are above tol."""
    return rank(A, tol, 0.0, hermitian)


@op("linalg.cond(Tensor A, any p=None) -> Tensor", out=True)
def cond(A, p):
    """The condition number in a matrix norm: 2 (default), -2, 'fro', 'nuc', 1, -1, inf or -inf; inf where singular."""
    name = "linalg.cond"
    if not is_real_or_complex(A):
        raise RuntimeError(f"{name}: expected a floating point or complex tensor, got {A.dtype}")
    if A.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        values = svdvals(A)
        if A.numel() == 0:
            return values.new_zeros(A.shape[:-2])
        top, bottom = values[..., 0], values[..., -1]
        return bottom / top if p == -2 else top / bottom
    check_square(name, A)
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"{name}: got an invalid norm type: {p}")
    if not isinstance(p, str) and p not in (1, -1, float("inf"), -float("inf")):
        raise RuntimeError(f"{name}: got an invalid norm type: {p}")
    if A.numel() == 0:
        return root.zeros(A.shape[:-2], dtype=A.abs().dtype, device=A.device)
    if p == "nuc":
        values = svdvals(A)
        return values.sum(-1) * values.reciprocal().sum(-1)
    inverse, info = kernels._inv(A)
    inverse = inverse.masked_fill((info != 0)[..., None, None], float("inf"))
    return root.linalg.matrix_norm(A, p) * root.linalg.matrix_norm(inverse, p)


def _norm_input(name, A, dtype):
    if not is_real_or_complex(A):
        raise RuntimeError(f"{name}: expected a floating point or complex tensor, got {A.dtype}")
    if dtype is None:
        return A
    if dtype.is_complex != A.is_complex() or not (dtype.is_complex or dtype.is_floating_point):
        raise RuntimeError(f"{name}: dtype {dtype} does not go with an input of {A.dtype}")
    if root.promote_types(A.dtype, dtype) != dtype:
        raise RuntimeError(f"{name}: {A.dtype} would be narrowed to dtype {dtype}")
    return A.to(dtype)


@op(
    "linalg.matrix_norm(Tensor A, any ord='fro', int[] dim=[-2, -1], bool keepdim=False, *, dtype? dtype=None)"
    " -> Tensor",
    out=True,
)
def matrix_norm(A, ord, dim, keepdim, dtype):
    """A norm of the matrices in two dimensions: 'fro', 'nuc', or 2, -2, 1, -1, inf, -inf.

    >>> torch.linalg.matrix_norm(torch.eye(4))
    tensor(2.)
    """
    name = "linalg.matrix_norm"
    if A.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple, got {tuple(dim)}")
    rows, columns = (_wrap(name, A, each) for each in dim)
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different, got {tuple(dim)}")
    A = _norm_input(name, A, dtype)
    if ord == "fro":
        return root.linalg.vector_norm(A, 2, (rows, columns), keepdim)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        result = values.sum(-1) if ord == "nuc" else _extreme(values, -1, False, ord)
        return _restore(result, rows, columns) if keepdim else result
    if isinstance(ord, str) or abs(ord) not in (1, float("inf")):
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    summed, picked = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = root.linalg.vector_norm(A, 1, summed, True)
    result = _extreme(sums, picked, True, ord)
    return result if keepdim else result.squeeze((rows, columns))


def _extreme(values, dim, keepdim, ord):
    """The largest value, 0 where there are none, for positive `ord`; else the smallest."""
    if ord < 0:
        return values.amin(dim, keepdim)
    return values.amax(dim, keepdim) if values.size(dim) else values.sum(dim, keepdim)


def _wrap(name, A, dim):
    if not -A.dim() <= dim < A.dim():
        raise IndexError(f"{name}: dimension {dim} of a tensor with {A.dim()} dimensions")
    return dim % A.dim()


def _restore(result, rows, columns):
    first, second = sorted((rows, columns))
    return result.unsqueeze(first).unsqueeze(second)


@op(
    "linalg.norm(Tensor A, any ord=None, int[1]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
    out=True,
)
def norm(A, ord, dim, keepdim, dtype):
    """A matrix norm when `dim` names two dimensions (or A has two and `ord` is given), else a vector norm.

    Without `ord` and `dim` it is the 2-norm of all elements.

    >>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if ord is None:
        return root.linalg.vector_norm(A, 2, dim, keepdim, dtype=dtype)
    if dim is not None:
        if len(dim) not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {tuple(dim)}")
    elif A.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A.dim()}D."
        )
    if (len(dim) if dim is not None else A.dim()) == 2:
        return root.linalg.matrix_norm(A, ord, (0, 1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: order {ord!r} needs matrices, got vectors")
    return root.linalg.vector_norm(A, ord, dim, keepdim, dtype=dtype)
