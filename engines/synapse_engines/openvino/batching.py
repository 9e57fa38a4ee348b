"""Which rows share an inference.

Rows run at their exact length, and only rows of one length run together. Padding would waste most of the work
on short texts, and it would change last bits: without it a row's vector is the same to the bit whatever its
mates, provided that the library computes each row of a batch as it computes a single one. `rows_may_share` says
for which models that holds. Called by `model`; plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from synapse_engines.families.base import FamilyConfig
from synapse_engines.families.bert import BertConfig
from synapse_engines.families.qwen3 import Qwen3Config

TOKEN_BUDGET = 512
"""Tokens of one inference, unless a single row is longer: enough to keep the processor's multipliers busy, few
enough to report progress often."""


PROVEN_BERT_HIDDEN = 384
"""Widest BERT whose batches were found equal to singles at every length and batch size tried."""


def rows_may_share(cfg: FamilyConfig) -> bool:
    """Whether rows of one length may run together without moving a bit.

    OpenVINO joins an activation with the matrix product before it, and for wide products of more than some eighty
    tokens then takes another kernel, with other last bits: at 1024 wide a row of Qwen3 moves by up to 4e-6 with its
    mates, and BERT does so at 768. ModernBERT at 768, and BERT up to 384, were bit-equal at all lengths and batch
    sizes tried. Where it doesn't hold, rows run one by one.
    """
    if isinstance(cfg, BertConfig):
        return cfg.hidden <= PROVEN_BERT_HIDDEN
    return not isinstance(cfg, Qwen3Config)


def plan(lengths: Sequence[int], *, share: bool) -> Iterator[list[int]]:
    """Groups rows of `lengths` by exact length, at most TOKEN_BUDGET tokens or one row at a time.

    Args:
        lengths: tokens of each row, at least 1.
        share: whether several rows may run together at all.

    Yields:
        Indices into `lengths`; each index once, short rows first.
    """
    by_length: dict[int, list[int]] = {}
    for row, length in enumerate(lengths):
        by_length.setdefault(length, []).append(row)
    for length, rows in sorted(by_length.items()):
        size = max(1, TOKEN_BUDGET // length) if share else 1
        for start in range(0, len(rows), size):
            yield rows[start : start + size]
