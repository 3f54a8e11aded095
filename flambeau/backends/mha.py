"""The fast path of attention layers in evaluation."""

_enabled = True


def get_fastpath_enabled() -> bool:
    """Whether `TransformerEncoder` and `MultiheadAttention` may take their fast path."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Allows or forbids the fast path."""
    global _enabled
    _enabled = value
