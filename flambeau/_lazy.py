"""Names of the package that are loaded when first used, so that importing it stays cheap."""

from __future__ import annotations

import sys
from importlib import import_module
from os import listdir
from os.path import dirname, isdir, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_ROOT = __package__

# Functions and classes of the package by the module that has them.
HOMES = {
    **dict.fromkeys(("save", "load"), "serialization"),
    **dict.fromkeys(("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state", "fork_rng"), "random"),
    **dict.fromkeys(("set_printoptions",), "_tensor_str"),
    **dict.fromkeys(("finfo", "iinfo"), "_type_info"),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes"), "functional"),
    **dict.fromkeys(("broadcast_tensors", "cartesian_prod", "chain_matmul", "einsum", "meshgrid"), "functional"),
    **dict.fromkeys(("bilinear", "channel_shuffle", "conv_tbc", "cosine_similarity", "instance_norm"), "nn.functional"),
    **dict.fromkeys(("native_channel_shuffle", "pairwise_distance", "pdist"), "nn.functional"),
    **dict.fromkeys(("pixel_shuffle", "pixel_unshuffle"), "nn.functional"),
    **dict.fromkeys(("from_dlpack", "to_dlpack"), "_dlpack"),
    **dict.fromkeys(
        ("sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sum"), "_number_functions"
    ),
    **dict.fromkeys(("UntypedStorage", "TypedStorage"), "storage"),
    **dict.fromkeys(("compile", "is_compiling"), "compiler"),
    **dict.fromkeys(("svd_lowrank", "pca_lowrank"), "_lowrank"),
    **dict.fromkeys(("vmap",), "_vmap"),
    **dict.fromkeys(
        ("autocast", "is_autocast_enabled", "get_autocast_dtype", "is_autocast_available", "is_autocast_cache_enabled"),
        "amp",
    ),
    **dict.fromkeys(("set_autocast_enabled", "set_autocast_dtype", "set_autocast_cache_enabled"), "amp"),
}
_STORAGES = [
    "Float",
    "Double",
    "Half",
    "BFloat16",
    "Long",
    "Int",
    "Short",
    "Char",
    "Byte",
    "Bool",
    "ComplexFloat",
    "ComplexDouble",
]
HOMES.update({f"{name}Storage": "storage" for name in _STORAGES})
HOMES.update({f"{name}Tensor": "_legacy_types" for name in _STORAGES})


def modules() -> set[str]:
    """The package's public submodules."""
    folder = dirname(__file__)
    found = set()
    for entry in listdir(folder):
        name, dot, kind = entry.partition(".")
        if kind == "py" or (not dot and isdir(join(folder, entry)) and entry != "__pycache__"):
            found.add(name)
    return found - {"__init__", "__main__", "py", "lib", "include"}


def load(name: str) -> Any:
    """The value of the package's attribute ``name``; raises AttributeError when there is none."""
    root = sys.modules[_ROOT]
    home = HOMES.get(name)
    if home is not None and home.partition(".")[0] in modules():
        value = getattr(import_module("." + home, _ROOT), name)
        setattr(root, name, value)
        return value
    if not name.startswith("__") and name in modules():
        return import_module("." + name, _ROOT)
    raise AttributeError(f"module {_ROOT!r} has no attribute {name!r}")


def names() -> set[str]:
    """What `load` can answer."""
    there = modules()
    return {name for name, home in HOMES.items() if home.partition(".")[0] in there} | {
        name for name in there if not name.startswith("_")
    }
