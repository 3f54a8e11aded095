"""Module attributes that a context manager sets for a block."""

import contextlib


def settings(module, **values):
    """Context manager: sets attributes of a module, and puts the old values back."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)

    @contextlib.contextmanager
    def restoring():
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(module, name, value)

    return restoring()
