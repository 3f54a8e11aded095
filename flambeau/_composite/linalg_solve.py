"""Systems of equations, inverses and determinants."""

from __future__ import annotations

import sys

from .._op import op
from .linalg_checks import SINGULAR, check_info, check_matrix, check_same_type, check_square, kernels
from .linalg_factor import needs_grad

root = sys.modules[__package__.partition(".")[0]]


@op("linalg.inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)", out=True)
def inv_ex(A, check_errors):
    """The inverses of square matrices and, for each, the number of the first zero pivot, or 0."""
    check_square("linalg.inv", A)
    inverse, info = kernels._inv(A)
    if check_errors:
        check_info("linalg.inv_ex", info, SINGULAR.replace("solve", "inversion"))
    return inverse, info


@op("linalg.inv(Tensor A) -> Tensor", out=True)
def inv(A):
    """The inverses of square matrices (..., n, n); raises LinAlgError for one that has none.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    check_square("linalg.inv", A)
    inverse, info = kernels._inv(A)
    check_info("linalg.inv", info, SINGULAR.replace("solve", "inversion"))
    return inverse


def is_batch_of_vectors(A, B) -> bool:
    """Whether B is a vector, or (..., n) for matrices (..., n, n)."""
    return B.dim() == 1 or (A.dim() - 1 == B.dim() and B.shape == A.shape[:-1])


def _broadcast(name, A, B):
    if A.shape[:-2] == B.shape[:-2]:
        return A, B
    batch = root.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    return A.expand(*batch, *A.shape[-2:]), B.expand(*batch, *B.shape[-2:])


def _solve(A, B, left):
    name = "linalg.solve"
    check_square(name, A)
    check_same_type(name, A, B)
    if B.dim() < 1:
        raise RuntimeError(f"{name}: B must have at least one dimension")
    vectors = is_batch_of_vectors(A, B)
    if vectors and not left:
        raise RuntimeError(f"{name}: Vector broadcasting of the left hand side is not supported for left=False")
    columns = B.unsqueeze(-1) if vectors else B
    if A.size(-1) != columns.size(-2 if left else -1):
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'}:"
            f" {list(A.shape)} and {list(B.shape)}"
        )
    if not left:
        A, columns = A.mT, columns.mT
    X, _, _, info = kernels._solve(*_broadcast(name, A, columns))
    if not left:
        X = X.mT
    return X.squeeze(-1) if vectors else X, info


@op(
    "linalg.solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    out=True,
)
def solve_ex(A, B, left, check_errors):
    """The solution of A @ X = B and, for each matrix, the number of the first zero pivot, or 0."""
    X, info = _solve(A, B, left)
    if check_errors:
        check_info("torch.linalg.solve_ex", info, SINGULAR)
    return X, info


@op("linalg.solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", out=True)
def solve(A, B, left):
    """The solution of A @ X = B, or X @ A = B with left=False; A is (..., n, n), B (..., n, k), (n) or A.shape[:-1].

    Raises LinAlgError where A is singular.

    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    X, info = _solve(A, B, left)
    check_info("torch.linalg.solve", info, SINGULAR)
    return X


@op(
    "linalg.solve_triangular(Tensor A, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    out=True,
)
def solve_triangular(A, B, upper, left, unitriangular):
    """The solution of A @ X = B (X @ A = B with left=False), reading only one triangle of A.

    With `unitriangular` the diagonal of A counts as ones. A zero on it gives infinities, no error.
    """
    name = "linalg.solve_triangular"
    check_square(name, A)
    check_matrix(name, B, "B")
    check_same_type(name, A, B)
    if A.size(-1) != B.size(-2 if left else -1):
        raise RuntimeError(f"{name}: Incompatible shapes of A and B: {list(A.shape)} and {list(B.shape)}")
    A, B = _broadcast(name, A, B)
    return kernels._solve_triangular(A, B, upper, left, unitriangular)


