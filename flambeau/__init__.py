"""flambeau: deep learning in plain Python, light enough to start in tens of milliseconds.

It has PyTorch's API: ``import flambeau as torch``, or run a program unchanged with
``python -m flambeau run script.py``.

>>> import flambeau as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from . import _C as _C
from . import _composite as _composite
from . import _lazy as _lazy
from . import _tensor_base as _tensor_base
from . import _tensor_conversion as _tensor_conversion
from . import _torch_function as _torch_function
from . import storage as storage
from ._C import *  # noqa: F403
from .torch_version import TorchVersion as _TorchVersion
from .version import __version__ as _version

__version__ = _TorchVersion(_version)
_composite.load("")
globals().update(_C._namespace(""))

from ._functions import *  # noqa: E402, F403
from .autograd.grad_mode import enable_grad as enable_grad  # noqa: E402
from .autograd.grad_mode import inference_mode as inference_mode  # noqa: E402
from .autograd.grad_mode import no_grad as no_grad  # noqa: E402
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled  # noqa: E402

newaxis = None
half = float16  # noqa: F405
float = float32  # noqa: F405
double = float64  # noqa: F405
short = int16  # noqa: F405
int = int32  # noqa: F405
long = int64  # noqa: F405
cfloat = complex64  # noqa: F405
cdouble = complex128  # noqa: F405


def __getattr__(name: str):
    """Heavy namespaces load on first use."""
    return _lazy.load(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_lazy.names()})
