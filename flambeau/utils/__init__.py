"""Data loading, checkpointing, hooks and other helpers. Each submodule is imported when it is first used."""

from typing import Any


def __getattr__(name: str) -> Any:
    import importlib

    if not name.startswith("__"):
        full = f"{__name__}.{name}"
        try:
            return importlib.import_module(full)
        except ModuleNotFoundError as error:
            if error.name != full:
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
