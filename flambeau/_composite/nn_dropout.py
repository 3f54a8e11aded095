"""Dropout of whole channels."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _C
from .._op import op


def _feature_dropout(name: str, input: Any, p: float, training: bool, inplace: bool) -> Any:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")
    functions = _C._namespace("")
    return functions["feature_dropout_" if inplace else "feature_dropout"](input, p, training)


@op("nn.dropout1d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor")
def dropout1d(input, p, training, inplace):
    """Zero whole channels of an (N, C, L) or (C, L) input with probability ``p``; scale the others by 1 / (1 - p)."""
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: expected a 2D or 3D input, (C, L) or (N, C, L), got a {input.ndim}D input")
    if input.ndim == 3:
        return _feature_dropout("dropout1d", input, p, training, inplace)
    result = _feature_dropout("dropout1d", input.unsqueeze(0), p, training, inplace)
    return input if inplace else result.squeeze(0)


@op("nn.dropout2d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor")
def dropout2d(input, p, training, inplace):
    """Zero whole channels of an (N, C, H, W) input with probability ``p`` and scale the others by 1 / (1 - p)."""
    if input.ndim == 3:
        warnings.warn(
            "dropout2d: a 3D input is taken as (N, C, L), so that channels of single samples are dropped; "
            "use dropout1d for that, or add a batch dimension to an input (C, H, W)",
            UserWarning,
            stacklevel=2,
        )
    elif input.ndim != 4:
        warnings.warn(f"dropout2d: expected a 4D input, but received a {input.ndim}D input", UserWarning, stacklevel=2)
    return _feature_dropout("dropout2d", input, p, training, inplace)


@op("nn.dropout3d(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor")
def dropout3d(input, p, training, inplace):
    """Zero whole channels of an (N, C, D, H, W) or (C, D, H, W) input with probability ``p`` and scale the others."""
    if input.ndim not in (4, 5):
        warnings.warn(f"dropout3d: expected a 4D or 5D input, got a {input.ndim}D input", UserWarning, stacklevel=2)
    if input.ndim == 5:
        return _feature_dropout("dropout3d", input, p, training, inplace)
    result = _feature_dropout("dropout3d", input.unsqueeze(0), p, training, inplace)
    return input if inplace else result.squeeze(0)
