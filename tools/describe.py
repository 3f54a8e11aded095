"""Write down what the op table says: type stubs and the index of ops.

    python tools/describe.py           write flambeau/_C.pyi, flambeau/nn/functional.pyi and docs/ops.md
    python tools/describe.py --check   fail when one of them is stale

The package is imported from where Python finds it; the files are those of the tree this script is in.
"""

from __future__ import annotations

import argparse
import builtins
import inspect
import keyword
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import flambeau

ROOT = Path(__file__).resolve().parent.parent
NAMESPACES = {"nn": "nn.functional", "linalg": "linalg", "fft": "fft", "special": "special"}
HEADER = "# Written by tools/describe.py from the op table; `make describe` writes it anew.\n# mypy: ignore-errors\n"

# Methods and functions have the names of builtins, so annotations name these by their module.
TYPES = {
    "Tensor": "Tensor",
    "Tensor|Scalar": "Tensor | _b.complex",
    "Tensor[]": "Sequence[Tensor]",
    "int": "_b.int",
    "int[]": "Sequence[_b.int]",
    "float": "_b.float",
    "float[]": "Sequence[_b.float]",
    "bool": "_b.bool",
    "Scalar": "_b.complex",
    "Scalar[]": "Sequence[_b.complex]",
    "str": "_b.str",
    "dtype": "dtype | _b.type",
    "layout": "layout",
    "device": "device | _b.str | _b.int",
    "memory_format": "memory_format",
    "Generator": "Generator",
    "any": "Any",
}
SPECIAL_RESULTS = {
    "__bool__": "_b.bool",
    "__contains__": "_b.bool",
    "__complex__": "_b.complex",
    "__delattr__": "None",
    "__dir__": "list[_b.str]",
    "__float__": "_b.float",
    "__format__": "_b.str",
    "__hash__": "_b.int",
    "__index__": "_b.int",
    "__init__": "None",
    "__int__": "_b.int",
    "__iter__": "Iterator[Tensor]",
    "__len__": "_b.int",
    "__repr__": "_b.str",
    "__setattr__": "None",
    "__setitem__": "None",
}
OPERATORS = re.compile(
    r"__[ri]?(add|sub|mul|matmul|truediv|floordiv|mod|pow|and|or|xor|lshift|rshift)__"
    r"|__(neg|pos|abs|invert|eq|ne|lt|le|gt|ge|getitem)__"
)

Row = dict[str, Any]


def rows() -> list[Row]:
    """The public entries of the table, with all namespaces loaded."""
    for namespace in NAMESPACES:
        flambeau._composite.load(namespace)
    return [row for row in flambeau._C._table() if not row["name"].startswith("_C.")]


def namespace_of(row: Row) -> str:
    prefix = row["name"].rpartition(".")[0]
    return prefix if prefix in NAMESPACES else ""


def public_name(row: Row) -> str:
    return row["name"].rpartition(".")[2]


def annotation(text: str) -> str:
    base = re.sub(r"\[\d+\]", "[]", text).replace("?", "")
    result = TYPES[base]
    if re.search(r"\[\d+\]", text):  # one number stands for several
        result += " | " + TYPES[base.removesuffix("[]")]
    if "?[" in text:
        result = result.replace("Tensor", "Tensor | None")
    return result + " | None" if text.endswith("?") else result


def returned(text: str) -> str:
    if text in ("Tensor", "any", "none", "Tensor[]"):
        return {"Tensor": "Tensor", "any": "Any", "none": "None", "Tensor[]": "tuple[Tensor, ...]"}[text]
    if text.startswith("("):
        return f"tuple[{', '.join(['Tensor'] * text.count('Tensor'))}]"
    return {"bool": "_b.bool", "int": "_b.int", "float": "_b.float", "Scalar": "_b.complex"}.get(text, "Any")


