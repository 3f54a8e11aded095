"""Chains of view ops give PyTorch's sizes, strides and offsets, and writes through them land where they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau as fl

torch = pytest.importorskip("torch")

STEPS = {
    "transpose": lambda t, i, j: t.transpose(i % t.dim(), j % t.dim()) if t.dim() else t,
    "select": lambda t, i, j: t.select(i % t.dim(), j % t.shape[i % t.dim()]) if t.dim() else t,
    "narrow": lambda t, i, j: t.narrow(i % t.dim(), j % t.shape[i % t.dim()], 1) if t.dim() else t,
    "slice": lambda t, i, j: t[i % 2 :: 1 + j % 3] if t.dim() and t.shape[0] > 1 else t,
    "unsqueeze": lambda t, i, j: t.unsqueeze(i % (t.dim() + 1)),
    "squeeze": lambda t, i, j: t.squeeze(),
    "flatten": lambda t, i, j: t.flatten() if t.is_contiguous() else t,
    "view": lambda t, i, j: t.view(-1, t.shape[-1]) if t.dim() and t.is_contiguous() else t,
    "diagonal": lambda t, i, j: t.diagonal(0, 0, 1) if t.dim() > 1 and t.shape[0] and t.shape[1] else t,
    "movedim": lambda t, i, j: t.movedim(i % t.dim(), j % t.dim()) if t.dim() else t,
    "unfold": lambda t, i, j: t.unfold(i % t.dim(), 1, 1) if 0 < t.dim() < 6 else t,
    "detach": lambda t, i, j: t.detach(),
}
chains = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 7), st.integers(0, 7)), max_size=6)


def follow(t, chain):
    for step, i, j in chain:
        t = STEPS[step](t, i, j)
    return t


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), chains)
def test_geometry_and_writes(shape, chain):
    count = int(np.prod(shape))
    ours, theirs = fl.arange(count).reshape(shape), torch.arange(count).reshape(shape)
    a, b = follow(ours, chain), follow(theirs, chain)
    assert (tuple(a.shape), a.stride(), a.storage_offset()) == (tuple(b.shape), b.stride(), b.storage_offset())
    assert a.is_contiguous() == b.is_contiguous()
    assert a.data_ptr() - ours.data_ptr() == b.data_ptr() - theirs.data_ptr()
    np.testing.assert_array_equal(a.numpy(), b.numpy())
    a.add_(100)
    b.add_(100)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), chains, chains)
def test_gradients_flow_through_writes_to_views(shape, first, second):
    """In-place on a view of a non-leaf rewrites the history of its base."""
    grads = []
    count = int(np.prod(shape))
    for library in (fl, torch):
        leaf = library.linspace(1, 2, count, dtype=library.float64).reshape(shape).clone().requires_grad_()
        base = leaf * 2
        differentiable = [step for step in first if step[0] != "detach"]
        follow(base, differentiable).mul_(3)
        follow(base, [step for step in second if step[0] != "detach"]).square_().add_(1)
        base.sin().sum().backward()
        grads.append(leaf.grad.numpy())
    np.testing.assert_allclose(grads[0], grads[1], rtol=1e-10)
