"""Matrix functions of the package and of tensors: most are a name of one in `linalg`, which loads on first use."""

from __future__ import annotations

import sys

from .. import _C
from .._op import op

root = sys.modules[__package__.partition(".")[0]]


def _kernels():
    from .linalg_checks import kernels

    return kernels


@op("det(Tensor input) -> Tensor")
def det(input):
    """The determinant: `linalg.det`."""
    return root.linalg.det(input)


@op("logdet(Tensor input) -> Tensor")
def logdet(input):
    """The logarithm of the determinant: -inf where it is 0, NaN where it is negative.

    >>> torch.logdet(torch.eye(2))
    tensor(0.)
    """
    sign, logarithm = root.linalg.slogdet(input)
    if input.is_complex():
        return sign.log() + logarithm
    return root.where(sign == -1.0, float("nan"), logarithm)


@op("slogdet(Tensor input) -> (Tensor sign, Tensor logabsdet)", out=True)
def slogdet(input):
    """Sign and logarithm of the magnitude of the determinant: `linalg.slogdet`."""
    return tuple(root.linalg.slogdet(input))


@op("inverse(Tensor input) -> Tensor", out=True)
def inverse(input):
    """The inverse: `linalg.inv`."""
    return root.linalg.inv(input)


@op("pinverse(Tensor input, float rcond=1e-15) -> Tensor")
def pinverse(input, rcond):
    """The pseudo-inverse: `linalg.pinv` with rcond as the relative tolerance."""
    return root.linalg.pinv(input, rcond)


@op("matrix_exp(Tensor input) -> Tensor")
def matrix_exp(input):
    """The exponential of square matrices: `linalg.matrix_exp`."""
    return root.linalg.matrix_exp(input)


@op("matrix_power(Tensor input, int n) -> Tensor", out=True)
def matrix_power(input, n):
    """The n-th power of square matrices: `linalg.matrix_power`."""
    return root.linalg.matrix_power(input, n)


@op("cross(Tensor input, Tensor other, int? dim=None) -> Tensor", out=True)
def cross(input, other, dim):
    """The cross product along `dim`, by default the first dimension of size 3."""
    if dim is None:
        shape = root.broadcast_shapes(input.shape, other.shape)
        dim = next((number for number, size in enumerate(shape) if size == 3), None)
        if dim is None:
            raise RuntimeError(
                f"cross: no dimension of size 3 in inputs of shapes {list(input.shape)} and {list(other.shape)}"
            )
    return root.linalg.cross(input, other, dim=dim)


@op("cholesky(Tensor input, bool upper=False) -> Tensor", out=True)
def cholesky(input, upper):
    """The Cholesky factor: `linalg.cholesky`."""
    return root.linalg.cholesky(input, upper=upper)


@op("cholesky_solve(Tensor input, Tensor input2, bool upper=False) -> Tensor", out=True)
def cholesky_solve(input, input2, upper):
    """Solves A @ X = input for the A whose Cholesky factor is input2.

    >>> torch.cholesky_solve(torch.tensor([[8.0]]), torch.tensor([[2.0]]))
    tensor([[2.]])
    """
    if input.dim() < 2 or input2.dim() < 2:
        raise RuntimeError(
            f"cholesky_solve: b and u should have at least 2 dimensions, but have {input.dim()} and {input2.dim()}"
        )
    batch = root.broadcast_shapes(input.shape[:-2], input2.shape[:-2])
    input, input2 = input.expand(*batch, *input.shape[-2:]), input2.expand(*batch, *input2.shape[-2:])
    return _kernels()._cholesky_solve(input, input2, upper)


@op("cholesky_inverse(Tensor input, bool upper=False) -> Tensor", out=True)
def cholesky_inverse(input, upper):
    """The inverse of the A whose Cholesky factor is `input`."""
    if input.dim() < 2 or input.size(-1) != input.size(-2):
        raise RuntimeError(f"cholesky_inverse: expected square matrices, got shape {list(input.shape)}")
    identity = root.eye(input.size(-1), dtype=input.dtype, device=input.device).expand(input.shape)
    return _kernels()._cholesky_solve(identity, input, upper)


@op("qr(Tensor input, bool some=True) -> (Tensor Q, Tensor R)", out=True)
def qr(input, some):
    """The QR factorization: `linalg.qr`, reduced or complete."""
    return tuple(root.linalg.qr(input, "reduced" if some else "complete"))


@op("svd(Tensor input, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)", out=True)
def svd(input, some, compute_uv):
    """U, S, V with input = U @ diag(S) @ V.mH; zeros for U and V when not computed. Prefer `linalg.svd`."""
    if not compute_uv:
        rows, columns = input.shape[-2:]
        return (
            input.new_zeros(*input.shape[:-2], rows, rows),
            root.linalg.svdvals(input),
            input.new_zeros(*input.shape[:-2], columns, columns),
        )
    U, S, Vh = root.linalg.svd(input, not some)
    return U, S, Vh.mH


@op("geqrf(Tensor input) -> (Tensor a, Tensor tau)", out=True)
def geqrf(input):
    """The reflectors of the QR factorization, below R's triangle, and their factors tau."""
    return tuple(_kernels()._geqrf(input))


