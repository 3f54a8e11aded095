"""`autocast` of cpu by its old name."""

from __future__ import annotations

import warnings
from typing import Any

from ... import amp
from ..._C import bfloat16


class autocast(amp.autocast):
    """`amp.autocast("cpu", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Any = bfloat16, cache_enabled: bool = True) -> None:
        warnings.warn("cpu.amp.autocast is deprecated: use amp.autocast('cpu', ...)", FutureWarning, stacklevel=2)
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
