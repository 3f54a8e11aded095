"""Linear algebra: factorizations, systems of equations, eigenvalues and norms of batches of matrices.

>>> import flambeau as torch
>>> torch.linalg.det(torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
tensor(6.)
"""

from __future__ import annotations

from . import _composite, _op
from ._C import _LinAlgError as LinAlgError

_composite.load("linalg")
globals().update(_op.namespace("linalg"))

__all__ = ["LinAlgError", *sorted(_op.namespace("linalg"))]  # noqa: PLE0604
