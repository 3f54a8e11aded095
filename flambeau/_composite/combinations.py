"""Choices of elements."""

from __future__ import annotations

import itertools
import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op("torch.combinations(Tensor input, int r=2, bool with_replacement=False) -> Tensor")
def combinations(input, r, with_replacement):
    """All ways to choose r elements of a vector, a row for each. Raises RuntimeError for other shapes and negative r.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(f"combinations: expected a vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: r must not be negative, but got {r}")
    if r == 0:
        return input.new_empty(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(input.numel()), r))
    return input[root.tensor(rows, dtype=root.int64).reshape(len(rows), r)]
