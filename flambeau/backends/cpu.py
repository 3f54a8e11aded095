"""About the processor."""

import functools

# What kernels are built for, best first, and the processor features that they need.
_LEVELS = (("AVX512", ("avx512f", "avx512bw", "avx512dq", "avx512vl")), ("AVX2", ("avx2", "fma")))


@functools.cache
def get_cpu_capability() -> str:
    """The widest vector instructions that this processor has and kernels use: "AVX512", "AVX2" or "DEFAULT"."""
    try:
        with open("/proc/cpuinfo") as file:
            features = next((line.split() for line in file if line.startswith("flags")), [])
    except OSError:
        features = []
    return next((name for name, needed in _LEVELS if set(needed) <= set(features)), "DEFAULT")
