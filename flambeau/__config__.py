"""How the package was built."""

import platform


def show() -> str:
    """A description of the build, for bug reports."""
    from .backends import cpu, mkldnn
    from .version import __version__

    libraries = ["OpenBLAS", *(["oneDNN"] if mkldnn.is_available() else [])]
    return (
        f"flambeau, answering for torch {__version__}\n"
        f"  - Python {platform.python_version()} on {platform.machine()}\n"
        f"  - vector instructions: {cpu.get_cpu_capability()}\n"
        f"  - libraries: {', '.join(libraries)}\n"
        "  - devices: CPU\n"
    )


def parallel_info() -> str:
    """A description of the threads in use."""
    from . import get_num_interop_threads, get_num_threads

    return f"threads for one operation: {get_num_threads()}\nthreads for several: {get_num_interop_threads()}\n"
