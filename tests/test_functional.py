"""`torch.functional` and its neighbours, compared with PyTorch."""

import random

import pytest

import flambeau

torch = pytest.importorskip("torch")


def numbers(library, *shape, dtype="float64"):
    count = 1
    for size in shape:
        count *= size
    return library.tensor([(7 * i % 11) - 4.5 for i in range(count)], dtype=getattr(library, dtype)).reshape(shape)


def described(value):
    if isinstance(value, (tuple, list)):
        return [described(item) for item in value]
    if not hasattr(value, "dtype"):
        return value
    values = value.reshape(-1).tolist()
    return str(value.dtype), tuple(value.shape), [round(v, 6) if isinstance(v, float) else v for v in values]


def outcome(library, call):
    try:
        return described(call(library))
    except Exception as error:
        return type(error)


EINSUM = [
    lambda t, a, b: t.einsum("ij,jk", a, b),
    lambda t, a, b: t.einsum("ij,jk->", a, b),
    lambda t, a, b: t.einsum("ij,kl->ik", a, b),
    lambda t, a, b: t.einsum("i j, j k -> k i", a, b),
    lambda t, a, b: t.einsum("...j,jk->...k", a, b),
    lambda t, a, b: t.einsum("aB,Bc", a, b),
    lambda t, a, b: t.einsum(a, [0, 1], b, [1, 2]),
    lambda t, a, b: t.einsum(a, [0, 1], b, [1, 2], [2, 0]),
    lambda t, a, b: t.einsum(a, [0, ...], [...]),
    lambda t, a, b: t.einsum("ij,jk->ik", [a, b]),
    lambda t, a, b: t.einsum("ji", a),
    lambda t, a, b: t.einsum("ij->i...", a),
    lambda t, a, b: t.einsum("ij,ij->ij", a, a[:1]),
    lambda t, a, b: t.einsum("ij,ij->j", a, a[:1]),
    lambda t, a, b: t.einsum("ii->i", a[:, :2]),
    lambda t, a, b: t.einsum("ii", a[:, :2]),
    lambda t, a, b: t.einsum("ij,jk,kl->il", a, b, b.t()),
    lambda t, a, b: t.einsum(",", t.tensor(2.0), t.tensor(3.0)),
    lambda t, a, b: t.einsum("ij,jk->ik", a, b[:, :0]),
    lambda t, a, b: t.einsum("ij,jk->ik", a[:, :0], b[:0]),
    lambda t, a, b: t.einsum("i,i->", t.arange(3), t.arange(3)),
    lambda t, a, b: t.einsum("ii->i", a),
    lambda t, a, b: t.einsum("ij,jk->ik", a),
    lambda t, a, b: t.einsum("ij,jk->iz", a, b),
    lambda t, a, b: t.einsum("ij,jk->ii", a, b),
    lambda t, a, b: t.einsum("ij,ik->jk", a, b),
    lambda t, a, b: t.einsum("i1,jk->ik", a, b),
    lambda t, a, b: t.einsum("i.j->ij", a),
    lambda t, a, b: t.einsum("ijk->i", a),
    lambda t, a, b: t.einsum(a, [0, 60]),
    lambda t, a, b: t.einsum("......->", a),
    lambda t, a, b: t.einsum("ij,jk->ik", a, 3),
    lambda t, a, b: t.einsum(),
]


@pytest.mark.parametrize("call", EINSUM)
def test_einsum(call):
    ours, theirs = (outcome(t, lambda t: call(t, numbers(t, 2, 3), numbers(t, 3, 4))) for t in (flambeau, torch))
    assert ours == theirs


@pytest.mark.parametrize("seed", range(60))
def test_random_contractions(seed):
    rng = random.Random(seed)
    sizes = {label: rng.choice([1, 2, 3]) for label in "abcde"}
    inputs = ["".join(rng.choices("abcde", k=rng.randrange(4))) for _ in range(rng.choice([1, 2, 2, 3]))]
    used = sorted(set("".join(inputs)))
    output = "".join(rng.sample(used, rng.randrange(len(used) + 1)))
    equation = ",".join(inputs) + (f"->{output}" if rng.random() < 0.8 else "")

    def call(library):
        return library.einsum(equation, *(numbers(library, *(sizes[label] for label in part)) for part in inputs))

    assert outcome(flambeau, call) == outcome(torch, call), equation


