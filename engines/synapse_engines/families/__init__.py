"""The model families: what their configuration means and which tensors they are made of.

Called by the loaders of weights, by every engine and by the service's checks before a load. Nothing here
computes with arrays, so that the service process can read a model's facts without an array library.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from synapse_engines.errors import ArtifactError
from synapse_engines.families import bert, modernbert, qwen3
from synapse_engines.families.base import Family, FamilyConfig, Pooling, TensorShape
from synapse_engines.families.heads import ClassifierHead, ScoringHead, VocabularyHead

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {family.name: family for family in (bert.FAMILY, modernbert.FAMILY, qwen3.FAMILY)}
)
"""Every family that we compute, by the `model_type` that its configuration files carry."""


def family_for(config: Mapping[str, object]) -> Family:
    """The family that a model's `config.json` names.

    Raises:
        ArtifactError: `bad_config` if no model type is named, `unsupported` if it is not one of ours.
    """
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        raise ArtifactError("bad_config", "the configuration names no model_type")
    family = FAMILIES.get(model_type)
    if family is None:
        known = ", ".join(FAMILIES)
        raise ArtifactError("unsupported", f"model type {model_type!r} is not one of {known}")
    return family


__all__ = [
    "FAMILIES",
    "ClassifierHead",
    "Family",
    "FamilyConfig",
    "Pooling",
    "ScoringHead",
    "TensorShape",
    "VocabularyHead",
    "family_for",
]
