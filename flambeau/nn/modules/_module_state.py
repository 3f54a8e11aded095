"""State dicts of modules: saving to them, loading from them, and the hooks around both."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from ... import Tensor, no_grad
from ..parameter import Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns: the keys the file lacked and those it had too many."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateDictMixin:
    """The part of `Module` that saves and loads its state."""

    # ---- extra state ----

    def get_extra_state(self) -> Any:
        """What the module keeps in its state besides tensors. Define it together with `set_extra_state`."""
        raise RuntimeError(f"{type(self).__name__} defines no get_extra_state(), so its extra state cannot be saved")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise RuntimeError(f"{type(self).__name__} defines no set_extra_state(), so extra state cannot be loaded")

    # ---- hooks ----

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return _handle_for(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Run `hook(module, state_dict, prefix, local_metadata)` after `state_dict`; it may change the dict "
        "in place."""
        hook._from_public_api = True
        return _handle_for(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Run `hook(module, prefix, keep_vars)` before `state_dict` collects anything."""
        return _handle_for(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        from ._module_hooks import _WrappedHook

        return _handle_for(self._load_state_dict_pre_hooks, _WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_pre_hook(self, hook):
        """Run `hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)` "
        "before loading."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Run `hook(module, incompatible_keys)` after loading; it may change the keys in place."""
        return _handle_for(self._load_state_dict_post_hooks, hook)

    # ---- saving ----

    def _save_to_state_dict(self, destination, prefix, keep_vars) -> None:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                destination[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not StateDictMixin.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """An ordered dict of every parameter and persistent buffer by dotted name; the tensors share their memory.

        `keep_vars=True` gives the parameters themselves instead of detached ones.

        >>> list(Linear(2, 3).state_dict())
        ['weight', 'bias']
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead: state_dict(destination=, prefix=, "
                "keep_vars=)",
                FutureWarning,
                stacklevel=2,
            )
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, local_metadata)
            if getattr(hook, "_from_public_api", False):
                if replaced is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif replaced is not None:
                destination = replaced
        return destination

    # ---- loading ----

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        """Load what belongs to this module itself, not to its children; problems are added to the three lists."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        own = {
            **self._parameters,
            **{name: b for name, b in self._buffers.items() if name not in self._non_persistent_buffers_set},
        }
        own = {name: tensor for name, tensor in own.items() if tensor is not None}
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                self._load_one(name, key, tensor, state_dict[key], local_metadata, error_msgs)
            elif strict:
                missing_keys.append(key)

        extra_key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not StateDictMixin.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)

        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    head, dot, _ = key[len(prefix) :].partition(".")
                    if head not in (self._modules if dot else own):
                        unexpected_keys.append(key)

    def _load_one(self, name, key, tensor, loaded, local_metadata, error_msgs) -> None:
        if not isinstance(loaded, Tensor):
            error_msgs.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(loaded)}"
            )
            return
        lazy = is_lazy(tensor)
        if not lazy and tensor.dim() == 0 and loaded.dim() == 1 and loaded.shape[0] == 1:
            loaded = loaded[0]  # scalars were once saved with one dimension
        if not lazy and loaded.shape != tensor.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {loaded.shape} from checkpoint, "
                f"the shape in current model is {tensor.shape}."
            )
            return
        assign = local_metadata.get("assign_to_params_buffers", False)
        if tensor.is_meta and not loaded.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary "
                "to their corresponding key in the module instead of copying them in place?)",
                stacklevel=2,
            )
        try:
            with no_grad():
                if assign:
                    setattr(self, name, _assignable(tensor, loaded, local_metadata.get("assigned", {})))
                else:
                    tensor.copy_(loaded)
        except Exception as error:
            shape = "not known yet" if lazy else tensor.size()
            error_msgs.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are {shape} and whose '
                f"dimensions in the checkpoint are {loaded.size()}, an exception occurred : {error.args}."
            )

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False):
        """Copy parameters and buffers from a state dict into this module and those below it.

        With `strict` the keys must match exactly. With `assign` the tensors of the dict take the place of the module's
        instead of being copied (parameters that are tied stay tied). Returns the missing and unexpected keys. Raises
        RuntimeError that lists every mismatch, TypeError when `state_dict` is not a mapping.

        >>> Linear(2, 2).load_state_dict(Linear(2, 2).state_dict())
        <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing_keys: list[str] = []
        unexpected_keys: list[str] = []
        error_msgs: list[str] = []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata
        _load(self, state_dict, "", metadata, strict, assign, {}, missing_keys, unexpected_keys, error_msgs)
        if strict:
            for kind, keys in (("Missing", missing_keys), ("Unexpected", unexpected_keys)):
                if keys:
                    listed = ", ".join(f'"{key}"' for key in keys)
                    error_msgs.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if error_msgs:
            listed = "\n\t".join(error_msgs)
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t{listed}")
        return _IncompatibleKeys(missing_keys, unexpected_keys)


def _load(module, state_dict, prefix, metadata, strict, assign, assigned, missing_keys, unexpected_keys, error_msgs):
    local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local_metadata = {**local_metadata, "assign_to_params_buffers": True, "assigned": assigned}
    module._load_from_state_dict(state_dict, prefix, local_metadata, True, missing_keys, unexpected_keys, error_msgs)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            child_state = {key: value for key, value in state_dict.items() if key.startswith(below)}
            _load(
                child, child_state, below, metadata, strict, assign, assigned, missing_keys, unexpected_keys, error_msgs
            )
    incompatible = _IncompatibleKeys(missing_keys, unexpected_keys)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, incompatible) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                "if incompatible_keys need to be modified, it should be done inplace."
            )


def _assignable(current, loaded, assigned: dict):
    """What takes the place of `current`: one and the same tensor wherever `current` was."""
    if id(current) in assigned:
        return assigned[id(current)][1]
    if isinstance(current, Parameter):
        if isinstance(loaded, Parameter):
            loaded.requires_grad_(current.requires_grad)
        else:
            loaded = Parameter(loaded, requires_grad=current.requires_grad)
    # `current` is kept beside it, so that no other tensor gets its id while the loading goes on.
    assigned[id(current)] = (current, loaded)
    return loaded


def _handle_for(hooks: OrderedDict, hook):
    from ...utils.hooks import RemovableHandle

    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle
