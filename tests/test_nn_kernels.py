"""Convolution, pooling, normalisation, attention and class losses against PyTorch, with two orders of derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest

import flambeau

torch = pytest.importorskip("torch")


def both(function, *arrays, second=False, rtol=1e-9):
    """Compare function(library, *tensors) and its derivatives in both libraries."""
    results = []
    cotangent = None
    for library in (torch, flambeau):
        inputs = [library.tensor(a.tolist(), dtype=library.float64, requires_grad=True) for a in arrays]
        output = function(library, *inputs)
        if cotangent is None:
            cotangent = np.random.default_rng(1).normal(size=tuple(output.shape))
        seed = library.tensor(cotangent.tolist(), dtype=library.float64)
        first = library.autograd.grad(output, inputs, seed, create_graph=second)
        found = [output, *first]
        if second:
            total = sum((g * g).sum() for g in first) + sum(0 * x.sum() for x in inputs)
            found += library.autograd.grad(total, inputs)
        results.append([np.array(t.detach().tolist()) for t in found])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-9)


def normal(*sizes):
    return np.random.default_rng(math.prod(sizes)).normal(size=sizes)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}, {"padding": "same", "dilation": 3}],
    ids=str,
)
def test_convolution(options, second):
    weight = normal(6, 4 // options.get("groups", 1), 3, 2)
    both(
        lambda lib, x, w, b: lib.nn.functional.conv2d(x, w, b, **options),
        normal(2, 4, 7, 8),
        weight,
        normal(6),
        second=second,
    )


@pytest.mark.parametrize(
    "options",
    [
        {"stride": 2, "output_padding": 1},
        {"stride": 3, "dilation": 2, "groups": 2},
        # An output padding of a stride and more: part of the result lies beyond the input's own reach.
        {"stride": (3, 2), "padding": (1, 2), "output_padding": (2, 3), "dilation": (4, 4)},
    ],
    ids=str,
)
def test_transposed_convolution(options):
    weight = normal(4, 6 // options.get("groups", 1), 4, 5)
    both(
        lambda lib, x, w, b: lib.nn.functional.conv_transpose2d(x, w, b, **options),
        normal(2, 4, 4, 4),
        weight,
        normal(6),
    )


def test_channels_last_stays():
    weight = flambeau.randn(8, 4, 3, 3)
    image = flambeau.randn(2, 4, 9, 9)
    last = image.contiguous(memory_format=flambeau.channels_last)
    F = flambeau.nn.functional
    for function in (lambda x: F.conv2d(x, weight), lambda x: F.max_pool2d(x, 2), lambda x: F.avg_pool2d(x, 3, 1, 1)):
        assert function(last).is_contiguous(memory_format=flambeau.channels_last)
        assert flambeau.allclose(function(last), function(image), atol=1e-5)


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(
    "pool",
    [
        lambda F, x: F.max_pool2d(x, 3, 2, 1),
        lambda F, x: F.max_pool2d(x, 2, dilation=2, ceil_mode=True),
        lambda F, x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
        lambda F, x: F.avg_pool2d(x, 2, divisor_override=3),
        lambda F, x: F.adaptive_avg_pool2d(x, (3, None)),
        lambda F, x: F.adaptive_max_pool2d(x, 4),
        lambda F, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    ],
)
def test_pooling(pool, second):
    both(lambda lib, x: pool(lib.nn.functional, x), normal(2, 3, 8, 20), second=second)


def test_largest_of_a_window_prefers_nan_and_the_first():
    x = flambeau.tensor([[[1.0, 1.0, math.nan, 0.0, -math.inf, -math.inf]]])
    values, indices = flambeau.nn.functional.max_pool1d(x, 2, return_indices=True)
    assert indices.tolist() == [[[0, 2, 4]]]
    assert math.isnan(values[0, 0, 1])


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize(
    "norm",
    [
        lambda F, x, w, b: F.batch_norm(x, None, None, w, b, True),
        lambda F, x, w, b: F.instance_norm(x, None, None, w, b),
        lambda F, x, w, b: F.group_norm(x, 2, w, b),
        lambda F, x, w, b: F.layer_norm(x, (6, 5), w.sum() + x[0, 0], b.sum() + x[0, 1]),
        lambda F, x, w, b: F.rms_norm(x, (5,), x[0, 0, 0]),
    ],
)
def test_normalisation(norm, second):
    both(
        lambda lib, x, w, b: norm(lib.nn.functional, x, w, b) + 0 * (w.sum() + b.sum()),
        normal(3, 4, 6, 5),
        normal(4),
        normal(4),
        second=second,
        rtol=1e-6,
    )


def test_moments_far_from_zero():
    x = flambeau.randn(4, 1000) + 1e4
    assert abs(float(flambeau.nn.functional.layer_norm(x, (1000,)).std()) - 1) < 1e-3


def test_running_statistics():
    for shape in ((8, 3), (4, 3, 5, 5)):
        found = []
        for library in (torch, flambeau):
            mean, var = library.zeros(3), library.ones(3)
            x = library.tensor(normal(*shape).tolist(), dtype=library.float32)
            library.nn.functional.batch_norm(x, mean, var, training=True, momentum=0.3)
            found.append((mean.tolist(), var.tolist()))
        np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mask", ["none", "causal", "boolean", "added"])
@pytest.mark.parametrize("second", [False, True])
def test_attention(mask, second):
    def attend(lib, q, k, v):
        given = {
            "boolean": lib.tensor((normal(70, 300) > 0).tolist()),
            "added": lib.tensor(normal(70, 300).tolist(), dtype=lib.float64),
        }.get(mask)
        if lib is torch and second:
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                return lib.nn.functional.scaled_dot_product_attention(q, k, v, given, is_causal=mask == "causal")
        return lib.nn.functional.scaled_dot_product_attention(q, k, v, given, is_causal=mask == "causal")

    both(attend, normal(2, 70, 8), normal(2, 300, 8), normal(2, 300, 5), second=second, rtol=1e-6)


def test_attention_hides_what_nobody_may_see():
    value = flambeau.ones(1, 3, 2)
    value[0, 2] = math.nan
    seen = flambeau.tensor([True, True, False])
    result = flambeau.nn.functional.scaled_dot_product_attention(
        flambeau.ones(1, 1, 2), flambeau.ones(1, 3, 2), value, seen
    )
    assert result.tolist() == [[[1.0, 1.0]]]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("second", [False, True])
def test_class_losses(reduction, second):
    def cross_entropy(lib, x):
        weight = lib.tensor([1.0, 2.0, 0.5, 3.0], dtype=lib.float64)
        target = lib.tensor([0, 3, -100, 1, 2])
        return lib.nn.functional.cross_entropy(x, target, weight, reduction=reduction)

    def nll_loss(lib, x):
        return lib.nn.functional.nll_loss(x.view(1, 4, 5) ** 2, lib.tensor([[0, 3, 1, 1, 2]]), reduction=reduction)

    both(cross_entropy, normal(5, 4), second=second)
    both(nll_loss, normal(5, 4), second=second)


def test_impossible_class():
    with pytest.raises(IndexError, match="target 4 is out of bounds for 4 classes"):
        flambeau.nn.functional.cross_entropy(flambeau.zeros(2, 4), flambeau.tensor([0, 4]))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [False, True])
def test_grid_sample(mode, padding, align):
    both(
        lambda lib, x, grid: lib.nn.functional.grid_sample(x, grid, mode, padding, align),
        normal(2, 3, 5, 6),
        normal(2, 4, 7, 2) * 1.3,
    )


def test_same_bits_at_any_number_of_threads():
    F = flambeau.nn.functional
    x = flambeau.randn(16, 8, 40, 40, requires_grad=True)
    weight = flambeau.randn(8, 8, 3, 3, requires_grad=True)

    def run():
        out = F.avg_pool2d(F.max_pool2d(F.batch_norm(F.conv2d(x, weight), None, None, training=True), 2), 3)
        return [out, *flambeau.autograd.grad((out * out).sum(), [x, weight])]

    threads = flambeau.get_num_threads()
    try:
        flambeau.set_num_threads(1)
        alone = run()
        flambeau.set_num_threads(2)
        shared = run()
    finally:
        flambeau.set_num_threads(threads)
    assert all(flambeau.equal(a, b) for a, b in zip(alone, shared, strict=True))
