"""Learning-rate schedulers: the classes of ``_lr_base``, ``_lr_formulas``, ``_lr_cycles`` and ``_lr_composed``."""

from ._lr_base import LRScheduler
from ._lr_composed import ChainedScheduler, ReduceLROnPlateau, SequentialLR
from ._lr_cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from ._lr_formulas import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "LambdaLR",
    "MultiplicativeLR",
    "StepLR",
    "MultiStepLR",
    "ConstantLR",
    "LinearLR",
    "ExponentialLR",
    "SequentialLR",
    "CosineAnnealingLR",
    "ChainedScheduler",
    "ReduceLROnPlateau",
    "CyclicLR",
    "CosineAnnealingWarmRestarts",
    "OneCycleLR",
    "PolynomialLR",
    "LRScheduler",
]

# Programs pickle schedulers and look at their module, so all belong to the public one.
for _name in __all__:
    globals()[_name].__module__ = __name__


class _LRScheduler(LRScheduler):
    """The name of `LRScheduler` in older programs."""
