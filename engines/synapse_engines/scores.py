"""Scores of some rows, together with the logits that they were read off.

Made by the engines, taken apart by the worker. Needs NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synapse_engines.readout import Readout


@dataclass(frozen=True, slots=True)
class Scores:
    """What a model makes of some rows.

    Attributes:
        values: one score a row, shape [rows].
        logits: what they were read off, shape [rows, readout.width], in the order of the read-out.
    """

    values: npt.NDArray[np.float32]
    logits: npt.NDArray[np.float32]

    @classmethod
    def read_off(cls, logits: npt.NDArray[np.float32], readout: Readout) -> Scores:
        """The scores of logits [rows, readout.width]; worked out in float64 and rounded once."""
        values = [readout.score(row) for row in logits.tolist()]
        return cls(np.array(values, np.float32), logits)
