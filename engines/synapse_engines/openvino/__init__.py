"""The model families on OpenVINO, the engine of CPU lanes.

`build` and `build_scorer` are called by the worker. Importing this package imports neither OpenVINO nor NumPy, and
`build.ENGINE_BUILD` can be read where neither is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

# Loading the submodule binds the name `build` in this package to it; the function below then takes the name.
# Loaded any later, the submodule would take it back.
from synapse_engines.openvino.build import ENGINE_BUILD

if TYPE_CHECKING:
    from pathlib import Path

    from synapse_engines.backend import EmbedSpec, ScoreSpec
    from synapse_engines.families.base import Family, FamilyConfig
    from synapse_engines.families.heads import ScoringHead
    from synapse_engines.openvino.model import OpenVinoModel
    from synapse_engines.scoring import HeadScorer


def build(path: Path, family: Family, cfg: FamilyConfig, spec: EmbedSpec, threads: int) -> OpenVinoModel:
    """Loads the model file at `path` onto the processor, computing in float32 on up to `threads` cores.

    The file stays mapped until the model is closed.

    Raises:
        ArtifactError: the file is damaged or is not this model, or the family has no graph here.
        EngineMismatch: the library is not the release, or does not run with the properties, that `build.py`
            declares.
        OSError: the file cannot be read.
    """
    from synapse_engines.openvino.model import load

    return load(path, family, cfg, spec, threads)


def build_scorer(
    path: Path, family: Family, cfg: FamilyConfig, head: ScoringHead, spec: ScoreSpec, threads: int
) -> HeadScorer:
    """As `build`, for a model that scores with `head`, whose tensors the file must hold too."""
    from synapse_engines.openvino.scoring import load

    return load(path, family, cfg, head, spec, threads)


__all__ = ["ENGINE_BUILD", "build", "build_scorer"]
