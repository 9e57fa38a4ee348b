"""Which rows share an inference.

Most of the work of a model is done token by token, and there rows of any length can be joined end to end. Attention
is the exception: it looks at a row as a whole, in a frame as wide as the row's length rounded up to `FRAME_STEP`.
Rows with frames of one width share an inference. The width depends on the row alone, so its vector is the same to
the bit whatever its mates, provided that the library computes each row of a batch as it computes a single one.
`rows_may_share` says for which models that holds. Called by `model` and `packing`; plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from synapse_engines.families.base import FamilyConfig
from synapse_engines.families.bert import BertConfig
from synapse_engines.families.qwen3 import Qwen3Config

TOKEN_BUDGET = 512
"""Tokens of one inference, unless a single row is longer: enough to keep the processor's multipliers busy."""

FRAME_STEP = 16
"""Frames are multiples of this: wide enough that rows find mates, narrow enough that the empty places in attention,
a tenth of the work, cost little."""

PROVEN_BERT_HIDDEN = 384
"""Widest BERT whose batches were found equal to singles at every length and batch size tried."""


def frame_width(length: int) -> int:
    """Tokens of the frame in which attention sees a row of `length` tokens, at least 1."""
    return -(-length // FRAME_STEP) * FRAME_STEP


def rows_may_share(cfg: FamilyConfig) -> bool:
    """Whether rows may run together without moving a bit.

    OpenVINO joins an activation with the matrix product before it, and for wide products of more than some eighty
    tokens then takes another kernel, with other last bits: at 1024 wide a row of Qwen3 moves by up to 4e-6 with its
    mates, and BERT does so at 768. ModernBERT at 768, and BERT up to 384, were bit-equal at all lengths and batch
    sizes tried. Where it doesn't hold, rows run one by one.
    """
    if isinstance(cfg, BertConfig):
        return cfg.hidden <= PROVEN_BERT_HIDDEN
    return not isinstance(cfg, Qwen3Config)


def plan(lengths: Sequence[int], *, share: bool) -> Iterator[list[int]]:
    """Groups rows of `lengths` by their frame, at most TOKEN_BUDGET tokens or one row at a time.

    Args:
        lengths: tokens of each row, at least 1.
        share: whether several rows may run together at all.

    Yields:
        Indices into `lengths`; each index once, short rows first.
    """
    group: list[int] = []
    tokens = 0
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        length = lengths[row]
        fits = group and tokens + length <= TOKEN_BUDGET and frame_width(lengths[group[0]]) == frame_width(length)
        if group and not (share and fits):
            yield group
            group, tokens = [], 0
        group.append(row)
        tokens += length
    if group:
        yield group
