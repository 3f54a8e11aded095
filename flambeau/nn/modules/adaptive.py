"""The adaptive softmax: a cheap softmax over many classes of unequal frequency."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence

from ... import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Softmax over `n_classes` classes, sorted by falling frequency, in clusters that begin at `cutoffs`.

    The head holds the frequent classes and one entry per cluster; each cluster projects its input to a size that
    `div_value` divides from one cluster to the next. Called with inputs (N, in_features) and targets (N) it gives the
    targets' log-probabilities (N) and their mean loss.
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device=None,
        dtype=None,
    ) -> None:
        factory = {"device": device, "dtype": dtype}
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1, got {cutoffs} for {n_classes} classes"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, **factory), Linear(hidden, classes, bias=False, **factory)
                )
            )

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        self.head.reset_parameters()
        for projection, output in self.tail:
            projection.reset_parameters()
            output.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        if target_.dim() not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        batched = target_.dim() == 1
        if batched:
            if input_.size(0) != target_.size(0):
                raise RuntimeError(
                    f"Input and target should have the same size in the batch dimension: {input_.size(0)} and "
                    f"{target_.size(0)}"
                )
            if input_.dim() != 2:
                raise RuntimeError(
                    "1D target tensor expects 2D input tensors, but found inputs with size", input_.size()
                )
            input, target = input_, target_
        else:
            if input_.dim() != 1:
                raise RuntimeError(
                    "0D target tensor expects 1D input tensors, but found inputs with size", input_.size()
                )
            input, target = input_.unsqueeze(0), target_.unsqueeze(0)

        used = 0
        head_index = target.new_zeros(target.size(0))
        tail_output = input.new_zeros(target.size(0))
        for i, (low, high) in enumerate(zip([0, *self.cutoffs[:-1]], self.cutoffs, strict=True)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            used += rows.numel()
            if i == 0:
                head_index = head_index.index_copy(0, rows, target[rows])
                continue
            scores = self.tail[i - 1](input.index_select(0, rows))
            log_probs = F.log_softmax(scores, dim=1)
            picked = log_probs.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1)
            tail_output = tail_output.index_copy(0, rows, picked.to(tail_output.dtype))
            head_index = head_index.index_fill(0, rows, self.cutoffs[0] + i - 1)
        if used != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head_log_probs = F.log_softmax(self.head(input), dim=1)
        output = tail_output + head_log_probs.gather(1, head_index.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """The log-probabilities of all classes, given the head's scores."""
        from ... import cat

        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            within = F.log_softmax(self.tail[i](input), dim=1)
            parts.append(within + head[:, self.shortlist_size + i].unsqueeze(1))
        return cat(parts, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities (N, n_classes) of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row, (N); clusters are looked at only where they win in the head."""
        head_output = self.head(input)
        best = head_output.argmax(dim=1)
        in_tail = best >= self.shortlist_size
        if not bool(in_tail.any()):
            return best
        if bool(in_tail.all()):
            return self._get_full_log_prob(input, head_output).argmax(dim=1)
        log_prob = self._get_full_log_prob(input[in_tail], head_output[in_tail])
        best[in_tail] = log_prob.argmax(dim=1)
        return best
