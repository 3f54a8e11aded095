"""The gradient of a function given by its samples."""

from __future__ import annotations

import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op("torch.gradient(Tensor input, *, any spacing=None, any dim=None, int edge_order=1) -> any")
def gradient(input, spacing, dim, edge_order):
    """The derivatives of samples along each of the dimensions `dim` (all by default), as a tuple.

    Inside by central differences, at the borders by one-sided ones of `edge_order` 1 or 2. `spacing` is a distance, one
    for each dimension, or one tensor of coordinates for each. Raises RuntimeError where there are too few samples or
    the arguments don't fit.

    >>> torch.gradient(torch.tensor([0.0, 1.0, 4.0, 9.0]))
    (tensor([1., 2., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, got {edge_order}")
    dims = list(range(input.dim())) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = [_wrapped(d, input.dim()) for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(f"torch.gradient expects each dim once, got {dims}")
    for d in dims:
        if input.size(d) < edge_order + 1:
            raise RuntimeError(
                f"torch.gradient needs at least edge_order + 1 samples along a dimension, got {input.size(d)} along {d}"
            )
    steps = _steps(input, spacing, dims)
    return tuple(_along(input, d, step, edge_order) for d, step in zip(dims, steps, strict=True))


def _wrapped(dim, dims):
    if not -dims <= dim < dims:
        raise IndexError(f"torch.gradient: dimension {dim} of a tensor with {dims} dimensions")
    return dim % dims


def _steps(input, spacing, dims):
    """For each dimension a distance, or the distances between neighbours."""
    if spacing is None:
        return [1] * len(dims)
    if isinstance(spacing, root.Tensor):
        spacing = [spacing] if spacing.dim() else spacing.item()
    if not isinstance(spacing, (list, tuple)):
        return [spacing] * len(dims)
    if len(spacing) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or have one entry for each of {len(dims)} "
            f"dimensions, got {len(spacing)}"
        )
    steps = []
    for d, space in zip(dims, spacing, strict=True):
        if isinstance(space, root.Tensor):
            if space.dim() != 1 or space.numel() != input.size(d):
                raise RuntimeError(
                    f"torch.gradient expected each element of spacing to have one dimension of size {input.size(d)}, "
                    f"got {list(space.shape)}"
                )
            space = space.diff()
        steps.append(space)
    return steps


def _along(f, d, step, edge_order):
    size = f.size(d)

    def at(start, length=1):
        return f.narrow(d, start, length)

    if not isinstance(step, root.Tensor):
        inside = (at(2, size - 2) - at(0, size - 2)) / (2 * step) if size > 2 else None
        if edge_order == 1:
            first, last = (at(1) - at(0)) / step, (at(size - 1) - at(size - 2)) / step
        else:
            first = (at(0) * -1.5 + at(1) * 2 - at(2) * 0.5) / step
            last = (at(size - 1) * 1.5 - at(size - 2) * 2 + at(size - 3) * 0.5) / step
    else:
        shape = [1] * f.dim()
        shape[d] = -1
        h = step.reshape(shape)
        before, after = h.narrow(d, 0, size - 2), h.narrow(d, 1, size - 2)
        inside = None
        if size > 2:
            both = before + after
            inside = (
                at(0, size - 2) * (-after / (before * both))
                + at(1, size - 2) * ((after - before) / (before * after))
                + at(2, size - 2) * (before / (after * both))
            )
        if edge_order == 1:
            first = (at(1) - at(0)) / h.narrow(d, 0, 1)
            last = (at(size - 1) - at(size - 2)) / h.narrow(d, size - 2, 1)
        else:
            first = _border([at(0), at(1), at(2)], h.narrow(d, 0, 1), h.narrow(d, 1, 1))
            last = -_border(
                [at(size - 1), at(size - 2), at(size - 3)], h.narrow(d, size - 2, 1), h.narrow(d, size - 3, 1)
            )
    return root.cat([first, last] if inside is None else [first, inside, last], d)


def _border(samples, near, far):
    """The derivative at the first of three samples, the distances being `near` and then `far`."""
    both = near + far
    return (
        samples[0] * (-(2 * near + far) / (near * both))
        + samples[1] * (both / (near * far))
        - samples[2] * (near / (far * both))
    )
