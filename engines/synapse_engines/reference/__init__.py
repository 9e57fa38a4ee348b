"""The reference: every family computed in NumPy float32, one row at a time, as plainly as it can be written.

It is the yardstick: probes compare a lane with it, self-tests take their values from it, tests hold it
against transformers. It shares no arithmetic with the engines, so that an error in one does not hide in the
other. Built in a worker process or a test; touches nothing but the arrays that it is given.
"""

from __future__ import annotations

from synapse_engines.reference.model import ReferenceModel, build
from synapse_engines.reference.scoring import ReferenceScorer, build_scorer

__all__ = ["ReferenceModel", "ReferenceScorer", "build", "build_scorer"]
