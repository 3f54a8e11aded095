"""Jacobians, Hessians and their products with vectors, for functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Tensor, enable_grad, is_grad_enabled, ones_like, stack, zeros, zeros_like
from . import grad

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]


def vjp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(``func(*inputs)``, the product of ``v`` with its Jacobian).

    ``v`` has the structure and shapes of the output, and may be left out for an output of one element. With
    ``strict`` an output that does not depend on an input raises RuntimeError instead of giving zeros.

    >>> torch.autograd.functional.vjp(torch.exp, torch.zeros(2), torch.ones(2))[1]
    tensor([1., 1.])
    """
    single_input, xs = _unpack(inputs, "vjp: inputs")
    with enable_grad():
        xs = _fresh(xs, create_graph)
        outputs = func(*xs)
        single_output, ys = _unpack(outputs, "vjp: the result of func")
        _check_depends("vjp", ys, strict)
        vs = _vector(v, ys, "vjp", "the output")
    with _recording(create_graph):
        products = _gradients(ys, xs, vs, create_graph, strict, "vjp")
    return _result(ys, single_output, create_graph), _result(products, single_input, create_graph)


def jvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(``func(*inputs)``, the product of its Jacobian with ``v``), by differentiating backward twice.

    ``v`` has the structure and shapes of ``inputs``, and may be left out for one input of one element.
    """
    _, xs = _unpack(inputs, "jvp: inputs")
    with enable_grad():
        xs = _fresh(xs, create_graph)
        vs = _vector(v, xs, "jvp", "inputs")
        outputs = func(*xs)
        single_output, ys = _unpack(outputs, "jvp: the result of func")
        _check_depends("jvp", ys, strict)
        # The product with the transposed Jacobian is linear in these, so its derivative is the product sought.
        us = tuple(zeros_like(y, requires_grad=True) for y in ys)
        transposed = _gradients(ys, xs, us, True, strict, "jvp")
        _check_depends("jvp", transposed, strict)
    with _recording(create_graph):
        products = _gradients(transposed, us, vs, create_graph, strict, "jvp")
    return _result(ys, single_output, create_graph), _result(products, single_output, create_graph)


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """All partial derivatives of ``func``: for each output and input a tensor of both their shapes.

    A tuple of outputs, of inputs, or both gives a tuple (of tuples). ``vectorize`` computes all rows in one batch.
    ``strategy="forward-mode"`` needs ``vectorize=True`` and gives the same values column by column.

    >>> torch.autograd.functional.jacobian(lambda x: x * x, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ValueError(f"jacobian: strategy must be 'reverse-mode' or 'forward-mode', got {strategy!r}")
    if vectorize and strict:
        raise RuntimeError("jacobian: strict=True does not work with vectorize=True")
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError("jacobian: create_graph=True does not work with strategy='forward-mode'")
        if not vectorize:
            raise NotImplementedError("jacobian: strategy='forward-mode' needs vectorize=True")
    single_input, xs = _unpack(inputs, "jacobian: inputs")
    with enable_grad():
        xs = _fresh(xs, create_graph)
        outputs = func(*xs)
        single_output, ys = _unpack(outputs, "jacobian: the result of func")
        _check_depends("jacobian", ys, strict)
    with _recording(create_graph):
        rows = tuple(_jacobian_of(y, xs, create_graph, strict, vectorize) for y in ys)
    if not create_graph:
        rows = tuple(tuple(block.detach() for block in row) for row in rows)
    rows = tuple(row[0] if single_input else row for row in rows)
    return rows[0] if single_output else rows


def _jacobian_of(y: Tensor, xs: tuple, create_graph: bool, strict: bool, vectorize: bool) -> tuple[Tensor, ...]:
    """The Jacobian of one output: one block per input."""
    if y.numel() == 0:
        return tuple(zeros(*y.shape, *x.shape, dtype=x.dtype, device=x.device) for x in xs)
    if not y.requires_grad:
        return tuple(zeros(*y.shape, *x.shape, dtype=x.dtype, device=x.device) for x in xs)
    if vectorize:
        from .. import eye

        basis = eye(y.numel(), dtype=y.dtype, device=y.device).view(y.numel(), *y.shape)
        blocks = grad(
            y, xs, basis, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
        )
        columns = [
            zeros(y.numel(), *x.shape, dtype=x.dtype, device=x.device) if block is None else block
            for block, x in zip(blocks, xs, strict=True)
        ]
        return tuple(column.view(*y.shape, *x.shape) for column, x in zip(columns, xs, strict=True))
    flat = y.reshape(-1)
    rows = [_gradients((flat[i],), xs, (None,), create_graph, strict, "jacobian") for i in range(flat.numel())]
    return tuple(stack([row[j] for row in rows]).view(*y.shape, *xs[j].shape) for j in range(len(xs)))


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """All second derivatives of ``func``, whose result must have one element: a tensor of the input's shape twice.

    A tuple of inputs gives a tuple of tuples.

    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    single_input, xs = _unpack(inputs, "hessian: inputs")

    def scalar(*args: Any) -> Tensor:
        result = func(*args)
        single, ys = _unpack(result, "hessian: the result of func")
        if not single or ys[0].numel() != 1:
            raise RuntimeError(
                f"hessian: func must return one tensor of one element, got {[list(y.shape) for y in ys]}"
            )
        return ys[0].reshape(())

    def gradient(*args: Any) -> Any:
        if outer_jacobian_strategy == "forward-mode":
            args = tuple(x.detach().requires_grad_() if not x.requires_grad else x for x in args)
        result = jacobian(scalar, args, create_graph=True, strict=strict)
        return result[0] if single_input else result

    return jacobian(
        gradient,
        xs[0] if single_input else xs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy="reverse-mode" if outer_jacobian_strategy == "forward-mode" else outer_jacobian_strategy,
    )


def vhp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(``func(*inputs)``, the product of ``v`` with its Hessian); ``func`` returns one element."""
    single_input, xs = _unpack(inputs, "vhp: inputs")
    with enable_grad():
        xs = _fresh(xs, create_graph)
        vs = _vector(v, xs, "vhp", "inputs")
        value = _scalar_value(func, xs, "vhp", strict)
        first = _gradients((value,), xs, (None,), True, strict, "vhp")
        _check_depends("vhp", first, strict)
    with _recording(create_graph):
        products = _gradients(first, xs, vs, create_graph, strict, "vhp")
    return _result((value,), True, create_graph), _result(products, single_input, create_graph)


def hvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """(``func(*inputs)``, the product of its Hessian with ``v``). `vhp` is cheaper, and equal for smooth functions."""
    single_input, xs = _unpack(inputs, "hvp: inputs")
    with enable_grad():
        xs = _fresh(xs, create_graph)
        vs = _vector(v, xs, "hvp", "inputs")
        value = _scalar_value(func, xs, "hvp", strict)
        first = _gradients((value,), xs, (None,), True, strict, "hvp")
        _check_depends("hvp", first, strict)
        us = tuple(zeros_like(g, requires_grad=True) for g in first)
        transposed = _gradients(first, xs, us, True, strict, "hvp")
        _check_depends("hvp", transposed, strict)
    with _recording(create_graph):
        products = _gradients(transposed, us, vs, create_graph, strict, "hvp")
    return _result((value,), True, create_graph), _result(products, single_input, create_graph)


def _scalar_value(func: Callable, xs: tuple, op: str, strict: bool) -> Tensor:
    single, ys = _unpack(func(*xs), f"{op}: the result of func")
    _check_depends(op, ys, strict)
    if not single or ys[0].numel() != 1:
        raise RuntimeError(f"{op}: func must return one tensor of one element, got {[list(y.shape) for y in ys]}")
    return ys[0]


def _unpack(value: Any, what: str) -> tuple[bool, tuple]:
    """(whether ``value`` is one tensor, the tensors). Raises TypeError for anything but tensors."""
    single = not isinstance(value, tuple)
    values = (value,) if single else value
    for i, x in enumerate(values):
        if not isinstance(x, Tensor):
            raise TypeError(f"{what} must be a Tensor or a tuple of them, got a {type(x).__name__} at {i}")
    return single, values


def _fresh(xs: tuple, create_graph: bool) -> tuple:
    """The inputs as tensors to differentiate by: part of the caller's graph only if that is wanted."""
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in xs)
    return tuple(x.detach().requires_grad_() for x in xs)


