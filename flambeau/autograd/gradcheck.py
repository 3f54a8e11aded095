"""Checking derivatives against finite differences."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


class GradcheckError(RuntimeError):
    """A derivative is wrong, or the check cannot be made."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of ``func(*inputs)`` agree with finite differences of step ``eps``.

    Checked are the inputs that require grad, which should be float64 or complex128, and all floating outputs, complex
    ones included. A difference above ``atol + rtol * |numerical|`` raises `GradcheckError` (or gives False with
    ``raise_exception=False``). Checked besides: that repeated backward passes agree within ``nondet_tol``, that
    missing (undefined) gradients count as zeros, and that gradients have their input's layout, shape and dtype.
    ``fast_mode`` compares one random combination of all entries instead of every one.

    >>> x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    from ._gradcheck import check_all

    if not check_backward_ad and not check_forward_ad:
        raise AssertionError("gradcheck: at least one of check_forward_ad and check_backward_ad must be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("gradcheck: check_batched_grad needs check_backward_ad")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("gradcheck: check_batched_forward_grad needs check_forward_ad")
    try:
        check_all(
            func,
            inputs,
            eps=eps,
            atol=atol,
            rtol=rtol,
            nondet_tol=nondet_tol,
            undefined=check_undefined_grad,
            dtypes=check_grad_dtypes,
            batched=check_batched_grad,
            forward=check_forward_ad,
            backward=check_backward_ad,
            fast=fast_mode,
        )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """`gradcheck` of the gradients: whether second derivatives agree with finite differences.

    ``grad_outputs`` are the gradients of the outputs at which to check; random ones if None.
    """
    from .. import Tensor, is_grad_enabled, set_grad_enabled
    from . import grad
    from ._gradcheck import as_tuple, differentiable, random_like

    if not check_fwd_over_rev and not check_rev_over_rev:
        raise AssertionError("gradgradcheck: at least one of check_fwd_over_rev and check_rev_over_rev must be True")
    arguments = as_tuple(inputs)
    if grad_outputs is None:
        outputs = differentiable(func(*arguments))
        vectors: Sequence[Any] = tuple(random_like(y, gen_non_contig_grad_outputs) for y in outputs)
    else:
        vectors = as_tuple(grad_outputs)
    count = len(arguments)
    places = [i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad]

    def gradients(*args: Any) -> tuple:
        xs, vs = args[:count], args[count:]
        # Finite differences evaluate this without recording, but it is made of a derivative itself.
        recording = is_grad_enabled()
        with set_grad_enabled(True):
            xs = tuple(
                x.detach().requires_grad_() if i in places and not x.requires_grad else x for i, x in enumerate(xs)
            )
            ys = differentiable(func(*xs))
            wanted = [xs[i] for i in places]
            found = grad(ys, wanted, vs, create_graph=True, allow_unused=True)
        return tuple(g if recording else g.detach() for g in found if g is not None)

    return gradcheck(
        gradients,
        (*arguments, *vectors),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )
