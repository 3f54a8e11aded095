"""`GradScaler` of cuda by its old name."""

from __future__ import annotations

import warnings

from ... import amp


class GradScaler(amp.GradScaler):
    """`amp.GradScaler("cuda", ...)`."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warnings.warn("cuda.amp.GradScaler is deprecated: use amp.GradScaler('cuda', ...)", FutureWarning, stacklevel=2)
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