@op("linalg.lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor", out=True)
def lu_solve(LU, pivots, B, left, adjoint):
    """The solution of A @ X = B from the LU factorization of A; with `adjoint`, of A.mH @ X = B."""
    name = "torch.linalg.lu_solve"
    check_square(name, LU, "LU")
    check_matrix(name, B, "B")
    check_same_type(name, LU, B, "LU and B")
    if pivots.dtype != root.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32, got {pivots.dtype}")
    if LU.size(-1) != B.size(-2 if left else -1):
        raise RuntimeError(f"{name}: Incompatible shapes of LU and B: {list(LU.shape)} and {list(B.shape)}")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError(f"{name}: pivots of shape {list(pivots.shape)} do not fit LU of shape {list(LU.shape)}")
    LU, B = _broadcast(name, LU, B)
    pivots = pivots.expand(LU.shape[:-1])
    if not left:  # X A = B is A^H X^H = B^H
        return lu_solve(LU, pivots, B.mH, adjoint=not adjoint).mH
    if not needs_grad(LU, B):
        return kernels._lu_solve(LU, pivots, B, adjoint)
    order = kernels._pivots_to_permutation(pivots, LU.size(-2))
    if adjoint:
        Y = kernels._solve_triangular(LU.mH, B, False, True, False)
        Y = kernels._solve_triangular(LU.mH, Y, True, True, True)
        return Y.gather(-2, order.argsort(-1).unsqueeze(-1).expand(Y.shape))
    Y = B.gather(-2, order.unsqueeze(-1).expand(B.shape))
    Y = kernels._solve_triangular(LU, Y, False, True, True)
    return kernels._solve_triangular(LU, Y, True, True, False)


def lu_sign(pivots):
    """The sign of the permutation of LU's pivots: -1 for an odd number of exchanges."""
    straight = root.arange(1, pivots.size(-1) + 1, dtype=pivots.dtype, device=pivots.device)
    return 1 - 2 * ((pivots != straight).sum(-1) % 2)


