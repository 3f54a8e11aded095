"""Wild arguments: for every type of the schema language values that fit, that nearly fit and that don't."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import flambeau as fl

from .entries import Argument

DTYPES = [
    fl.float32, fl.float64, fl.float16, fl.bfloat16, fl.int8, fl.int16, fl.int32, fl.int64,
    fl.uint8, fl.uint16, fl.uint32, fl.uint64, fl.bool, fl.complex64, fl.complex128,
]  # fmt: skip
FLOATS = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 0.5, 1.5, -2.5, 1e-320, 1e38, 1e308]
INTS = [0, 1, -1, 2, -2, 3, -3, 4, 5, 7, 63, 64, 65, 1000, -1000]
HUGE_INTS = [2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63), 2**63, 2**64, -(2**64), 10**30]
STRINGS = [
    "", "mean", "sum", "none", "constant", "reflect", "replicate", "circular", "nearest", "bilinear", "linear", "tanh",
    "trunc", "floor", "valid", "same", "ij", "left", "ortho", "fro", "nuc", "sum_to_size", "cpu", "meta", "cuda:99",
    "i,i->", "ij,jk->ik", "x" * 3000, "\udc80", "\0",
]  # fmt: skip


class Odd:
    """An object that answers what it's asked with something useless."""

    def __index__(self) -> int:
        raise ZeroDivisionError("__index__")

    def __float__(self) -> float:
        raise ZeroDivisionError("__float__")

    def __len__(self) -> int:
        return 3

    def __getitem__(self, i: Any) -> Any:
        raise KeyError(i)


class Shrinking:
    """Empties the list it is in while it is being read."""

    def __init__(self, owner: list[Any]) -> None:
        self.owner = owner

    def __index__(self) -> int:
        self.owner.clear()
        return 1


def self_referential() -> list[Any]:
    inside: list[Any] = [1]
    inside.append(inside)
    return inside


def shrinking() -> list[Any]:
    owner: list[Any] = [1, 2, 3]
    owner[0] = Shrinking(owner)
    return owner


OBJECTS: list[Callable[[], Any]] = [
    lambda: None,
    lambda: True,
    lambda: float("nan"),
    lambda: 1j,
    lambda: "abc",
    lambda: b"abc",
    list,
    lambda: (),
    dict,
    lambda: slice(None),
    lambda: ...,
    lambda: object(),
    lambda: Odd(),
    lambda: int,
    lambda: fl.Tensor,
    lambda: fl.float32,
    lambda: fl.device("meta"),
    lambda: fl.strided,
    lambda: fl.channels_last,
    lambda: fl.Generator(),
    lambda: len,
    lambda: self_referential(),
    lambda: shrinking(),
    lambda: [[[]]],
    lambda: [None, 1],
    lambda: [1.5, "a"],
    lambda: np.float32(2.5),
    lambda: np.int64(-3),
    lambda: np.bool_(True),
    lambda: np.arange(4),
    lambda: np.array(["a", None], dtype=object),
    lambda: np.zeros((0, 3)),
    lambda: fl.zeros(3).untyped_storage(),
]