def signature(row: Row, form: str) -> str:
    """The parameters and the result of a form, as a stub writes them."""
    arguments = row["args"]
    method = form in ("method", "in_place_method")
    parts = ["self"] if method else []
    if method:
        arguments = arguments[1:]
    starred = False
    positional = [a for a in arguments if not a[3]]
    for name, type_text, default, keyword_only in arguments:
        if keyword_only and not starred:
            parts.append("*")
            starred = True
        safe = name + "_" if keyword.iskeyword(name) else name
        if len(positional) == 1 and not keyword_only and re.fullmatch(r"int\[\]", type_text):
            parts.append(f"*{safe}: _b.int | Sequence[_b.int]")  # view(2, 3) and view((2, 3))
            starred = True
            continue
        parts.append(f"{safe}: {annotation(type_text)}" + ("" if default is None else " = ..."))
    if row["out"] and not form.startswith("in_place"):
        result = returned(row["returns"])
        parts += [] if starred else ["*"]
        parts.append(f"out: {result if result.startswith('Tensor') else 'Sequence[Tensor]'} | None = ...")
    result = "Tensor" if form.startswith("in_place") else returned(row["returns"])
    return f"({', '.join(parts)}) -> {result}"


def definitions(name: str, signatures: Iterable[str], indent: str = "") -> Iterator[str]:
    distinct = list(dict.fromkeys(signatures))
    for text in distinct:
        if len(distinct) > 1:
            yield f"{indent}@overload"
        yield f"{indent}def {name}{text}: ..."


def op_definitions(table: list[Row], methods: bool, indent: str = "") -> dict[str, list[str]]:
    """Stub lines by name, for functions or for methods, with their in-place forms."""
    signatures: dict[str, list[str]] = {}
    for row in table:
        if not row["method" if methods else "function"]:
            continue
        name, suffix = public_name(row), "_method" if methods else ""
        signatures.setdefault(name, []).append(signature(row, "method" if methods else "function"))
        if row["in_place"]:
            signatures.setdefault(name + "_", []).append(signature(row, "in_place" + suffix))
    return {
        name: list(definitions(name, texts, indent))
        for name, texts in signatures.items()
        if not keyword.iskeyword(name)
    }


def member(name: str, value: Any) -> str:
    """A stub line for an attribute of a class that is no op."""
    if inspect.isgetsetdescriptor(value) or isinstance(value, property) or inspect.ismemberdescriptor(value):
        return f"    {name}: Any"
    if OPERATORS.fullmatch(name):
        one = name in ("__neg__", "__pos__", "__abs__", "__invert__")
        return f"    def {name}(self{'' if one else ', other: Any, /'}) -> Tensor: ..."
    if isinstance(value, (classmethod, staticmethod)) or inspect.isbuiltin(value):
        decorator = "staticmethod" if isinstance(value, staticmethod) else "classmethod"
        first = "" if decorator == "staticmethod" else "cls, "
        return f"    @{decorator}\n    def {name}({first}*args: Any, **kwargs: Any) -> Any: ..."
    if callable(value):
        return f"    def {name}(self, *args: Any, **kwargs: Any) -> {SPECIAL_RESULTS.get(name, 'Any')}: ..."
    return f"    {name}: Any"


SKIPPED_MEMBERS = {"__doc__", "__module__", "__dict__", "__weakref__", "__new__", "__slots__", "__annotations__"}


def class_stub(name: str, cls: type, ops: dict[str, list[str]]) -> Iterator[str]:
    base = cls.__base__
    named = base is not None and base is not object and getattr(flambeau._C, base.__name__, None) is base
    parent = (
        base.__name__
        if named
        else f"_b.{base.__name__}"
        if base in vars(builtins).values() and base is not object
        else ""
    )
    yield f"class {name}({parent}):" if parent else f"class {name}:"
    if name in ("Tensor", "device", "Size", "Generator", "UntypedStorage"):
        yield "    def __new__(cls, *args: Any, **kwargs: Any) -> Any: ..."
    members = {k: v for k, v in sorted(vars(cls).items()) if k not in SKIPPED_MEMBERS and k not in ops}
    members.pop("__init__", None)
    for key, value in members.items():
        if key.isidentifier() and not keyword.iskeyword(key):
            yield member(key, value)
    for key in sorted(ops):
        yield from ops[key]
    if not members and not ops:
        yield "    ..."
    yield ""


