"""Fourier transforms against PyTorch: values, derivatives, types, errors."""

import numpy as np
import pytest

import flambeau

torch = pytest.importorskip("torch")

REAL_INPUT = ["rfft", "ihfft", "rfft2", "ihfft2", "rfftn", "ihfftn"]
ONE = ["fft", "ifft", "irfft", "hfft", "rfft", "ihfft"]
MANY = ["fft2", "ifft2", "irfft2", "hfft2", "rfft2", "ihfft2", "fftn", "ifftn", "irfftn", "hfftn", "rfftn", "ihfftn"]


def array(shape, dtype):
    generator = np.random.default_rng(0)
    values = generator.standard_normal(shape)
    return (values + 1j * generator.standard_normal(shape) if "complex" in dtype else values).astype(dtype)


def with_gradient(t, function, values):
    x = t.tensor(values.tolist(), dtype=getattr(t, str(values.dtype)), requires_grad=True)
    y = function(t, x)
    scale = 1 + t.arange(y.numel(), dtype=t.float64).reshape(y.shape)
    (g,) = t.autograd.grad((y.abs() ** 2 * scale).sum(), x, create_graph=True)
    (gg,) = t.autograd.grad((g.abs() ** 2).sum(), x)
    return str(y.dtype).split(".")[1], y.tolist(), g.tolist(), gg.tolist()


def compare(function, values):
    got, expected = with_gradient(flambeau, function, values), with_gradient(torch, function, values)
    assert got[0] == expected[0]
    for a, b in zip(got[1:], expected[1:], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-4 if "64" in got[0] and "complex" in got[0] else 1e-6)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("n", [None, 4, 9])
@pytest.mark.parametrize("name", ONE)
def test_along_one_dimension(name, n, norm):
    dtype = "float64" if name in REAL_INPUT else "complex128"
    compare(lambda t, x: getattr(t.fft, name)(x, n=n, dim=1, norm=norm), array((2, 6, 3), dtype))


@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("s", [None, (3, 7)])
@pytest.mark.parametrize("name", MANY)
def test_over_several_dimensions(name, s, norm):
    dtype = "float64" if name in REAL_INPUT else "complex128"
    compare(lambda t, x: getattr(t.fft, name)(x, s=s, dim=(0, -1), norm=norm), array((4, 2, 5), dtype))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64", "bool"])
@pytest.mark.parametrize("name", ONE)
def test_types(name, dtype):
    for t in (flambeau, torch):
        x = t.ones(4, dtype=getattr(t, dtype))
        if dtype == "complex64" and name in REAL_INPUT:
            with pytest.raises(RuntimeError):
                getattr(t.fft, name)(x)
        else:
            y = getattr(t.fft, name)(x)
            assert y.dtype in (t.float32, t.complex64)
            assert y.is_complex() == (name not in ("irfft", "hfft"))


ERRORS = [
    lambda t: t.fft.fft(t.ones(3), n=0),
    lambda t: t.fft.fft(t.ones(3), dim=2),
    lambda t: t.fft.fft(t.ones(3), norm="nonsense"),
    lambda t: t.fft.fft(t.tensor(1.0)),
    lambda t: t.fft.fft(t.ones(3, dtype=t.float16)),
    lambda t: t.fft.fftn(t.ones(3, 3), dim=(0, 0)),
    lambda t: t.fft.fftn(t.ones(3, 3), s=(1,), dim=(0, 1)),
    lambda t: t.fft.fftn(t.ones(3, 3), s=(1, 2, 3)),
    lambda t: t.fft.rfftn(t.ones(3, 3), dim=()),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    kinds = []
    for t in (flambeau, torch):
        with pytest.raises(Exception) as caught:
            ERRORS[number](t)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies(n):
    for name in ("fftfreq", "rfftfreq"):
        a, b = getattr(flambeau.fft, name)(n, 0.5), getattr(torch.fft, name)(n, 0.5)
        assert a.tolist() == b.tolist()
    for name in ("fftshift", "ifftshift"):
        a, b = getattr(flambeau.fft, name)(flambeau.arange(n)), getattr(torch.fft, name)(torch.arange(n))
        assert a.tolist() == b.tolist()


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_spectrogram_and_back(center, normalized):
    signal = array((2, 64), "float64")
    results = []
    for t in (flambeau, torch):
        x = t.tensor(signal.tolist(), dtype=t.float64)
        window = 1.5 + t.arange(12, dtype=t.float64)
        settings = {"n_fft": 16, "hop_length": 5, "win_length": 12, "window": window, "normalized": normalized}
        spectrum = t.stft(x, center=center, return_complex=True, **settings)
        back = t.istft(spectrum, center=True, length=40, **settings)
        results.append((spectrum.tolist(), back.tolist()))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)