CALLS = [
    lambda t, a, b: t.tensordot(a, b, dims=1),
    lambda t, a, b: t.tensordot(a, b, dims=([1], [0])),
    lambda t, a, b: t.tensordot(a, b, dims=([-1], [0])),
    lambda t, a, b: t.tensordot(a, b, dims=0),
    lambda t, a, b: t.tensordot(a, b, dims=3),
    lambda t, a, b: t.tensordot(a, b, dims=-1),
    lambda t, a, b: t.tensordot(a, b, dims=t.tensor([[1], [0]])),
    lambda t, a, b: t.tensordot(a, b, dims=([1, 0], [0])),
    lambda t, a, b: t.tensordot(a, b, dims=([1], [1])),
    lambda t, a, b: t.tensordot(a, b, ([1, 1], [0, 0])),
    lambda t, a, b: t.cartesian_prod(t.tensor([1, 2])),
    lambda t, a, b: t.cartesian_prod(t.tensor([1, 2]), t.tensor([3, 4]), t.tensor([5])),
    lambda t, a, b: t.cartesian_prod(a),
    lambda t, a, b: t.cartesian_prod(),
    lambda t, a, b: t.block_diag(),
    lambda t, a, b: t.block_diag(a, t.tensor(3.0), t.tensor([1.0, 2.0])),
    lambda t, a, b: t.block_diag(t.ones(1, 1, 1)),
    lambda t, a, b: t.broadcast_tensors(a, t.ones(3)),
    lambda t, a, b: t.broadcast_tensors(a, b),
    lambda t, a, b: t.broadcast_tensors(),
    lambda t, a, b: t.broadcast_tensors([a, a]),
    lambda t, a, b: list(t.broadcast_shapes((2, 1), 3, (1, 1, 1))),
    lambda t, a, b: t.broadcast_shapes((2,), (3,)),
    lambda t, a, b: t.broadcast_shapes((-1,)),
    lambda t, a, b: t.meshgrid(t.arange(2), t.arange(3), indexing="ij"),
    lambda t, a, b: t.meshgrid(t.arange(2), t.arange(3), t.arange(4), indexing="xy"),
    lambda t, a, b: t.meshgrid(t.arange(2), indexing="xy"),
    lambda t, a, b: t.meshgrid([t.arange(2), t.tensor(1)], indexing="ij"),
    lambda t, a, b: t.meshgrid(t.arange(2), indexing="zz"),
    lambda t, a, b: t.meshgrid(t.arange(2), t.ones(2), indexing="ij"),
    lambda t, a, b: t.meshgrid(a, indexing="ij"),
    lambda t, a, b: [f(t.tensor(1), t.arange(2), a) for f in (t.atleast_1d, t.atleast_2d, t.atleast_3d)],
    lambda t, a, b: t.atleast_1d([t.tensor(1)]),
    lambda t, a, b: t.atleast_2d(t.tensor(1)),
    lambda t, a, b: t.atleast_1d(3),
    lambda t, a, b: t.unravel_index(t.tensor([5, 1, 7, -1]), (2, 3)),
    lambda t, a, b: t.unravel_index(t.tensor(5), 6),
    lambda t, a, b: t.unravel_index(t.tensor(1.0), (2, 3)),
    lambda t, a, b: t.unravel_index(t.tensor(5), (2, -3)),
    lambda t, a, b: t.unravel_index(t.tensor(5), "a"),
    lambda t, a, b: t.chain_matmul(a, b, b.t(), a.t()),
    lambda t, a, b: t.chain_matmul(a),
    lambda t, a, b: t.chain_matmul(),
    lambda t, a, b: t.chain_matmul(a, b[0]),
    lambda t, a, b: [t.norm(a, p) for p in ("fro", "nuc", 0, 1, 2, 3, float("inf"), -1, None)],
    lambda t, a, b: t.norm(a, "abc"),
    lambda t, a, b: [t.norm(a, p, dim=1) for p in ("fro", 0, 1, 2, float("inf"))],
    lambda t, a, b: t.norm(a, 2, dim=(0, 1), keepdim=True),
    lambda t, a, b: t.norm(a, "nuc", dim=1),
    lambda t, a, b: t.norm(t.arange(3)),
    lambda t, a, b: t.norm(t.ones(2, 2, 2), dim=(0, 1, 2)),
    lambda t, a, b: [a.norm(), a.norm(1, 1), a.norm(p=2, dim=0, keepdim=True), a.norm(dtype=t.float32)],
]


@pytest.mark.parametrize("call", CALLS)
def test_calls(call):
    ours, theirs = (outcome(t, lambda t: call(t, numbers(t, 2, 3), numbers(t, 3, 4))) for t in (flambeau, torch))
    assert ours == theirs