def core_stub(table: list[Row]) -> str:
    """Stub of the extension, with the ops of the package that it makes."""
    root = [row for row in table if not namespace_of(row)]
    functions = op_definitions(root, methods=False)
    lines = [
        HEADER,
        "import builtins as _b",
        "from collections.abc import Iterator, Sequence",
        "from typing import Any, overload",
        "",
    ]
    values = {k: v for k, v in sorted(vars(flambeau._C).items()) if not (k.startswith("__") and k.endswith("__"))}
    values = {k: v for k, v in values.items() if not k.endswith(("Backward0", "Backwards", "BackwardsTEST"))}
    for name, value in values.items():
        if isinstance(value, type):
            ops = op_definitions(root, methods=True, indent="    ") if name == "Tensor" else {}
            lines += class_stub(name, value, ops)
    for name, value in values.items():
        if isinstance(value, (flambeau.dtype, flambeau.layout, flambeau.memory_format)):
            lines.append(f"{name}: {type(value).__name__}")
        elif not isinstance(value, type) and name not in functions:
            lines.append(f"def {name}(*args: Any, **kwargs: Any) -> Any: ..." if callable(value) else f"{name}: Any")
    lines.append("")
    for name in sorted(functions):
        lines += functions[name]
    return "\n".join(lines) + "\n"


def functional_stub(table: list[Row]) -> str:
    """Stub of `nn.functional`: the ops of the table, and the helpers its module defines."""
    functions = op_definitions([row for row in table if namespace_of(row) == "nn"], methods=False)
    lines = [
        HEADER,
        "import builtins as _b",
        "from collections.abc import Sequence",
        "from typing import Any, overload",
        "",
    ]
    used = "Generator, Tensor, device, dtype, layout, memory_format"
    lines += [f"from .._C import {used}", ""]
    for name in sorted(functions):
        lines += functions[name]
    for name, value in sorted(vars(flambeau.nn.functional).items()):
        if inspect.isfunction(value) and name not in functions and not name.startswith("__"):
            lines.append(f"def {name}(*args: Any, **kwargs: Any) -> Any: ...")
    return "\n".join(lines) + "\n"


def first_line(row: Row) -> str:
    text = row["doc"] or getattr(row["python"], "__doc__", None) or ""
    line = " ".join(text.strip().split("\n\n")[0].split())
    return re.sub(r"([|<])", r"\\\1", line)


def index_page(table: list[Row]) -> str:
    """The index of ops, one table for each namespace."""
    lines = [
        "# Ops",
        "",
        "Every op of the table, by the namespace its functions live in; `make describe` writes this page.",
        "The forms are **f**unction, **m**ethod, **i**n-place (a name that ends in `_`) and **o**ut=; a ∂ marks ops",
        "that can be differentiated, a *v* those whose result is a view.",
        "",
    ]
    for namespace, title in [("", "torch"), *NAMESPACES.items()]:
        group = [row for row in table if namespace_of(row) == namespace]
        names = {row["name"] for row in group}
        lines += [f"## {title}", "", f"{len(names)} names.", "", "| op | forms | | |", "| --- | --- | --- | --- |"]
        for row in sorted(group, key=lambda row: (public_name(row).lower(), row["id"])):
            text = row["schema"][row["schema"].index("(") :]
            forms = "".join(
                letter
                for letter, form in zip("fmio", ("function", "method", "in_place", "out"), strict=True)
                if row[form]
            )
            marks = ("∂" if row["differentiable"] else "") + ("*v*" if row["view"] else "")
            shown = f"`{public_name(row)}{text}`".replace("|", "\\|")
            lines.append(f"| {shown} | {forms} | {marks} | {first_line(row)} |")
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is stale")
    check = parser.parse_args().check
    table = rows()
    pages = {
        "flambeau/_C.pyi": core_stub(table),
        "flambeau/nn/functional.pyi": functional_stub(table),
        "docs/ops.md": index_page(table),
    }
    stale = [name for name, text in pages.items() if not (ROOT / name).exists() or (ROOT / name).read_text() != text]
    if check:
        for name in stale:
            print(f"{name} is stale: run make describe", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).write_text(pages[name])
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
