"""`autocast` of cuda by its old name."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ... import amp
from ..._C import float16


class autocast(amp.autocast):
    """`amp.autocast("cuda", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Any = float16, cache_enabled: bool = True) -> None:
        warnings.warn("cuda.amp.autocast is deprecated: use amp.autocast('cuda', ...)", FutureWarning, stacklevel=2)
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


custom_fwd = functools.partial(amp.custom_fwd, device_type="cuda")
custom_bwd = functools.partial(amp.custom_bwd, device_type="cuda")
