"""Autocast: within its block, functions that gain by it are given their floating arguments in fewer bits.

Products, convolutions and attention run in the chosen type; functions that would lose too much (losses, norms,
factorizations) are given float32; the rest takes what comes. It is a function mode that looks up the
name of what is called.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any

from .. import _C
from ..overrides import TorchFunctionMode, _pop_mode, _push_mode

_LOWER_NAMES = """
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc bmm mm baddbmm addmm addbmm
    linear matmul __matmul__ __rmatmul__ mv addmv bilinear prelu scaled_dot_product_attention
    multi_head_attention_forward einsum lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell
    rnn_relu_cell multi_dot chain_matmul tensordot
"""
_FLOAT32_NAMES = """
    avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits grid_sample polar prod quantile nanquantile
    stft cdist view_as_complex cholesky cholesky_inverse cholesky_solve inverse lu_solve orgqr ormqr pinverse
    max_unpool2d max_unpool3d adaptive_avg_pool3d fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn
    irfftn hfft ihfft mse_loss cosine_embedding_loss nll_loss cross_entropy hinge_embedding_loss
    poisson_nll_loss smooth_l1_loss huber_loss l1_loss triplet_margin_loss multilabel_margin_loss
    multi_margin_loss ctc_loss kl_div margin_ranking_loss matrix_norm cond matrix_rank solve det slogdet svd eig
    eigh eigvals eigvalsh inv householder_product tensorinv tensorsolve qr svdvals lstsq geqrf triangular_solve
    pinv lu_factor
"""

_LOWER = frozenset(_LOWER_NAMES.split())
_FLOAT32 = frozenset(_FLOAT32_NAMES.split())


class _State(threading.local):
    """What is on in this thread, by device: [enabled, dtype]."""

    def __init__(self) -> None:
        self.devices = {"cpu": [False, _C.bfloat16], "cuda": [False, _C.float16]}
        self.cache = True
        self.mode: _AutocastMode | None = None

    def of(self, device: str) -> list:
        return self.devices.setdefault(device, [False, _C.bfloat16])


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(value, _C.Tensor):
        castable = value.is_floating_point() and value.dtype != _C.float64 and value.dtype != dtype
        return value.to(dtype) if castable else value
    if type(value) in (list, tuple):
        return type(value)(_cast(each, dtype) for each in value)
    if type(value) is dict:
        return {key: _cast(each, dtype) for key, each in value.items()}
    return value


class _AutocastMode(TorchFunctionMode):
    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        enabled, dtype = _state.devices["cpu"]
        kwargs = kwargs or {}
        if enabled:
            name = getattr(func, "__name__", "")
            target = dtype if name in _LOWER else _C.float32 if name in _FLOAT32 else None
            if target is not None:
                return func(*_cast(args, target), **_cast(kwargs, target))
        return func(*args, **kwargs)


_state = _State()


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a device of this type: only for those that are here."""
    if not isinstance(device_type, str):
        raise TypeError(f"is_autocast_available: expected the name of a device type, got {type(device_type).__name__}")
    return device_type in ("cpu", "cuda", "xpu", "mps", "mtia", "xla", "hpu", "ipu")


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on in this thread for a type of device."""
    return _state.of(device_type)[0]


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Turn autocast on or off in this thread."""
    _state.of(device_type)[0] = bool(enabled)
    if enabled and device_type == "cpu" and _state.mode is None:
        _state.mode = _AutocastMode()
        _push_mode(_state.mode)


def get_autocast_dtype(device_type: str) -> Any:
    """The type autocast computes in: bfloat16 on the CPU unless set otherwise."""
    return _state.of(device_type)[1]


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the type autocast computes in."""
    _state.of(device_type)[1] = dtype


def is_autocast_cache_enabled() -> bool:
    """What `set_autocast_cache_enabled` was given."""
    return _state.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Accepted for compatibility: weights are converted when used, without a cache."""
    _state.cache = bool(enabled)


class autocast:
    """Context manager or decorator in which products and convolutions run in `dtype`.

    On the CPU that is bfloat16 (default) or float16. For a device that isn't here it warns and does nothing. Raises
    RuntimeError for unknown devices.

    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     product = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> product.dtype
    torch.bfloat16
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"autocast: expected device_type of type `str`, got {type(device_type)}")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"autocast: user specified an unsupported autocast device_type {device_type!r}")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        if not isinstance(self.fast_dtype, _C.dtype):
            raise RuntimeError(f"autocast: expected a dtype, got {dtype!r}")
        if enabled and device_type != "cpu":
            warnings.warn(
                f"autocast: device_type {device_type!r} is not available here. Disabling autocast.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        if enabled and self.fast_dtype not in (_C.bfloat16, _C.float16):
            warnings.warn(
                f"autocast: on the CPU, dtype is bfloat16 or float16, got {self.fast_dtype}. Disabling autocast.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        self._enabled = bool(enabled)
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._saved: list[tuple] = []

    def __enter__(self) -> autocast:
        setting = _state.of(self.device)
        pushes = self._enabled and _state.mode is None
        self._saved.append((tuple(setting), _state.cache, pushes))
        setting[:] = self._enabled, self.fast_dtype
        _state.cache = self._cache_enabled
        if pushes:
            _state.mode = _AutocastMode()
            _push_mode(_state.mode)
        return self

    def __exit__(self, *error: Any) -> None:
        setting, _state.cache, pushed = self._saved.pop()
        _state.of(self.device)[:] = setting
        if pushed:
            _state.mode = None
            _pop_mode()

    def __call__(self, func: Callable) -> Callable:
        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorated


def custom_fwd(fwd: Callable | None = None, *, device_type: str, cast_inputs: Any = None) -> Callable:
    """Decorator for the forward of a custom Function: with `cast_inputs`, floating arguments arrive in that type and
    autocast is off inside."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        context._dtype = get_autocast_dtype(device_type)
        context._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not context._fwd_used_autocast:
            return fwd(*args, **kwargs)
        context._fwd_used_autocast = False
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorator for the backward of a custom Function: autocast is as it was in forward."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorated
