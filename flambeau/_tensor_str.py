"""How tensors print.

A tensor becomes text in three steps: the elements that will be shown are copied into nested Python lists (long
dimensions lose their middle), one formatter per real component looks at all of them and settles a common notation and
width, and the lists are laid out with brackets, line breaks and the suffixes (dtype, device, gradient ...).
"""

from __future__ import annotations

import contextlib
import math
import sys
from typing import Any

inf = math.inf
_SCIENTIFIC_RATIO = 1e3  # largest over smallest magnitude beyond which fixed notation would lose digits
_SCIENTIFIC_ABOVE = 1e8
_SCIENTIFIC_BELOW = 1e-4


class _PrintOptions:
    """The process-wide settings; profiles are named starting points."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = _PrintOptions()
_OPTION_NAMES = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors are printed from now on.

    Args:
        precision: digits after the decimal point (default 4).
        threshold: tensors with more elements than this are summarised (default 1000).
        edgeitems: how many elements a summary keeps at either end of a dimension (default 3).
        linewidth: characters a line may take (default 80).
        profile: ``"default"``, ``"short"`` or ``"full"``; the other arguments override it. Other names are ignored.
        sci_mode: ``True`` or ``False`` forces scientific notation on or off, ``None`` decides by the values.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.12345])
    tensor([1.12])
    >>> torch.set_printoptions(profile="default")
    """
    if profile is not None:
        for name, value in _PROFILES.get(profile, {}).items():
            setattr(PRINT_OPTS, name, value)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Returns the current settings as keyword arguments for :func:`set_printoptions`.

    >>> torch._tensor_str.get_printoptions()["precision"]
    4
    """
    return {name: getattr(PRINT_OPTS, name) for name in _OPTION_NAMES}


@contextlib.contextmanager
def printoptions(**options: Any):
    """Uses other settings inside a ``with`` block; takes the arguments of :func:`set_printoptions`.

    >>> with torch._tensor_str.printoptions(precision=1):
    ...     print(torch.tensor(0.25))
    tensor(0.2)
    """
    saved = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**saved)


class _RealFormatter:
    """Turns real numbers into strings of one notation, at least `width` wide.

    Zeros and non-finite values have no say in the notation or the width; they are only padded.
    """

    def __init__(self, values: list, floating: bool):
        self._floating = floating
        self._scientific = False
        self._whole = True
        self.width = 1
        if not floating:
            self.width = max((len(str(value)) for value in values), default=1)
            return
        counted = [value for value in values if value != 0 and math.isfinite(value)]
        if not counted:
            return
        magnitudes = [abs(value) for value in counted]
        smallest, largest = min(magnitudes), max(magnitudes)
        self._whole = all(value.is_integer() for value in counted)
        if PRINT_OPTS.sci_mode is not None:
            self._scientific = PRINT_OPTS.sci_mode
        else:
            self._scientific = (
                largest / smallest > _SCIENTIFIC_RATIO or largest > _SCIENTIFIC_ABOVE or smallest < _SCIENTIFIC_BELOW
            )
        self.width = max(1, max(len(self._bare(value)) for value in counted))

    def _bare(self, value: Any) -> str:
        if not self._floating:
            return str(value)
        if self._scientific:
            return f"{value:.{PRINT_OPTS.precision}e}"
        if self._whole:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{PRINT_OPTS.precision}f}"

    def __call__(self, value: Any) -> str:
        return self._bare(value).rjust(self.width)


class _ComplexFormatter:
    """Real and imaginary parts have a notation each; only the real part is padded."""

    def __init__(self, values: list):
        self._real = _RealFormatter([value.real for value in values], True)
        self._imag = _RealFormatter([value.imag for value in values], True)
        self.width = self._real.width + self._imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self._imag(value.imag).lstrip()
        sign = "" if imag[0] in "+-" else "+"
        return f"{self._real(value.real)}{sign}{imag}j"


def _flat(nested: Any, depth: int) -> list:
    if depth == 0:
        return [nested]
    for _ in range(depth - 1):
        nested = [item for inner in nested for item in inner]
    return nested


class _Layout:
    """Lays nested lists out as text; `shortened[d]` says that dimension d has lost its middle."""

    def __init__(self, formatter: Any, shortened: list[bool]):
        self._format = formatter
        self._shortened = shortened

    def text(self, nested: Any, depth: int, indent: int) -> str:
        dims_left = len(self._shortened) - depth
        if dims_left == 0:
            return self._format(nested)
        edge = PRINT_OPTS.edgeitems
        if dims_left == 1:
            parts = [self._format(value) for value in nested]
            if self._shortened[depth]:
                parts.insert(edge, " ..." if edge else "...")
            per_line = max(1, (PRINT_OPTS.linewidth - indent) // (self._format.width + 2))
            lines = [", ".join(parts[i : i + per_line]) for i in range(0, len(parts), per_line)]
            return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
        parts = [self.text(inner, depth + 1, indent + 1) for inner in nested]
        if self._shortened[depth]:
            parts.insert(edge, "...")
        separator = "," + "\n" * (dims_left - 1) + " " * (indent + 1)
        return "[" + separator.join(parts) + "]"


def _tensor_str(tensor: Any, indent: int) -> str:
    """The bracketed numbers of a strided tensor."""
    if tensor.numel() == 0:
        return "[]"
    shape, edge = tuple(tensor.shape), PRINT_OPTS.edgeitems
    shortened = [False] * len(shape)
    if tensor.numel() > PRINT_OPTS.threshold:
        root = sys.modules[__package__]
        for dim, size in enumerate(shape):
            if size > 2 * edge:
                shortened[dim] = True
                tensor = root.cat([tensor.narrow(dim, 0, edge), tensor.narrow(dim, size - edge, edge)], dim)
    nested = tensor.tolist()
    values = _flat(nested, len(shape))
    if tensor.dtype.is_complex:
        formatter = _ComplexFormatter(values)
    else:
        formatter = _RealFormatter(values, tensor.dtype.is_floating_point)
    return _Layout(formatter, shortened).text(nested, 0, indent)


def _add_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    """Appends the suffixes, each on the current line if it still fits there."""
    pieces = [text]
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > PRINT_OPTS.linewidth:
            pieces.append(",\n" + " " * indent + suffix)
            column = indent + len(suffix)
        else:
            pieces.append(", " + suffix)
            column += len(suffix) + 2
    return "".join(pieces) + ")"


def _gradient_suffix(tensor: Any) -> str | None:
    try:
        node = tensor.grad_fn
    except RuntimeError:
        # A view whose base was changed in place under no_grad has no usable history; it can still be printed.
        return "grad_fn=<Invalid>"
    if node is not None:
        return f"grad_fn=<{type(node).__name__}>"
    return "requires_grad=True" if tensor.requires_grad else None


def _split_dual(tensor: Any) -> tuple[Any, Any]:
    """Primal and tangent. Duals exist only once forward mode was imported, so nobody else pays for it."""
    forward_ad = sys.modules.get(f"{__package__}.autograd.forward_ad")
    if forward_ad is None or getattr(forward_ad, "_current_level", -1) < 0:
        return tensor, None
    return forward_ad.unpack_dual(tensor)


def _str_intern(tensor: Any, *, tensor_contents: str | None = None) -> str:
    root = sys.modules[__package__]
    # Printing a tensor is no reason to load `nn`; before that is loaded there are no parameters.
    parameter = getattr(sys.modules.get(f"{__package__}.nn.parameter"), "Parameter", ())
    plain = type(tensor) is root.Tensor or type(tensor) is parameter
    prefix = "tensor(" if plain else f"{type(tensor).__name__}("
    indent = len(prefix)
    values, tangent = _split_dual(tensor)
    default = root.get_default_dtype()
    suffixes = []
    if values.device.type != "cpu":
        suffixes.append(f"device='{values.device}'")
    if values.device.type == "meta":
        suffixes.append(f"size={tuple(values.shape)}")
        if values.dtype != default:
            suffixes.append(f"dtype={values.dtype}")
        text = "..." if tensor_contents is None else tensor_contents
    elif values.numel() == 0:
        if values.dim() != 1:
            suffixes.append(f"size={tuple(values.shape)}")
        if values.dtype != default:
            suffixes.append(f"dtype={values.dtype}")
        text = "[]" if tensor_contents is None else tensor_contents
    else:
        if PRINT_OPTS.edgeitems == 0:
            suffixes.append(f"size={tuple(values.shape)}")  # nothing else would tell how much a summary left out
        default_complex = root.complex128 if default == root.float64 else root.complex64
        if values.dtype not in (default, default_complex, root.int64, root.bool):
            suffixes.append(f"dtype={values.dtype}")
        text = _tensor_str(values.detach(), indent) if tensor_contents is None else tensor_contents
    gradient = _gradient_suffix(tensor)
    if gradient is not None:
        suffixes.append(gradient)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    text = _add_suffixes(prefix + text, suffixes, indent)
    return f"Parameter({text})" if isinstance(tensor, parameter) and not plain else text


def _str(tensor: Any, *, tensor_contents: str | None = None) -> str:
    """The text of `repr(tensor)`; `tensor_contents` replaces the numbers (for subclasses)."""
    root = sys.modules[__package__]
    with root.no_grad(), root._C.DisableTorchFunctionSubclass():
        return _str_intern(tensor, tensor_contents=tensor_contents)
