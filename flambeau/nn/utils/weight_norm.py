"""Weight normalisation (Salimans & Kingma, 2016): length and direction of a weight as two parameters."""

from __future__ import annotations

import warnings

from ..parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def norm_except(weight, dim: int):
    """The norm of `weight` over all dimensions but `dim` (-1: over all of them)."""
    from ... import linalg

    if dim == -1:
        return linalg.vector_norm(weight)
    others = [d for d in range(weight.dim()) if d != dim % weight.dim()]
    if not others:
        return weight.abs()
    return linalg.vector_norm(weight, 2, others, True)


class WeightNorm:
    """The forward pre-hook that computes the weight from `name`_g (length) and `name`_v (direction)."""

    name: str
    dim: int

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight: v · g / |v|."""
        direction = getattr(module, self.name + "_v")
        return direction * (getattr(module, self.name + "_g") / norm_except(direction, self.dim))

    @staticmethod
    def apply(module, name: str, dim: int) -> WeightNorm:
        """Install the hook on `module`."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the "
                "dummy forward "
                "before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except(weight, hook.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module) -> None:
        """Put an ordinary parameter with the present weight in place of the two."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module, inputs) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name: str = "weight", dim: int = 0):
    """Deprecated: use `parametrizations.weight_norm`. `dim` None: one length for the whole weight."""
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name: str = "weight"):
    """Undo `weight_norm`. Raises ValueError when there is none. Returns the module."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
