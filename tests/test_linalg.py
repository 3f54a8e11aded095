"""Values, first and second derivatives and errors of linear algebra, against PyTorch."""

import numpy as np
import pytest

import flambeau

torch = pytest.importorskip("torch")

# What gives them, and the shapes of its arguments. Results that are determined up to a phase are made unique.
CALLS = {
    "inv": (lambda t, a: t.linalg.inv(a), (2, 3, 3)),
    "det": (lambda t, a: t.linalg.det(a), (2, 3, 3)),
    "det of a singular matrix": (lambda t, a: t.linalg.det(a * t.tensor([1.0, 1.0, 0.0])), (3, 3)),
    "slogdet": (lambda t, a: t.linalg.slogdet(a)[1], (2, 3, 3)),
    "sign of slogdet": (lambda t, a: t.linalg.slogdet(a)[0] + 0 * t.linalg.slogdet(a)[1], (2, 3, 3)),
    "solve": (lambda t, a, b: t.linalg.solve(a, b), (2, 3, 3), (3, 2)),
    "solve from the right": (lambda t, a, b: t.linalg.solve(a, b, left=False), (3, 3), (2, 3)),
    "cholesky": (lambda t, a: t.linalg.cholesky(a @ a.mH + t.eye(3)), (2, 3, 3)),
    "cholesky upper": (lambda t, a: t.linalg.cholesky(a @ a.mH + t.eye(3), upper=True), (2, 3, 3)),
    "lu_factor": (lambda t, a: t.linalg.lu_factor(a)[0], (2, 3, 3)),
    "lu_factor wide": (lambda t, a: t.linalg.lu_factor(a)[0], (2, 3, 5)),
    "lu tall": (lambda t, a: t.linalg.lu(a), (2, 5, 3)),
    "lu_solve": (lambda t, a, b: t.linalg.lu_solve(*t.linalg.lu_factor(a), b, adjoint=True), (3, 3), (3, 2)),
    "qr": (lambda t, a: t.linalg.qr(a), (2, 5, 3)),
    "qr wide": (lambda t, a: t.linalg.qr(a, "complete"), (2, 3, 5)),
    "eigh": (lambda t, a: [each.abs() for each in t.linalg.eigh(a + a.mH)], (2, 3, 3)),
    "eigvalsh": (lambda t, a: t.linalg.eigvalsh(a + a.mH), (2, 3, 3)),
    "eig": (lambda t, a: [each.abs().sum(-1) for each in t.linalg.eig(a)], (2, 3, 3)),
    "svd": (lambda t, a: [each.abs() for each in t.linalg.svd(a, False)], (2, 5, 3)),
    "svd wide": (lambda t, a: [each.abs() for each in t.linalg.svd(a, False)], (2, 3, 5)),
    "svdvals": (lambda t, a: t.linalg.svdvals(a), (2, 3, 5)),
    "solve_triangular": (lambda t, a, b: t.linalg.solve_triangular(a, b, upper=True), (3, 3), (3, 2)),
    "pinv": (lambda t, a: t.linalg.pinv(a), (2, 5, 3)),
    "lstsq": (lambda t, a, b: t.linalg.lstsq(a, b)[0], (5, 3), (5, 2)),
    "matrix_exp": (lambda t, a: t.linalg.matrix_exp(a), (2, 3, 3)),
    "matrix_power": (lambda t, a: t.linalg.matrix_power(a, -3), (2, 3, 3)),
    "cond": (lambda t, a: t.linalg.cond(a), (2, 3, 3)),
    "nuclear norm": (lambda t, a: t.linalg.matrix_norm(a, "nuc"), (2, 3, 4)),
    "householder_product": (lambda t, a, tau: t.linalg.householder_product(a, tau), (2, 4, 3), (2, 2)),
    "ormqr": (lambda t, a, tau, c: t.ormqr(a, tau, c, transpose=True), (4, 3), (3,), (4, 2)),
    "cholesky_solve": (lambda t, b, a: t.cholesky_solve(b, a.tril()), (3, 2), (3, 3)),
}


def weights(t, x):
    return 1 + t.arange(x.numel(), dtype=t.float64).reshape(x.shape)


def derivatives(t, function, arrays):
    tensors = [t.tensor(array.tolist(), dtype=getattr(t, str(array.dtype)), requires_grad=True) for array in arrays]
    results = function(t, *tensors)
    results = [results] if hasattr(results, "dtype") else [each for each in results if each.requires_grad]
    loss = sum(((x.abs() ** 2 + 0.3 * x.real) * weights(t, x)).sum() for x in results)
    first = t.autograd.grad(loss, tensors, create_graph=True)
    second = t.autograd.grad(sum((g.abs() ** 2 * weights(t, g)).sum() for g in first), tensors, allow_unused=True)
    return [loss.tolist(), *(g.tolist() for g in first), *(g.tolist() for g in second if g is not None)]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", CALLS)
