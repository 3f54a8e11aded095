"""Factorizations of matrices: LU, Cholesky, QR, LDL."""

from __future__ import annotations

import sys

from .. import _C
from .._op import op
from .linalg_checks import NOT_POSITIVE, check_info, check_matrix, check_same_type, check_square, check_type, kernels

root = sys.modules[__package__.partition(".")[0]]

_ZERO_PIVOT = "U[{0},{0}] is zero and using it on a linear solve would result in a division by zero."


def _check_pivot(name, pivot):
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")


@op(
    "linalg.lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False)"
    " -> (Tensor LU, Tensor pivots, Tensor info)",
    out=True,
)
def lu_factor_ex(A, pivot, check_errors):
    """The LU factorization of (..., m, n) in compact form: L below the diagonal, U above; `info` tells zero pivots."""
    check_matrix("torch.linalg.lu_factor_ex", A)
    _check_pivot("linalg.lu_factor", pivot)
    result = kernels._lu_factor(A)
    if check_errors:
        check_info("torch.linalg.lu_factor_ex", result[2], _ZERO_PIVOT)
    return tuple(result)


@op("linalg.lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", out=True)
def lu_factor(A, pivot):
    """The LU factorization with row exchanges of (..., m, n), in the compact form that lu_solve takes.

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
    >>> pivots
    tensor([1, 2], dtype=torch.int32)
    """
    check_matrix("torch.linalg.lu_factor", A)
    _check_pivot("linalg.lu_factor", pivot)
    LU, pivots, info = kernels._lu_factor(A)
    check_info("torch.linalg.lu_factor", info, _ZERO_PIVOT)
    return LU, pivots


@op("linalg.lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", out=True)
def lu(A, pivot):
    """P, L, U with A = P @ L @ U: a permutation, unit lower triangular and upper triangular."""
    check_matrix("linalg.lu", A)
    _check_pivot("linalg.lu_factor", pivot)
    LU, pivots, _ = kernels._lu_factor(A)
    return tuple(root.lu_unpack(LU, pivots))


@op("linalg.cholesky_ex(Tensor A, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)", out=True)
def cholesky_ex(A, upper, check_errors):
    """The Cholesky factor and, for each matrix, the order of the first minor that isn't positive, or 0."""
    check_square("linalg.cholesky", A)
    L, info = kernels._cholesky(A, upper)
    if check_errors:
        check_info("torch.linalg.cholesky_ex", info, NOT_POSITIVE)
    return L, info


@op("linalg.cholesky(Tensor A, *, bool upper=False) -> Tensor", out=True)
def cholesky(A, upper):
    """The lower (or upper) triangular L with A = L @ L.mH; raises LinAlgError when A isn't positive definite.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 0.0], [0.0, 9.0]]))
    tensor([[2., 0.],
            [0., 3.]])
    """
    check_square("linalg.cholesky", A)
    L, info = kernels._cholesky(A, upper)
    check_info("linalg.cholesky", info, NOT_POSITIVE)
    return L


@op("linalg.qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", out=True)
def qr(A, mode):
    """Q with orthonormal columns and upper triangular R, A = Q @ R; mode is 'reduced', 'complete' or 'r' (no Q)."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"linalg.qr: expected mode 'reduced', 'complete' or 'r', got {mode!r}")
    check_matrix("linalg.qr", A)
    return tuple(kernels._qr(A, mode))


def reflector_product(A, tau, width):
    """The product of reflectors I - tau v v^H times the first `width` columns of I, in ops with derivatives."""
    rows = A.size(-2)
    # tril takes nothing from A but its place in the graph.
    Q = root.eye(rows, width, dtype=A.dtype, device=A.device) + A[..., :width].tril(-rows)
    for index in reversed(range(tau.size(-1))):
        Q = apply_reflector(A, tau, index, Q)
    return Q


def apply_reflector(A, tau, index, other, conjugate=False):
    """(I - tau v v^H) @ other for the reflector number `index`."""
    head = A.new_zeros(*A.shape[:-2], index, 1)
    one = A.new_ones(*A.shape[:-2], 1, 1)
    v = root.cat([head, one, A[..., index + 1 :, index : index + 1]], -2)
    factor = tau[..., index, None, None]
    return other - (factor.conj() if conjugate else factor) * v @ (v.mH @ other)


def needs_grad(*tensors) -> bool:
    return _C._is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


@op("linalg.householder_product(Tensor A, Tensor tau) -> Tensor", out=True)
def householder_product(A, tau):
    """The first n columns of the product of reflectors I - tau v v^H, v in the columns of A (..., m, n) below ones.

    >>> torch.linalg.householder_product(torch.eye(2), torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_matrix("torch.linalg.householder_product", A, "input")
    if A.size(-2) < A.size(-1):
        raise RuntimeError(
            f"torch.linalg.householder_product: expected at least as many rows as columns, got {list(A.shape)}"
        )
    if A.size(-1) < tau.size(-1):
        raise RuntimeError(f"torch.linalg.householder_product: {tau.size(-1)} reflectors in {A.size(-1)} columns")
    if A.dim() - 1 != tau.dim() or A.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(f"torch.linalg.householder_product: shapes {list(A.shape)} and {list(tau.shape)} do not fit")
    check_same_type("torch.linalg.householder_product", A, tau, "input and tau")
    if needs_grad(A, tau):
        return reflector_product(A, tau, A.size(-1))
    return kernels._householder_product(A, tau)


def _ldl_factor(name, A, hermitian):
    check_square(name, A)
    return tuple(kernels._ldl_factor(A, hermitian))


@op(
    "linalg.ldl_factor_ex(Tensor A, *, bool hermitian=False, bool check_errors=False)"
    " -> (Tensor LD, Tensor pivots, Tensor info)",
    out=True,
)
def ldl_factor_ex(A, hermitian, check_errors):
    """The LDL factorization of symmetric (or Hermitian) matrices in compact form, with LAPACK's `info`."""
    result = _ldl_factor("torch.linalg.ldl_factor_ex", A, hermitian)
    if check_errors:
        check_info("torch.linalg.ldl_factor_ex", result[2], _ZERO_PIVOT)
    return result


@op("linalg.ldl_factor(Tensor A, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)", out=True)
def ldl_factor(A, hermitian):
    """The LDL factorization of symmetric (or Hermitian) matrices, in the compact form that ldl_solve takes."""
    LD, pivots, info = _ldl_factor("torch.linalg.ldl_factor", A, hermitian)
    check_info("torch.linalg.ldl_factor", info, _ZERO_PIVOT)
    return LD, pivots


@op("linalg.ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor", out=True)
def ldl_solve(LD, pivots, B, hermitian):
    """Solves A @ X = B (..., n, k) from the result of ldl_factor."""
    check_square("torch.linalg.ldl_solve", LD, "LD")
    if B.dim() < 2:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, got {B.dim()}")
    check_same_type("torch.linalg.ldl_solve", LD, B, "LD and B")
    if B.size(-2) != LD.size(-1) or pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: LD {list(LD.shape)}, pivots {list(pivots.shape)} and B {list(B.shape)} do not fit"
        )
    if pivots.dtype not in (root.int32, root.int64):
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers, got {pivots.dtype}")
    check_type("torch.linalg.ldl_solve", B)
    batch = root.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    n = LD.size(-1)
    LD, B = LD.expand(*batch, n, n), B.expand(*batch, *B.shape[-2:])
    return kernels._ldl_solve(LD, pivots.int().expand(*batch, n), B, hermitian)
