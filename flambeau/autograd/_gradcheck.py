"""The work behind `gradcheck`.

Complex numbers are treated as pairs of real ones throughout: a complex input is moved along its real and its imaginary
axis, and a complex output gives two rows. With that, the gradient of a real function of the output is an ordinary
vector-Jacobian product over reals, whose convention (the gradient points where the real loss rises) needs no conjugate.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import Tensor, float64, no_grad, randn, stack, view_as_complex, view_as_real, zeros, zeros_like
from . import grad
from .gradcheck import GradcheckError


def as_tuple(values: Any) -> tuple:
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def is_inexact(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def differentiable(outputs: Any) -> tuple:
    """The outputs that a gradient can flow to."""
    return tuple(y for y in as_tuple(outputs) if isinstance(y, Tensor) and y.requires_grad)


def random_like(y: Tensor, is_strided: bool = False) -> Tensor:
    """Random numbers of the shape and dtype of ``y``, requiring grad; with ``is_strided`` not contiguous."""
    values = randn(y.shape, dtype=y.dtype, device=y.device)
    if is_strided and y.dim() > 0:
        values = stack([values, zeros_like(values)], -1).select(-1, 0).detach()
    return values.requires_grad_()


def _reals(x: Tensor) -> Tensor:
    """All entries as a float64 vector; two per complex entry."""
    x = x.detach()
    if x.layout is not _strided():
        x = x.to_dense()
    if x.is_complex():
        x = view_as_real(x.resolve_conj())
    return x.reshape(-1).to(float64)


def _strided() -> Any:
    from .. import strided

    return strided


def _from_reals(values: Tensor, like: Tensor) -> Tensor:
    if like.is_complex():
        return view_as_complex(values.reshape(*like.shape, 2)).to(like.dtype)
    return values.reshape(like.shape).to(like.dtype)


@dataclass
class _Problem:
    """A function, its arguments, and which of them are differentiated."""

    func: Callable
    arguments: tuple
    places: list[int]
    eps: float

    def outputs(self, arguments: tuple | None = None) -> list[Tensor]:
        result = as_tuple(self.func(*(self.arguments if arguments is None else arguments)))
        return [y for y in result if is_inexact(y)]

    def shifted(self, place: int, direction: Tensor) -> list[Tensor]:
        """The central difference of every output, as reals, when one argument moves along ``direction``."""
        x = self.arguments[place]
        kept = x.data.clone()
        base = _reals(kept)
        ends = []
        for sign in (1.0, -1.0):
            # Written into the argument itself, since the function may hold on to it. Through .data the change, undone
            # at once, does not count as one for the graphs that have saved the argument.
            x.data.copy_(_from_reals(base + sign * self.eps * direction, x))
            try:
                with no_grad():
                    ends.append([_reals(y) for y in self.outputs()])
            finally:
                x.data.copy_(kept)
        return [(up - down) / (2 * self.eps) for up, down in zip(*ends, strict=True)]

    def gradients(self, output: Tensor, vector: Tensor) -> list[Tensor | None]:
        """The gradients of the product of one output with ``vector``, by backward."""
        wanted = [self.arguments[i] for i in self.places]
        return list(grad(output, wanted, vector, retain_graph=True, allow_unused=True))


def check_all(
    func: Callable,
    inputs: Any,
    *,
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    undefined: bool,
    dtypes: bool,
    batched: bool,
    forward: bool,
    backward: bool,
    fast: bool,
) -> None:
    """Run the checks of `gradcheck`; raise GradcheckError at the first that fails."""
    arguments = as_tuple(inputs)
    problem = _Problem(func, arguments, _checked_places(arguments), eps)
    outputs = problem.outputs()
    _check_outputs(outputs, func, arguments)
    compare = _Comparison(atol, rtol)
    if not any(y.requires_grad for y in outputs):
        _check_no_dependence(problem, compare)
        return
    if backward:
        check = _check_one_combination if fast else _check_every_entry
        check(problem, outputs, compare)
        _check_repeated(problem, outputs, nondet_tol)
        _check_form(problem, outputs, dtypes)
        if batched:
            _check_batched(problem, outputs, compare)
        if undefined:
            _check_undefined(problem)
    if forward:
        _check_forward(problem, outputs, compare)


def _checked_places(arguments: tuple) -> list[int]:
    places = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]
    if not places:
        raise ValueError("gradcheck: no input requires grad, so there is nothing to check")
    for i in places:
        x = arguments[i]
        if x.element_size() < (16 if x.is_complex() else 8):
            warnings.warn(
                f"gradcheck: input {i} is {x.dtype}; finite differences need double precision and will likely fail",
                stacklevel=4,
            )
        if x.layout is _strided() and any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"gradcheck: input {i} is expanded (a stride is 0): several entries share memory, so they cannot be "
                "moved one by one; use .contiguous()"
            )
        x.retain_grad()
    return places


def _check_outputs(outputs: list[Tensor], func: Callable, arguments: tuple) -> None:
    if not outputs:
        raise GradcheckError("gradcheck: func returned no floating or complex tensor")
    for i, y in enumerate(outputs):
        if y.layout is not _strided():
            raise ValueError(f"gradcheck: output {i} is sparse; use .to_dense() in func")


class _Comparison:
    def __init__(self, atol: float, rtol: float) -> None:
        self.atol = atol
        self.rtol = rtol

    def agree(self, computed: Tensor, numerical: Tensor) -> bool:
        from .. import allclose

        return allclose(computed, numerical, rtol=self.rtol, atol=self.atol)

    def require(self, computed: Tensor, numerical: Tensor, i: int, j: int, what: str) -> None:
        if not self.agree(computed, numerical):
            raise GradcheckError(
                f"gradcheck: {what} for output {i} with respect to input {j} differs from finite differences by up to "
                f"{(computed - numerical).abs().max().item():.3g} (atol {self.atol}, rtol {self.rtol})\n"
                f"numerical:\n{numerical}\nanalytical:\n{computed}"
            )


def _zeros_for(x: Tensor) -> Tensor:
    return zeros(x.numel() * (2 if x.is_complex() else 1), dtype=float64)


def _unit(size: int, k: int) -> Tensor:
    direction = zeros(size, dtype=float64)
    direction[k] = 1.0
    return direction


def _check_every_entry(problem: _Problem, outputs: list[Tensor], compare: _Comparison) -> None:
    numerical = [_numerical_jacobian(problem, j) for j in problem.places]
    for i, y in enumerate(outputs):
        computed = _analytical_jacobian(problem, y)
        for n, j in enumerate(problem.places):
            compare.require(computed[n], numerical[n][i], i, j, "the Jacobian")


def _numerical_jacobian(problem: _Problem, j: int) -> list[Tensor]:
    """One matrix per output: rows are entries of the input, columns those of the output."""
    size = _zeros_for(problem.arguments[j]).numel()
    if size == 0:
        return [zeros(0, _zeros_for(y).numel(), dtype=float64) for y in problem.outputs()]
    rows = [problem.shifted(j, _unit(size, k)) for k in range(size)]
    return [stack(column) for column in zip(*rows, strict=True)]


def _analytical_jacobian(problem: _Problem, y: Tensor) -> list[Tensor]:
    """One matrix per checked input, of the layout of `_numerical_jacobian`, by one backward per entry."""
    size = _zeros_for(y).numel()
    wanted = [problem.arguments[j] for j in problem.places]
    if size == 0 or not y.requires_grad:
        return [zeros(_zeros_for(x).numel(), size, dtype=float64) for x in wanted]
    columns: list[list[Tensor]] = [[] for _ in wanted]
    for k in range(size):
        found = problem.gradients(y, _from_reals(_unit(size, k), y))
        for n, (g, x) in enumerate(zip(found, wanted, strict=True)):
            columns[n].append(_zeros_for(x) if g is None else _reals(g))
    return [stack(column, 1) for column in columns]


def _check_one_combination(problem: _Problem, outputs: list[Tensor], compare: _Comparison) -> None:
    for n, j in enumerate(problem.places):
        direction = randn(_zeros_for(problem.arguments[j]).numel(), dtype=float64)
        direction = direction / direction.norm().clamp(min=1e-30)
        differences = problem.shifted(j, direction)
        for i, y in enumerate(outputs):
            weights = randn(_zeros_for(y).numel(), dtype=float64)
            weights = weights / weights.norm().clamp(min=1e-30)
            numerical = (differences[i] * weights).sum()
            computed = zeros((), dtype=float64)
            if y.requires_grad:
                g = problem.gradients(y, _from_reals(weights, y))[n]
                if g is not None:
                    computed = (_reals(g) * direction).sum()
            if not compare.agree(computed, numerical):
                # Say which entries are wrong, as the slow mode does, before giving up.
                _check_every_entry(problem, outputs, compare)
                raise GradcheckError(
                    f"gradcheck: in fast mode the gradient of output {i} with respect to input {j} along a random "
                    f"direction is {computed.item()}, by finite differences {numerical.item()}"
                )


def _check_no_dependence(problem: _Problem, compare: _Comparison) -> None:
    """Outputs that do not require grad must not change with the inputs."""
    for j in problem.places:
        for i, matrix in enumerate(_numerical_jacobian(problem, j)):
            if not compare.agree(zeros_like(matrix), matrix):
                raise GradcheckError(
                    f"gradcheck: output {i} does not require grad, but by finite differences it depends on input {j}"
                )


def _check_repeated(problem: _Problem, outputs: list[Tensor], tolerance: float) -> None:
    for i, y in enumerate(outputs):
        if not y.requires_grad:
            continue
        vector = random_like(y).detach()
        first, second = problem.gradients(y, vector), problem.gradients(y, vector)
        for a, b, j in zip(first, second, problem.places, strict=True):
            if a is not None and a.numel() and (_reals(a) - _reals(b)).abs().max() > tolerance:
                raise GradcheckError(
                    f"gradcheck: backward is not reentrant: two passes for output {i} gave different gradients of "
                    f"input {j} (nondet_tol {tolerance})"
                )


def _check_form(problem: _Problem, outputs: list[Tensor], dtypes: bool) -> None:
    for i, y in enumerate(outputs):
        if not y.requires_grad:
            continue
        for g, j in zip(problem.gradients(y, random_like(y).detach()), problem.places, strict=True):
            x = problem.arguments[j]
            if g is None:
                continue
            if g.shape != x.shape:
                raise GradcheckError(
                    f"gradcheck: the gradient of output {i} has shape {list(g.shape)}, input {j} {list(x.shape)}"
                )
            if dtypes and g.dtype != x.dtype:
                raise GradcheckError(f"gradcheck: the gradient of output {i} is {g.dtype}, input {j} {x.dtype}")


def _check_batched(problem: _Problem, outputs: list[Tensor], compare: _Comparison) -> None:
    wanted = [problem.arguments[j] for j in problem.places]
    for i, y in enumerate(outputs):
        if not y.requires_grad:
            continue
        vectors = [random_like(y).detach() for _ in range(2)]
        batch = grad(y, wanted, stack(vectors), retain_graph=True, allow_unused=True, is_grads_batched=True)
        for b, vector in enumerate(vectors):
            for g, together, j in zip(problem.gradients(y, vector), batch, problem.places, strict=True):
                if g is not None:
                    compare.require(_reals(together[b]), _reals(g), i, j, "the batched gradient")


def _check_undefined(problem: _Problem) -> None:
    """A missing gradient of one output must count as zeros."""
    outputs = [y for y in problem.outputs() if y.requires_grad]
    if len(outputs) < 2:
        return
    wanted = [problem.arguments[j] for j in problem.places]
    for i, y in enumerate(outputs):
        vector = random_like(y).detach()
        with_zeros = [vector if z is y else zeros_like(z) for z in outputs]
        try:
            alone = grad(y, wanted, vector, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(
                f"gradcheck: backward of output {i} fails when the gradients of the other outputs are undefined; it "
                f"must treat them as zeros: {error}"
            ) from error
        together = grad(outputs, wanted, with_zeros, retain_graph=True, allow_unused=True)
        for a, b, j in zip(alone, together, problem.places, strict=True):
            x = problem.arguments[j]
            if not (_zeros_or(a, x) == _zeros_or(b, x)).logical_or(_zeros_or(a, x).isnan()).all():
                raise GradcheckError(
                    f"gradcheck: the gradient of input {j} changes when undefined gradients of the outputs other than "
                    f"{i} are replaced by zeros"
                )


def _zeros_or(g: Tensor | None, x: Tensor) -> Tensor:
    return _zeros_for(x) if g is None else _reals(g)


def _check_forward(problem: _Problem, outputs: list[Tensor], compare: _Comparison) -> None:
    from . import forward_ad

    for j in problem.places:
        x = problem.arguments[j]
        direction = randn(_zeros_for(x).numel(), dtype=float64)
        numerical = problem.shifted(j, direction)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(x.detach(), _from_reals(direction, x))
            arguments = (*problem.arguments[:j], dual, *problem.arguments[j + 1 :])
            for i, y in enumerate(problem.outputs(arguments)):
                tangent = forward_ad.unpack_dual(y).tangent
                computed = _zeros_for(y) if tangent is None else _reals(tangent)
                compare.require(computed, numerical[i], i, j, "the forward-mode derivative")
