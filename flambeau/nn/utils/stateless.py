"""A module called with other tensors than its own."""

from __future__ import annotations

import contextlib
import warnings

from ... import Tensor

__all__ = ["functional_call"]


def functional_call(
    module,
    parameters_and_buffers: dict[str, Tensor],
    args=None,
    kwargs=None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
):
    """Deprecated: use `func.functional_call`."""
    warnings.warn(
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future version of PyTorch. "
        "Please use torch.func.functional_call instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module,
    parameters_and_buffers: dict[str, Tensor],
    args=None,
    kwargs=None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
):
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


@contextlib.contextmanager
def _reparametrize_module(
    module,
    parameters_and_buffers: dict[str, Tensor],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
):
    """Inside the block `module` holds the given tensors; afterwards its own again."""
    given = _untie_named_tensors_map(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        own = {
            **dict(module.named_parameters(remove_duplicate=False)),
            **dict(module.named_buffers(remove_duplicate=False)),
        }
        missing, unexpected = [n for n in own if n not in given], [n for n in given if n not in own]
        if missing or unexpected:
            parts = []
            if unexpected:
                parts.append("Unexpected key(s): " + ", ".join(map(repr, unexpected)) + ".")
            if missing:
                parts.append("Missing key(s): " + ", ".join(map(repr, missing)) + ".")
            raise RuntimeError(f"Error(s) in reparametrizing for {module._get_name()}:\n\t" + "\n\t".join(parts))
    swapped = []
    try:
        for path, value in given.items():
            owner_path, _, name = path.rpartition(".")
            owner = module.get_submodule(owner_path)
            swapped.append((owner, name, _swap(owner, name, value), path))
        yield
    finally:
        for owner, name, original, path in reversed(swapped):
            current = _swap(owner, name, original)
            # An in-place buffer update that replaced the tensor is handed back to the caller.
            if path in parameters_and_buffers and current is not parameters_and_buffers[path]:
                parameters_and_buffers[path] = current


def _swap(owner, name: str, value):
    """Put `value` in the place of a parameter, buffer or tensor attribute; return what was there."""
    for members in (owner._parameters, owner._buffers):
        if name in members:
            old = members[name]
            members[name] = value
            return old
    if not hasattr(owner, name):
        raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
    old = getattr(owner, name)
    if not isinstance(old, Tensor):
        raise TypeError(f"{owner._get_name()}.{name} is not a tensor")
    setattr(owner, name, value)
    return old


def _untie_named_tensors_map(module, parameters_and_buffers: dict[str, Tensor]) -> dict[str, Tensor]:
    """The given tensors under every name of what they replace: a tied weight has several."""
    names: dict[int, set[str]] = {}
    own: dict[str, Tensor] = {}
    for listing in (module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False)):
        for name, member in listing:
            own[name] = member
            names.setdefault(id(member), set()).add(name)
    result = dict(parameters_and_buffers)
    for group in names.values():
        given = sorted(name for name in group if name in parameters_and_buffers)
        if len(given) > 1 and any(
            parameters_and_buffers[name] is not parameters_and_buffers[given[0]] for name in given
        ):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. "
                "Consider using tie_weights=False"
            )
        if given:
            for name in group:
                result[name] = parameters_and_buffers[given[0]]
    return result