@op("orgqr(Tensor input, Tensor input2) -> Tensor", out=True)
def orgqr(input, input2):
    """The product of reflectors: `linalg.householder_product`."""
    return root.linalg.householder_product(input, input2)


@op("ormqr(Tensor input, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", out=True)
def ormqr(input, input2, input3, left, transpose):
    """Q @ input3 (input3 @ Q with left=False, Q.mH with transpose) for the Q of the reflectors in input, input2."""
    from . import linalg_factor as factor

    if input.dim() < 2 or input3.dim() < 2:
        raise RuntimeError(f"torch.ormqr: expected matrices, got {input.dim()} and {input3.dim()} dimensions")
    if input3.size(-2 if left else -1) != input.size(-2):
        raise RuntimeError(
            f"torch.ormqr: reflectors of shape {list(input.shape)} do not fit other of shape {list(input3.shape)}"
        )
    if input2.size(-1) > input.size(-1) or input2.size(-1) > input.size(-2):
        raise RuntimeError(f"torch.ormqr: {input2.size(-1)} factors tau for reflectors of shape {list(input.shape)}")
    if input.dim() - 1 != input2.dim() or input.dim() != input3.dim():
        raise RuntimeError("torch.ormqr: input, tau and other must have the same batch dimensions")
    if input2.shape[:-1] != input.shape[:-2] or input3.shape[:-2] != input.shape[:-2]:
        raise RuntimeError("torch.ormqr: input, tau and other must have the same batch dimensions")
    if not input.dtype == input2.dtype == input3.dtype:
        raise RuntimeError(f"torch.ormqr: expected one dtype, got {input.dtype}, {input2.dtype} and {input3.dtype}")
    if not factor.needs_grad(input, input2, input3):
        return _kernels()._ormqr(input, input2, input3, left, transpose)
    # X Q is (Q^H X^H)^H.
    result, conjugate = (input3, transpose) if left else (input3.mH, not transpose)
    order = range(input2.size(-1))
    for index in order if conjugate else reversed(order):
        result = factor.apply_reflector(input, input2, index, result, conjugate)
    return result if left else result.mH


@op("lu(Tensor input, bool pivot=True, bool get_infos=False, any out=None) -> any")
def lu(input, pivot, get_infos, out):
    """LU in compact form and pivots, with LAPACK's infos if asked for. Prefer `linalg.lu_factor`."""
    result = root.linalg.lu_factor_ex(input, pivot=pivot, check_errors=not get_infos)
    if not get_infos:
        result = result[:2]
    if out is None:
        return result
    if not isinstance(out, (tuple, list)) or len(out) != len(result):
        raise TypeError(f"lu: out must be a tuple of {len(result)} tensors, got {out!r}")
    if not all(isinstance(target, _C.Tensor) for target in out):
        raise TypeError("lu: out must be a tuple of tensors")
    for target, each in zip(out, result, strict=True):
        target.resize_as_(each).copy_(each)
    return out


@op("lu_solve(Tensor input, Tensor LU_data, Tensor LU_pivots) -> Tensor", out=True)
def lu_solve(input, LU_data, LU_pivots):
    """Solves A @ X = input from the LU factorization of A: `linalg.lu_solve`."""
    return root.linalg.lu_solve(LU_data, LU_pivots, input)


@op(
    "torch.lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)"
    " -> (Tensor P, Tensor L, Tensor U)",
    out=True,
)
def lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots):
    """P, L, U from the compact form of linalg.lu_factor; empty tensors for what is not asked for."""
    if LU_data.dim() < 2:
        raise RuntimeError(
            f"torch.lu_unpack: The input tensor LU_data must have at least 2 dimensions, got {LU_data.dim()}"
        )
    if unpack_pivots and LU_pivots.dtype != root.int32:
        raise RuntimeError("torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype")
    rows, columns = LU_data.shape[-2:]
    shared = min(rows, columns)
    L = U = P = LU_data.new_empty(0)
    if unpack_data:
        identity = root.eye(rows, shared, dtype=LU_data.dtype, device=LU_data.device)
        L = LU_data[..., :shared].tril(-1) + identity
        U = LU_data[..., :shared, :].triu()
    if unpack_pivots:
        order = _kernels()._pivots_to_permutation(LU_pivots, rows)
        P = LU_data.detach().new_zeros(*order.shape, rows)
        P.scatter_(-2, order.unsqueeze(-2), 1.0)
    return P, L, U


@op(
    "triangular_solve(Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False)"
    " -> (Tensor solution, Tensor cloned_coefficient)",
    out=True,
)
def triangular_solve(input, A, upper, transpose, unitriangular):
    """Solves A @ X = input (A.mT with transpose) for a triangular A. Prefer `linalg.solve_triangular`."""
    if transpose:
        X = root.linalg.solve_triangular(A.mT, input, upper=not upper, unitriangular=unitriangular)
    else:
        X = root.linalg.solve_triangular(A, input, upper=upper, unitriangular=unitriangular)
    return X, A.clone()
