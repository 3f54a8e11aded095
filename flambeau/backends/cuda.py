"""Switches of CUDA libraries, which are not here. They can be set and have no effect."""

import contextlib

_sdp = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True, "reduced_math": False}


class _MatmulSettings:
    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False
    fp32_precision = "none"


class _PlanCache:
    """The cache of Fourier transform plans: empty."""

    size = 0
    max_size = 0

    def clear(self):
        """Does nothing."""


matmul = _MatmulSettings()
cufft_plan_cache = _PlanCache()


def is_built() -> bool:
    """Whether there are kernels for CUDA: False."""
    return False


def is_flash_attention_available() -> bool:
    """Whether CUDA attention kernels are here: False."""
    return False


def preferred_linalg_library(backend=None) -> str:
    """The library for CUDA decompositions."""
    return "default"


def preferred_blas_library(backend=None) -> str:
    """The library for CUDA products."""
    return "cublas"


def flash_sdp_enabled() -> bool:
    """Whether attention may use its flash form."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Allows or forbids the flash form of attention."""
    _sdp["flash"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention may be computed step by step."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Allows or forbids attention step by step."""
    _sdp["math"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may use its memory-saving form."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allows or forbids the memory-saving form of attention."""
    _sdp["mem_efficient"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether attention may use cuDNN."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allows or forbids cuDNN for attention."""
    _sdp["cudnn"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether attention step by step may sum in half precision."""
    return _sdp["reduced_math"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Allows or forbids sums in half precision."""
    _sdp["reduced_math"] = bool(enabled)


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Context manager that says which forms of attention may be used."""
    before = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _sdp.update(before)
