"""Checkpointing: trading computation for memory, by computing parts of a model again in backward."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from .. import Tensor, enable_grad, get_rng_state, is_grad_enabled, no_grad, set_rng_state
from .. import autograd as _autograd
from ..autograd.function import Function

__all__ = [
    "checkpoint",
    "checkpoint_sequential",
    "CheckpointError",
    "CheckpointFunction",
    "check_backward_validity",
    "detach_variable",
    "get_device_states",
    "set_device_states",
    "noop_context_fn",
    "set_checkpoint_early_stop",
    "set_checkpoint_debug_enabled",
    "DefaultDeviceType",
]

_default_early_stop = True
_debug_enabled: bool | None = None


class CheckpointError(RuntimeError):
    """The second computation did not match the first."""


class DefaultDeviceType:
    """The device type whose random state is kept for checkpoints without tensors on a device."""

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        return DefaultDeviceType._default_device_type


def noop_context_fn() -> tuple[AbstractContextManager, AbstractContextManager]:
    """Two contexts that do nothing, for the first and the second computation."""
    return nullcontext(), nullcontext()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Context manager: whether recomputation ends as soon as it has what backward needs (the default)."""
    global _default_early_stop
    previous = _default_early_stop
    _default_early_stop = enable
    try:
        yield
    finally:
        _default_early_stop = previous


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Context manager: overrides the argument ``debug`` of `checkpoint`, unless None."""
    global _debug_enabled
    previous = _debug_enabled
    _debug_enabled = enabled
    try:
        yield
    finally:
        _debug_enabled = previous


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """``inputs`` with every tensor detached, requiring grad as before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"detach_variable: inputs must be a tuple, got {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor in ``inputs`` requires grad: reentrant checkpoints then give no gradients."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warnings.warn(
            "checkpoint: none of the inputs requires grad, so with use_reentrant=True the gradients will be None; "
            "use_reentrant=False does not need that",
            stacklevel=3,
        )


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """(indices, random states) of the accelerators that hold tensors of ``args``."""
    from ..utils._pytree import tree_leaves

    devices = {x.device.index for x in tree_leaves(args) if isinstance(x, Tensor) and x.device.type == "cuda"}
    if not devices:
        return [], []
    from .. import cuda

    indices = sorted(devices)
    return indices, [cuda.get_rng_state(i) for i in indices]


def set_device_states(devices: list[int], states: list[Tensor], *, device_type: str | None = None) -> None:
    """Set the random states that `get_device_states` returned."""
    if not devices:
        return
    from .. import cuda

    for index, state in zip(devices, states, strict=True):
        cuda.set_rng_state(state, index)


class _Surroundings:
    """The random state and the autocast setting of the first computation, for the second."""

    def __init__(self, preserve_rng_state: bool, args: tuple) -> None:
        from .. import get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled

        self.autocast = {
            "dtype": get_autocast_dtype("cpu"),
            "enabled": is_autocast_enabled("cpu"),
            "cache_enabled": is_autocast_cache_enabled(),
        }
        self.rng_state = get_rng_state() if preserve_rng_state else None
        self.devices, self.device_states = get_device_states(*args) if preserve_rng_state else ([], [])

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Inside, everything is as it was; afterwards, as it is now."""
        from ..amp import autocast

        if self.rng_state is None:
            with autocast("cpu", **self.autocast):
                yield
            return
        present = get_rng_state()
        present_states = _states_of(self.devices)
        set_rng_state(self.rng_state)
        set_device_states(self.devices, self.device_states)
        try:
            with autocast("cpu", **self.autocast):
                yield
        finally:
            set_rng_state(present)
            set_device_states(self.devices, present_states)


def _states_of(devices: list[int]) -> list[Tensor]:
    if not devices:
        return []
    from .. import cuda

    return [cuda.get_rng_state(i) for i in devices]


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager, AbstractContextManager]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """``function(*args, **kwargs)``, keeping only the arguments for backward, which computes the rest again.

    Random numbers are the same the second time, unless ``preserve_rng_state=False``. ``function`` must compute the
    same both times; with ``determinism_check="default"`` the shapes, dtypes and devices of what it saves are compared,
    and `CheckpointError` is raised where they differ. With ``use_reentrant=True``, an older way that backward enters a
    second time, gradients flow only to tensors among ``args``, and ``kwargs`` are not accepted (ValueError).

    >>> x = torch.ones(2, requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(torch.exp, x, use_reentrant=False)
    >>> y.sum().backward(); torch.equal(x.grad, x.exp())
    True
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: pass use_reentrant; use_reentrant=False is recommended, True is what is used without it",
            stacklevel=2,
        )
        use_reentrant = True
    preserve_rng_state = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError(f"checkpoint: keyword arguments {list(kwargs)} are not supported with use_reentrant=True")
        if context_fn is not noop_context_fn or debug:
            raise ValueError("checkpoint: context_fn and debug need use_reentrant=False")
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    from ._checkpoint_frame import run_checkpointed

    if determinism_check not in ("default", "none"):
        raise ValueError(f"checkpoint: determinism_check must be 'default' or 'none', got {determinism_check!r}")
    contexts = context_fn()
    if not is_grad_enabled():
        with contexts[0]:
            return function(*args, **kwargs)
    return run_checkpointed(
        function,
        args,
        kwargs,
        surroundings=_Surroundings(preserve_rng_state, args),
        contexts=contexts,
        compare=determinism_check == "default",
        explain=debug if _debug_enabled is None else _debug_enabled,
        early_stop=early_stop and _default_early_stop,
    )


class CheckpointFunction(Function):
    """The reentrant way: a custom function whose backward runs forward and backward of the part."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state, args)
        ctx.tensor_places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx.arguments = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx.save_for_backward(*(args[i] for i in ctx.tensor_places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple:
        if not _autograd._is_checkpoint_valid():
            raise RuntimeError(
                "checkpoint: use_reentrant=True does not work with autograd.grad() or backward(inputs=...), since the "
                "recomputed part would add to .grad of all leaves; pass use_reentrant=False"
            )
        args = list(ctx.arguments)
        for i, tensor in zip(ctx.tensor_places, ctx.saved_tensors, strict=True):
            args[i] = tensor
        detached = detach_variable(tuple(args))
        with enable_grad(), ctx.surroundings.restored():
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, Tensor):
            outputs = (outputs,)
        reached = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not reached:
            raise RuntimeError(
                "checkpoint: no output of the function requires grad, so there is nothing to differentiate"
            )
        _autograd.backward([output for output, _ in reached], [grad for _, grad in reached])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in detached))


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run a Sequential, or list of modules, in ``segments`` parts, all but the last of them checkpointed."""
    if use_reentrant is None:
        warnings.warn(
            "checkpoint_sequential: pass use_reentrant; use_reentrant=False is recommended, True is what is used",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"checkpoint_sequential: unexpected keyword arguments {list(kwargs)}")
    modules = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(modules) // segments

    def part(start: int, stop: int) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            for module in modules[start:stop]:
                x = module(x)
            return x

        return run

    start = 0
    for _ in range(segments - 1):
        run = part(start, start + size)
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
        start += size
    return part(start, len(modules))(input)
