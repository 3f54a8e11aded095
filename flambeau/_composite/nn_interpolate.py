"""Resizing. Every mode works on one dimension after the other: each output is a weighted sum of a few inputs."""

from __future__ import annotations

import math
import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]

_LINEAR = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


@op(
    "nn.interpolate(Tensor input, any size=None, any scale_factor=None, str mode='nearest', "
    "bool? align_corners=None, bool? recompute_scale_factor=None, bool antialias=False) -> Tensor"
)
def interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
    """Resize (N, C, *) to `size` or by `scale_factor` (a number, or one per spatial dimension).

    Modes: nearest, nearest-exact, area (any dimension), linear (3D input), bilinear, bicubic (4D), trilinear (5D).
    `antialias` widens bilinear and bicubic filters when the image shrinks.

    >>> nn.functional.interpolate(flambeau.ones(1, 1, 2), scale_factor=2).shape
    torch.Size([1, 1, 4])
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | "
                "bicubic | trilinear"
            )
    elif mode in _LINEAR:
        align_corners = bool(align_corners)
    dims = input.dim() - 2
    if dims not in (1, 2, 3) and mode in (*_LINEAR, "nearest", "nearest-exact", "area"):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: "
            "nearest | linear "
            f"| bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    sizes, factors = _target(input, dims, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    if mode == "area":
        return getattr(root.nn.functional, f"adaptive_avg_pool{dims}d")(input, sizes)
    if (mode in _LINEAR and _LINEAR[mode] != dims) or mode not in (*_LINEAR, "nearest", "nearest-exact"):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: "
            "nearest | linear "
            f"| bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if any(s <= 0 for s in sizes) or 0 in input.shape[1:]:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(input.shape)} and output {sizes}"
        )
    for d in range(dims):
        input = _resized(input, d + 2, sizes[d], factors[d], mode, align_corners, antialias)
    return input


def _target(input, dims, size, scale_factor, recompute):
    """(output sizes, the scale factors that take part in the computation or None)."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    given = size if size is not None else scale_factor
    if given is None:
        raise ValueError("either size or scale_factor should be defined")
    name = "size" if size is not None else "scale_factor"
    if isinstance(given, (list, tuple)):
        if len(given) != dims:
            raise ValueError(
                f"Input and {name} must have the same number of spatial dimensions, but got input with "
                "spatial dimensions "
                f"of {list(input.shape[2:])} and {name} of {given}"
            )
        given = list(given)
    else:
        given = [given] * dims
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        for each in given:
            if not hasattr(each, "__index__"):
                raise TypeError(f"expected size to be one of int or tuple of ints, but got size {size!r}")
        return [int(each) for each in given], [None] * dims
    factors = [float(factor) for factor in given]
    sizes = [math.floor(float(length) * factor) for length, factor in zip(input.shape[2:], factors, strict=True)]
    return sizes, [None] * dims if recompute else factors


def _resized(input, dim, size, factor, mode, align_corners, antialias):
    length = input.size(dim)
    if mode in ("nearest", "nearest-exact"):
        if size == length and factor is None:
            return input.clone() if dim == 2 and input.dim() == 3 else input
        # In single precision, as the positions are defined.
        scale = 1.0 / factor if factor is not None else length / size
        place = root.arange(size, dtype=root.float32, device=input.device)
        place = (place + 0.5 if mode == "nearest-exact" else place) * root.tensor(scale, dtype=root.float32)
        return input.index_select(dim, place.floor().long().clamp(max=length - 1))
    compute = input.dtype if input.dtype in (root.float32, root.float64) else root.float32
    if align_corners:
        scale = (length - 1) / (size - 1) if size > 1 else 0.0
    else:
        scale = 1.0 / factor if factor is not None and factor > 0 else length / size
    if antialias:
        return _filtered(input, dim, size, scale, mode, align_corners, compute)
    place = root.arange(size, dtype=compute, device=input.device)
    if align_corners:
        place = place * scale
    else:
        place = (place + 0.5) * scale - 0.5
        if mode != "bicubic":
            place = place.clamp(min=0)
    first = place.floor()
    offset = place - first
    first = first.long()
    shape = [-1 if d == dim else 1 for d in range(input.dim())]
    if mode == "bicubic":
        taps = [(first + k - 1, weight) for k, weight in enumerate(_cubic_weights(offset))]
    else:
        taps = [(first, 1 - offset), (first + 1, offset)]
    parts = [
        input.index_select(dim, index.clamp(0, length - 1)) * weight.view(shape).to(input.dtype)
        for index, weight in taps
    ]
    return sum(parts[1:], parts[0])


def _cubic_weights(t, a=-0.75):
    """The four weights of the cubic convolution with parameter `a`, at distance t from the second tap."""

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _filtered(input, dim, size, scale, mode, align_corners, compute):
    """Antialiased: the filter is as wide as one output, and its weights make a matrix (size, length)."""
    length = input.size(dim)
    support_of = 2.0 if mode == "bicubic" else 1.0
    support = support_of * scale if scale >= 1.0 else support_of
    inverse = 1.0 / scale if scale >= 1.0 else 1.0
    centre = scale * (root.arange(size, dtype=compute, device=input.device) + 0.5)
    low = (centre - support + 0.5).long().clamp(min=0)
    high = (centre + support + 0.5).long().clamp(max=length)
    place = root.arange(length, device=input.device)
    inside = (place >= low.unsqueeze(1)) & (place < high.unsqueeze(1))
    distance = ((place - centre.unsqueeze(1) + 0.5) * inverse).abs()
    if mode == "bicubic":
        a = -0.5
        near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        weights = root.where(distance < 1, near, root.where(distance < 2, far, root.zeros_like(distance)))
    else:
        weights = (1 - distance).clamp(min=0)
    weights = weights * inside
    weights = (weights / weights.sum(1, keepdim=True)).to(input.dtype)
    return (input.transpose(dim, -1) @ weights.t()).transpose(dim, -1)


@op(
    "nn.upsample(Tensor input, any size=None, any scale_factor=None, str mode='nearest', bool? align_corners=None) "
    "-> Tensor"
)
def upsample(input, size, scale_factor, mode, align_corners):
    """Deprecated: use `interpolate`."""
    _deprecated("upsample")
    return root.nn.functional.interpolate(input, size, scale_factor, mode, align_corners)


@op("nn.upsample_nearest(Tensor input, any size=None, any scale_factor=None) -> Tensor")
def upsample_nearest(input, size, scale_factor):
    """Deprecated: use `interpolate`."""
    _deprecated("upsample_nearest")
    return root.nn.functional.interpolate(input, size, scale_factor, "nearest")


@op("nn.upsample_bilinear(Tensor input, any size=None, any scale_factor=None) -> Tensor")
def upsample_bilinear(input, size, scale_factor):
    """Deprecated: use `interpolate`."""
    _deprecated("upsample_bilinear")
    return root.nn.functional.interpolate(input, size, scale_factor, "bilinear", True)


def _deprecated(name: str) -> None:
    import warnings

    warnings.warn(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=3)
