"""Sequences of different lengths: packed one time step after the other, or padded to one length."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable

from ... import Tensor, arange, empty_like, int64, tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]

PackedSequence_ = namedtuple(  # type: ignore[name-match] # the name it has in PyTorch
    "PackedSequence", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"], module=__name__
)


class PackedSequence(PackedSequence_):
    """The rows of a batch of sequences, all first steps, then all second steps and so on.

    `batch_sizes` says how many sequences reach each step. Sequences are sorted by falling length; `sorted_indices` and
    `unsorted_indices` lead there and back. Made by `pack_padded_sequence` and `pack_sequence`.
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is not None:
            if batch_sizes.device.type != "cpu":
                raise ValueError(
                    "batch_sizes should always be on CPU. Instances of PackedSequence should never be "
                    "created manually. "
                    "They should be instantiated by functions like pack_sequence and pack_padded_sequence"
                )
            return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)
        if not (isinstance(data, (list, tuple)) and len(data) == 2):
            raise TypeError("PackedSequence: expected data and batch_sizes, or one pair of them")
        return super().__new__(cls, data[0], data[1], sorted_indices, None)

    def pin_memory(self):
        """The same sequence in page-locked memory."""
        return self._with(lambda t: t.pin_memory(), lambda t: t.pin_memory())

    def to(self, *args, **kwargs):
        """The same sequence with its data converted as by `Tensor.to`; itself when nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        options = {key: value for key, value in kwargs.items() if key not in ("device", "dtype")}

        def move(indices):
            return indices.to(data.device, **options)

        return self._with(lambda _: data, move)

    def _with(self, convert, move):
        indices = [move(each) if each is not None else None for each in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(convert(self.data), self.batch_sizes, *indices)

    def cuda(self, *args, **kwargs):
        """The same sequence on a GPU."""
        return self.to(*args, device="cuda", **kwargs)

    def cpu(self, *args, **kwargs):
        """The same sequence on the CPU."""
        return self.to(*args, device="cpu", **kwargs)

    def double(self):
        """The same sequence in float64."""
        return self._cast("float64")

    def float(self):
        """The same sequence in float32."""
        return self._cast("float32")

    def half(self):
        """The same sequence in float16."""
        return self._cast("float16")

    def long(self):
        """The same sequence in int64."""
        return self._cast("int64")

    def int(self):
        """The same sequence in int32."""
        return self._cast("int32")

    def short(self):
        """The same sequence in int16."""
        return self._cast("int16")

    def char(self):
        """The same sequence in int8."""
        return self._cast("int8")

    def byte(self):
        """The same sequence in uint8."""
        return self._cast("uint8")

    def _cast(self, dtype: str):
        import sys

        root = sys.modules[__package__.partition(".")[0]]
        return self.to(dtype=getattr(root, dtype))

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes `permutation`."""
    if permutation is None:
        return None
    output = empty_like(permutation)
    output.scatter_(0, permutation, arange(0, permutation.numel(), device=permutation.device, dtype=permutation.dtype))
    return output


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack (T, N, *), with `batch_first` (N, T, *), of sequences with these lengths.

    With `enforce_sorted` the lengths must fall; without, the batch is sorted here. Raises RuntimeError for lengths that
    are not positive, not sorted or longer than T.

    >>> pack_padded_sequence(flambeau.ones(3, 2, 1), [3, 1]).batch_sizes
    tensor([2, 1, 1])
    """
    if not isinstance(lengths, Tensor):
        lengths = tensor(lengths, dtype=int64, device="cpu")
    if lengths.dim() != 1:
        raise RuntimeError(f"pack_padded_sequence: lengths must be 1-dimensional, got {lengths.dim()} dimensions")
    if lengths.device.type != "cpu":
        raise RuntimeError(f"pack_padded_sequence: lengths must be on the CPU, got {lengths.device}")
    lengths = lengths.to(int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = lengths.sort(descending=True)
        sorted_indices = sorted_indices.to(input.device)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    sizes = lengths.tolist()
    if batch_first:
        input = input.transpose(0, 1)
    if len(sizes) != input.size(1):
        raise RuntimeError(
            f"pack_padded_sequence: Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} "
            f"(batch_size={input.size(1)})"
        )
    if min(sizes) <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if sizes != sorted(sizes, reverse=True):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement."
        )
    if sizes[0] > input.size(0):
        raise RuntimeError(
            f"pack_padded_sequence: a length of {sizes[0]} is more than the {input.size(0)} steps there are"
        )
    from ... import cat

    pieces, batch_sizes, start = [], [], 0
    # Between two lengths the batch has one size: one slice each.
    for i in range(len(sizes) - 1, -1, -1):
        if sizes[i] > start:
            pieces.append(input[start : sizes[i], : i + 1].reshape(-1, *input.shape[2:]))
            batch_sizes += [i + 1] * (sizes[i] - start)
            start = sizes[i]
    return PackedSequence(cat(pieces), tensor(batch_sizes, dtype=int64), sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch (T, N, *), with `batch_first` (N, T, *), and the lengths. The inverse of packing.

    Raises ValueError when `total_length` is too short, RuntimeError for batch sizes that cannot be.
    """
    data, batch_sizes, _, unsorted_indices = sequence
    sizes = batch_sizes.tolist()
    if batch_sizes.dim() != 1 or not sizes:
        raise RuntimeError("pad_packed_sequence: batch_sizes must be 1-dimensional and not empty")
    if sum(sizes) != data.size(0) or min(sizes) <= 0 or sizes != sorted(sizes, reverse=True):
        raise RuntimeError(
            "pad_packed_sequence: batch_sizes must be positive, never grow, and add up to the "
            f"{data.size(0)} rows of data, got {sizes[:10]}"
        )
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    batch = sizes[0]
    # Row t * batch + n of the padded batch is step t of sequence n.
    places = [time * batch + n for time, size in enumerate(sizes) for n in range(size)]
    index = tensor(places, dtype=int64, device=data.device)
    padded = data.new_full((steps * batch, *data.shape[1:]), padding_value).index_copy(0, index, data)
    padded = padded.reshape(steps, batch, *data.shape[1:])
    lengths = tensor([sum(1 for size in sizes if size > n) for n in range(batch)], dtype=int64)
    if unsorted_indices is not None:
        padded = padded.index_select(1, unsorted_indices)
        lengths = lengths[unsorted_indices.cpu()]
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pad_sequence(
    sequences: Tensor | list[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (L_i, *) as one tensor (T, N, *), with `batch_first` (N, T, *), padded to the longest.

    >>> pad_sequence([flambeau.ones(2), flambeau.ones(1)], batch_first=True)
    tensor([[1., 1.],
            [1., 0.]])
    """
    if isinstance(sequences, Tensor):
        sequences = list(sequences.unbind(0))
    elif not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    for each in sequences:
        if not isinstance(each, Tensor):
            raise TypeError(f"pad_sequence: expected tensors, got {type(each).__name__}")
    if padding_side not in ("right", "left"):
        raise RuntimeError(f"pad_sequence: padding_side should be either 'right' or 'left', but got {padding_side}")
    from ... import stack
    from ..functional import pad

    longest = max(each.size(0) for each in sequences)
    rows = []
    for each in sequences:
        if each.shape[1:] != sequences[0].shape[1:]:
            raise RuntimeError(
                f"pad_sequence: trailing dimensions differ, {tuple(each.shape[1:])} and {tuple(sequences[0].shape[1:])}"
            )
        missing = longest - each.size(0)
        sides = (0, missing) if padding_side == "right" else (missing, 0)
        if missing:
            each = pad(each, (0, 0) * (each.dim() - 1) + sides, "constant", padding_value)
        rows.append(each)
    return stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, each with its own length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [sequence[: int(length)] for sequence, length in zip(padded_sequences, lengths, strict=False)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L_i, *), sorted by falling length unless `enforce_sorted` is False."""
    lengths = tensor([sequence.size(0) for sequence in sequences], dtype=int64)
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
