"""Pruning: masks that set entries of a parameter to zero.

A pruned parameter `name` lives on as `name_orig`, beside a buffer `name_mask`; the product is computed before every
forward pass.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from ... import Tensor, cat, ones_like, rand_like, topk, zeros_like

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


class BasePruningMethod(ABC):
    """A way to choose what is pruned: subclasses compute a mask. As a forward pre-hook it applies the mask."""

    _tensor_name: str
    PRUNING_TYPE = "unstructured"

    def __call__(self, module, inputs) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for `t`, within `default_mask`: ones and zeros of the same shape."""

    def apply_mask(self, module) -> Tensor:
        """The original parameter times the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name: str, *args, importance_scores: Tensor | None = None, **kwargs) -> BasePruningMethod:
        """Prune the parameter `name` of `module`; one that is pruned already is pruned further."""
        previous = [
            (key, hook)
            for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        if len(previous) > 1:
            raise AssertionError(f"There should be at most 1 pruning hook on {name}, found {len(previous)}")
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}: "
                f"{tuple(importance_scores.shape)} is not {tuple(original.shape)}"
            )
        if previous:
            key, old = previous[0]
            del module._forward_pre_hooks[key]
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            default_mask = getattr(module, name + "_mask").detach().clone(memory_format=_contiguous())
            mask = container.compute_mask(importance_scores, default_mask)
            method = container
            method._tensor_name = name
        else:
            default_mask = ones_like(original)
            mask = method.compute_mask(importance_scores, default_mask)
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned version of `t`, by this method's mask."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        default_mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module) -> None:
        """Make the pruning permanent: the parameter is an ordinary one again, with its zeros."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        value = self.apply_mask(module)
        if hasattr(module, self._tensor_name):
            delattr(module, self._tensor_name)
        original = module._parameters.pop(self._tensor_name + "_orig")
        original.data = value.data
        del module._buffers[self._tensor_name + "_mask"]
        setattr(module, self._tensor_name, original)


def _contiguous():
    from ... import contiguous_format

    return contiguous_format


class PruningContainer(BasePruningMethod):
    """Several methods on one parameter, in the order in which they were applied."""

    def __init__(self, *args) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if not isinstance(args, Iterable) or len(args) == 1:
            self._tensor_name = args[0]._tensor_name
            self.add_pruning_method(args[0])
        else:
            for method in args:
                self.add_pruning_method(method)

    def add_pruning_method(self, method) -> None:
        """Add a method for the same parameter. Raises TypeError or ValueError for something else."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The newest method's mask, chosen among what the mask so far has kept."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "global":
            kept = tuple([slice(None)] * t.dim())
        elif method.PRUNING_TYPE == "unstructured":
            kept = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            whole = mask.sum(others) != 0 if others else mask != 0
            kept = tuple(whole if d == dim else slice(None) for d in range(t.dim()))
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        combined = mask.clone()
        combined[kept] = method.compute_mask(t[kept], default_mask=mask[kept]).to(dtype=t.dtype)
        return combined


class Identity(BasePruningMethod):
    """Prunes nothing: gives the parameter its mask of ones."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask as it is."""
        return default_mask

    @classmethod
    def apply(cls, module, name):
        """Put a mask of ones on the parameter."""
        return super().apply(module, name)


