"""Where the tests of the whole table expect something else than PyTorch's result, and why.

A line is (test, case, op): reason. The case is a dtype or a layout, or "" where a test has none; the op is an id of the
table. These tests still run; they only may fail.
"""

from __future__ import annotations

# Ops of which only the first results are compared: any index of a value that occurs several times is right.
UNIQUE_RESULTS = {"kthvalue": 1}

_ALTERNATIVES = "the matrix has less than full rank: other factors are as right, rounding decides"
_NOT_DEFINED = "factors of a matrix with infinities: PyTorch's are what its LAPACK leaves behind"
_AIRY = "differences.md: PyTorch's is off by 2e-5"
_LIMIT = "differences.md: the limit, where PyTorch's formula gives NaN"
_DOMAIN = "parameters that aren't positive and finite: undefined"
_FITTED = "differences.md: PyTorch's is a fitted approximation, off by up to 1e-3"
_FFT = "an infinity reaches every element; which become NaN depends on the order of the butterflies"
_MEAN = "differences.md: the mean of values with an infinity is that infinity"
_INFINITE_AREA = "differences.md: an infinity stays, where PyTorch subtracts it from itself"

_VALUES, _LAYOUT = "test_values_and_types_are_those_of_torch", "test_any_layout_of_arguments"
_META, _DERIVATIVES = "test_meta_gives_the_shape_without_values", "test_first_and_second_derivatives"

KNOWN: dict[tuple[str, str, str], str] = {
    (_VALUES, "float64", "special.airy_ai"): _AIRY,
    (_VALUES, "bfloat16", "histc"): "differences.md: bin edges aren't rounded to bfloat16",
    (_VALUES, "complex64", "nn.softsign"): "to be fixed: complex numbers are refused",
    **{
        (test, case, f"torch.{op}"): _FITTED
        for test, case in (
            (_VALUES, "float64"),
            (_LAYOUT, "scalar"),
            (_LAYOUT, "transposed"),
            (_LAYOUT, "strided"),
            (_LAYOUT, "expanded"),
        )
        for op in ("_standard_gamma_grad", "_dirichlet_grad")
    },
    (_LAYOUT, "scalar", "torch._sample_dirichlet"): "to be fixed: a tensor without dimensions is refused",
    (_LAYOUT, "empty", "torch.native_dropout"): "differences.md: the mask is of bools",
    (_LAYOUT, "empty", "torch.adaptive_max_pool1d"): "to be fixed: an empty tensor without a batch is refused",
    (_LAYOUT, "empty", "nn.pixel_unshuffle"): "differences.md: the shape follows the rule",
    (_LAYOUT, "nonfinite", "nn.grid_sample"): "differences.md: a point at infinity is outside",
    (_LAYOUT, "nonfinite", "nn.gelu"): _LIMIT,
    (_LAYOUT, "expanded", "geqrf"): _ALTERNATIVES,
    (_LAYOUT, "expanded", "lu"): _ALTERNATIVES,
    (_LAYOUT, "expanded", "linalg.pinv.rcond"): _ALTERNATIVES,
    (_LAYOUT, "nonfinite", "linalg.lstsq"): _NOT_DEFINED,
    **{(_LAYOUT, "expanded", op): _ALTERNATIVES for op in ("qr", "linalg.qr")},
    **{(_LAYOUT, layout, "special.airy_ai"): _AIRY for layout in ("transposed", "strided")},
    **{(_LAYOUT, "expanded", op): "differences.md: shared elements are refused" for op in ("fill_", "zero_")},
    **{(_LAYOUT, "nonfinite", op): _INFINITE_AREA for op in ("torch.trapezoid.dx", "torch.trapz.dx")},
    **{
        (_LAYOUT, "nonfinite", f"{name}{overload}"): _MEAN
        for name in ("var_mean", "std_mean")
        for overload in ("", ".dim", ".correction")
    },
    **{
        (_LAYOUT, "nonfinite", op): _LIMIT
        for op in ("i0", "special.i0", "special.i1", "special.bessel_j0", "special.bessel_j1")
    },
    **{(_LAYOUT, "nonfinite", f"special.modified_bessel_i{order}"): _LIMIT for order in (0, 1)},
    **{
        (_LAYOUT, "nonfinite", op): _NOT_DEFINED
        for op in ("qr", "svd", "geqrf", "pinverse", "linalg.qr", "linalg.svd", "linalg.pinv", "linalg.pinv.rcond")
    },
    **{
        (_LAYOUT, "nonfinite", f"fft.{name}"): _FFT
        for name in ("ifft", "ihfft", "fftn", "ifftn", "ihfftn", "fft2", "ifft2", "ihfft2")
    },
    **{
        (_LAYOUT, "nonfinite", f"torch.{op}"): _DOMAIN
        for op in ("_standard_gamma", "_standard_gamma_grad", "_sample_dirichlet", "_dirichlet_grad")
    },
    (_META, "", "histc"): "to be fixed: refused",
    (_DERIVATIVES, "", "nn.grid_sample"): "differences.md: no second derivative",
}
