"""Quantiles, covariances and histograms of several dimensions."""

from __future__ import annotations

import sys
from collections import namedtuple

from .._op import op

root = sys.modules[__package__.partition(".")[0]]

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


@op(
    "quantile(Tensor input, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, str interpolation='linear') "
    "-> Tensor",
    out=True,
)
def quantile(input, q, dim, keepdim, interpolation):
    """The q-th quantiles of a float or double tensor, of all elements or along `dim`; NaN where there is a NaN.

    A one-dimensional `q` gives a result with its size in front. Raises RuntimeError for other types, for `q` outside
    [0, 1] and for empty input, ValueError for an unknown interpolation.

    >>> torch.quantile(torch.tensor([0.0, 1.0, 2.0, 3.0]), 0.5)
    tensor(1.5000)
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@op(
    "nanquantile(Tensor input, Tensor|Scalar q, int? dim=None, bool keepdim=False, *, str interpolation='linear') "
    "-> Tensor",
    out=True,
)
def nanquantile(input, q, dim, keepdim, interpolation):
    """Like quantile, of the elements that are not NaN.

    >>> torch.nanquantile(torch.tensor([float("nan"), 1.0, 2.0]), 0.5)
    tensor(1.5000)
    """
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)


def _quantile(name, input, q, dim, keepdim, interpolation, skip_nan):
    if input.dtype not in (root.float32, root.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype, got {input.dtype}")
    if input.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(f"{name}() interpolation must be one of {', '.join(_INTERPOLATIONS)}, got {interpolation!r}")
    if not isinstance(q, root.Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = root.tensor(q, dtype=input.dtype, device=input.device)
    if q.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, got {q.dim()} dimensions")
    if q.dtype != input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor, got {q.dtype} and {input.dtype}")
    if q.numel() and not q.is_meta and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    along = input.flatten() if dim is None else input
    at = 0 if dim is None else _wrapped(dim, input.dim(), name)
    shape = list(input.shape)
    kept = [1] * len(shape) if dim is None else shape[:at] + [1] * bool(shape) + shape[at + 1 :]
    ordered = (along if along.dim() else along.reshape(1)).movedim(at, -1).sort(-1)[0]
    size = ordered.shape[-1]
    missing = ordered.isnan()
    # Ranks as doubles: a float doesn't hold every index of a large tensor.
    ranks = q.double().reshape(-1)
    if skip_nan:
        ranks = ranks * (size - 1 - missing.sum(-1, keepdim=True)).clamp(min=0)
    else:
        ranks = (ranks * (size - 1)).expand((*ordered.shape[:-1], q.numel()))
        ranks = ranks.masked_fill(missing.any(-1, keepdim=True), size - 1)
    found = _interpolated(ordered, ranks, interpolation)
    found = found.movedim(-1, 0)
    sizes = kept if keepdim else [] if dim is None else shape[:at] + shape[at + 1 :]
    return found.reshape(([q.numel()] if q.dim() else []) + sizes)


def _wrapped(dim, dims, name):
    if not -max(dims, 1) <= dim < max(dims, 1):
        raise IndexError(f"{name}: dimension {dim} of a tensor with {dims} dimensions")
    return dim % max(dims, 1)


def _interpolated(ordered, ranks, interpolation):
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.floor().long()
    low = ordered.gather(-1, below)
    if interpolation in ("lower", "higher", "nearest"):
        return low
    high = ordered.gather(-1, ranks.ceil().long())
    weight = 0.5 if interpolation == "midpoint" else (ranks - below).to(ordered.dtype)
    return low.lerp(high, weight)


@op("cov(Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor")
def cov(input, correction, fweights, aweights):
    """The covariances of the rows of a matrix, whose columns are observations.

    `fweights` says how often an observation counts, `aweights` how much. Raises RuntimeError for more than two
    dimensions and for weights that don't fit.

    >>> torch.cov(torch.tensor([[0.0, 2.0], [1.0, 3.0]]))
    tensor([[2., 2.],
            [2., 2.]])
    """
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got {input.dim()}")
    if input.dtype == root.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = input.reshape(1, -1) if input.dim() < 2 else input
    count = x.shape[1]
    weights = _cov_weights(count, fweights, aweights)
    if weights is None:
        total, mean = count, x.to(_floating(x)).mean(1, keepdim=True)
        freedom = count - correction
    else:
        total = weights.sum()
        if bool(total == 0):
            raise RuntimeError("cov(): weights sum to zero, can't be normalized")
        mean = (x * weights).sum(1, keepdim=True) / total
        if correction and aweights is not None:
            freedom = total - correction * (weights * aweights).sum() / total
        else:
            freedom = total - correction
    if float(freedom) <= 0:
        import warnings

        warnings.warn("cov(): degrees of freedom is <= 0", stacklevel=2)
        freedom = 0
    centered = x - mean
    weighted = centered if weights is None else centered * weights
    return centered.mm(weighted.t().conj().to(centered.dtype)).true_divide(freedom).squeeze()


def _floating(x):
    return x.dtype if x.is_floating_point() or x.is_complex() else root.get_default_dtype()


def _cov_weights(count, fweights, aweights):
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        if weights.dim() > 1:
            raise RuntimeError(f"cov(): expected {name} to have one or fewer dimensions but got {weights.dim()}")
        if weights.numel() != count:
            raise RuntimeError(
                f"cov(): expected {name} to have one weight for each of {count} observations, got {weights.numel()}"
            )
        if bool((weights < 0).any()):
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is not None and (fweights.is_floating_point() or fweights.is_complex()):
        raise RuntimeError(f"cov(): expected fweights to have integral dtype but got {fweights.dtype}")
    if aweights is not None and not aweights.is_floating_point():
        raise RuntimeError(f"cov(): expected aweights to have floating point dtype but got {aweights.dtype}")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


@op("corrcoef(Tensor input) -> Tensor")
def corrcoef(input):
    """The correlation coefficients of the rows of a matrix, whose columns are observations.

    >>> torch.corrcoef(torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(f"corrcoef(): expected input to have two or fewer dimensions but got {input.dim()}")
    c = root.cov(input)
    if c.dim() == 0:
        return c / c
    spread = c.diagonal().sqrt()
    if c.is_complex():
        spread = spread.real
    c = c / spread.unsqueeze(-1) / spread.unsqueeze(0)
    if not c.is_complex():
        return c.clamp(-1, 1)
    return root.complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))


