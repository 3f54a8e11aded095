"""Ready parametrizations: orthogonal, weight and spectral normalisation."""

from __future__ import annotations

from enum import Enum, auto

from ... import Tensor, cat, eye, finfo, linalg, no_grad, randn, vdot, zeros_like
from .. import functional as F
from ..modules.module import Module
from . import parametrize
from .spectral_norm import _output_dim
from .weight_norm import norm_except

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(q: Tensor, eps: float | None = None) -> bool:
    rows, columns = q.size(-2), q.size(-1)
    identity = eye(columns, dtype=q.dtype, device=q.device)
    eps = 10.0 * rows * finfo(q.dtype).eps if eps is None else eps
    return bool(((q.mH @ q) - identity).abs().max() <= eps)


def _make_orthogonal(a: Tensor) -> Tensor:
    """The orthogonal factor of `a`, with the signs that make it unique."""
    q, r = linalg.qr(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Maps any matrix to one with orthonormal columns (or rows, whichever are fewer).

    With a trivialization the map is base @ f(x), where f(x) starts at the identity: then any value can be assigned.
    """

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        transposed = x.size(-2) < x.size(-1)
        if transposed:
            x = x.mT
        rows, columns = x.size(-2), x.size(-1)
        if self.orthogonal_map is _OrthMaps.householder:
            q = _reflections(x)
        else:
            lower = x.tril()
            if rows != columns:
                lower = F.pad(lower, (0, rows - columns), "constant", 0.0)
            skew = lower - lower.mH
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                q = linalg.matrix_exp(skew)
            else:
                identity = eye(rows, dtype=skew.dtype, device=skew.device)
                q = linalg.solve(identity - 0.5 * skew, identity + 0.5 * skew)
            q = q[..., :columns]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if transposed else q

    def right_inverse(self, q: Tensor) -> Tensor:
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        given = q
        transposed = q.size(-2) < q.size(-1)
        if transposed:
            q = q.mT
        rows, columns = q.size(-2), q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            from ... import geqrf

            packed, tau = geqrf(q)
            signs = packed.diagonal(dim1=-2, dim2=-1)
            signs.sgn_()
            # Where tau is 0 there was no reflection, but the map makes one: its sign is turned once more.
            signs[tau == 0] *= -1
            return packed.mT if transposed else packed
        if rows == columns:
            self.base = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        else:
            rest = randn(*q.shape[:-1], rows - columns, dtype=q.dtype, device=q.device)
            self.base = _make_orthogonal(cat([q, rest], -1))
        # Every map takes this to the identity.
        start = zeros_like(given)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def _reflections(x: Tensor) -> Tensor:
    """The product of the Householder reflections along the columns below x's diagonal; its signs flip the columns."""
    below = x.tril(-1)
    tau = 2.0 / (1.0 + (below * below).sum(-2))
    q = linalg.householder_product(below, tau)
    return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a matrix orthogonal. Returns the module.

    `orthogonal_map` is "matrix_exp", "cayley" or "householder" (default: the first for square and complex matrices,
    the last for others). Raises ValueError for something that is no matrix.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return parametrize.register_parametrization(module, name, parametrization, unsafe=True)


class _WeightNorm(Module):
    """A weight from its length g and its direction v."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0):
    """Split a weight into length (`original0`) and direction (`original1`). Returns the module.

    State dicts of the older `utils.weight_norm` can be loaded. `dim` None: one length for the whole weight.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def load_older(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) -> None:
        for old, new in ((f"{prefix}{name}_g", "original0"), (f"{prefix}{name}_v", "original1")):
            if old in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.{new}"] = state_dict.pop(old)

    module._register_load_state_dict_pre_hook(load_older)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which power iteration follows in training."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            height, width = matrix.size()
            u = matrix.new_empty(height).normal_(0, 1)
            v = matrix.new_empty(width).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @no_grad()
    def _power_method(self, matrix: Tensor, n_power_iterations: int) -> None:
        for _ in range(n_power_iterations):
            self._u.copy_(F.normalize(matrix.mv(self._v), dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: the graph must not see the next update.
        u, v = self._u.clone(), self._v.clone()
        return weight / vdot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        # Whatever is assigned is taken as the original.
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value. Returns the module.

    `dim` is the dimension of the outputs (default: 0, for transposed convolutions 1).
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = _output_dim(module)
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