class Wild:
    """Draws the arguments of one call. Its tensors tend to share `shape`, so that many calls get through."""

    def __init__(self, rng: random.Random, tame: float) -> None:
        self.rng = rng
        self.tame = tame
        self.shape = self.draw_shape()
        self.dtype = rng.choice(DTYPES if rng.random() < 0.5 else DTYPES[:2])
        self.made: list[fl.Tensor] = []

    def draw_shape(self) -> tuple[int, ...]:
        rng = self.rng
        kind = rng.random()
        if kind < 0.1:
            return ()
        if kind < 0.2:
            return tuple(rng.choice([0, 1, 3]) for _ in range(rng.randint(1, 4)))
        if kind < 0.22:
            return (1,) * rng.choice([8, 12, 25, 64])
        return tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 5)))

    def near_shape(self) -> tuple[int, ...]:
        rng = self.rng
        kind = rng.random()
        if kind < 0.55:
            return self.shape
        if kind < 0.7:
            return tuple(n if rng.random() < 0.6 else 1 for n in self.shape)[rng.randint(0, 1) :]
        if kind < 0.8:
            return tuple(reversed(self.shape))
        return self.draw_shape()

    def values(self, shape: tuple[int, ...], dtype: fl.dtype) -> fl.Tensor:
        rng = self.rng
        count = int(np.prod(shape, dtype=np.int64))
        if dtype in (fl.float32, fl.float64, fl.float16, fl.bfloat16, fl.complex64, fl.complex128):
            wild = rng.random() < 0.3
            data = [rng.choice(FLOATS) if wild and rng.random() < 0.3 else rng.uniform(-3, 3) for _ in range(count)]
            return fl.tensor(data, dtype=fl.float64).to(dtype).reshape(shape)
        wild = rng.random() < 0.3
        data = [rng.choice(HUGE_INTS[:7]) if wild and rng.random() < 0.3 else rng.randint(-3, 6) for _ in range(count)]
        return fl.tensor(data, dtype=fl.int64).to(dtype).reshape(shape)

    def tensor(self, destination: bool = False) -> fl.Tensor:
        rng = self.rng
        if self.made and rng.random() < 0.15:
            return self.relative(rng.choice(self.made))
        dtype = self.dtype if rng.random() < 0.6 else rng.choice([fl.int64, fl.bool, *DTYPES])
        t = self.values(self.near_shape(), dtype)
        kind = rng.random()
        if kind < 0.1 and t.dim() > 1:
            t = t.transpose(0, rng.randrange(t.dim()))
        elif kind < 0.2 and 0 < t.dim() < 60:
            t = t.expand((rng.randint(1, 3), *t.shape)) if rng.random() < 0.3 else t[..., :1].expand(t.shape)
        elif kind < 0.3 and t.dim() > 0:
            t = fl.cat([t, t], -1)[..., ::2]
        elif kind < 0.35 and t.dim() == 4:
            t = t.contiguous(memory_format=fl.channels_last)
        elif kind < 0.4:
            t = t.to("meta")
        elif kind < 0.55 and (t.is_floating_point() or t.is_complex()):
            t.requires_grad_()
            if rng.random() < (0.8 if destination else 0.4):
                t = t.clone()
        self.made.append(t)
        return t

    def relative(self, t: fl.Tensor) -> fl.Tensor:
        """A tensor that shares memory with one already drawn: the same, shifted, transposed, a row of it."""
        kind = self.rng.randrange(5)
        if kind == 0 or t.dim() == 0 or t.numel() == 0:
            return t
        if kind == 1:
            return t.transpose(0, -1)
        if kind == 2:
            return t[: t.shape[0] - 1] if t.shape[0] > 1 else t
        if kind == 3:
            return t[1:]
        return t.detach()

    def integer(self) -> int:
        rng = self.rng
        kind = rng.random()
        if kind < 0.8:
            return rng.choice(INTS[:9])
        return rng.choice(INTS if kind < 0.92 else HUGE_INTS)

    def fitting(self, argument: Argument) -> Any:
        """A value of the argument's type; its content may still be wild."""
        rng = self.rng
        if argument.optional and rng.random() < 0.3:
            return None
        base = argument.base
        if base == "Tensor|Scalar":
            base = rng.choice(["Tensor", "Scalar"])
        if base == "any":
            base = rng.choice(["Tensor", "int", "float", "str", "bool", "int[]", "Tensor[]", "dtype", "object"])
        match base:
            case "Tensor":
                return self.tensor()
            case "Tensor[]":
                return rng.choice([list, tuple])(self.tensor() for _ in range(rng.choice([0, 1, 2, 2, 3])))
            case "int":
                return self.integer()
            case "int[]":
                if rng.random() < 0.2:
                    return self.integer()
                if rng.random() < 0.2:
                    return self.near_shape()
                return rng.choice([list, tuple])(self.integer() for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4, 9])))
            case "float":
                return rng.choice([rng.choice(FLOATS), rng.uniform(0, 1), rng.choice(INTS)])
            case "float[]":
                return [rng.choice(FLOATS) for _ in range(rng.randint(0, 4))]
            case "bool":
                return rng.random() < 0.5
            case "Scalar":
                return rng.choice([*INTS, *FLOATS, True, False, 1j, complex("nan"), rng.choice(HUGE_INTS)])
            case "Scalar[]":
                return [rng.choice([*INTS, *FLOATS, 1j]) for _ in range(rng.randint(0, 4))]
            case "str":
                return rng.choice(STRINGS)
            case "dtype":
                return rng.choice(DTYPES)
            case "layout":
                return fl.strided
            case "device":
                return rng.choice(["cpu", "meta", "cpu:0", fl.device("cpu"), "cuda", "nonsense", 0, -1, 10**20])
            case "memory_format":
                return rng.choice([fl.contiguous_format, fl.preserve_format, fl.channels_last, fl.channels_last_3d])
            case "Generator":
                return fl.Generator()
        return rng.choice(OBJECTS)()

    def anything(self) -> Any:
        rng = self.rng
        kind = rng.random()
        if kind < 0.5:
            return rng.choice(OBJECTS)()
        if kind < 0.6:
            return self.tensor()
        if kind < 0.7:
            return rng.choice(HUGE_INTS)
        if kind < 0.8:
            return rng.choice(STRINGS)
        if kind < 0.9:
            return [rng.choice(HUGE_INTS + INTS) for _ in range(rng.randint(0, 70))]
        return [rng.choice(OBJECTS)() for _ in range(rng.randint(0, 3))]

    def value(self, argument: Argument) -> Any:
        return self.fitting(argument) if self.rng.random() < self.tame else self.anything()

    def arguments(self, args: tuple[Argument, ...]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and keyword arguments for a schema, sometimes too few, too many or under wrong names."""
        rng = self.rng
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        by_name = False
        for argument in args:
            if argument.default is not None and rng.random() < 0.5:
                by_name = True
                continue
            by_name = by_name or argument.keyword_only or (bool(positional) and rng.random() < 0.1)
            value = self.value(argument)
            if by_name:
                keywords[argument.name] = value
            else:
                positional.append(value)
        if rng.random() < 0.05:
            positional.append(self.anything())
        if rng.random() < 0.05:
            keywords[rng.choice(["axis", "out", "dtype", "nonsense", "input", "self", "\udc80"])] = self.anything()
        if rng.random() < 0.03 and positional:
            positional.pop()
        return positional, keywords
