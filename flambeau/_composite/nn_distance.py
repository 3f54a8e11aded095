"""Distances, similarities and normalisation to unit length."""

from __future__ import annotations

import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op("nn.pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-6, bool keepdim=False) -> Tensor")
def pairwise_distance(x1, x2, p, eps, keepdim):
    """The p-norm of x1 - x2 + eps along the last dimension.

    >>> nn.functional.pairwise_distance(flambeau.zeros(1, 4), flambeau.ones(1, 4))
    tensor([2.0000])
    """
    return root.linalg.vector_norm(x1 - x2 + eps, p, -1, keepdim)


@op("nn.cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-8) -> Tensor")
def cosine_similarity(x1, x2, dim, eps):
    """The cosine of the angle between x1 and x2 along `dim`; norms below eps count as eps.

    >>> nn.functional.cosine_similarity(flambeau.ones(1, 2), flambeau.ones(1, 2))
    tensor([1.0000])
    """
    if not (x1.is_floating_point() or x1.is_complex()) or not (x2.is_floating_point() or x2.is_complex()):
        raise RuntimeError(f"cosine_similarity: expected floating point inputs, got {x1.dtype} and {x2.dtype}")
    if x1.shape != x2.shape:
        x1, x2 = root.broadcast_tensors(x1, x2)
    return (_unit(x1, dim, eps) * _unit(x2, dim, eps)).sum(dim)


def _unit(x, dim, eps):
    """x / max(|x|, eps). The largest element is divided out first, so that no length overflows on the way."""
    if x.size(dim) == 0 if x.dim() else False:
        return x
    largest = x.detach().abs().amax(dim, True)
    largest = largest.masked_fill((largest == 0) | (largest == float("inf")), 1)
    scaled = x / largest
    length = root.linalg.vector_norm(scaled, 2, dim, True)
    return scaled / root.maximum(length, eps / largest)


@op("nn.normalize(Tensor input, float p=2.0, int[1] dim=1, float eps=1e-12, Tensor? out=None) -> Tensor")
def normalize(input, p, dim, eps, out):
    """input / max(its p-norm along dim, eps).

    >>> nn.functional.normalize(flambeau.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    length = root.linalg.vector_norm(input, p, dim, True).clamp(min=eps).expand_as(input)
    if out is None:
        return input / length
    return root.div(input, length, out=out)


@op("nn.pdist(Tensor input, float p=2.0) -> Tensor")
def pdist(input, p):
    """The p-norm distances between all pairs of rows of (N, M), in the order (0, 1), (0, 2), …, (1, 2), …"""
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    first, second = root.triu_indices(input.size(0), input.size(0), 1, device=input.device)
    return root.linalg.vector_norm(input[first] - input[second], p, -1)
