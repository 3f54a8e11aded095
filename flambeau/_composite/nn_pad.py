"""Padding: constant by its own op, the other modes by looking up where each element comes from."""

from __future__ import annotations

import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op("nn.pad(Tensor input, int[] pad, str mode='constant', float? value=None) -> Tensor")
def pad(input, pad, mode, value):
    """Pad the last dimensions by `pad`: (left, right) of the last one, then of the one before it, and so on.

    `mode` is "constant" (with `value`), "reflect", "replicate" or "circular"; negative numbers cut off. Raises
    RuntimeError when there is not enough input to reflect or to wrap around.

    >>> nn.functional.pad(flambeau.ones(1), (0, 1))
    tensor([1., 0.])
    """
    if len(pad) % 2 != 0:
        raise RuntimeError(f"Padding length must be divisible by 2, got {len(pad)}")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {input.dim()}"
        )
    if mode == "constant":
        return root.constant_pad_nd(input, pad, 0.0 if value is None else value)
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if not (1 <= dims <= 3 and input.dim() in (dims + 1, dims + 2)):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: a padding of "
            f"{len(pad)} numbers takes {dims + 1}D or {dims + 2}D input, got {input.dim()}D"
        )
    for d in range(dims):
        left, right = pad[2 * d], pad[2 * d + 1]
        if left or right:
            input = _extended(input, input.dim() - 1 - d, left, right, mode)
    return input


def _extended(input, dim, left, right, mode):
    size = input.size(dim)
    if mode == "reflect" and max(left, right) >= size:
        raise RuntimeError(
            f"Padding size should be less than the corresponding input dimension, but got: padding ({left}, "
            f"{right}) at "
            f"dimension {dim} of input {list(input.shape)}"
        )
    if mode == "circular" and max(left, right) > size:
        raise RuntimeError(
            f"Padding value causes wrapping around more than once: ({left}, {right}) at dimension {dim} of input "
            f"{list(input.shape)}"
        )
    if size + left + right < (0 if mode == "circular" else 1):
        raise RuntimeError(f"padding ({left}, {right}) leaves nothing of dimension {dim} of input {list(input.shape)}")
    if mode == "circular" and min(left, right) < 0:
        # What is cut off goes first; the rest is then continued by itself.
        input = input.narrow(dim, max(-left, 0), size + min(left, 0) + min(right, 0))
        size, left, right = input.size(dim), max(left, 0), max(right, 0)
    if size == 0:
        raise RuntimeError(f"pad: cannot {mode} an empty dimension {dim} of input {list(input.shape)}")
    place = root.arange(-left, size + right, device=input.device)
    if mode == "circular":
        place = place % size
    elif mode == "replicate":
        place = place.clamp(0, size - 1)
    else:
        place = (size - 1) - ((size - 1) - place.abs()).abs()
    return input.index_select(dim, place)
