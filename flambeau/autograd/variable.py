"""``Variable``, the old name of a tensor that records."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["VariableMeta", "Variable"]


class VariableMeta(type):
    def __instancecheck__(cls, other: Any) -> bool:
        from .. import Tensor

        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """``Variable(data, requires_grad=False)`` is a tensor on the same memory as ``data``.

    >>> isinstance(torch.ones(1), torch.autograd.Variable)
    True
    """

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: Any = None) -> Any:
        from .. import Tensor, empty

        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable: data is a {type(data).__name__}, expected a Tensor")
        return data.detach().requires_grad_(requires_grad)
