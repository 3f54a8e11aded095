"""Differentiation: `backward` and `grad`, grad modes, custom functions, and checks of gradients.

The engine is in C. It is entered at one place:
``_C._engine_run_backward(tensors, grad_tensors, keep_graph, create_graph, inputs, allow_unreachable, accumulate_grad)``
with tuples of tensors or `graph.GradientEdge`; it returns a tuple with the gradients of ``inputs`` (None for one
that was not reached, which raises RuntimeError unless ``allow_unreachable``), or fills ``.grad`` when
``accumulate_grad``.
"""

from __future__ import annotations

from _thread import _local  # threading.local, without the millisecond that importing threading takes

from .. import _C
from . import grad_mode
from .grad_mode import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = [
    "Variable",
    "Function",
    "backward",
    "grad_mode",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "enforce_grad_layout_policy",
    "variable",
]


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of the sum of ``tensors`` to ``.grad`` of the leaves (or of ``inputs`` only).

    ``grad_tensors`` has one tensor of the same shape per entry of ``tensors``; None stands for 1 and needs a scalar.
    ``retain_graph`` keeps what backward needs for another pass, and defaults to ``create_graph``, which records
    backward itself. Raises RuntimeError for wrong shapes, missing gradients, and tensors that do not require grad.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.backward((x * 3).sum()); x.grad
    tensor([3., 3.])
    """
    if grad_variables is not None:
        import warnings

        warnings.warn("backward: grad_variables is the old name of grad_tensors", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("backward: grad_tensors and its old name grad_variables were both given; give one")
        grad_tensors = grad_variables
    if isinstance(inputs, dict):
        inputs = tuple(inputs.values())
    wanted = _as_tuple(inputs) if inputs is not None else ()
    if inputs is not None and not wanted:
        raise RuntimeError("backward: inputs is empty; give at least one tensor, or leave inputs out")
    outputs = _as_tuple(tensors)
    gradients = _output_gradients("backward", outputs, grad_tensors, "grad_tensors")
    keep = create_graph if retain_graph is None else retain_graph
    with _partial_pass if wanted else _whole_pass:
        _C._engine_run_backward(outputs, gradients, keep, create_graph, wanted, True, True)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of the sum of ``outputs`` with respect to ``inputs``; no ``.grad`` is touched.

    Returns a tuple, one entry per input (a dict for a dict of inputs). An input that was not used raises RuntimeError,
    or gives None with ``allow_unused``, or zeros with ``materialize_grads``. With ``is_grads_batched`` the first
    dimension of every entry of ``grad_outputs`` is a batch, and so is that of every result.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("grad: materialize_grads=True fills in unused inputs, so allow_unused must not be False")
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        import warnings

        warnings.warn("grad: only_inputs=False has no effect; use backward to fill .grad", FutureWarning, stacklevel=2)
    names = None
    if isinstance(inputs, dict):
        names = list(inputs)
        inputs = tuple(inputs.values())
    results_out = _as_tuple(outputs)
    wanted = _as_tuple(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    with _partial_pass:
        if is_grads_batched:
            result = _grad_of_batch(results_out, wanted, grad_outputs, keep, create_graph, allow_unused)
        else:
            gradients = _output_gradients("grad", results_out, grad_outputs, "grad_outputs")
            result = _C._engine_run_backward(results_out, gradients, keep, create_graph, wanted, allow_unused, False)
    if materialize_grads:
        result = _fill_in_zeros(result, wanted)
    return result if names is None else dict(zip(names, result, strict=True))


class _Pass:
    """Notes, for the block, whether the backward pass of this thread fills ``.grad`` of all leaves."""

    def __init__(self, is_whole: bool) -> None:
        self.is_whole = is_whole

    def __enter__(self) -> None:
        stack = _passes.__dict__.setdefault("stack", [])
        stack.append(self.is_whole)

    def __exit__(self, *args: object) -> None:
        _passes.stack.pop()


_passes = _local()
_whole_pass = _Pass(True)
_partial_pass = _Pass(False)


def _is_checkpoint_valid() -> bool:
    """Whether a function may run a backward pass of its own within the present one (see utils.checkpoint)."""
    stack = _passes.__dict__.get("stack")
    return not stack or stack[-1]


def _as_tuple(tensors: Any) -> tuple:
    from .. import Tensor

    if isinstance(tensors, Tensor):
        return (tensors,)
    # A GradientEdge is a named tuple, and one thing.
    return (tensors,) if hasattr(tensors, "output_nr") else tuple(tensors)


def _output_gradients(op: str, outputs: tuple, given: Any, argument: str) -> tuple:
    """One gradient per output: checked where given, 1 for a scalar that requires grad, None for what does not."""
    from .. import Tensor

    if given is None:
        gradients: Sequence[Any] = (None,) * len(outputs)
    else:
        gradients = (given,) if isinstance(given, Tensor) else tuple(given)
    if len(gradients) != len(outputs):
        raise RuntimeError(f"{op}: {len(outputs)} tensors but {len(gradients)} gradients in {argument}")
    return tuple(
        _output_gradient(op, i, output, gradient, argument)
        for i, (output, gradient) in enumerate(zip(outputs, gradients, strict=True))
    )


def _output_gradient(op: str, i: int, output: Any, gradient: Any, argument: str) -> Any:
    from .. import Tensor, ones_like

    is_edge = not isinstance(output, Tensor)
    if isinstance(gradient, Tensor):
        if is_edge:
            return gradient
        if tuple(gradient.shape) != tuple(output.shape):
            raise RuntimeError(
                f"{op}: {argument}[{i}] has shape {list(gradient.shape)}, but the tensor it belongs to has shape "
                f"{list(output.shape)}"
            )
        if gradient.is_complex() != output.is_complex():
            raise RuntimeError(
                f"{op}: {argument}[{i}] has dtype {gradient.dtype}, but the tensor it belongs to has dtype "
                f"{output.dtype}: both must be complex, or neither"
            )
        return gradient
    if gradient is not None:
        raise TypeError(f"{op}: {argument}[{i}] is a {type(gradient).__name__}, expected a Tensor or None")
    if is_edge:
        raise RuntimeError(f"{op}: {argument}[{i}] is needed for a GradientEdge, it cannot be implied")
    if not output.requires_grad:
        return None
    if output.numel() != 1:
        raise RuntimeError(
            f"{op}: grad can be implicitly created only for scalar outputs, but tensor {i} has shape "
            f"{list(output.shape)}; reduce it, for example by .sum(), or give {argument}"
        )
    if not output.dtype.is_floating_point:
        raise RuntimeError(
            f"{op}: grad can be implicitly created only for real scalar outputs, but tensor {i} has dtype "
            f"{output.dtype}; give {argument}"
        )
    return ones_like(output)


def _grad_of_batch(outputs: tuple, inputs: tuple, given: Any, keep: bool, create: bool, allow_unused: bool) -> tuple:
    """One engine run per entry of the batch, stacked."""
    from .. import Tensor, stack

    gradients = (given,) if isinstance(given, Tensor) else tuple(given)
    sizes = {g.shape[0] for g in gradients if g is not None}
    if len(sizes) != 1:
        raise RuntimeError(
            f"grad: with is_grads_batched the entries of grad_outputs need one common first dimension, got {sizes}"
        )
    size = sizes.pop()
    rows = []
    for b in range(size):
        row = tuple(None if g is None else g[b] for g in gradients)
        row = _output_gradients("grad", outputs, row, "grad_outputs")
        last = b == size - 1
        rows.append(_C._engine_run_backward(outputs, row, keep or not last, create, inputs, allow_unused, False))
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows, strict=True))


def _fill_in_zeros(gradients: tuple, inputs: tuple) -> tuple:
    from .. import Tensor, zeros_like

    if any(g is None and not isinstance(i, Tensor) for g, i in zip(gradients, inputs, strict=True)):
        raise RuntimeError("grad: materialize_grads cannot fill in for a GradientEdge: its shape is unknown")
    return tuple(zeros_like(i, requires_grad=True) if g is None else g for g, i in zip(gradients, inputs, strict=True))


def variable(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("autograd.variable(...) is gone: make tensors with tensor(...)")


_HOMES = {"Function": "function", "detect_anomaly": "anomaly_mode", "set_detect_anomaly": "anomaly_mode"}


def __getattr__(name: str) -> Any:
    """Parts that most programs do without load on first use."""
    import importlib

    if name in _HOMES:
        value = getattr(importlib.import_module("." + _HOMES[name], __name__), name)
        globals()[name] = value
        return value
    if name in ("anomaly_mode", "function", "functional", "graph"):
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
