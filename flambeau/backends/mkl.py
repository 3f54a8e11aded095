"""Intel's MKL, which is not used."""

VERBOSE_OFF = 0
VERBOSE_ON = 1


def is_available() -> bool:
    """Whether MKL is used: False; products and decompositions are OpenBLAS's."""
    return False


class verbose:
    """Context manager that would make MKL report its calls; does nothing."""

    def __init__(self, enable):
        self.enable = enable

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False