@op(
    "torch.histogramdd(Tensor input, any bins, *, any range=None, Tensor? weight=None, bool density=False) -> any",
)
def histogramdd(input, bins, range, weight, density):
    """Counts, weights or densities of points (..., N) in a grid of N dimensions.

    `bins` is a number for all dimensions, one for each, or a list of tensors with the edges; `range` holds the smallest
    and the largest edge of each dimension in turn. Gives (hist, bin_edges). Raises RuntimeError where sizes don't fit.

    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"histogramdd: input tensor should have at least 2 dimensions, got {input.dim()}")
    width = input.shape[-1]
    points = input.reshape(-1, width)
    bins = [bins] * width if isinstance(bins, int) else list(bins)
    if len(bins) != width:
        raise RuntimeError(
            f"histogramdd: expected {width} sequences of bin edges or sizes for {width} dimensions, got {len(bins)}"
        )
    if range is not None and len(range) != 2 * width:
        raise RuntimeError(f"histogramdd: range has {len(range)} elements, expected {2 * width}")
    if weight is not None and weight.shape != input.shape[:-1]:
        raise RuntimeError(f"histogramdd: weight has shape {list(weight.shape)}, expected {list(input.shape[:-1])}")
    edges = []
    for axis, many in enumerate(bins):
        if isinstance(many, root.Tensor):
            edges.append(many)
        else:
            limits = None if range is None else [float(range[2 * axis]), float(range[2 * axis + 1])]
            edges.append(root.histogram(points[:, axis].contiguous(), int(many), range=limits)[1])
    sizes = [edge.numel() - 1 for edge in edges]
    place = root.zeros(points.shape[0], dtype=root.int64)
    inside = root.ones(points.shape[0], dtype=root.bool)
    for axis, edge in enumerate(edges):
        values = points[:, axis].contiguous()
        inside = inside & (values >= edge[0]) & (values <= edge[-1])
        place = place * sizes[axis] + (root.searchsorted(edge, values, right=True) - 1).clamp(0, sizes[axis] - 1)
    weights = root.ones(points.shape[0], dtype=input.dtype) if weight is None else weight.reshape(-1).to(input.dtype)
    total = 1
    for size in sizes:
        total *= size
    counts = root.zeros(total, dtype=input.dtype).index_add(0, place[inside], weights[inside]).reshape(sizes)
    if density:
        counts = counts / counts.sum()
        for axis, edge in enumerate(edges):
            counts = counts / edge.diff().reshape([-1] + [1] * (len(edges) - axis - 1))
    return _Histogramdd(counts, tuple(edges))


# The name without the underscore is the op's.
_Histogramdd = namedtuple("histogramdd", ["hist", "bin_edges"])  # type: ignore[name-match]
