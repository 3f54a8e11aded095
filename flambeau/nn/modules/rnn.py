"""Recurrent layers: Elman networks, LSTM and GRU over sequences, and their single steps."""

from __future__ import annotations

import math
import numbers
import warnings

from ... import Tensor, empty, zeros
from .. import functional as F
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from ._rnn_forward import run_layers, unpacked_steps
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """`tensor` with the entries along `dim` in the order of `permutation`. Deprecated: use index_select."""
    warnings.warn(
        "apply_permutation is deprecated, please use tensor.index_select(dim, permutation) instead",
        FutureWarning,
        stacklevel=2,
    )
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """What RNN, LSTM and GRU share: the parameters of every layer and direction, the checks and the run."""

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, "
                f"got {dropout!r}"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
                stacklevel=2,
            )
        for name, given in (("bias", bias), ("batch_first", batch_first)):
            if not isinstance(given, bool):
                raise TypeError(f"{name} should be of type bool, got: {type(given).__name__}")
        for name, given in (("input_size", input_size), ("hidden_size", hidden_size)):
            if not isinstance(given, int):
                raise TypeError(f"{name} should be of type int, got: {type(given).__name__}")
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)

        directions = 2 if bidirectional else 1
        gate_size = _GATES[mode] * hidden_size
        output_size = proj_size if proj_size > 0 else hidden_size
        factory = {"device": device, "dtype": dtype}
        self._flat_weights_names = []
        self._all_weights = []
        for layer in range(num_layers):
            for direction in range(directions):
                layer_input = input_size if layer == 0 else output_size * directions
                shapes: dict[str, tuple[int, ...]] = {
                    "weight_ih": (gate_size, layer_input),
                    "weight_hh": (gate_size, output_size),
                }
                if bias:
                    shapes |= {"bias_ih": (gate_size,), "bias_hh": (gate_size,)}
                if proj_size > 0:
                    shapes |= {"weight_hr": (proj_size, hidden_size)}
                suffix = f"_l{layer}" + ("_reverse" if direction == 1 else "")
                names = []
                for name, shape in shapes.items():
                    setattr(self, name + suffix, Parameter(empty(shape, **factory)))
                    names.append(name + suffix)
                self._flat_weights_names.extend(names)
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _flat_weights(self) -> list[Tensor]:
        """The weights in order, as they are now."""
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing here: weights are used where they lie."""

    def reset_parameters(self) -> None:
        """Draw new parameters, uniformly from ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise when the input's dtype, dimensions or features do not suit the layer."""
        weight = getattr(self, self._flat_weights_names[0])
        if input.dtype != weight.dtype:
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype})")
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the hidden state for this input."""
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return layers, batch, self.proj_size if self.proj_size > 0 else self.hidden_size

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the cell state for this input."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, batch, self.hidden_size

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise RuntimeError when a state has another shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden, batch_sizes: Tensor | None) -> None:
        """Raise when the input or the state does not suit the layer."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx, permutation: Tensor | None):
        """The state with its batch in the order of `permutation`."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def _states(self, hx) -> tuple[Tensor, ...]:
        return (hx,)

    def _hidden(self, states: tuple[Tensor, ...]):
        return states[0]

    def forward(self, input, hx=None):
        """`input` is (L, N, input_size), with `batch_first` (N, L, input_size), (L, input_size), or packed.

        Returns the outputs of the last layer and the last state of every layer and direction.
        """
        packed = isinstance(input, PackedSequence)
        batch_sizes = sorted_indices = unsorted_indices = None
        batched = True
        if packed:
            input, batch_sizes, sorted_indices, unsorted_indices = input
        else:
            if input.dim() not in (2, 3):
                raise ValueError(
                    f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D tensor instead"
                )
            batched = input.dim() == 3
            if not batched:
                input = input.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            states = self._zero_states(input, batch_sizes)
        else:
            hx = self._checked_state(hx, batched)
            hx = self.permute_hidden(hx, sorted_indices)
            states = self._states(hx)
        self.check_forward_args(input, self._hidden(states), batch_sizes)

        if packed:
            steps = unpacked_steps(input, batch_sizes)
        else:
            steps = (input.transpose(0, 1) if self.batch_first else input).unbind(0)
        output_steps, states = run_layers(self, steps, states)
        hidden = self._hidden(states)
        if packed:
            output = _cat(output_steps)
            packed_output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            return packed_output, self.permute_hidden(hidden, unsorted_indices)
        output = _stack(output_steps, 1 if self.batch_first else 0)
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            hidden = self._hidden(tuple(state.squeeze(1) for state in states))
        return output, hidden

    def _zero_states(self, input, batch_sizes) -> tuple[Tensor, ...]:
        shape = self.get_expected_hidden_size(input, batch_sizes)
        return (zeros(shape, dtype=input.dtype, device=input.device),)

    def _checked_state(self, hx, batched: bool):
        if batched:
            if hx.dim() != 3:
                raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")
            return hx
        if hx.dim() != 2:
            raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")
        return hx.unsqueeze(1)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("proj_size", 0)
        self.__dict__.pop("_flat_weights", None)
        if "all_weights" in state:
            self._all_weights = state["all_weights"]
            self.__dict__.pop("all_weights", None)
        if "_flat_weights_names" not in state:
            self._flat_weights_names = [name for names in self._all_weights for name in names]


def _stack(steps, dim: int) -> Tensor:
    from ... import stack

    return stack(steps, dim)


def _cat(steps) -> Tensor:
    from ... import cat

    return cat(steps)


class RNN(RNNBase):
    """The Elman network h' = tanh(W_ih x + b_ih + W_hh h + b_hh) over a sequence; `nonlinearity` may be "relu".

    Arguments: input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None.

    >>> RNN(3, 4)(flambeau.zeros(5, 2, 3))[0].shape
    torch.Size([5, 2, 4])
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        modes = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
        if self.nonlinearity not in modes:
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(modes[self.nonlinearity], *args, **kwargs)


