"""Fit the polynomial coefficients used in csrc/math (needs mpmath).

Each entry is a function, an interval, a degree and a target precision. The interpolant through the Chebyshev nodes
is within a small factor of the minimax polynomial; the printed error is the largest over a fine grid, and the
coefficients are printed from the constant term upward, rounded to the target type.

    python tools/fit_minimax.py exp_double
    python tools/fit_minimax.py            # all
"""

import sys

import mpmath as mp

mp.mp.dps = 60


def chebyshev_interpolant(function, low, high, degree):
    """Monomial coefficients of the polynomial through the Chebyshev nodes of [low, high]."""
    count = degree + 1
    nodes = [mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    values = [function(middle + half * node) for node in nodes]
    series = []
    for j in range(count):
        total = sum(v * mp.cos(j * mp.pi * (2 * k + 1) / (2 * count)) for k, v in enumerate(values))
        series.append((1 if j == 0 else 2) * total / count)
    previous, current = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    total = [mp.mpf(0)] * count
    for j in range(count):
        term = previous if j == 0 else current
        for i, c in enumerate(term):
            total[i] += series[j] * c
        if j > 0:
            following = [mp.mpf(0)] + [2 * c for c in current]
            for i, c in enumerate(previous):
                following[i] -= c
            previous, current = current, following
    # Substitute t = (x - middle) / half.
    result = [mp.mpf(0)] * count
    power = [mp.mpf(1)]
    for c in total:
        for i, p in enumerate(power):
            result[i] += c * p
        power = [(a - middle * b) / half for a, b in zip([mp.mpf(0), *power], [*power, mp.mpf(0)], strict=True)]
    return result


def rounded(value, bits):
    """The value rounded to a significand of so many bits."""
    if value == 0:
        return mp.mpf(0)
    mantissa, exponent = mp.frexp(value)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), exponent - bits)


def log1p_tail(f):
    """(log(1+f) - f + f^2/2) / f^3."""
    return sum((-1) ** k * f**k / (k + 3) for k in range(80)) if abs(f) < 0.2 else (mp.log1p(f) - f + f * f / 2) / f**3


def atanh_tail(z):
    """(atanh(s)/s - 1) / z at z = s^2."""
    return sum(z**k / (2 * k + 3) for k in range(70))


def exp_tail(r):
    """(e^r - 1 - r) / r^2."""
    return sum(r**k / mp.factorial(k + 2) for k in range(40))


def exp2_tail(r):
    """(2^r - 1) / r."""
    return sum(r**k * mp.log(2) ** (k + 1) / mp.factorial(k + 1) for k in range(40))


SQRT_HALF, SQRT_TWO = mp.sqrt(0.5), mp.sqrt(2)
HALF_LN2 = mp.log(2) / 2 * (1 + mp.mpf(2) ** -10)
ATANH_LIMIT = ((SQRT_TWO - 1) / (SQRT_TWO + 1)) ** 2 * (1 + mp.mpf(2) ** -10)
QUARTER_PI_SQUARE = (mp.pi / 4) ** 2 * (1 + mp.mpf(2) ** -10)
TINY = mp.mpf(10) ** -12


