"""LSTM and GRU for PyTorch, on packed batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from clattn import _arguments as arguments
from clattn import _autograd as autograd
from clattn import _packed as packed
from clattn import ops
from clattn._layers import Lengths, Tokens
from clattn.errors import ShapeError, UsageError
from clattn.tape import Out


class _Sequences:
    """A batch of torch.nn.utils.rnn as tokens, sequence by sequence, and back."""

    def __init__(self, x: PackedSequence) -> None:
        self.x = x
        sizes = x.batch_sizes
        steps, starts = len(sizes), sizes.cumsum(0) - sizes
        places = torch.arange(int(sizes[0]))[:, None]
        inside = places < sizes  # [B,T]
        self.lengths = tuple(inside.sum(1).tolist())
        self.order = (places + starts.expand(len(places), steps))[inside]
        self.values = x.data[self.order]

    def back(self, y: Any) -> Any:
        data = torch.empty_like(y).index_copy(0, self.order, y)
        return PackedSequence(
            data, self.x.batch_sizes, self.x.sorted_indices, self.x.unsorted_indices
        )

    def sorted(self, state: Any) -> Any:
        own = self.x.sorted_indices
        return state if own is None else state.index_select(1, own)

    def unsorted(self, state: Any) -> Any:
        own = self.x.unsorted_indices
        return state if own is None else state.index_select(1, own)


class _Padded:
    """A batch [N,in] or [B,T,in] with lengths."""

    def __init__(self, where: str, x: Any, lengths: Any, batch_first: bool) -> None:
        self.turned = x.dim() == 3 and not batch_first
        self.tokens = Tokens(
            where, "input", x.transpose(0, 1) if self.turned else x, lengths
        )
        self.lengths, self.values = self.tokens.lengths, self.tokens.values

    def back(self, y: Any) -> Any:
        y = self.tokens.back(y)
        return y.transpose(0, 1) if self.turned else y

    def sorted(self, state: Any) -> Any:
        return state

    unsorted = sorted


def _recur(
    where: str, x: Any, weights: dict[str, Any], h: Any, c: Any, rows: Any, back: bool
) -> Any:
    """y [N,n], and the final states [B,n]: h, and c where the cell has one."""
    given = {"x": x, **weights, "h0": h} | ({} if c is None else {"c0": c})
    states = ("h",) if c is None else ("h", "c")

    def call(tape: Any, t: Any, r: Any) -> Any:
        outs: dict[str, Any] = {name: Out() for name in states}
        first = {
            f"{name}0": one for name, one in zip(states, t[-len(states) :], strict=True)
        }
        operator: Any = ops.gru if c is None else ops.lstm
        given = t[: -len(states)]
        y = operator(tape, *given, r[0], reverse=back, **first, **outs)
        return y, *(outs[name].tensor for name in states)

    return autograd.run(where, call, given, {"lengths": rows})


class _Recurrent:
    """What LSTM and GRU share: batches, layers, directions."""

    def _run(self: Any, where: str, input: Any, hx: Any, lengths: Any) -> Any:
        """The result in the layout of input, and a list of final states."""
        if isinstance(input, PackedSequence):
            if lengths is not None:
                raise UsageError(f"{where}: lengths must be None: input has its own")
            autograd.floats(where, "input", input.data)
            batch: Any = _Sequences(input)
        else:
            autograd.floats(where, "input", input)
            batch = _Padded(where, input, lengths, self.batch_first)
        if batch.values.shape[1] != self.input_size:
            raise ShapeError(
                f"{where}: input has {batch.values.shape[1]} columns, must have"
                f" {self.input_size}"
            )
        directions = 2 if self.bidirectional else 1
        shape = self.num_layers * directions, len(batch.lengths), self.hidden_size
        kind = autograd.result_type([batch.values, *self.parameters()])
        alone = not isinstance(input, PackedSequence) and input.dim() == 2
        first = self._first(where, hx, shape, batch, alone and lengths is None)
        x, last = batch.values, []
        for layer in range(self.num_layers):
            both = []
            for way in range(directions):
                states = [s[layer * directions + way] for s in first]
                y, *ends = self._layer(layer, way, x, states, batch.lengths)
                both.append(y)
                last.append(ends)
            x = torch.cat(both, 1) if directions == 2 else both[0]
            if self.dropout and layer + 1 < self.num_layers:
                x = nn.functional.dropout(x, self.dropout, self.training)
        ends = [
            batch.unsorted(torch.stack(list(s))).to(kind)
            for s in zip(*last, strict=True)
        ]
        if alone and lengths is None:
            ends = [s.squeeze(1) for s in ends]
        return batch.back(x.to(kind)), ends

    def _first(
        self: Any, where: str, hx: Any, shape: Any, batch: Any, alone: bool
    ) -> Any:
        """The initial states, in the order of the batch."""
        names = self._states
        if hx is None:
            return [torch.zeros(shape) for _ in names]
        given = hx if isinstance(hx, tuple) else (hx,)
        if len(given) != len(names):
            raise UsageError(f"{where}: hx must be {names}")
        wanted = [shape[0], shape[2]] if alone else list(shape)
        for name, state in zip(names, given, strict=True):
            autograd.floats(where, name, state)
            if list(state.shape) != wanted:
                raise ShapeError(
                    f"{where}: {name} is {list(state.shape)}, must be {wanted}"
                )
        return [batch.sorted(s.view(shape)) for s in given]


class LSTM(_Recurrent, nn.LSTM):  # type: ignore[misc, name-defined, unused-ignore]
    """A drop-in for torch.nn.LSTM: its arguments, parameters and numbers.

    Call it with a PackedSequence or [T,B,in] ([B,T,in] with batch_first), as PyTorch's;
    or with packed tokens [N,in] and lengths, or a padded batch and lengths or a mask.
    proj_size is refused.
    """

    _states = ("h_0", "c_0")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.proj_size:
            raise UsageError(f"LSTM: proj_size is {self.proj_size}, must be 0")

    def forward(
        self,
        input: torch.Tensor | PackedSequence,
        hx: tuple[torch.Tensor, torch.Tensor] | None = None,
        lengths: Lengths | None = None,
    ) -> tuple[Any, tuple[torch.Tensor, torch.Tensor]]:
        y, (h, c) = self._run("LSTM", input, hx, lengths)
        return y, (h, c)

    def _layer(
        self, layer: int, way: int, x: Any, states: Sequence[Any], rows: Any
    ) -> Any:
        name = f"l{layer}{'_reverse' if way else ''}"
        own = [getattr(self, f"weight_{part}_{name}") for part in ("ih", "hh")]
        i, f, g, o = torch.cat(own, 1).chunk(4)
        bias = torch.zeros(4 * self.hidden_size)
        if self.bias:
            bias = sum(getattr(self, f"bias_{part}_{name}") for part in ("ih", "hh"))
        bi, bf, bg, bo = bias.chunk(4)
        weights = {
            "w": torch.cat([i, g, f, o]).T,
            "b": torch.cat([bi, bg, bf - 1, bo]),  # the operator's f has one more
        }
        h, c = states
        return _recur("LSTM", x, weights, h, c, rows, bool(way))


class GRU(_Recurrent, nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """A gated recurrent unit whose reset gate multiplies the state before the product.

      r, u = sigmoid([x[t], h'] w_g + b_g)
      h = u h' + (1 - u) tanh([x[t], r h'] w_c + b_c)

    The arguments and batches are those of LSTM. torch.nn.GRU has the gate after the
    product, so that weights of the one do not suit the other. Source: Cho et al. 2014.
    """

    _states = ("h_0",)
    input_size: int
    hidden_size: int
    num_layers: int

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__()
        sizes = {"input_size": input_size, "hidden_size": hidden_size}
        for name, size in (sizes | {"num_layers": num_layers}).items():
            if arguments.whole("GRU", name, size, "int") < 1:
                raise UsageError(f"GRU: {name} is {size}, must be 1 or more")
            setattr(self, name, size)
        self.bias = arguments.flag("GRU", "bias", bias)
        self.batch_first = arguments.flag("GRU", "batch_first", batch_first)
        self.bidirectional = arguments.flag("GRU", "bidirectional", bidirectional)
        self.dropout = packed.drop("GRU", "dropout", dropout)
        n, bound = self.hidden_size, 1 / math.sqrt(self.hidden_size)
        for layer in range(self.num_layers):
            wide = self.hidden_size * (2 if self.bidirectional else 1)
            rows = n + (wide if layer else self.input_size)
            for way in range(2 if self.bidirectional else 1):
                for part, columns in (("g", 2 * n), ("c", n)):
                    end = f"{part}_l{layer}{'_reverse' if way else ''}"
                    drawn = torch.empty(rows + 1, columns).uniform_(-bound, bound)
                    setattr(self, f"weight_{end}", nn.Parameter(drawn[:rows].clone()))
                    if self.bias:
                        setattr(self, f"bias_{end}", nn.Parameter(drawn[rows].clone()))

    def forward(
        self,
        input: torch.Tensor | PackedSequence,
        hx: torch.Tensor | None = None,
        lengths: Lengths | None = None,
    ) -> tuple[Any, torch.Tensor]:
        y, (h,) = self._run("GRU", input, hx, lengths)
        return y, h

    def _layer(
        self, layer: int, way: int, x: Any, states: Sequence[Any], rows: Any
    ) -> Any:
        end = f"l{layer}{'_reverse' if way else ''}"
        weights = {
            f"{kind[0]}_{part}": getattr(self, f"{kind}_{part}_{end}", None)
            for part in ("g", "c")
            for kind in ("weight", "bias")
        }
        return _recur("GRU", x, weights, states[0], None, rows, bool(way))

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}"