class RandomUnstructured(BasePruningMethod):
    """Prunes entries at random; `amount` is a number of them or a fraction."""

    def __init__(self, amount) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros at random entries."""
        count = _checked_count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=_contiguous())
        if count:
            chosen = topk(rand_like(t).view(-1), k=count)
            mask.view(-1)[chosen.indices] = 0
        return mask

    @classmethod
    def apply(cls, module, name, amount):
        """Prune the parameter by this method."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(BasePruningMethod):
    """Prunes the entries nearest to zero; `amount` is a number of them or a fraction."""

    def __init__(self, amount) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros at the smallest entries."""
        count = _checked_count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=_contiguous())
        if count:
            chosen = topk(t.abs().view(-1), k=count, largest=False)
            mask.view(-1)[chosen.indices] = 0
        return mask

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        """Prune the parameter by this method."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(BasePruningMethod):
    """Prunes whole slices along `dim`."""

    PRUNING_TYPE = "structured"

    def _scores(self, t: Tensor) -> Tensor:
        """A score for every slice: the highest are kept."""
        raise NotImplementedError(f"{type(self).__name__} defines no _scores")

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Zeros in the slices with the lowest scores."""
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        size = t.shape[self.dim]
        count = _checked_count(self.amount, size)
        if count == 0:
            return default_mask
        chosen = topk(self._scores(t), k=size - count, largest=True)
        mask = zeros_like(t)
        keep = [slice(None)] * t.dim()
        keep[self.dim] = chosen.indices
        mask[tuple(keep)] = 1
        return mask * default_mask.to(dtype=mask.dtype)


class RandomStructured(_Structured):
    """Prunes whole slices along `dim` at random."""

    def __init__(self, amount, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def _scores(self, t: Tensor) -> Tensor:
        from ... import rand

        return rand(t.shape[self.dim], device=t.device)

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        """Prune the parameter by this method."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the slices along `dim` of the smallest n-norm."""

    def __init__(self, amount, n, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def _scores(self, t: Tensor) -> Tensor:
        return _compute_norm(t, self.n, self.dim)

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        """Prune the parameter by this method."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask of your own."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far times the given one."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"mask shape {tuple(self.mask.shape)} does not match {tuple(default_mask.shape)}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        """Prune the parameter by this mask."""
        return super().apply(module, name, mask=mask)


def identity(module, name):
    """Give a parameter a mask of ones. Returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune random entries, a number or a fraction of them. Returns the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the entries nearest to zero (or of the lowest scores). Returns the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune random slices along `dim`. Returns the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the slices along `dim` of the smallest n-norm. Returns the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs) -> None:
    """Prune (module, name) pairs together, by an unstructured method that compares their entries with each other."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    relevant = cat([scores.get(pair, getattr(*pair)).reshape(-1) for pair in parameters])
    default_mask = cat([getattr(m, n + "_mask", ones_like(getattr(m, n))).reshape(-1) for m, n in parameters])
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} '
            f"of type {method.PRUNING_TYPE}"
        )
    final = container.compute_mask(relevant, default_mask)
    start = 0
    for module, name in parameters:
        parameter = getattr(module, name)
        count = parameter.numel()
        custom_from_mask(module, name, mask=final[start : start + count].view_as(parameter))
        start += count


def custom_from_mask(module, name, mask):
    """Prune by a mask of ones and zeros. Returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module, name):
    """Make the pruning of a parameter permanent. Raises ValueError when there is none. Returns the module."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module) -> bool:
    """Whether `module` or any module in it is pruned.

    >>> is_pruned(Linear(2, 2))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values()
    )


def _validate_pruning_amount_init(amount) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (
        not isinstance(amount, numbers.Integral) and not 0.0 <= float(amount) <= 1.0
    ):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount, tensor_size) -> None:
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount, tensor_size) -> int:
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _checked_count(amount, size: int) -> int:
    """How many of `size` are pruned."""
    count = _compute_nparams_toprune(amount, size)
    _validate_pruning_amount(count, size)
    return count


def _validate_structured_pruning(t: Tensor) -> None:
    if len(t.shape) <= 1:
        raise ValueError(
            f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with "
            f"{len(t.shape)} dims"
        )


def _validate_pruning_dim(t: Tensor, dim: int) -> None:
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_norm(t: Tensor, n, dim: int) -> Tensor:
    """The n-norm of every slice of `t` along `dim`."""
    others = [d for d in range(t.dim()) if d != dim % t.dim()]
    from ... import norm

    return norm(t, p=n, dim=others)
