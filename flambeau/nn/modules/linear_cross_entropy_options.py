"""Options of the linear cross entropy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["LinearCrossEntropyOptions"]


@dataclass
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` trades memory for time.

    `batch_chunk_size` rows of logits exist at a time (None: `chunking_method` chooses); `acc_policy` and `acc_dtype`
    say in what precision gradients are added up; `allow_retain_graph` keeps what a second backward needs.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: Any = None
