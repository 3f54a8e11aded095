"""What the ops of linear algebra check about their arguments, and how they report matrices that LAPACK gave up on."""

from __future__ import annotations

from types import SimpleNamespace

from .. import _C
from .._op import namespace

# The factorizations and solvers on batches of matrices, which check little.
kernels = SimpleNamespace(**namespace("_C"))

INEXACT = (_C.float32, _C.float64, _C.complex64, _C.complex128)


def is_real_or_complex(tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def check_type(name: str, tensor) -> None:
    """Raises RuntimeError for whole numbers and for types LAPACK does not have."""
    if tensor.dtype not in INEXACT:
        raise RuntimeError(
            f"{name}: expected a floating point or complex tensor of at least 32 bits, got {tensor.dtype}"
        )


def check_matrix(name: str, tensor, argument: str = "A") -> None:
    if tensor.dim() < 2:
        raise RuntimeError(
            f"{name}: The input tensor {argument} must have at least 2 dimensions, got shape {list(tensor.shape)}"
        )
    check_type(name, tensor)


def check_square(name: str, tensor, argument: str = "A") -> None:
    check_matrix(name, tensor, argument)
    if tensor.size(-1) != tensor.size(-2):
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, got {tensor.size(-2)} by {tensor.size(-1)}"
        )


def check_same_type(name: str, first, second, names: str = "A and B") -> None:
    if first.dtype != second.dtype:
        raise RuntimeError(f"{name}: expected {names} to have the same dtype, got {first.dtype} and {second.dtype}")
    if first.device != second.device:
        raise RuntimeError(f"{name}: expected {names} on the same device, got {first.device} and {second.device}")


def check_info(name: str, info, what: str) -> None:
    """Raises LinAlgError for the first matrix whose `info` is not zero; `what` says what a positive number means."""
    if info.is_meta or not info.any():
        return
    codes = info.reshape(-1).tolist()
    batch, code = next((batch, code) for batch, code in enumerate(codes) if code)
    where = f"(Batch element {batch}): " if info.dim() else ""
    if code < 0:
        raise RuntimeError(f"{name}: {where}argument {-code} of the LAPACK routine has an illegal value")
    raise _C._LinAlgError(f"{name}: {where}{what.format(code)}")


SINGULAR = "The diagonal element {0} is zero, the solve could not be completed because the input matrix is singular."
NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite"
    " (the leading minor of order {0} is not positive-definite)."
)
