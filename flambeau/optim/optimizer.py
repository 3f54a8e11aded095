"""The base of all optimizers: parameter groups, state, hooks, and saving and restoring them."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

from .. import _C, Tensor
from ..utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"]

StateDict: TypeAlias = dict[str, Any]
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

_global_optimizer_pre_hooks: dict[int, Callable] = OrderedDict()
_global_optimizer_post_hooks: dict[int, Callable] = OrderedDict()


class _RequiredParameter:
    """Marks an option without a default: every parameter group must set it."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimizer; see `Optimizer.step`'s hooks."""
    return _register(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimizer."""
    return _register(_global_optimizer_post_hooks, hook)


def _register(hooks: dict[int, Callable], hook: Callable, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _use_grad_for_differentiable(step: Callable) -> Callable:
    """Runs a ``step`` without recording, unless the optimizer was made with ``differentiable=True``."""

    @functools.wraps(step)
    def in_grad_mode(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        previous = _C._is_grad_enabled()
        _C._set_grad_enabled(self.defaults["differentiable"])
        try:
            return step(self, *args, **kwargs)
        finally:
            _C._set_grad_enabled(previous)

    return in_grad_mode


def _without_grad(step: Callable) -> Callable:
    """Runs a ``step`` without recording."""

    @functools.wraps(step)
    def in_no_grad(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        previous = _C._is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            return step(self, *args, **kwargs)
        finally:
            _C._set_grad_enabled(previous)

    return in_no_grad


def _call_closure(closure: Callable | None) -> Any:
    """The loss of a training step's closure, computed with recording on; None without a closure."""
    if closure is None:
        return None
    previous = _C._is_grad_enabled()
    _C._set_grad_enabled(True)
    try:
        return closure()
    finally:
        _C._set_grad_enabled(previous)


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _to_scalar(x: Any) -> Any:
    """A Python number of a one-element tensor; kept as it is where gradients flow to it."""
    if isinstance(x, Tensor) and not x.requires_grad:
        return x.item()
    return x


def _get_scalar_dtype(is_fused: bool | None = None) -> Any:
    """dtype of step counters."""
    from .. import float32, float64, get_default_dtype

    return float64 if not is_fused and get_default_dtype() == float64 else float32


def _zero_step(param: Tensor, on_device: bool = False) -> Tensor:
    from .. import zeros

    return zeros((), dtype=_get_scalar_dtype(on_device), device=param.device if on_device else "cpu")


def _new_buffer(param: Tensor) -> Tensor:
    """A zero state tensor of a parameter's shape and layout in memory."""
    from .. import preserve_format, zeros_like

    return zeros_like(param, memory_format=preserve_format)


def _view_as_real(*tensors: Tensor) -> list[Tensor]:
    """Complex tensors as pairs of real numbers on the same memory, which is how complex parameters are updated."""
    from .. import view_as_real

    return [view_as_real(t) for t in tensors]


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """(fused, foreach) to use when the user chose neither. One loop serves the CPU best."""
    return False, False


def _hooked(step: Callable) -> Callable:
    """Adds the pre and post hooks to a ``step`` method."""

    @functools.wraps(step)
    def with_hooks(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        pre, post = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if not (pre or post or _global_optimizer_pre_hooks or _global_optimizer_post_hooks):
            return step(*args, **kwargs)
        for hook in list(chain(_global_optimizer_pre_hooks.values(), pre.values())):
            result = hook(self, args, kwargs)
            if result is not None:
                if not isinstance(result, tuple) or len(result) != 2:
                    raise RuntimeError(
                        f"a step pre-hook of {type(self).__name__} must return None or (args, kwargs), got {result!r}"
                    )
                args, kwargs = result
        loss = step(*args, **kwargs)
        for hook in list(chain(post.values(), _global_optimizer_post_hooks.values())):
            hook(self, args, kwargs)
        return loss

    with_hooks.hooked = True
    return with_hooks


class Optimizer:
    """Base class of all optimizers.

    ``params`` is an iterable of tensors, of ``(name, tensor)`` pairs, or of dictionaries, each a parameter group with
    the key ``"params"`` and options that replace ``defaults``. Raises TypeError for anything but tensors, ValueError
    for an empty list, for tensors that are results of operations, and for one in two groups.

    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> optimizer = torch.optim.SGD([{"params": [w], "lr": 0.5}], lr=0.1)
    >>> optimizer.param_groups[0]["lr"]
    0.5
    """

    # Whether state["step"] is a tensor; older checkpoints keep a number there.
    _step_is_tensor = True

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hook_dicts()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                f"{type(self).__name__}: params must be an iterable of tensors or dicts, got one Tensor of shape "
                f"{list(params.shape)}; put it in a list"
            )
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError(f"{type(self).__name__}: optimizer got an empty parameter list (a used-up generator?)")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hook_dicts(self) -> None:
        for name in _HOOK_DICTS:
            self.__dict__.setdefault(name, OrderedDict())

    def _patch_step_function(self) -> None:
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _hooked(cls.step)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hook_dicts()
        self._patch_step_function()
        # A checkpoint of an older version lacks the options added since.
        for group in self.param_groups:
            for name, default in self.__dict__.get("defaults", {}).items():
                group.setdefault(name, default)
        if self._step_is_tensor:
            self._make_steps_tensors()

    def _make_steps_tensors(self) -> None:
        from .. import tensor

        for group in self.param_groups:
            for p in group["params"]:
                step = self.state[p].get("step") if p in self.state else None
                if step is not None and not isinstance(step, Tensor):
                    self.state[p]["step"] = tensor(float(step), dtype=_get_scalar_dtype(group.get("fused")))

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
            lines.append("")
        if self.param_groups:
            lines.pop()
        return "\n".join(lines) + "\n)"

    # Hooks

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return replacements ``(args, kwargs)``."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before `state_dict`."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after `state_dict`; its result, unless None, replaces that."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before `load_state_dict`; it may return a replacement to load."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after `load_state_dict`."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # Saving and restoring

    def state_dict(self) -> StateDict:
        """``{"state": {index: {...}}, "param_groups": [{..., "params": [indices]}]}``.

        Parameters are numbered in the order of the groups. State tensors are those of the optimizer, not copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        result: StateDict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over the state and the options of ``state_dict``, matching parameters by their position.

        State moves to its parameter's device and dtype. Raises ValueError when the groups differ in number or size.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        groups = self.param_groups
        saved_groups = deepcopy(state_dict["param_groups"])
        self._check_groups_match(groups, saved_groups)

        numbers = chain.from_iterable(g["params"] for g in saved_groups)
        params = dict(zip(numbers, chain.from_iterable(g["params"] for g in groups), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _fit(params[key], value, key, saved_groups)
            else:
                state[key] = value
        merged = []
        for group, saved in zip(groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group and "param_names" not in saved:
                saved["param_names"] = group["param_names"]
            merged.append(saved)
        self.__setstate__({"state": state, "param_groups": merged})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _check_groups_match(self, groups: list[dict], saved_groups: list[dict]) -> None:
        name = type(self).__name__
        if len(groups) != len(saved_groups):
            raise ValueError(
                f"{name}.load_state_dict: the loaded state dict has {len(saved_groups)} parameter groups, "
                f"this optimizer has {len(groups)}"
            )
        for i, (group, saved) in enumerate(zip(groups, saved_groups, strict=True)):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError(
                    f"{name}.load_state_dict: parameter group {i} of the loaded state dict has "
                    f"{len(saved['params'])} parameters, this optimizer's has {len(group['params'])}"
                )

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor, value: Tensor, param_id: int, param_groups: list[dict[Any, Any]], key: Hashable = None
    ) -> Tensor:
        """A loaded state tensor in its parameter's dtype and device; step counters follow the implementation."""
        if key == "step":
            group = next((g for g in param_groups if param_id in g["params"]), {})
            if group.get("capturable") or group.get("fused"):
                from .. import float32

                return value.to(dtype=float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    # Working

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or, with ``set_to_none=False``, to zeros in place."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                    continue
                grad = p.grad
                if grad is not None:
                    if grad.grad_fn is not None:
                        grad.detach_()
                    else:
                        grad.requires_grad_(False)
                    grad.zero_()

    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once. ``closure``, if given, recomputes the loss, which is returned."""
        raise NotImplementedError(f"{type(self).__name__} must define step()")

    def _parameters_with_gradients(self, group: dict[str, Any], sparse: bool = False) -> tuple[list, list, list]:
        """(parameters, gradients, states) of a group, without the parameters that have no gradient.

        ``_init_state`` makes the state of a parameter at its first gradient. Raises RuntimeError for a sparse gradient
        unless ``sparse``.
        """
        params, grads, states = [], [], []
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            if not sparse and grad.is_sparse:
                raise RuntimeError(
                    f"{type(self).__name__} does not support sparse gradients, and the parameter of shape "
                    f"{list(p.shape)} has one; use SGD, Adagrad or SparseAdam for it"
                )
            state = self.state[p]
            if not state:
                self._init_state(state, p, group)
            params.append(p)
            grads.append(grad)
            states.append(state)
        return params, grads, states

    def _init_state(self, state: dict[str, Any], param: Tensor, group: dict[str, Any]) -> None:
        """Fill the empty ``state`` of ``param``."""

    # Groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group, for example to train layers that were frozen so far. Options left out take their defaults."""
        from ._groups import normalized_group

        self.param_groups.append(normalized_group(self, param_group))


_HOOK_DICTS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def _fit(param: Tensor, value: Any, param_id: int, groups: list[dict], key: Hashable = None) -> Any:
    """Loaded state, with every tensor in it moved to ``param``."""
    if isinstance(value, Tensor):
        return Optimizer._process_value_according_to_param_policy(param, value, param_id, groups, key)
    if isinstance(value, dict):
        return {k: _fit(param, v, param_id, groups, k) for k, v in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_fit(param, v, param_id, groups) for v in value)
    return value
