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
    series = [
        (1 if j == 0 else 2) * sum(v * mp.cos(j * mp.pi * (2 * k + 1) / (2 * count)) for k, v in enumerate(values)) / count
        for j in range(count)
    ]
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
        power = [(a - middle * b) / half for a, b in zip([mp.mpf(0)] + power, power + [mp.mpf(0)])]
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
    "sin_float": (odd_tail(mp.sin), TINY, QUARTER_PI_SQUARE, 2, 24),
    "sin_double": (odd_tail(mp.sin), TINY, QUARTER_PI_SQUARE, 5, 53),
    "cos_float": (cos_tail, TINY, QUARTER_PI_SQUARE, 2, 24),
    "cos_double": (cos_tail, TINY, QUARTER_PI_SQUARE, 5, 53),
    "asin_double": (odd_tail(mp.asin), TINY, mp.mpf(1) / 4, 12, 53),
    "atan_double": (odd_tail(mp.atan), TINY, mp.tan(mp.pi / 8) ** 2 * (1 + mp.mpf(2) ** -10), 10, 53),
    "sinh_float": (odd_tail(mp.sinh), TINY, 1, 3, 24),
    "sinh_double": (odd_tail(mp.sinh), TINY, 1, 7, 53),
    "tanh_float": (odd_tail(mp.tanh), TINY, mp.mpf(0.625) ** 2, 4, 24),
    "tanh_double": (odd_tail(mp.tanh), TINY, mp.mpf(0.625) ** 2, 10, 53),
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
