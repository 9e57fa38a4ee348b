"""What the work to be done needs of a model, and how the needs of several pieces of work combine.

Plain records that a caller hands to ``reconciliation.py``: flags are or-ed, floors take the larger number, sets are
united, and each need remembers who has it. Whoever runs tasks makes these; the model plane doesn't know tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from msgspec import Meta

from synapse_models.dialect import InputKind
from synapse_models.parts import InputModality, Record


class TaskRequirements(Record, frozen=True, forbid_unknown_fields=True):
    """The needs of one piece of work.

    ``input`` is the kind of input it sends. A positive ``min_top_logprobs`` implies log-probabilities of the
    generated tokens.
    """

    input: InputKind | None = None
    input_modalities: frozenset[InputModality] = frozenset({"text"})
    input_scoring: bool = False
    sampled_logprobs: bool = False
    min_top_logprobs: Annotated[int, Meta(ge=1)] | None = None


class Need(Record, frozen=True):
    """One combined need of a capability: its floors, and the names of who has it, sorted."""

    capability: str
    sources: tuple[str, ...]
    minimum: int | None = None
    modalities: tuple[InputModality, ...] = ()


class AggregatedRequirements(Record, frozen=True):
    """The needs of several pieces of work, combined.

    ``inputs`` maps each kind of input to who sends it; every one must be expressible. ``needs`` is by capability.
    """

    inputs: Mapping[InputKind, tuple[str, ...]] = {}
    needs: Mapping[str, Need] = {}


def aggregate(tasks: Mapping[str, TaskRequirements]) -> AggregatedRequirements:
    """Combine the needs of ``tasks``, by name. The order of the mapping makes no difference."""
    inputs: dict[InputKind, tuple[str, ...]] = {}
    scoring, sampled, top, modal = [], [], [], []
    floor = 0
    modalities: set[InputModality] = set()
    for name in sorted(tasks):
        task = tasks[name]
        if task.input is not None:
            inputs[task.input] = (*inputs.get(task.input, ()), name)
        if task.input_scoring:
            scoring.append(name)
        if task.sampled_logprobs or task.min_top_logprobs is not None:
            sampled.append(name)
        if task.min_top_logprobs is not None:
            top.append(name)
            floor = max(floor, task.min_top_logprobs)
        beside_text = task.input_modalities - {"text"}
        if beside_text:
            modal.append(name)
            modalities |= beside_text
    needs = (
        _need("input_scoring", scoring),
        _need("sampled_logprobs", sampled),
        _need("top_logprobs", top, minimum=floor),
        _need("multimodal_input", modal, modalities=modalities),
    )
    return AggregatedRequirements(
        inputs=dict(sorted(inputs.items())), needs={need.capability: need for need in needs if need is not None}
    )


def _need(
    capability: str, sources: list[str], *, minimum: int | None = None, modalities: Iterable[InputModality] = ()
) -> Need | None:
    if not sources:
        return None
    return Need(capability=capability, sources=tuple(sources), minimum=minimum, modalities=tuple(sorted(modalities)))
