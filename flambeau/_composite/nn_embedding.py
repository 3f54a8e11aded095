"""Lookups: bags of embeddings and one-hot vectors."""

from __future__ import annotations

import itertools
import sys

from .._op import op

root = sys.modules[__package__.partition(".")[0]]


@op(
    "nn.embedding_bag(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, float norm_type=2, "
    "bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, Tensor? per_sample_weights=None, "
    "bool include_last_offset=False, int? padding_idx=None) -> Tensor"
)
def embedding_bag(
    input,
    weight,
    offsets,
    max_norm,
    norm_type,
    scale_grad_by_freq,
    mode,
    sparse,
    per_sample_weights,
    include_last_offset,
    padding_idx,
):
    """The sum, mean or maximum of the rows of `weight` in each bag.

    `input` is (B, L), one bag a row, or (n) with `offsets` (B) that say where each bag begins; empty bags give zeros.
    Raises for indices outside the table and for offsets that do not begin at 0, go back or run past the input.
    """
    if weight.dim() != 2:
        raise RuntimeError(f"embedding_bag: weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError(
                "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
                f"(got mode='{mode}')."
            )
        if per_sample_weights.size() != input.size():
            raise ValueError(
                f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, then "
                "it must have "
                f"the same shape as the input ({list(input.shape)})"
            )
    if input.dtype not in (root.int64, root.int32):
        raise RuntimeError(f"embedding_bag: expected int32 or int64 indices, got {input.dtype}")
    rows = weight.size(0)
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"padding_idx must be within the number of embeddings, got {padding_idx} for {rows}")
        padding_idx %= rows
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                "length sequences"
            )
        bags, width = input.shape
        lengths = [width] * bags
    elif input.dim() == 1:
        lengths = _bag_lengths(input, offsets, include_last_offset)
        bags = len(lengths)
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")

    flat = input.reshape(-1)
    vectors = root.nn.functional.embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    kept = None if padding_idx is None else flat != padding_idx
    if per_sample_weights is not None:
        vectors = vectors * per_sample_weights.reshape(-1, 1)
    bag_of = root.repeat_interleave(
        root.arange(bags, device=flat.device), root.tensor(lengths, dtype=root.int64, device=flat.device)
    )
    if mode == "max":
        return _bag_maximum(vectors, bag_of, kept, bags)
    if kept is not None:
        vectors = vectors * kept.unsqueeze(1)
    total = vectors.new_zeros(bags, weight.size(1)).index_add(0, bag_of, vectors)
    if mode == "sum":
        return total
    ones = vectors.new_ones(flat.numel()) if kept is None else kept.to(vectors.dtype)
    counts = vectors.new_zeros(bags).index_add(0, bag_of, ones).clamp(min=1)
    return total / counts.unsqueeze(1)


def _bag_lengths(input, offsets, include_last_offset) -> list[int]:
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if offsets.dtype not in (root.int64, root.int32):
        raise RuntimeError(f"embedding_bag: expected int32 or int64 offsets, got {offsets.dtype}")
    begins, count = offsets.tolist(), input.numel()
    if include_last_offset and not begins:
        raise RuntimeError("embedding_bag: include_last_offset: number of offsets should be at least 1")
    if begins and begins[0] != 0:
        raise RuntimeError(
            f"embedding_bag: offsets[0] has to be 0, i.e., the first sequence starts at 0, got {begins[0]}"
        )
    if any(later < earlier for earlier, later in itertools.pairwise(begins)):
        raise RuntimeError("embedding_bag: offsets must not go back")
    if begins and begins[-1] > count:
        raise RuntimeError(
            f"embedding_bag: offsets[-1] can not be greater than input's length {count}, but got offsets[-1] "
            f"of {begins[-1]}"
        )
    if not include_last_offset and begins:
        begins.append(count)
    elif include_last_offset and begins[-1] != count:
        raise RuntimeError(f"embedding_bag: the last offset must be the number of indices {count}, got {begins[-1]}")
    elif not begins and count:
        raise RuntimeError(f"embedding_bag: no offsets for {count} indices")
    return [end - begin for begin, end in itertools.pairwise(begins)]


def _bag_maximum(vectors, bag_of, kept, bags):
    """The elementwise maximum of each bag; an empty bag gives zeros."""
    if kept is not None:
        places = kept.nonzero().squeeze(1)
        vectors, bag_of = vectors.index_select(0, places), bag_of.index_select(0, places)
    index = bag_of.unsqueeze(1).expand_as(vectors)
    return vectors.new_zeros(bags, vectors.size(1)).scatter_reduce(0, index, vectors, "amax", include_self=False)


@op("nn.one_hot(Tensor input, int num_classes=-1) -> Tensor")
def one_hot(input, num_classes):
    """int64 vectors of length num_classes that are 1 at the class and 0 elsewhere; -1: one more than the largest class.

    >>> nn.functional.one_hot(flambeau.tensor([1, 0]))
    tensor([[0, 1],
            [1, 0]])
    """
    if input.dtype != root.int64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {input.dtype}")
    if num_classes == 0 or num_classes < -1:
        raise RuntimeError(f"one_hot: num_classes should be positive, or -1 to find it, got {num_classes}")
    if input.numel() == 0:
        if num_classes == -1:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return root.empty(*input.shape, num_classes, dtype=root.int64, device=input.device)
    if int(input.min()) < 0:
        raise RuntimeError("one_hot: class values must be non-negative.")
    largest = int(input.max())
    if num_classes == -1:
        num_classes = largest + 1
    elif largest >= num_classes:
        raise RuntimeError(f"one_hot: class values must be smaller than num_classes ({num_classes}), got {largest}")
    result = root.zeros(*input.shape, num_classes, dtype=root.int64, device=input.device)
    return result.scatter_(-1, input.unsqueeze(-1), 1)
