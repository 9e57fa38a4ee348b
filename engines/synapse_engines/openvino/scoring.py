"""A model that scores on OpenVINO: the embedding graph up to the hidden state that the head reads, and the head.

Built by `load` for CPU lanes; one caller at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from synapse_engines import scoring
from synapse_engines.backend import ScoreSpec
from synapse_engines.families.base import Family, FamilyConfig
from synapse_engines.families.heads import ScoringHead
from synapse_engines.openvino import model
from synapse_engines.weights import Weights

if TYPE_CHECKING:
    from synapse_engines.backend import Embedder


def load(
    path: Path, family: Family, cfg: FamilyConfig, head: ScoringHead, spec: ScoreSpec, threads: int
) -> scoring.HeadScorer:
    """Checks and maps the model file at `path`, and compiles it.

    Raises:
        ArtifactError: the file is damaged, is not this model or lacks its head, or the family has no graph here.
        EngineMismatch: the library is not the release, or does not run with the properties, that were declared.
        OSError: the file cannot be read.
    """
    with Weights.open(path, family, cfg, head) as weights:
        head_pass = scoring.head_pass(weights, head)
    embedder: Embedder = model.load(path, family, cfg, scoring.trunk_spec(head, spec), threads)
    return scoring.HeadScorer(embedder, head_pass, head.readout)
