"""Ops written in ops: the decorator that puts a Python function into the op table.

The table's C side reads the schema, checks and converts arguments, fills in defaults, handles ``__torch_function__``
and words the errors; the function is then called with one positional argument per argument of the schema.
"""

from __future__ import annotations

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def op(schema: str, *, inplace: bool = False, out: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Declare the decorated function as the op of ``schema``.

    With ``inplace`` and ``out`` its ``op_`` and ``out=`` forms are declared too. A name without a prefix makes a
    function of the package and, when the first parameter is ``Tensor input``, a method; the prefixes ``torch.``
    (function only), ``Tensor.`` (method only), ``nn.``, ``linalg.``, ``special.`` and ``fft.`` say otherwise.
    """

    def declare(function: Callable[..., Any]) -> Any:
        return _C._define(schema, function, inplace, out)

    return declare


def namespace(prefix: str) -> dict[str, Any]:
    """The functions of a namespace by name: ``"nn"`` for ``nn.functional``, ``""`` for the package."""
    return _C._namespace(prefix)
