"""Making tensors from other tensors."""

from __future__ import annotations

from .. import _C
from .._op import op


@op("torch.vander(Tensor x, int? N=None, bool increasing=False) -> Tensor")
def vander(x, N, increasing):
    """The Vandermonde matrix of a vector: ``N`` columns of powers of ``x``, the highest first unless ``increasing``."""
    if x.ndim != 1:
        raise RuntimeError(f"vander: x must be a one-dimensional tensor, got {x.ndim} dimensions")
    columns = x.shape[0] if N is None else N
    if columns < 0:
        raise RuntimeError(f"vander: N must be non-negative, got {columns}")
    dtype = x.dtype if x.is_floating_point() or x.is_complex() else _C.int64
    powers = x.to(dtype).unsqueeze(1).expand(-1, max(columns - 1, 0)).cumprod(1)
    result = _C._namespace("")["cat"]((x.new_ones((x.shape[0], min(columns, 1)), dtype=dtype), powers), 1)
    return result if increasing else result.flip(1)
