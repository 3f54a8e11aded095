"""Context managers that turn `__torch_function__` off. They are found in `_C`, where programs look for them."""

from __future__ import annotations

from . import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DisableTorchFunctionSubclass:
    """Inside the block tensor subclasses and tensor-likes take over no calls; modes still do."""

    _modes_too = False

    def __enter__(self) -> None:
        self._before = _C._set_torch_function_disabled(True, self._modes_too)

    def __exit__(self, *error: Any) -> None:
        _C._set_torch_function_disabled(*self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Inside the block neither subclasses, tensor-likes nor modes take over calls."""

    _modes_too = True


_C.DisableTorchFunctionSubclass = DisableTorchFunctionSubclass
_C.DisableTorchFunction = DisableTorchFunction
