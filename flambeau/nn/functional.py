"""The functions of `nn`: every op of the table's `nn.` namespace, and a few helpers that take no part in it."""

from __future__ import annotations

from .. import _composite, _op
from .._composite.nn_attention import _canonical_mask as _canonical_mask
from .._composite.nn_attention import _mha_shape_check as _mha_shape_check
from .._composite.nn_attention import _none_or_dtype as _none_or_dtype

_composite.load("nn")
globals().update(_op.namespace("nn"))

__all__ = sorted(_op.namespace("nn"))  # noqa: PLE0605


def assert_int_or_pair(arg, arg_name: str, message: str) -> None:
    """Raise AssertionError unless `arg` is an int or has length 2."""
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))
