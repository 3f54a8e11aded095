"""The connectionist temporal classification loss (Graves et al., 2006): a sum over alignments, step by step."""

from __future__ import annotations

import sys

from .._op import op
from .nn_reduce import reduced, reduction_of

root = sys.modules[__package__.partition(".")[0]]

# Stands for log(0): far below any real sum, yet finite, so that no gradient becomes NaN.
_NEVER = -1e30


@op(
    "nn.ctc_loss(Tensor log_probs, Tensor targets, any input_lengths, any target_lengths, int blank=0, "
    "str reduction='mean', bool zero_infinity=False) -> Tensor"
)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    """Minus the log-probability of each target under every alignment with its inputs.

    `log_probs` is (T, N, C) or (T, C); `targets` (N, S), or all of them in one row; lengths are (N). The mean divides
    each loss by its target's length first. Raises for lengths and labels that cannot be.
    """
    reduction = reduction_of(None, None, reduction)
    if log_probs.dim() not in (2, 3):
        raise RuntimeError(f"ctc_loss: log_probs must be 2- or 3-dimensional, got {log_probs.dim()} dimensions")
    single = log_probs.dim() == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    steps, batch, classes = log_probs.shape
    inputs = _lengths("input_lengths", input_lengths, batch)
    wanted = _lengths("target_lengths", target_lengths, batch)
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: blank must be in label range [0, {classes}), got {blank}")
    if any(length < 0 or length > steps for length in inputs):
        raise RuntimeError(f"ctc_loss: Expected input_lengths to have value between 0 and {steps}, got {inputs}")
    if any(length < 0 for length in wanted):
        raise RuntimeError(f"ctc_loss: Expected target_lengths to have non-negative values, got {wanted}")
    if targets.is_floating_point() or targets.dtype == root.bool:
        raise RuntimeError(f"ctc_loss: targets must be integers, got {targets.dtype}")
    labels = _label_rows(targets, wanted, batch, single)
    if labels.numel() and bool(((labels < 0) | (labels >= classes)).any()):
        raise RuntimeError(f"ctc_loss: targets must be labels in [0, {classes})")
    losses = _negative_log_likelihood(log_probs, labels, inputs, wanted, blank)
    if zero_infinity:
        losses = losses.masked_fill(losses.detach() == float("inf"), 0)
    if reduction == "mean":
        divisor = root.tensor([max(length, 1) for length in wanted], dtype=losses.dtype, device=losses.device)
        return (losses / divisor).mean()
    losses = reduced(losses, reduction)
    return losses.squeeze(0) if single and reduction == "none" else losses


def _lengths(name, given, batch) -> list[int]:
    if isinstance(given, root.Tensor):
        if given.is_floating_point() or given.is_complex():
            raise RuntimeError(f"ctc_loss: {name} must be integral, got {given.dtype}")
        given = given.reshape(-1).tolist()
    values = [int(each) for each in given] if isinstance(given, (list, tuple)) else [int(given)]
    if len(values) != batch:
        raise RuntimeError(f"ctc_loss: {name} must be of size batch_size {batch}, got {len(values)}")
    return values


def _label_rows(targets, wanted, batch, single):
    """The labels as (N, longest), filled up with zeros."""
    longest = max(wanted, default=0)
    if targets.dim() == 2 or (single and targets.dim() == 1):
        rows = targets.view(batch, -1) if targets.dim() == 1 else targets
        if rows.size(0) != batch or rows.size(1) < longest:
            raise RuntimeError(
                f"ctc_loss: Expected tensor to have size at least {longest} at dimension 1 and {batch} at "
                "dimension 0, but "
                f"got targets of shape {tuple(targets.shape)}"
            )
        rows = rows[:, :longest]
    elif targets.dim() == 1:
        if targets.size(0) != sum(wanted):
            raise RuntimeError(
                f"ctc_loss: targets in one row must have as many labels as target_lengths say, {sum(wanted)}, got "
                f"{targets.size(0)}"
            )
        rows = root.stack([root.constant_pad_nd(row, (0, longest - row.size(0)), 0) for row in targets.split(wanted)])
    else:
        raise RuntimeError(f"ctc_loss: targets must be 1- or 2-dimensional, got {targets.dim()} dimensions")
    inside = root.arange(longest, device=rows.device) < root.tensor(wanted, device=rows.device).unsqueeze(1)
    return rows.long().masked_fill(~inside, 0)


def _negative_log_likelihood(log_probs, labels, inputs, wanted, blank):
    steps, batch, _classes = log_probs.shape
    device = log_probs.device
    length = labels.size(1)
    # Blanks before, between and after the labels: state 2k + 1 is label k.
    states = root.full((batch, 2 * length + 1), blank, dtype=root.int64, device=device)
    states[:, 1::2] = labels
    emitted = log_probs.clamp(min=_NEVER).gather(2, states.unsqueeze(0).expand(steps, -1, -1))
    # A label may follow the label before it directly, unless it is the same one.
    skip = root.zeros(batch, 2 * length + 1, dtype=root.bool, device=device)
    skip[:, 3::2] = labels[:, 1:] != labels[:, :-1]

    place = root.arange(2 * length + 1, device=device)
    never = root.full_like(emitted[0], _NEVER) if steps else log_probs.new_full((batch, 2 * length + 1), _NEVER)
    begin = root.zeros_like(never).masked_fill(place > 1, _NEVER)
    ends = root.tensor(inputs, device=device).unsqueeze(1)
    # Before the first step the path stands in front of state 0: one "step" without emission would be state -1.
    alpha = never
    for time in range(steps):
        if time == 0:
            reach = begin + emitted[0]
        else:
            one = root.nn.functional.pad(alpha[:, :-1], (1, 0), "constant", _NEVER)
            two = root.nn.functional.pad(alpha[:, :-2], (2, 0), "constant", _NEVER) if length else never
            reach = root.logsumexp(root.stack([alpha, one, two.masked_fill(~skip, _NEVER)]), 0) + emitted[time]
        alpha = root.where(time < ends, reach.clamp(min=_NEVER), alpha)
    last = 2 * root.tensor(wanted, device=device).unsqueeze(1)
    final = alpha.gather(1, last)
    before = alpha.gather(1, (last - 1).clamp(min=0)).masked_fill(last == 0, _NEVER)
    total = root.logsumexp(root.cat([final, before], 1), 1)
    # No input at all can still spell an empty target.
    empty = (ends.squeeze(1) == 0) & (last.squeeze(1) == 0)
    total = total.masked_fill(empty, 0)
    loss = (-total).masked_fill(total.detach() < _NEVER / 2, float("inf"))
    # Of value zero, with the gradient exp(log_probs): the gradient is the one with respect to the scores under the
    # log-softmax, as PyTorch defines it, and passes through that unchanged.
    active = root.arange(steps, device=device).view(-1, 1, 1) < ends.view(1, -1, 1)
    mass = (log_probs.exp() * active).sum((0, 2))
    return loss + (mass - mass.detach())