def odd_tail(function):
    """(f(x)/x - 1) / x^2 at z = x^2 for an odd f with f'(0) = 1."""
    return lambda z: (function(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


def cos_tail(z):
    """(cos x - 1 + x^2/2) / x^4 at z = x^2."""
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / (z * z)


def erf_tail(z):
    """erf(x)/x - 1 at z = x^2."""
    return 2 / mp.sqrt(mp.pi) * sum((-1) ** k * z**k / (mp.factorial(k) * (2 * k + 1)) for k in range(60)) - 1


def scaled_erfc(t):
    """(1 + 2x) e^(x^2) erfc(x) at t = (x - 3.75) / (x + 3.75), for all x >= 0."""
    if t >= mp.mpf(1) - mp.mpf(10) ** -9:
        return 2 / mp.sqrt(mp.pi)
    x = mp.mpf(3.75) * (1 + t) / (1 - t)
    if x > 60:
        series = sum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(20))
        return (1 + 2 * x) / (x * mp.sqrt(mp.pi)) * series
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def inverse_erfc_of(w):
    """The y >= 0 with 1 - erf(y)^2 = e^-w."""
    tail = mp.exp(-w) / (1 + mp.sqrt(-mp.expm1(-w)))
    if w < 3:
        return mp.erfinv(mp.sqrt(-mp.expm1(-w)))
    y = mp.sqrt(w)
    for _ in range(12):
        value = mp.erfc(y)
        y += value * mp.log(value / tail) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return y


def inverse_erf_ratio(w):
    """erfinv(x) / x at w = -log(1 - x^2)."""
    return inverse_erfc_of(w) / mp.sqrt(-mp.expm1(-w)) if w > 0 else mp.sqrt(mp.pi) / 2


def bessel_i_power(order):
    """I0(x), or I1(x)/(x/2), at z = x^2/4."""
    return lambda z: sum(z**k / (mp.factorial(k) * mp.factorial(k + order)) for k in range(90))


def bessel_i_scaled(order):
    """sqrt(x) e^-x I(x) at u = 1/x."""
    limit = 1 / mp.sqrt(2 * mp.pi)
    return lambda u: mp.besseli(order, 1 / u) * mp.exp(-1 / u) / mp.sqrt(u) if u > mp.mpf(10) ** -6 else limit


def bessel_k_scaled(order):
    """sqrt(x) e^x K(x) at u = 1/x."""
    limit = mp.sqrt(mp.pi / 2)
    return lambda u: mp.besselk(order, 1 / u) * mp.exp(1 / u) / mp.sqrt(u) if u > mp.mpf(10) ** -6 else limit


def bessel_k0_regular(z):
    """K0(x) + log(x/2) I0(x) at z = x^2/4."""
    return sum(z**k * mp.digamma(k + 1) / mp.factorial(k) ** 2 for k in range(40))


def bessel_k1_regular(z):
    """(x K1(x) - 1 - x log(x/2) I1(x)) / (x^2/4) at z = x^2/4."""
    return -sum(
        z**k * (mp.digamma(k + 1) + mp.digamma(k + 2)) / (mp.factorial(k) * mp.factorial(k + 1)) for k in range(40)
    )


FITS = {
    # (e^r - 1 - r) / r^2 for |r| <= ln2/2
    "exp_float": (exp_tail, -HALF_LN2, HALF_LN2, 4, 24),
    "exp_double": (exp_tail, -HALF_LN2, HALF_LN2, 9, 53),
    # (2^r - 1) / r for |r| <= 1/2
    "exp2_float": (exp2_tail, -0.5, 0.5, 5, 24),
    "exp2_double": (exp2_tail, -0.5, 0.5, 10, 53),
    "log_float": (log1p_tail, SQRT_HALF - 1, SQRT_TWO - 1, 8, 24),
    "log_double": (atanh_tail, 0, ATANH_LIMIT, 6, 53),
    "log_double_for_float": (atanh_tail, 0, ATANH_LIMIT, 3, 53),
    "exp_double_for_float": (exp_tail, -HALF_LN2, HALF_LN2, 5, 53),
    # (atanh(s)/s - 1 - z/3) / z^2 at z = s^2
    "pow_double": (lambda z: sum(z**k / (2 * k + 5) for k in range(70)), 0, ATANH_LIMIT, 7, 53),
    "sin_float": (odd_tail(mp.sin), TINY, QUARTER_PI_SQUARE, 2, 24),
    "sin_double": (odd_tail(mp.sin), TINY, QUARTER_PI_SQUARE, 5, 53),
    "cos_float": (cos_tail, TINY, QUARTER_PI_SQUARE, 2, 24),
    "cos_double": (cos_tail, TINY, QUARTER_PI_SQUARE, 5, 53),
    "asin_double": (odd_tail(mp.asin), TINY, mp.mpf(1) / 4, 12, 53),
    "atan_double": (odd_tail(mp.atan), TINY, mp.tan(mp.pi / 8) ** 2 * (1 + mp.mpf(2) ** -10), 10, 53),
    "atan_float": (odd_tail(mp.atan), TINY, mp.tan(mp.pi / 8) ** 2 * (1 + mp.mpf(2) ** -10), 4, 24),
    "sinh_float": (odd_tail(mp.sinh), TINY, 1, 3, 24),
    "sinh_double": (odd_tail(mp.sinh), TINY, 1, 7, 53),
    "tanh_float": (odd_tail(mp.tanh), TINY, mp.mpf(0.625) ** 2, 4, 24),
    "tanh_double": (odd_tail(mp.tanh), TINY, mp.mpf(0.625) ** 2, 10, 53),
    "erf_float": (erf_tail, 0, 1, 6, 24),
    "erf_double": (erf_tail, 0, 1, 11, 53),
    "erf_log_float": (lambda a: mp.log(mp.erfc(a), 2), 0.875, 3.9375, 8, 24),
    "erfcx_double": (scaled_erfc, -1, 1, 24, 53),
    # log2 of twice the normal distribution's lower tail at -a, divided by a
    "gelu_log_float": (lambda a: mp.log(mp.erfc(a / mp.sqrt(2)), 2) / a, TINY, 5.625, 9, 24),
    "erfcx_for_float": (scaled_erfc, -1, 1, 12, 53),
    "erfinv_low_float": (lambda v: inverse_erf_ratio(v + 2.5), -2.5, 2.5, 9, 24),
    "erfinv_high_float": (lambda v: inverse_erfc_of((v + 3.125) ** 2), -0.9, 0.95, 8, 24),
    "erfinv_low": (lambda v: inverse_erf_ratio(v + 3.125), -3.125, 3.125, 22, 53),
    "erfinv_middle": (lambda v: inverse_erfc_of((v + 3.25) ** 2), -0.75, 0.75, 18, 53),
    "erfinv_high": (lambda v: inverse_erfc_of((v + 5) ** 2), -1, 1.05, 16, 53),
    "erfinv_far": (lambda v: inverse_erfc_of(((v + 1.55) / 15) ** -2) * (v + 1.55) / 15, -1.02, 0.96, 24, 53),
    "i0_double": (bessel_i_power(0), 0, 16, 19, 53),
    "i0_scaled": (bessel_i_scaled(0), 0, mp.mpf(1) / 8, 20, 53),
    "i1_double": (bessel_i_power(1), 0, 16, 19, 53),
    "i1_scaled": (bessel_i_scaled(1), 0, mp.mpf(1) / 8, 20, 53),
    "k0_double": (bessel_k0_regular, 0, 0.25, 7, 53),
    "k0_scaled": (bessel_k_scaled(0), 0, mp.mpf(1) / 2, 20, 53),
    "k0_middle": (lambda v: bessel_k_scaled(0)(v + 0.75), -0.25, 0.25, 14, 53),
    "k1_middle": (lambda v: bessel_k_scaled(1)(v + 0.75), -0.25, 0.25, 14, 53),
    "k1_double": (bessel_k1_regular, 0, 0.25, 7, 53),
    "k1_scaled": (bessel_k_scaled(1), 0, mp.mpf(1) / 2, 20, 53),
}


def main(names):
    for name in names or FITS:
        function, low, high, degree, bits = FITS[name]
        coefficients = [rounded(c, bits) for c in chebyshev_interpolant(function, low, high, degree)]
        low, high = mp.mpf(low), mp.mpf(high)
        worst = mp.mpf(0)
        for i in range(401):
            x = low + (high - low) * i / 400
            worst = max(worst, abs(mp.polyval(coefficients[::-1], x) - function(x)))
        suffix, digits = ("f", 10) if bits == 24 else ("", 17)
        print(f"// {name}: degree {degree}, largest error {mp.nstr(worst, 2)}")
        print(", ".join(mp.nstr(c, digits, strip_zeros=False) + suffix for c in coefficients))


if __name__ == "__main__":
    main(sys.argv[1:])