class LSTM(RNNBase):
    """The long short-term memory over a sequence; the state is a pair (hidden, cell).

    Arguments: input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    proj_size=0, device=None, dtype=None. `proj_size` projects the hidden state to that size.

    >>> output, (hidden, cell) = LSTM(3, 4)(flambeau.zeros(5, 2, 3)); output.shape
    torch.Size([5, 2, 4])
    """

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def check_forward_args(self, input: Tensor, hidden, batch_sizes: Tensor | None) -> None:
        """Raise when the input or the states do not suit the layer."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx, permutation: Tensor | None):
        """The states with their batch in the order of `permutation`."""
        return hx if permutation is None else tuple(state.index_select(1, permutation) for state in hx)

    def _states(self, hx) -> tuple[Tensor, ...]:
        return tuple(hx)

    def _hidden(self, states):
        return tuple(states)

    def _zero_states(self, input, batch_sizes) -> tuple[Tensor, ...]:
        options = {"dtype": input.dtype, "device": input.device}
        return (
            zeros(self.get_expected_hidden_size(input, batch_sizes), **options),
            zeros(self.get_expected_cell_size(input, batch_sizes), **options),
        )

    def _checked_state(self, hx, batched: bool):
        dims = 3 if batched else 2
        if hx[0].dim() != dims or hx[1].dim() != dims:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {dims}-D but got ({hx[0].dim()}-D, "
                f"{hx[1].dim()}-D) tensors"
            )
        return hx if batched else tuple(state.unsqueeze(1) for state in hx)


class GRU(RNNBase):
    """The gated recurrent unit over a sequence.

    Arguments: input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    device=None, dtype=None.

    >>> GRU(3, 4)(flambeau.zeros(5, 2, 3))[1].shape
    torch.Size([1, 2, 4])
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What the single steps share: the weights."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device=None, dtype=None) -> None:
        factory = {"device": device, "dtype": dtype}
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.weight_ih = Parameter(empty((num_chunks * hidden_size, input_size), **factory))
        self.weight_hh = Parameter(empty((num_chunks * hidden_size, hidden_size), **factory))
        if bias:
            self.bias_ih = Parameter(empty(num_chunks * hidden_size, **factory))
            self.bias_hh = Parameter(empty(num_chunks * hidden_size, **factory))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def reset_parameters(self) -> None:
        """Draw new parameters, uniformly from ±1/sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check(self, input: Tensor, states: tuple[Tensor, ...] | None) -> bool:
        """Raise when shapes do not suit the cell; say whether the input is batched."""
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for state in states or ():
            if state.dim() not in (1, 2):
                raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {state.dim()}D instead")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"{name}: input has {input.size(-1)} features, expected input_size={self.input_size}")
        for state in states or ():
            if state.size(-1) != self.hidden_size or (
                state.dim() == 2 and input.dim() == 2 and state.size(0) != input.size(0)
            ):
                raise RuntimeError(
                    f"{name}: a hidden state of shape {tuple(state.shape)} does not suit the input "
                    f"{tuple(input.shape)} and hidden_size={self.hidden_size}"
                )
        return input.dim() == 2

    def _start(self, input: Tensor) -> Tensor:
        return zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)


class RNNCell(RNNCellBase):
    """One step of an RNN: h' = tanh(W_ih x + b_ih + W_hh h + b_hh)."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        from ._rnn_forward import rnn_step

        batched = self._check(input, None if hx is None else (hx,))
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        if not batched:
            input = input.unsqueeze(0)
            hx = hx.unsqueeze(0) if hx is not None else None
        hx = self._start(input) if hx is None else hx
        gates = F.linear(input, self.weight_ih, self.bias_ih)
        result = rnn_step(gates, hx, self.weight_hh, self.bias_hh, self.nonlinearity)
        return result if batched else result.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of an LSTM: from (hidden, cell) to the next (hidden, cell)."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        from ._rnn_forward import lstm_step

        batched = self._check(input, hx)
        if not batched:
            input = input.unsqueeze(0)
            hx = tuple(state.unsqueeze(0) for state in hx) if hx is not None else None
        hidden, cell = (self._start(input), self._start(input)) if hx is None else hx
        gates = F.linear(input, self.weight_ih, self.bias_ih)
        hidden, cell = lstm_step(gates, hidden, cell, self.weight_hh, self.bias_hh, None)
        return (hidden, cell) if batched else (hidden.squeeze(0), cell.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a GRU."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device=None, dtype=None) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        from ._rnn_forward import gru_step

        batched = self._check(input, None if hx is None else (hx,))
        if not batched:
            input = input.unsqueeze(0)
            hx = hx.unsqueeze(0) if hx is not None else None
        hx = self._start(input) if hx is None else hx
        gates = F.linear(input, self.weight_ih, self.bias_ih)
        result = gru_step(gates, hx, self.weight_hh, self.bias_hh)
        return result if batched else result.squeeze(0)
