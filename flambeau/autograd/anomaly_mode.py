"""Finding the operation that made a gradient NaN."""

from __future__ import annotations

from typing import Any

from .. import _C

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """Switches anomaly detection on or off at once; as a context manager, until the end of the block.

    While it is on, backward stops with RuntimeError at the first function whose gradient contains NaN (unless
    ``check_nan`` is False), and any error in backward shows the lines of the forward call that made the function.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev = _C._is_anomaly_enabled(), _C._is_anomaly_check_nan_enabled()
        _C._set_anomaly_enabled(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        _C._set_anomaly_enabled(*self.prev)


class detect_anomaly:
    """Context manager: anomaly detection inside the block, see `set_detect_anomaly`. It makes every function slower.

    >>> x = torch.tensor([-1.0], requires_grad=True)
    >>> with torch.autograd.detect_anomaly(): x.sqrt().sum().backward()
    Traceback (most recent call last):
    RuntimeError: ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        import warnings

        warnings.warn("anomaly detection is on: it slows every operation down, use it to find a fault", stacklevel=2)

    def __enter__(self) -> None:
        self.prev = _C._is_anomaly_enabled(), _C._is_anomaly_check_nan_enabled()
        _C._set_anomaly_enabled(True, self.check_nan)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        _C._set_anomaly_enabled(*self.prev)
