"""Mixed precision by its old names: use `amp.autocast("cpu")` and `amp.GradScaler("cpu")`."""

from .autocast_mode import autocast
from .grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
