"""Models defined in a folder: `hub.load(path, name, source="local")`.

A folder has a file `hubconf.py` whose public functions build models. Only folders on this machine are read; nothing is
downloaded.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from typing import Any
from urllib.parse import urlparse

from . import serialization

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_CONFIGURATION = "hubconf.py"
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # weights name the start of their checksum: net-0123abcd.pth
_directory: str | None = None


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder for files of the hub: set by `set_dir`, else ``$TORCH_HOME/hub``, else ``~/.cache/torch/hub``."""
    return os.path.join(_get_torch_home(), "hub") if _directory is None else _directory


def set_dir(d: str | os.PathLike) -> None:
    """Sets the folder for files of the hub."""
    global _directory
    _directory = os.path.expanduser(os.fspath(d))


def _configuration(repository: str | os.PathLike, source: str) -> Any:
    if source not in ("local", "github"):
        raise ValueError(f"hub: source is 'local' or 'github', got {source!r}")
    path = os.path.join(os.fspath(repository), _CONFIGURATION)
    if source != "local" or not os.path.isfile(path):
        raise RuntimeError(
            f"hub: {os.fspath(repository)!r} is not a folder with a {_CONFIGURATION}; nothing is downloaded here, "
            "so fetch the repository yourself and load it with source='local'"
        )
    folder = os.path.dirname(os.path.abspath(path))
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    missing = [
        name for name in getattr(module, "dependencies", []) if importlib.util.find_spec(name.partition(".")[0]) is None
    ]
    if missing:
        raise RuntimeError(f"hub: {path} needs packages that are not installed: {', '.join(missing)}")
    return module


def _entry(module: Any, name: Any) -> Any:
    if not isinstance(name, str):
        raise ValueError(f"hub: the name of a model is a string, got {type(name).__name__}")
    function = getattr(module, name, None)
    if name.startswith("_") or not callable(function):
        raise RuntimeError(f"hub: {module.__file__} defines no model {name!r}")
    return function


def list(
    github: str | os.PathLike,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
    verbose: bool = True,
) -> Any:
    """The names of the models that a folder defines."""
    module = _configuration(github, "local")
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str | os.PathLike,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: Any = None,
) -> str | None:
    """The docstring of a model that a folder defines."""
    return _entry(_configuration(github, "local"), model).__doc__


def load(
    repo_or_dir: str | os.PathLike,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: Any = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Builds a model that a folder defines: calls the function `model` of its `hubconf.py` with the other arguments.

    Raises RuntimeError when the folder, the function or a package it needs is not there.

    >>> model = torch.hub.load("path/to/folder", "small_net", source="local")
    """
    return _entry(_configuration(repo_or_dir, source), model)(*args, **kwargs)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Raises RuntimeError: nothing is downloaded here."""
    raise RuntimeError(f"hub: nothing is downloaded here; put {url} at {dst} yourself")


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """Loads the file that a URL would be stored as, from ``<hub folder>/checkpoints`` or `model_dir`.

    The file must be there already. Raises RuntimeError when it is not.
    """
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        download_url_to_file(url, path, progress=progress)
    return serialization.load(path, map_location=map_location, weights_only=weights_only)
