"""The tape: versions, hooks, retained and released graphs, long chains, cycles, threads, errors that say where."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

import flambeau as fl


def leaf(*values):
    return fl.tensor(values or (1.0, 2.0, 3.0), dtype=fl.float64, requires_grad=True)


def test_a_write_to_a_saved_tensor_is_noticed_and_says_which_op():
    x = leaf()
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"(?s)modified.*in.?place|in.?place.*modified") as caught:
        z.sum().backward()
    assert "test_tape.py" in str(caught.value)


def test_versions_are_shared_by_views_and_not_by_detached_data():
    x = fl.zeros(3)
    view = x[1:]
    before = x._version
    view.add_(1)
    assert x._version == view._version == before + 1
    x.data.add_(1)
    assert x._version == before + 1


def test_leaf_rules():
    x = leaf()
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="leaf"):
        x[0] = 5
    with fl.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 3, 4]
    with pytest.raises(RuntimeError):
        fl.tensor([1, 2]).requires_grad_()


def test_graph_is_released_unless_kept():
    x = leaf()
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8, 12]
    with pytest.raises(RuntimeError, match=r"second time|retain_graph"):
        y.backward()


def test_hooks_run_in_order_and_may_change_gradients():
    x = leaf()
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append("first") or g * 10)
    handle = y.register_hook(lambda g: seen.append(f"second {g[0].item():g}"))
    y.grad_fn.register_prehook(lambda grads: seen.append("node pre"))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append("node"))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(f"post {t.grad[0].item():g}"))
    y.sum().backward()
    assert seen == ["first", "second 10", "node pre", "node", "post 20"]
    handle.remove()


def test_retain_grad_and_hooks_on_intermediate_values():
    x = leaf()
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.tolist() == [4, 8, 12]


@pytest.mark.parametrize("power", [2, 3, 4])
def test_derivatives_of_derivatives(power):
    x = leaf(2.0)
    y = x**power
    expected = 2.0**power
    for k in range(power):
        (y,) = fl.autograd.grad(y.sum(), x, create_graph=True)
        expected = expected * (power - k) / 2.0
        assert y.item() == pytest.approx(expected)


def test_million_nodes_neither_overflow_nor_leak():
    x = leaf()
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    # A chain dropped without a backward pass is taken apart without recursion too.
    y = x
    for _ in range(1_000_000):
        y = y * 1
    node = weakref.ref(y)
    del y
    assert node() is None


def test_cycles_through_create_graph_are_collected():
    x = leaf()
    mark = weakref.ref(x)
    y = (x**3).sum()
    y.backward(create_graph=True)  # x.grad's graph holds x
    del x, y
    gc.collect()
    assert mark() is None


def test_reentrant_backward():
    class Inner(fl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            with fl.enable_grad():
                inside = x.detach().requires_grad_()
                (inside**2).sum().backward()
            return grad * inside.grad

    x = leaf()
    Inner.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 4, 6]


def test_threads_differentiate_at_the_same_time():
    x = leaf()
    errors = []

    def work():
        try:
            for _ in range(50):
                (grad,) = fl.autograd.grad((x.sin() * x).sum(), x)
                assert grad.shape == x.shape
                assert fl.is_grad_enabled()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    with fl.no_grad():  # the other threads keep their own mode
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not errors


def test_saved_tensor_hooks_pack_and_unpack():
    x = leaf()
    kept = []

    def pack(t):
        kept.append(t.shape)
        return t.tolist()

    with fl.autograd.graph.saved_tensors_hooks(pack, lambda values: fl.tensor(values, dtype=fl.float64)):
        y = x * x
    y.sum().backward()
    assert kept and x.grad.tolist() == [2, 4, 6]


def test_errors_in_backward_name_the_op_and_the_line():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g[:1])
    with pytest.raises((RuntimeError, ValueError)):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="scalar"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        fl.ones(1).backward()


def test_unused_inputs():
    x, z = leaf(), leaf()
    with pytest.raises(RuntimeError, match="allow_unused"):
        fl.autograd.grad(x.sum(), [x, z])
    first, second = fl.autograd.grad(x.sum(), [x, z], allow_unused=True)
    assert first.tolist() == [1, 1, 1] and second is None
