"""The graphs of `torch.cuda`."""

from . import CUDAGraph, graph

__all__ = ["CUDAGraph", "graph"]
