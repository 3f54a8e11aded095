"""The entries of the op table, with the callables that their forms are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import flambeau

NAMESPACES = ("nn", "linalg", "fft", "special")


@dataclass(frozen=True)
class Argument:
    name: str
    type: str  # as the schema writes it: "Tensor?", "int[2]"
    default: str | None
    keyword_only: bool

    @property
    def base(self) -> str:
        """The type without what says whether it may be left out or repeated: ``int[]`` for ``int[2]?``."""
        return re.sub(r"\[\d+\]", "[]", self.type).replace("?", "")

    @property
    def optional(self) -> bool:
        return self.type.endswith("?")


@dataclass(frozen=True)
class Entry:
    id: str  # "sum.dim"
    name: str  # "sum", "nn.softplus"
    schema: str
    returns: str
    args: tuple[Argument, ...]
    forms: frozenset[str]  # of "function", "method", "in_place", "out"
    traits: frozenset[str]  # of "composite", "view", "differentiable", "pointwise", "mutates"
    doc: str = field(compare=False)

    @property
    def namespace(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def public_name(self) -> str:
        return self.name.rpartition(".")[2]

    def callable(self, form: str) -> Callable[..., Any]:
        """The object a program calls: of the package, its namespace or `Tensor`."""
        if form == "method":
            return getattr(flambeau.Tensor, self.public_name)
        suffix = "_" if form == "in_place" else ""
        if form == "in_place" and "method" in self.forms:
            return getattr(flambeau.Tensor, self.public_name + suffix)
        return functions_of(self.namespace)[self.public_name + suffix]


@cache
def functions_of(namespace: str) -> dict[str, Callable[..., Any]]:
    return flambeau._C._namespace("" if namespace == "torch" else namespace)


@cache
def table() -> tuple[Entry, ...]:
    for namespace in NAMESPACES:
        flambeau._composite.load(namespace)
    entries = []
    for row in flambeau._C._table():
        python_doc = getattr(row["python"], "__doc__", None)
        entries.append(
            Entry(
                id=row["id"],
                name=row["name"],
                schema=row["schema"],
                returns=row["returns"],
                args=tuple(Argument(*argument) for argument in row["args"]),
                forms=frozenset(form for form in ("function", "method", "in_place", "out") if row[form]),
                traits=frozenset(
                    trait for trait in ("composite", "view", "differentiable", "pointwise", "mutates") if row[trait]
                ),
                doc=row["doc"] or python_doc or "",
            )
        )
    return tuple(entries)


def entry(identifier: str) -> Entry:
    return next(e for e in table() if e.id == identifier)
