"""OpenMP."""


def is_available() -> bool:
    """Whether parallel work runs on OpenMP: False; it runs on threads of our own."""
    return False
