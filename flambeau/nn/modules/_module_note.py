"""Says in an exception which layer of a model it came from."""

from __future__ import annotations


def note_module(error: Exception, module) -> None:
    """Record on `error` that `module` was running.

    Every module on the way out calls this, innermost first. Each knows the path only of what it holds itself, so the
    note grows from the inside: `fc1`, then `3.fc1`, then `encoder.layers.3.fc1`. Nothing is spent while all goes well.
    """
    state = error.__dict__
    seen = state.get("_module_path")
    if seen is None:
        path, layer, old = "", type(module).__name__, None
    else:
        inner, path, layer, old = seen
        if inner == id(module):
            return
        for name, candidate in module.named_modules():
            if id(candidate) == inner:
                path = f"{name}.{path}" if path else name
                break
    note = f"in module: {path} ({layer})" if path else f"in module: {layer}"
    notes = state.setdefault("__notes__", [])
    if old in notes:
        notes[notes.index(old)] = note
    else:
        notes.append(note)
    # The id: an exception may be pickled or kept, and the model must not go with it.
    state["_module_path"] = (id(module), path, layer, note)
