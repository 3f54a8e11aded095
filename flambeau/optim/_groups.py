"""Checking and completing a parameter group."""

from __future__ import annotations

from typing import Any

from .. import Tensor


def normalized_group(optimizer: Any, group: dict[str, Any]) -> dict[str, Any]:
    """``group`` with a list of parameters, and defaults for the options it leaves out."""
    from .optimizer import required

    name = type(optimizer).__name__
    if not isinstance(group, dict):
        raise TypeError(f"{name}: a parameter group must be a dict, got {type(group).__name__}")
    group["params"] = _listed(name, group["params"])
    _split_names(name, group)
    for i, p in enumerate(group["params"]):
        _check_parameter(name, p, _label(group, i), optimizer.defaults)
    for option, default in optimizer.defaults.items():
        if default is required and option not in group:
            raise ValueError(f"{name}: a parameter group has no value for the required option {option}")
        group.setdefault(option, default)
    _check_unique(name, group)
    _check_against(name, group, optimizer.param_groups)
    return group


def _listed(name: str, params: Any) -> list:
    if isinstance(params, Tensor):
        return [params]
    if isinstance(params, set):
        raise TypeError(
            f"{name}: params is a set, whose order changes between runs; give the parameters in a list instead"
        )
    return list(params)


def _split_names(name: str, group: dict[str, Any]) -> None:
    """Turns (name, parameter) pairs into two lists."""
    params = group["params"]
    named = [p for p in params if isinstance(p, tuple)]
    if not named:
        return
    if len(named) != len(params):
        raise ValueError(
            f"{name}: all optimizer params should be with/without names, but {len(params) - len(named)} of "
            f"{len(params)} have none"
        )
    group["params"] = [p for _, p in named]
    group["param_names"] = [n for n, _ in named]


def _label(group: dict[str, Any], i: int) -> str:
    names = group.get("param_names")
    return f"parameter {names[i]!r}" if names else f"parameter {i}"


def _check_parameter(name: str, p: Any, label: str, defaults: dict[str, Any]) -> None:
    if not isinstance(p, Tensor):
        raise TypeError(f"{name}: optimizers can only optimize Tensors, but {label} is a {type(p).__name__}")
    if not (defaults.get("differentiable") or p.is_leaf or p.retains_grad):
        raise ValueError(
            f"{name}: can't optimize a non-leaf Tensor: {label} of shape {list(p.shape)} is a result of "
            f"{p.grad_fn.name() if p.grad_fn is not None else 'an operation'}; optimize what it was computed from, or "
            "make it a leaf with .detach().requires_grad_()"
        )


def _check_unique(name: str, group: dict[str, Any]) -> None:
    params = group["params"]
    if len({id(p) for p in params}) != len(params):
        import warnings

        warnings.warn(
            f"{name}: a parameter group holds the same parameter more than once; it is updated once for each",
            stacklevel=5,
        )


def _check_against(name: str, group: dict[str, Any], groups: list[dict[str, Any]]) -> None:
    if groups and ("param_names" in group) != ("param_names" in groups[0]):
        raise ValueError(f"{name}: all optimizer param groups should be with/without names, got both kinds")
    known = {id(p) for g in groups for p in g["params"]}
    for i, p in enumerate(group["params"]):
        if id(p) in known:
            raise ValueError(
                f"{name}: some parameters appear in more than one parameter group, {_label(group, i)} of shape "
                f"{list(p.shape)} for one"
            )