def test_value_and_two_derivatives(name, dtype):
    function, *shapes = CALLS[name]
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(shape).astype(dtype) for shape in shapes]
    if dtype == "complex128":
        arrays = [array + 1j * generator.standard_normal(array.shape) for array in arrays]
    for got, expected in zip(
        derivatives(flambeau, function, arrays), derivatives(torch, function, arrays), strict=True
    ):
        np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-9)


ERRORS = [
    lambda t: t.linalg.inv(t.zeros(2, 2)),
    lambda t: t.linalg.inv(t.ones(2, 3)),
    lambda t: t.linalg.inv(t.ones(2)),
    lambda t: t.linalg.inv(t.ones(2, 2, dtype=t.int64)),
    lambda t: t.linalg.solve(t.zeros(2, 2), t.ones(2)),
    lambda t: t.linalg.solve(t.eye(2), t.ones(3)),
    lambda t: t.linalg.solve(t.eye(2), t.ones(2).double()),
    lambda t: t.linalg.cholesky(-t.eye(2)),
    lambda t: t.linalg.cholesky_ex(-t.eye(2), check_errors=True),
    lambda t: t.linalg.eig(t.full((2, 2), float("nan"))),
    lambda t: t.linalg.eigh(t.eye(2), UPLO="X"),
    lambda t: t.linalg.svd(t.full((2, 2), float("nan"))),
    lambda t: t.linalg.qr(t.eye(2), "nonsense"),
    lambda t: t.linalg.norm(t.ones(2, 2), "nonsense"),
    lambda t: t.linalg.matrix_norm(t.ones(2)),
    lambda t: t.linalg.matrix_norm(t.ones(2, 2), dim=(0, 0)),
    lambda t: t.linalg.matrix_norm(t.ones(2, 2), dim=(0, 7)),
    lambda t: t.linalg.multi_dot([t.ones(2, 2)]),
    lambda t: t.linalg.multi_dot([t.ones(2, 3), t.ones(2, 3)]),
    lambda t: t.linalg.cross(t.ones(2), t.ones(2)),
    lambda t: t.linalg.tensorsolve(t.ones(2, 3), t.ones(2)),
    lambda t: t.linalg.lu_solve(t.eye(2), t.tensor([5, 7], dtype=t.int32), t.ones(2, 1)),
    lambda t: t.lu_unpack(t.eye(2), t.tensor([5, 7], dtype=t.int32)),
    lambda t: t.linalg.householder_product(t.ones(2, 3), t.ones(2)),
    lambda t: t.linalg.lstsq(t.ones(3, 2), t.ones(3, 1), driver="nonsense"),
]


def outcome(t, call):
    try:
        call(t)
    except Exception as error:
        return type(error).__name__
    return "no error"


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    assert outcome(flambeau, ERRORS[number]) == outcome(torch, ERRORS[number]) != "no error"


def test_matrices_that_are_not_finite():
    for t in (flambeau, torch):
        pair = t.stack([t.eye(2), t.full((2, 2), float("nan"))])
        values = t.linalg.eigh(pair).eigenvalues
        assert values[0].tolist() == [1, 1] and values[1].isnan().all()
        assert t.linalg.svdvals(t.full((2, 2), float("inf"))).isnan().all()
        assert t.linalg.eigvalsh(t.tensor([[1.0, float("nan")], [0.0, 1.0]])).tolist() == [1, 1]


def test_singular_matrices_raise_linalg_errors():
    with pytest.raises(flambeau.linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\)"):
        flambeau.linalg.inv(flambeau.stack([flambeau.eye(2), flambeau.zeros(2, 2)]))
    assert issubclass(flambeau.linalg.LinAlgError, RuntimeError)


def test_results_have_names():
    values, vectors = flambeau.linalg.eigh(flambeau.eye(2))
    result = flambeau.linalg.eigh(flambeau.eye(2))
    assert result.eigenvalues.tolist() == values.tolist() and result.eigenvectors.tolist() == vectors.tolist()


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_empty(shape):
    for t in (flambeau, torch):
        a = t.ones(shape)
        assert t.linalg.inv(a).shape == shape
        assert t.linalg.det(a).tolist() == t.ones(shape[:-2]).tolist()
        assert t.linalg.svd(a).S.shape == shape[:-1]
        assert t.linalg.solve(a, t.ones(*shape[:-1], 2)).shape == (*shape[:-1], 2)
