"""Runs an unmodified PyTorch program on this package.

The program is started as plain Python starts it, by replacing this process: `sys.argv`, `__main__`, `sys.path`, exit
status, signals and tracebacks are Python's own doing. What makes `import torch` find us is one directory in front of
``PYTHONPATH`` (`startup`), whose `sitecustomize` Python imports before anything else. Every Python process that the
program starts inherits it, however it is started: `subprocess`, the `multiprocessing` start methods, data loader
workers, `python -m pytest`.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

_STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")

_USAGE = """\
usage: python -m flambeau run [python options] script.py [arguments ...]
       python -m flambeau run [python options] -m module [arguments ...]
       python -m flambeau --version

Runs a program with `import torch` answered by flambeau, in it and in the Python processes it starts.
What follows `run` is what would follow `python`."""


def program_environment(environment: dict[str, str]) -> dict[str, str]:
    """Returns a copy of `environment` in which Python processes find flambeau under the name ``torch``.

    >>> "startup" in program_environment({})["PYTHONPATH"]
    True
    """
    entries = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry != _STARTUP]
    # A lone empty entry comes from an unset or empty variable and would put the working directory on the path.
    entries = [] if entries == [""] else entries
    return {**environment, "PYTHONPATH": os.pathsep.join([_STARTUP, *entries])}


def _interpreter_options(original: list[str], argument_count: int) -> list[str]:
    """The options this interpreter was started with, without the ``-m flambeau`` (or script path) that led here."""
    head = original[1 : len(original) - argument_count]
    *options, target = head
    if target.startswith("-"):  # -mflambeau in one word
        options, target = [*options, target[: -len("flambeau")]], ""
    if options and options[-1].startswith("-") and options[-1].endswith("m"):
        options[-1] = options[-1][:-1]
        if options[-1] == "-":
            options.pop()
    return options


def _complain(message: str) -> int:
    print(message, file=sys.stderr)
    return 2


def _become(command: list[str]) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], command, program_environment(dict(os.environ)))


def main(arguments: list[str]) -> int:
    """Carries out the command line `arguments`; returns an exit status, or becomes the program."""
    if arguments in (["--version"], ["-V"]):
        from ..version import __version__

        print(f"flambeau, answering for torch {__version__}")
        return 0
    if arguments in (["--help"], ["-h"]):
        print(_USAGE)
        return 0
    if len(arguments) < 2 or arguments[0] != "run":
        return _complain(_USAGE)
    if sys.flags.ignore_environment or sys.flags.no_site:
        return _complain("flambeau run: Python's options -E, -I and -S hide flambeau from the program; leave them out")
    options = _interpreter_options(sys.orig_argv, len(arguments))
    _become([sys.executable, *options, *arguments[1:]])
