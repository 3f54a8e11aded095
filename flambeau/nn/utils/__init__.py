"""Helpers for modules and their parameters. Each loads when it is first used: layers need none but `rnn`."""

from __future__ import annotations

# At once: a module imported later would take the name from the function that is called as it.
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

_HOMES = {
    "clip_grad_norm": "clip_grad:clip_grad_norm",
    "clip_grad_norm_": "clip_grad:clip_grad_norm_",
    "clip_grad_value_": "clip_grad:clip_grad_value_",
    "clip_grads_with_norm_": "clip_grad:_clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format": "memory_format:convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format": "memory_format:convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval": "fusion:fuse_conv_bn_eval",
    "fuse_conv_bn_weights": "fusion:fuse_conv_bn_weights",
    "fuse_linear_bn_eval": "fusion:fuse_linear_bn_eval",
    "fuse_linear_bn_weights": "fusion:fuse_linear_bn_weights",
    "get_total_norm": "clip_grad:_get_total_norm",
    "parameters_to_vector": "convert_parameters:parameters_to_vector",
    "skip_init": "init:skip_init",
    "vector_to_parameters": "convert_parameters:vector_to_parameters",
}
_SUBMODULES = (
    "clip_grad",
    "convert_parameters",
    "fusion",
    "init",
    "memory_format",
    "parametrizations",
    "parametrize",
    "prune",
    "rnn",
    "stateless",
)

__all__ = list(_HOMES)
__all__ += ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]
__all__ += ["parametrizations", "parametrize", "rnn", "stateless"]


def __getattr__(name: str):
    from importlib import import_module

    if name in _HOMES:
        home, _, attribute = _HOMES[name].partition(":")
        value = getattr(import_module(f"{__name__}.{home}"), attribute)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
