"""Rows of several lengths in one inference: joined for the layers that see single tokens, apart for attention.

`pack` lays rows out on the side of NumPy, `Packing` reads that layout inside a graph. Two forms of the same states:

* tokens [T, ...]: the tokens of all rows, end to end, and nothing else. Nearly all of the work is done on them.
* frames [B, W, ...]: a row each, W the frame's width of all of them. The places behind a row's end repeat its last
  token; keys there are masked, results there are dropped. They repeat a token of their own row, because what is not
  a number stays so under a mask: a row that breaks must not break its mates.

Called by `model` and by the families' graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from synapse_engines.families.base import Pooling
from synapse_engines.openvino.batching import frame_width
from synapse_engines.openvino.graph import allowed_or_forbidden, counting, scalar, size, whole
from synapse_engines.openvino.runtime import ops, ov

if TYPE_CHECKING:
    from synapse_engines.backend import Ids


class Layout(NamedTuple):
    """Where the tokens of rows lie; int32 throughout. It follows from the rows' lengths alone.

    Attributes:
        lengths: [B], tokens of each row.
        places: [B, W], where among the T tokens the token of each place of a frame is.
        slots: [T], where among the B * W places of all frames each token is.
    """

    lengths: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]
    slots: npt.NDArray[np.int32]


class PackedRows(NamedTuple):
    """Rows laid out for one inference: the graph's inputs, in its order.

    Attributes:
        ids: [T], int32, the rows end to end.
        layout: where they lie.
    """

    ids: npt.NDArray[np.int32]
    layout: Layout


def pack(rows: Sequence[Ids]) -> PackedRows:
    """Lays out rows of at least one token whose frames have one width."""
    lengths = [row.size for row in rows]
    width = frame_width(lengths[0])
    layout = _layout_of_one(lengths[0], width) if len(lengths) == 1 else _layout(lengths, width)
    return PackedRows(np.concatenate(rows, dtype=np.int32), layout)


def _layout(row_lengths: Sequence[int], width: int) -> Layout:
    lengths = np.array(row_lengths, np.int32)
    columns = np.arange(width, dtype=np.int32)
    ends = np.cumsum(lengths, dtype=np.int32)
    places = np.minimum((ends - lengths)[:, None] + columns, ends[:, None] - 1)
    slots = np.flatnonzero(columns < lengths[:, None]).astype(np.int32)
    return Layout(lengths, places, slots)


@lru_cache(maxsize=64)
def _layout_of_one(length: int, width: int) -> Layout:
    """Kept, because for a query of a dozen tokens this is a thirtieth of the work."""
    return _layout([length], width)


class Packing:
    """The layout of packed rows as a graph sees it, and which states make a row's vector.

    Attributes:
        parameters: the graph's inputs, see `PackedRows`.
        ids: [T].
        width: W, a list of one integer.
        real: [B, W], whether a place of a frame holds a token of its own.
        mask: the additive mask [B, 1, 1, W] over keys: 0 for tokens, forbidden behind a row's end. Attention must
            never go without it, even where it forbids nothing. Without a mask whose shape depends on the input,
            OpenVINO 2025.4 to 2026.4 compiles attention that stays wrong for ever, and silently, once the first
            inference has had a length of one.
    """

    def __init__(self, pooling: Pooling) -> None:
        self._pooling = pooling
        self.parameters = [
            ops.parameter(ov.PartialShape([-1] * dimensions), ov.Type.i32, name)
            for name, dimensions in (("ids", 1), ("lengths", 1), ("places", 2), ("slots", 1))
        ]
        self.ids, lengths, self._places, self._slots = self.parameters
        self.width = size(self._places, 1)
        self._lengths = ops.unsqueeze(lengths, whole(1))
        self.real = ops.less(ops.convert(counting(scalar(self.width)), "i32"), self._lengths)
        self.mask = ops.unsqueeze(allowed_or_forbidden(self.real), whole([1, 2]))

    def positions(self) -> ov.Node:
        """How far behind the start of its row each token is, [T]."""
        return ops.mod(self._slots, ops.convert(scalar(self.width), "i32"))

    def frames(self, tokens: ov.Node) -> ov.Node:
        """States of tokens [T, n] as frames [B, W, n]."""
        return ops.gather(tokens, self._places, whole(0))

    def tokens(self, frames: ov.Node, width: int) -> ov.Node:
        """States of frames [B, W, width] as tokens [T, width]."""
        return ops.gather(ops.reshape(frames, whole([-1, width]), False), self._slots, whole(0))

    def read(self, states: ov.Node) -> ov.Node:
        """Of the states of tokens [T, n] those that pooling reads: one a row, [B, n], or all of them for a mean.

        Behind the last layer's attention no token looks at another, so what isn't read needn't be computed.
        """
        match self._pooling:
            case "mean":
                return states
            case "cls":
                return ops.gather(states, ops.gather(self._places, whole(0), whole(1)), whole(0))
            case "last":
                return ops.gather(states, ops.gather(self._places, whole(-1), whole(1)), whole(0))

    def pooled(self, states: ov.Node) -> ov.Node:
        """One vector a row, [B, hidden], of the hidden states that `read` left."""
        if self._pooling != "mean":
            return states
        real = ops.unsqueeze(ops.convert(self.real, "f32"), whole(2))
        total = ops.reduce_sum(ops.multiply(self.frames(states), real), whole([1]), False)
        return ops.divide(total, ops.convert(self._lengths, "f32"))