def _recording(create_graph: bool) -> Any:
    from .. import set_grad_enabled

    return set_grad_enabled(True if create_graph else is_grad_enabled())


def _check_depends(op: str, ys: tuple, strict: bool) -> None:
    if strict:
        for i, y in enumerate(ys):
            if not y.requires_grad:
                raise RuntimeError(f"{op}: with strict=True every output must depend on the inputs; {i} does not")


def _vector(v: Any, like: tuple, op: str, what: str) -> tuple:
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"{op}: v may be left out only if {what} is one tensor of one element")
        return (ones_like(like[0]),)
    _, vs = _unpack(v, f"{op}: v")
    if len(vs) != len(like):
        raise RuntimeError(f"{op}: v has {len(vs)} tensors, but {what} has {len(like)}")
    for i, (a, b) in enumerate(zip(vs, like, strict=True)):
        if a.shape != b.shape:
            raise RuntimeError(f"{op}: v[{i}] has shape {list(a.shape)}, but {what} has {list(b.shape)} there")
    return vs


def _gradients(ys: tuple, xs: tuple, vs: tuple, create_graph: bool, strict: bool, op: str) -> tuple[Tensor, ...]:
    """The gradients of the outputs that depend on anything, with zeros for inputs that are not reached."""
    pairs = [(y, v) for y, v in zip(ys, vs, strict=True) if y.requires_grad]
    if pairs:
        found = grad(
            [y for y, _ in pairs],
            xs,
            [v for _, v in pairs],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
    else:
        found = (None,) * len(xs)
    for i, g in enumerate(found):
        if strict and g is None:
            raise RuntimeError(f"{op}: with strict=True the output must depend on every input; not on input {i}")
        if strict and create_graph and not g.requires_grad:
            raise RuntimeError(f"{op}: with strict=True the derivative must depend on every input; not on input {i}")
    return tuple(zeros_like(x) if g is None else g for g, x in zip(found, xs, strict=True))


def _result(values: tuple, single: bool, create_graph: bool) -> Any:
    if not create_graph:
        values = tuple(v.detach() for v in values)
    return values[0] if single else values
