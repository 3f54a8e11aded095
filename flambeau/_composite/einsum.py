"""The contraction behind `torch.einsum`.

An operand becomes a tensor with one dimension for every label of the equation (size 1 where it lacks the label), in the
order: output labels, then labels summed over. Operands are then multiplied from left to right; a label is summed as
soon as no later operand has it. A product with sums is one batched matrix product.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ELLIPSIS = "..."


class _Equation:
    """Labels of each operand and of the output; `...` stands for any number of leading labels."""

    __slots__ = ("inputs", "output")

    def __init__(self, inputs: list[list[str]], output: list[str] | None):
        self.inputs = inputs
        self.output = output


def _split_labels(text: str, start: int, where: str) -> list[str]:
    labels, at = [], 0
    while at < len(text):
        if text[at] == " ":
            at += 1
        elif text.startswith(_ELLIPSIS, at):
            if _ELLIPSIS in labels:
                raise RuntimeError(f"einsum: {where} has more than one ellipsis")
            labels.append(_ELLIPSIS)
            at += 3
        elif text[at] in _LABELS:
            labels.append(text[at])
            at += 1
        else:
            raise RuntimeError(
                f"einsum: {text[at]!r} at position {start + at} of the equation is not a letter or '...'"
            )
    return labels


def parse(equation: str) -> _Equation:
    """Reads an equation like ``"bij,bjk->bik"``. Raises RuntimeError for what is none."""
    left, arrow, right = equation.partition("->")
    inputs, start = [], 0
    for number, part in enumerate(left.split(",")):
        inputs.append(_split_labels(part, start, f"operand {number}"))
        start += len(part) + 1
    output = _split_labels(right, len(left) + 2, "the output") if arrow else None
    return _Equation(inputs, output)


def from_sublists(arguments: tuple) -> tuple[_Equation, list[Any]]:
    """Reads operands that are followed by lists of label numbers; a list left over names the output."""
    operands, inputs, at = [], [], 0
    while at + 1 < len(arguments):
        operands.append(arguments[at])
        inputs.append(_sublist(arguments[at + 1]))
        at += 2
    output = _sublist(arguments[at]) if at < len(arguments) else None
    return _Equation(inputs, output), operands


def _sublist(numbers: Any) -> list[str]:
    labels = []
    for number in numbers:
        if number is Ellipsis:
            labels.append(_ELLIPSIS)
        elif isinstance(number, int) and 0 <= number < len(_LABELS):
            labels.append(_LABELS[number])
        else:
            raise ValueError(f"einsum: a label in a list is an ellipsis or a number from 0 to 51, got {number!r}")
    return labels


def contract(equation: _Equation, operands: list[Any]) -> Any:
    """Evaluates an equation. Raises RuntimeError when it does not fit the operands or their sizes do not agree."""
    if len(operands) != len(equation.inputs):
        raise RuntimeError(f"einsum: the equation names {len(equation.inputs)} operands, got {len(operands)}")
    hidden = _hidden_dims(equation, operands)
    inputs = [_spell_out(labels, tensor, hidden) for labels, tensor in zip(equation.inputs, operands, strict=True)]
    output = _output_labels(equation, inputs, hidden)
    sizes = _sizes(inputs, operands)
    order = output + [label for label in sizes if label not in output]
    aligned = [_align(tensor, labels, order) for tensor, labels in zip(operands, inputs, strict=True)]
    result, summed = aligned[0], len(output)
    for number in range(len(aligned)):
        later = aligned[number + 1 :]
        done = [dim for dim in range(summed, len(order)) if all(tensor.size(dim) == 1 for tensor in later)]
        done = [dim for dim in done if number == 0 or result.size(dim) != 1 or aligned[number].size(dim) != 1]
        if number == 0:
            result = result.sum(done, keepdim=True) if _wide(result, done) else result
        else:
            result = _multiply(result, aligned[number], done)
    return result.reshape(result.shape[: len(output)]) if len(order) > len(output) else result


def _wide(tensor: Any, dims: list[int]) -> bool:
    return any(tensor.size(dim) != 1 for dim in dims)


def _hidden_dims(equation: _Equation, operands: list[Any]) -> int:
    """How many dimensions the ellipses stand for."""
    hidden = 0
    for number, (labels, tensor) in enumerate(zip(equation.inputs, operands, strict=True)):
        named = len(labels) - (_ELLIPSIS in labels)
        if named > tensor.dim() or (named < tensor.dim() and _ELLIPSIS not in labels):
            raise RuntimeError(f"einsum: operand {number} has {tensor.dim()} dimensions, its labels name {named}")
        hidden = max(hidden, tensor.dim() - named)
    return hidden


def _spell_out(labels: list[str], tensor: Any, hidden: int) -> list[str]:
    """Replaces the ellipsis by labels of its own, counted from the right: hidden dimensions broadcast."""
    if _ELLIPSIS not in labels:
        return labels
    at, count = labels.index(_ELLIPSIS), tensor.dim() - len(labels) + 1
    return [*labels[:at], *(f".{hidden - count + i}" for i in range(count)), *labels[at + 1 :]]


def _output_labels(equation: _Equation, inputs: list[list[str]], hidden: int) -> list[str]:
    ellipsis = [f".{i}" for i in range(hidden)]
    every = [label for labels in inputs for label in labels]
    if equation.output is None:
        return ellipsis + sorted(label for label in set(every) - set(ellipsis) if every.count(label) == 1)
    output: list[str] = []
    for label in equation.output:
        if label == _ELLIPSIS:
            output.extend(ellipsis)
        elif label in output:
            raise RuntimeError(f"einsum: label {label} appears more than once in the output")
        elif label not in every:
            raise RuntimeError(f"einsum: label {label} of the output is in no operand")
        else:
            output.append(label)
    return output


def _sizes(inputs: list[list[str]], operands: list[Any]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for number, (labels, tensor) in enumerate(zip(inputs, operands, strict=True)):
        own: dict[str, int] = {}
        for label, size in zip(labels, tensor.shape, strict=True):
            if own.setdefault(label, size) != size:
                raise RuntimeError(f"einsum: label {label} of operand {number} has sizes {own[label]} and {size}")
        for label, size in own.items():
            before = sizes.setdefault(label, size)
            if 1 not in (before, size) and before != size:
                raise RuntimeError(f"einsum: label {label} has size {size} in operand {number} and {before} before it")
            sizes[label] = size if before == 1 else before
    return sizes


def _align(tensor: Any, labels: list[str], order: list[str]) -> Any:
    labels = list(labels)
    at = 0
    while at < len(labels):
        again = labels.index(labels[at], at + 1) if labels[at] in labels[at + 1 :] else None
        if again is None:
            at += 1
            continue
        tensor = tensor.diagonal(0, at, again)  # the diagonal becomes the last dimension
        label = labels.pop(again)
        del labels[at]
        labels.append(label)
    present = [label for label in order if label in labels]
    tensor = tensor.permute([labels.index(label) for label in present])
    for dim, label in enumerate(order):
        if label not in labels:
            tensor = tensor.unsqueeze(dim)
    return tensor


def _multiply(left: Any, right: Any, summed: list[int]) -> Any:
    """The product of two aligned tensors, summed over some dimensions (which stay, with size 1)."""
    for dim in list(summed):
        if left.size(dim) == 1 or right.size(dim) == 1:  # only one of them has it: summed before the product
            left, right = left.sum(dim, keepdim=True), right.sum(dim, keepdim=True)
            summed.remove(dim)
    if not summed:
        return left * right
    dims = range(left.dim())
    batch = [d for d in dims if d not in summed and left.size(d) == right.size(d)]
    only_left = [d for d in dims if d not in summed and d not in batch and right.size(d) == 1]
    only_right = [d for d in dims if d not in summed and d not in batch and d not in only_left]
    shape = [1 if d in summed else right.size(d) if left.size(d) == 1 else left.size(d) for d in dims]
    rows = _volume(left, only_left)
    columns, inner, count = _volume(right, only_right), _volume(left, summed), _volume(left, batch)
    one = left.permute(batch + only_left + summed + only_right).reshape(count, rows, inner)
    two = right.permute(batch + summed + only_right + only_left).reshape(count, inner, columns)
    product = one.bmm(two)
    arranged = batch + only_left + only_right + summed
    product = product.reshape([shape[d] for d in arranged])
    return product.permute([arranged.index(d) for d in dims])


def _volume(tensor: Any, dims: list[int]) -> int:
    volume = 1
    for dim in dims:
        volume *= tensor.size(dim)
    return volume
