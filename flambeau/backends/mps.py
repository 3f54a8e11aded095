"""Metal, which is not here."""


def is_built() -> bool:
    """Whether there are kernels for Metal: False."""
    return False


def is_available() -> bool:
    """Whether there is a Metal device: False."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is macOS of at least a version: False."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Whether this is macOS 13 or newer: False."""
    return False
