"""Randomised factorizations: projection onto a random subspace (Halko, Martinsson and Tropp, 2009)."""

from __future__ import annotations

from typing import Any

from . import linalg, randn
from ._C import Tensor

__all__ = ["pca_lowrank", "svd_lowrank"]


def _adjoint_range(A: Any, q: int, niter: int, M: Any) -> Any:
    """An orthonormal basis of q columns that nearly spans the range of A (- M)."""
    test = randn(A.size(-1), q, dtype=A.dtype, device=A.device)

    def apply(x: Any) -> Any:
        return A @ x if M is None else A @ x - M @ x

    def apply_adjoint(x: Any) -> Any:
        return A.mH @ x if M is None else A.mH @ x - M.mH @ x

    Q = linalg.qr(apply(test)).Q
    for _ in range(niter):
        Q = linalg.qr(apply_adjoint(Q)).Q
        Q = linalg.qr(apply(Q)).Q
    return Q


def svd_lowrank(A: Any, q: int | None = 6, niter: int | None = 2, M: Any = None) -> tuple[Any, Any, Any]:
    """U, S, V of rank q with A - M close to U @ diag(S) @ V.mH, for matrices (..., m, n); `niter` power iterations.

    >>> U, S, V = torch.svd_lowrank(torch.eye(4), q=2)
    >>> S.shape
    torch.Size([2])
    """
    from .overrides import handle_torch_function, has_torch_function

    given = tuple(each for each in (A, M) if each is not None)
    if has_torch_function(given):
        return handle_torch_function(svd_lowrank, given, A, q=q, niter=niter, M=M)
    q = 6 if q is None else q
    niter = 2 if niter is None else niter
    rows, columns = A.shape[-2:]
    if M is not None:
        M = M.expand(A.shape)
    wide = rows < columns
    if wide:
        A, M = A.mH, None if M is None else M.mH
    Q = _adjoint_range(A, q, niter, M)
    small = Q.mH @ A
    if M is not None:
        small = small - Q.mH @ M
    U, S, Vh = linalg.svd(small, full_matrices=False)
    U, V = Q @ U, Vh.mH
    return (V, S, U) if wide else (U, S, V)


def pca_lowrank(A: Any, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Any, Any, Any]:
    """The first q principal components of the rows of A (..., m, n) as U, S, V; `center` subtracts column means.

    Raises ValueError for q outside 0 ... min(m, n) or a negative niter.
    """
    from .overrides import handle_torch_function, has_torch_function

    if not isinstance(A, Tensor) or has_torch_function((A,)):
        return handle_torch_function(pca_lowrank, (A,), A, q=q, center=center, niter=niter)
    rows, columns = A.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not (A.is_floating_point() or A.is_complex()):
        raise ValueError(f"pca_lowrank: expected a floating point matrix, got {A.dtype}")
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
