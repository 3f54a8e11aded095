"""Sample arguments for every op, in one place.

Most ops need none written down: arguments follow from the types and names in the schema. For the others a line of
`LINES` says what to call the op with: ``t(3, 4)`` is a tensor of that shape with the dtype under test, ``p`` one of
positive values, ``i(n, ...)`` one of indices below n, ``b(...)`` one of bools; ``B`` is a size that is large when
threads are tested.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .entries import Argument, Entry

LINES: dict[str, str] = {
    "matmul": "t(B, 4), t(4, 5)",
    "mm": "t(B, 4), t(4, 5)",
    "mv": "t(B, 4), t(4)",
    "dot": "t(B), t(B)",
    "vdot": "t(B), t(B)",
    "bmm": "t(B, 2, 4), t(B, 4, 3)",
    "addmm": "t(B, 5), t(B, 4), t(4, 5)",
    "addmv": "t(B), t(B, 4), t(4)",
    "addr": "t(B, 4), t(B), t(4)",
    "addbmm": "t(2, 3), t(B, 2, 4), t(B, 4, 3)",
    "baddbmm": "t(B, 2, 3), t(B, 2, 4), t(B, 4, 3)",
    "nn.linear": "t(B, 4), t(5, 4), t(5)",
    "nn.bilinear": "t(B, 4), t(B, 3), t(5, 4, 3), t(5)",
    "nn.conv1d": "t(2, 3, B), t(4, 3, 3), t(4)",
    "nn.conv2d": "t(2, 3, 9, B), t(4, 3, 3, 3), t(4)",
    "nn.conv3d": "t(2, 3, 5, 6, B), t(4, 3, 3, 3, 3), t(4)",
    "nn.conv_transpose1d": "t(2, 3, B), t(3, 4, 3), t(4)",
    "nn.conv_transpose2d": "t(2, 3, 5, B), t(3, 4, 3, 3), t(4)",
    "nn.conv_transpose3d": "t(2, 3, 3, 4, B), t(3, 4, 3, 3, 3), t(4)",
    "nn.avg_pool1d": "t(2, 3, B), 3",
    "nn.avg_pool2d": "t(2, 3, 9, B), 3",
    "nn.avg_pool3d": "t(2, 3, 4, 5, B), 3",
    "nn.max_pool1d": "t(2, 3, B), 3",
    "nn.max_pool2d": "t(2, 3, 9, B), 3",
    "nn.max_pool3d": "t(2, 3, 4, 5, B), 3",
    "nn.adaptive_avg_pool1d": "t(2, 3, B), 4",
    "nn.adaptive_avg_pool2d": "t(2, 3, 9, B), 4",
    "nn.adaptive_avg_pool3d": "t(2, 3, 4, 5, B), 3",
    "nn.adaptive_max_pool1d": "t(2, 3, B), 4",
    "nn.adaptive_max_pool2d": "t(2, 3, 9, B), 4",
    "nn.lp_pool1d": "p(2, 3, B), 2, 3",
    "nn.lp_pool2d": "p(2, 3, 9, B), 2, 3",
    "nn.batch_norm": "t(B, 3), t(3), p(3), t(3), t(3), True",
    "nn.instance_norm": "t(2, 3, B)",
    "nn.layer_norm": "t(B, 5), (5,), t(5), t(5)",
    "nn.rms_norm": "t(B, 5), (5,), t(5)",
    "nn.group_norm": "t(2, 4, B), 2, t(4), t(4)",
    "nn.local_response_norm": "t(2, 4, B), 3",
    "nn.embedding": "i(5, B), t(5, 4)",
    "nn.cross_entropy": "t(B, 5), i(5, B)",
    "nn.nll_loss": "t(B, 5), i(5, B)",
    "nn.multi_margin_loss": "t(B, 5), i(5, B)",
    "nn.binary_cross_entropy": "t(B, 4).sigmoid(), t(B, 4).sigmoid()",
    "nn.gaussian_nll_loss": "t(B, 4), t(B, 4), p(B, 4)",
    "nn.margin_ranking_loss": "t(B), t(B), t(B).sign()",
    "nn.cosine_embedding_loss": "t(B, 4), t(B, 4), t(B).sign()",
    "nn.triplet_margin_loss": "t(B, 4), t(B, 4), t(B, 4)",
    "nn.hinge_embedding_loss": "t(B, 4), t(B, 4).sign()",
    "nn.soft_margin_loss": "t(B, 4), t(B, 4).sign()",
    "nn.prelu": "t(B, 4), t(4)",
    "nn.glu": "t(B, 4), -1",
    "nn.pad": "t(B, 4), (1, 2)",
    "nn.one_hot": "i(5, B)",
    "nn.scaled_dot_product_attention": "t(2, B, 4), t(2, 5, 4), t(2, 5, 4)",
    "nn.grid_sample": "t(1, 2, 5, 5), t(1, B, 3, 2), align_corners=False",
    "nn.affine_grid": "t(1, 2, 3), (1, 2, 4, 5), align_corners=False",
    "nn.interpolate": "t(1, 2, 5, 6), scale_factor=2",
    "nn.pixel_shuffle": "t(2, 4, B, 3), 2",
    "nn.pixel_unshuffle": "t(2, 2, 4, 6), 2",
    "nn.fold": "t(1, 12, 6), (4, 5), (2, 2), 1, 0, (2, 2)",
    "nn.unfold": "t(1, 2, 5, B), 2",
    "nn.softmax": "t(B, 4), -1",
    "nn.log_softmax": "t(B, 4), -1",
    "nn.softmin": "t(B, 4), -1",
    "nn.gumbel_softmax": "t(B, 4)",
    "gather": "t(B, 4), 1, i(4, B, 3)",
    "scatter.src": "t(B, 4), 1, i(4, B, 1), t(B, 1)",
    "scatter.value": "t(B, 4), 1, i(4, B, 1), 2",
    "scatter_add": "t(B, 4), 1, i(4, B, 3), t(B, 3)",
    "scatter_reduce": "t(B, 4), 1, i(4, B, 3), t(B, 3), 'sum'",
    "index_select": "t(B, 4), 1, i(4, 6)",
    "index_add": "t(B, 4), 1, i(4, 6), t(B, 6)",
    "index_copy": "t(B, 4), 1, i(4, 1), t(B, 1)",
    "index_fill.int_Scalar": "t(B, 4), 1, i(4, 2), 2",
    "masked_fill.Scalar": "t(B, 4), b(B, 4), 2",
    "masked_select": "t(B, 4), b(B, 4)",
    "masked_scatter": "t(B, 4), b(B, 4), t(B, 4)",
    "where": "b(B, 4), t(B, 4), t(B, 4)",
    "take": "t(B, 4), i(4, 7)",
    "take_along_dim": "t(B, 4), i(4, B, 1), 1",
    "searchsorted.Tensor": "t(5).sort()[0], t(B, 4)",
    "bucketize.Tensor": "t(B, 4), t(5).sort()[0]",
    "reshape": "t(B, 4), (2, -1)",
    "Tensor.view": "t(B, 4), (2, -1)",
    "expand": "t(1, 4), (3, 4)",
    "permute": "t(2, B, 4), (2, 0, 1)",
    "unflatten": "t(B, 4), 1, (2, 2)",
    "tile": "t(B, 4), (2, 2)",
    "Tensor.repeat": "t(B, 4), (2, 1)",
    "as_strided": "t(12), (3, 2), (4, 1)",
    "transpose": "t(B, 4), 0, 1",
    "movedim": "t(2, B, 4), 0, 2",
    "narrow": "t(B, 4), 1, 1, 2",
    "select": "t(B, 4), 1, 2",
    "cross": "t(B, 3), t(B, 3)",
    "linalg.cross": "t(B, 3), t(B, 3)",
    "kron": "t(2, 3), t(3, 2)",
    "logsumexp": "t(B, 4), (1,)",
    "renorm": "t(B, 4), 2, 0, 1.0",
    "diag_embed": "t(B, 4)",
    "cdist": "t(B, 4), t(5, 4)",
    "trapezoid": "t(B, 4)",
    "quantile": "t(B, 4), 0.3",
    "linspace": "0, 1, 5",
    "logspace": "0, 1, 5",
    "full": "(3, 4), 2.0",
    "clamp": "t(B, 4), -0.5, 0.5",
    "lerp": "t(B, 4), t(B, 4), 0.3",
    "polygamma": "2, p(B, 4)",
    "log": "p(B, 4)",
    "lgamma": "p(B, 4)",
    "digamma": "p(B, 4)",
    "multinomial": "p(3, 4), 2",
    "torch._standard_gamma": "p(B, 4)",
    "torch._standard_gamma_grad": "p(B, 4), p(B, 4)",
    "torch._sample_dirichlet": "p(B, 4)",
    "torch._dirichlet_grad": "p(B, 4) / 4, p(B, 4), p(B, 4) + 4",
    "bernoulli": "t(B, 4).sigmoid()",
    "poisson": "p(B, 4)",
    "binomial": "p(B, 4).ceil(), t(B, 4).sigmoid()",
    "tensordot": "t(B, 4), t(4, 5), 1",
    "einsum": "'ij,jk->ik', t(B, 4), t(4, 5)",
    "roll": "t(B, 4), 1, 0",
    "rot90": "t(B, 4)",
    "flip": "t(B, 4), (0, 1)",
    "unfold": "t(B, 4), 1, 2, 1",
    "Tensor.unfold": "t(B, 4), 1, 2, 1",
}

_TENSORS: dict[str, str] = {
    "mask": "b(B, 4)",
    "condition": "b(B, 4)",
    "index": "i(3, 5)",
    "indices": "i(3, 5)",
    "target": "t(B, 4)",
}
_NUMBERS: dict[str, str] = {
    "dim": "0", "dim0": "0", "dim1": "1", "axis": "0", "dims": "(0, 1)", "size": "(2, 3)", "shape": "(2, 3)",
    "p": "0.5",
    "k": "2", "n": "3", "steps": "5", "end": "6", "start": "1", "sections": "2", "chunks": "2", "split_size": "2",
    "kernel_size": "2", "repeats": "2", "low": "1", "high": "5", "dtype": "float64", "device": "'cpu'",
    "tensors": "[t(B, 4), t(B, 4)]",
    "diagonal": "1", "q": "0.5", "min": "-0.5", "max": "0.5", "value": "2", "threshold": "0.1",
    "negative_slope": "0.1", "exponent": "2",
}  # fmt: skip
_BY_TYPE: dict[str, str] = {
    "Tensor": "t(B, 4)", "Tensor|Scalar": "t(B, 4)", "Tensor[]": "[t(B, 4), t(B, 4)]", "int": "1", "int[]": "(1,)",
    "float": "0.5",
    "bool": "True", "Scalar": "2", "Scalar[]": "[1, 2]", "str": "'mean'", "dtype": "float64", "device": "'cpu'",
    "any": "t(B, 4)",
    "float[]": "[0.5]", "layout": "strided", "memory_format": "contiguous_format", "Generator": "None",
}  # fmt: skip


def _generic(argument: Argument) -> str:
    base = argument.base
    if base == "Tensor":
        return _TENSORS.get(argument.name, _BY_TYPE[base])
    if base not in ("Tensor|Scalar", "any") and argument.name in _NUMBERS:
        return _NUMBERS[argument.name]
    return _BY_TYPE[base]


def line(op: Entry) -> str:
    """The arguments of an op, written as in a call."""
    for key in (op.id, op.name):
        if key in LINES:
            return LINES[key]
    required = [a for a in op.args if a.default is None]
    return ", ".join(f"{a.name}={_generic(a)}" if a.keyword_only else _generic(a) for a in required)


class Maker:
    """Makes the same tensors in either library. `change` is applied to every tensor of the dtype under test."""

    def __init__(
        self,
        library: Any,
        dtype: str = "float64",
        size: int = 3,
        change: Callable[[Any], Any] | None = None,
        device: str = "cpu",
    ) -> None:
        self.library, self.dtype, self.size, self.change, self.device = library, dtype, size, change, device
        self.made: list[Any] = []

    def numbers(self, shape: tuple[int, ...]) -> np.random.Generator:
        return np.random.default_rng(zlib.crc32(repr((shape, len(self.made))).encode()))

    def finish(self, values: np.ndarray[Any, Any], dtype: str | None) -> Any:
        t = self.library.from_numpy(np.ascontiguousarray(values).reshape(values.shape))
        if dtype:
            t = t.to(getattr(self.library, dtype))
            if self.change:
                t = self.change(t)
        t = t.to(self.device)
        self.made.append(t)
        return t

    def t(self, *shape: int) -> Any:
        numbers = self.numbers(shape)
        if "float" in self.dtype or "complex" in self.dtype:
            values = numbers.normal(size=shape)
            return self.finish(
                values + 1j * numbers.normal(size=shape) if "complex" in self.dtype else values, self.dtype
            )
        return self.finish(np.asarray(numbers.integers(0, 5, size=shape)), self.dtype)

    def p(self, *shape: int) -> Any:
        return self.finish(np.asarray(self.numbers(shape).uniform(0.5, 3, size=shape)), self.dtype)

    def i(self, below: int, *shape: int) -> Any:
        return self.finish(np.asarray(self.numbers(shape).integers(0, below, size=shape)), None)

    def b(self, *shape: int) -> Any:
        return self.finish(np.asarray(self.numbers(shape).uniform(size=shape) < 0.5), None)

    def arguments(self, op: Entry) -> tuple[tuple[Any, ...], dict[str, Any]]:
        names = {"t": self.t, "p": self.p, "i": self.i, "b": self.b, "B": self.size}
        for name in ("float64", "strided", "contiguous_format"):
            names[name] = getattr(self.library, name)
        return eval(f"collect({line(op)})", {"collect": lambda *args, **keywords: (args, keywords), **names})
