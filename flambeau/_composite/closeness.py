"""Whether tensors are equal, or equal up to a tolerance."""

from __future__ import annotations

import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op(
    "isclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
)
def isclose(input, other, rtol, atol, equal_nan):
    """Where two tensors are equal up to ``atol + rtol * |other|``; with `equal_nan` NaN is close to NaN.

    Infinities are close to themselves only. Raises RuntimeError for differing dtypes and negative tolerances.

    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    if input.dtype != other.dtype:
        raise RuntimeError(f"isclose: input is {input.dtype}, other {other.dtype}; expected one dtype")
    if not rtol >= 0 or not atol >= 0:
        raise RuntimeError(f"isclose: tolerances are not negative, got rtol={rtol} and atol={atol}")
    with root.no_grad():
        close = input == other
        inexact = input.dtype.is_floating_point or input.dtype.is_complex
        if equal_nan and inexact:
            close = close | ((input != input) & (other != other))
        if rtol == 0 and atol == 0:
            return close
        if not inexact:  # differences of integers could wrap around
            input, other = input.to(root.float64), other.to(root.float64)
        allowed = (other * rtol).abs() + atol
        error = (input - other).abs()
        return close | ((error <= allowed) & (error < float("inf")))


@op("allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> any")
def allclose(input, other, rtol, atol, equal_nan):
    """Whether all elements of two tensors are equal up to ``atol + rtol * |other|``; see `isclose`.

    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())


@op("equal(Tensor input, Tensor other) -> any")
def equal(input, other):
    """Whether two tensors have the same size and the same values. NaN equals nothing.

    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    if input.is_meta or other.is_meta:
        raise NotImplementedError("equal: tensors on the meta device have no values")
    return input.shape == other.shape and bool((input == other).all().item())