@op("linalg.det(Tensor A) -> Tensor", out=True)
def det(A):
    """The determinants of square matrices (..., n, n).

    >>> torch.linalg.det(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    check_square("linalg.det", A)
    with root.no_grad():
        LU, pivots, _ = kernels._lu_factor(A)
        result = LU.diagonal(0, -2, -1).prod(-1) * lu_sign(pivots)
    return kernels._det_of(A, result) if needs_grad(A) else result


@op("linalg.slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)", out=True)
def slogdet(A):
    """The sign (a number of modulus 1, or 0) and the logarithm of the magnitude of determinants.

    >>> torch.linalg.slogdet(torch.tensor([[1.0, 0.0], [0.0, -1.0]])).logabsdet
    tensor(0.)
    """
    check_square("linalg.slogdet", A)
    LU, pivots, _ = kernels._lu_factor(A)
    diagonal = LU.diagonal(0, -2, -1)
    return diagonal.sgn().prod(-1) * lu_sign(pivots), diagonal.abs().log().sum(-1)


@op(
    "linalg.lstsq(Tensor A, Tensor B, float? rcond=None, *, str? driver=None)"
    " -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    out=True,
)
def lstsq(A, B, rcond, driver):
    """The X of (..., n, k) that makes A @ X - B least: (..., m, n) against (..., m, k) or vectors (..., m).

    `driver` is 'gelsy' (default), 'gelsd', 'gelss', or 'gels' for matrices of full rank. `rcond` times the largest
    singular value is where others count as zero.
    """
    name = "torch.linalg.lstsq"
    check_same_type(name, A, B)
    check_matrix(name, A, "input")
    if B.dim() < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    driver = driver or "gelsy"
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got {driver!r}")
    difference = A.dim() - B.dim()
    if not 0 <= difference <= 1:
        raise RuntimeError(
            f"{name}: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vectors = difference == 1
    columns = B.unsqueeze(-1) if vectors else B
    if A.size(-2) != columns.size(-2):
        raise RuntimeError(f"{name}: {list(A.shape)} has not as many rows as {list(B.shape)}")
    rows, unknowns = A.size(-2), A.size(-1)
    A, columns = _broadcast(name, A, columns)
    if rcond is None:
        rcond = root.finfo(A.dtype).eps * max(rows, unknowns)
    X, rank, values = kernels._lstsq(A, columns, rcond, driver)
    residuals = X.flatten()[:0].abs()
    if rows > unknowns and driver != "gelsy" and (driver == "gels" or bool((rank == unknowns).all())):
        residuals = (A @ X - columns).abs().square().sum(-2)
    return X.squeeze(-1) if vectors else X, residuals, rank, values


def _tolerance(name, value):
    if value is None or not isinstance(value, root.Tensor):
        return value
    if value.is_complex():
        raise RuntimeError(f"{name}: tolerances must be real, got {value.dtype}")
    return value.unsqueeze(-1)


def cutoff(name, A, values, atol, rtol):
    """The magnitude at or below which singular values count as zero: max(atol, rtol * the largest)."""
    atol, rtol = _tolerance(name, atol), _tolerance(name, rtol)
    if rtol is None:
        default = root.finfo(A.dtype).eps * max(A.shape[-2:])
        if atol is None:
            rtol = default
        elif isinstance(atol, root.Tensor):
            rtol = root.where(atol > 0, 0.0, default)
        else:
            rtol = 0.0 if atol > 0 else default
    limit = values.amax(-1, True) * rtol
    if atol is None:
        return limit
    return root.maximum(limit, atol.to(limit.dtype)) if isinstance(atol, root.Tensor) else limit.clamp(min=atol)


def pseudo_inverse(A, atol, rtol, hermitian):
    name = "linalg.pinv"
    check_matrix(name, A)
    if hermitian:
        check_square(name, A)
    with root.no_grad():
        if A.numel() == 0:
            result = A.new_zeros(*A.shape[:-2], A.size(-1), A.size(-2))
        elif hermitian:
            values, vectors = kernels._eigh(A, "L", True)
            magnitudes = values.abs()
            inverse = root.where(magnitudes > cutoff(name, A, magnitudes, atol, rtol), values.reciprocal(), 0.0)
            result = (vectors * inverse.unsqueeze(-2)) @ vectors.mH
        else:
            U, S, Vh = kernels._svd(A, False, "gesdd")
            inverse = root.where(cutoff(name, A, S, atol, rtol) < S, S.reciprocal(), 0.0)
            result = Vh.mH @ (inverse.unsqueeze(-1) * U.mH)
    return kernels._pinv_of(A, result) if needs_grad(A) else result


@op("linalg.pinv(Tensor A, *, any atol=None, any rtol=None, bool hermitian=False) -> Tensor", out=True)
def pinv(A, atol, rtol, hermitian):
    """The pseudo-inverses of (..., m, n); singular values up to max(atol, rtol * the largest) count as zero.

    >>> torch.linalg.pinv(torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    return pseudo_inverse(A, atol, rtol, hermitian)


@op("linalg.pinv.rcond(Tensor A, any rcond, bool hermitian=False) -> Tensor", out=True)
def pinv_rcond(A, rcond, hermitian):
    """The pseudo-inverses with rcond as rtol."""
    return pseudo_inverse(A, None, rcond, hermitian)


@op("linalg.tensorinv(Tensor A, int ind=2) -> Tensor", out=True)
def tensorinv(A, ind):
    """The inverse of the linear map that tensordot(A, ., the last dimensions after `ind`) is."""
    if ind <= 0:
        raise RuntimeError(f"torch.linalg.tensorinv: Expected a strictly positive integer for 'ind', got {ind}")
    first, last = A.shape[:ind], A.shape[ind:]
    rows, columns = root.Size(first).numel(), root.Size(last).numel()
    if rows != columns:
        raise RuntimeError(
            f"torch.linalg.tensorinv: the sizes before and after ind={ind} must have equal products, got"
            f" {list(A.shape)}"
        )
    return inv(A.reshape(rows, columns)).reshape(*last, *first)


@op("linalg.tensorsolve(Tensor A, Tensor B, int[]? dims=None) -> Tensor", out=True)
def tensorsolve(A, B, dims):
    """The X with tensordot(A, X, X.ndim) = B, after moving the dimensions `dims` of A to the end."""
    if dims is not None:
        A = A.movedim(dims, tuple(range(A.dim() - len(dims), A.dim())))
    unknown = A.shape[B.dim() :]
    count = root.Size(unknown).numel()
    if count != B.numel():
        raise RuntimeError(
            f"torch.linalg.tensorsolve: A of shape {list(A.shape)} is no square system for B of shape {list(B.shape)}"
        )
    return solve(A.reshape(count, count), B.flatten()).reshape(unknown)
