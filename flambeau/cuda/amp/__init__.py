"""Mixed precision by its old names: use `amp.autocast("cuda")` and `amp.GradScaler("cuda")`."""

from .autocast_mode import autocast, custom_bwd, custom_fwd
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]
