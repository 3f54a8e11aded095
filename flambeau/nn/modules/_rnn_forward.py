"""The recurrences themselves, step by step.

The part of each gate that depends on the input alone is one matrix product for the whole sequence; only the part that
depends on the state is computed in the loop.
"""

from __future__ import annotations

from ... import Tensor, cat, stack
from .. import functional as F


def rnn_step(gates: Tensor, hidden: Tensor, weight_hh: Tensor, bias_hh: Tensor | None, nonlinearity: str) -> Tensor:
    """The next hidden state; `gates` is the input's part (N, hidden)."""
    total = gates + F.linear(hidden, weight_hh, bias_hh)
    return total.tanh() if nonlinearity == "tanh" else total.relu()


def lstm_step(gates, hidden, cell, weight_hh, bias_hh, projection) -> tuple[Tensor, Tensor]:
    """The next (hidden, cell); `gates` is the input's part (N, 4·hidden) of input, forget, cell and output gate."""
    total = gates + F.linear(hidden, weight_hh, bias_hh)
    take, keep, new, show = total.chunk(4, 1)
    cell = keep.sigmoid() * cell + take.sigmoid() * new.tanh()
    hidden = show.sigmoid() * cell.tanh()
    if projection is not None:
        hidden = F.linear(hidden, projection)
    return hidden, cell


def gru_step(gates: Tensor, hidden: Tensor, weight_hh: Tensor, bias_hh: Tensor | None) -> Tensor:
    """The next hidden state; `gates` is the input's part (N, 3·hidden) of reset, update and new gate."""
    reset_in, update_in, new_in = gates.chunk(3, 1)
    reset_state, update_state, new_state = F.linear(hidden, weight_hh, bias_hh).chunk(3, 1)
    reset = (reset_in + reset_state).sigmoid()
    update = (update_in + update_state).sigmoid()
    new = (new_in + reset * new_state).tanh()
    return new + update * (hidden - new)


def unpacked_steps(data: Tensor, batch_sizes: Tensor) -> list[Tensor]:
    """The rows of packed data by time step."""
    sizes = batch_sizes.tolist()
    if sum(sizes) != data.size(0) or any(size <= 0 for size in sizes) or sizes != sorted(sizes, reverse=True):
        raise RuntimeError(
            f"packed sequence: batch_sizes must be positive, never grow, and add up to the {data.size(0)} rows of data"
        )
    return list(data.split(sizes))


def run_layers(layer, steps, states: tuple[Tensor, ...]) -> tuple[list[Tensor], tuple[Tensor, ...]]:
    """Run every layer and direction of an RNNBase over the steps, each (batch at that time, features).

    Later steps may have smaller batches: sequences that end leave from the end of the batch.
    """
    directions = 2 if layer.bidirectional else 1
    weights = layer.all_weights
    final: list[list[Tensor]] = [[] for _ in states]
    for depth in range(layer.num_layers):
        outputs = []
        for direction in range(directions):
            place = depth * directions + direction
            start = tuple(state[place] for state in states)
            out, last = _run_direction(layer, steps, start, weights[place], reverse=direction == 1)
            outputs.append(out)
            for collected, state in zip(final, last, strict=True):
                collected.append(state)
        steps = outputs[0] if directions == 1 else [cat(pair, -1) for pair in zip(*outputs, strict=True)]
        if layer.dropout > 0 and layer.training and depth < layer.num_layers - 1:
            steps = _dropped(steps, layer.dropout)
    return steps, tuple(stack(collected) for collected in final)


def _dropped(steps, probability: float):
    """Dropout of all steps at once, so that the random numbers are drawn for the whole sequence."""
    sizes = [step.size(0) for step in steps]
    if len(set(sizes)) == 1:
        return F.dropout(stack(steps), probability, True).unbind(0)
    return F.dropout(cat(steps), probability, True).split(sizes)


def _run_direction(layer, steps, start, weights, reverse: bool):
    """(outputs by time, last states) of one direction of one layer."""
    has_projection = layer.proj_size > 0
    weight_ih, weight_hh = weights[:2]
    bias_ih, bias_hh = weights[2:4] if layer.bias else (None, None)
    projection = weights[-1] if has_projection else None
    mode = layer.mode

    def step(gates, state):
        if mode == "LSTM":
            return lstm_step(gates, *state, weight_hh, bias_hh, projection)
        if mode == "GRU":
            return (gru_step(gates, state[0], weight_hh, bias_hh),)
        return (rnn_step(gates, state[0], weight_hh, bias_hh, "tanh" if mode == "RNN_TANH" else "relu"),)

    sizes = [each.size(0) for each in steps]
    inputs = F.linear(cat(steps), weight_ih, bias_ih).split(sizes) if len(steps) else []
    outputs = [None] * len(steps)
    if not reverse:
        state, ended = start, []
        for time, gates in enumerate(inputs):
            count = sizes[time]
            if count < state[0].size(0):
                ended.append(tuple(each[count:] for each in state))
                state = tuple(each[:count] for each in state)
            state = step(gates, state)
            outputs[time] = state[0]
        last = tuple(
            cat([each, *(rest[i] for rest in reversed(ended))]) if ended else each for i, each in enumerate(state)
        )
        return outputs, last
    # Backwards, shorter sequences join the batch when their last step is reached.
    state = tuple(each[: sizes[-1]] for each in start) if sizes else start
    for time in range(len(steps) - 1, -1, -1):
        count, have = sizes[time], state[0].size(0)
        if count > have:
            state = tuple(cat([each, first[have:count]]) for each, first in zip(state, start, strict=True))
        state = step(inputs[time], state)
        outputs[time] = state[0]
    return outputs, state
