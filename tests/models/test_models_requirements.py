"""What several pieces of work need together, and the one spelling that fingerprints are made of."""

from __future__ import annotations

import pytest

from synapse_models.canonical import canonical_json, fingerprint
from synapse_models.requirements import AggregatedRequirements, Need, TaskRequirements, aggregate

TASKS = {
    "ppl": TaskRequirements(input="completion", input_scoring=True),
    "cm": TaskRequirements(input="completion", min_top_logprobs=20),
    "cn": TaskRequirements(min_top_logprobs=100),
    "vqa": TaskRequirements(input="chat", input_modalities=frozenset({"text", "image"})),
    "avqa": TaskRequirements(input="chat", input_modalities=frozenset({"audio", "image"})),
}


def test_flags_are_ored_floors_take_the_larger_number_and_sets_are_united() -> None:
    together = aggregate(TASKS)
    assert together.inputs == {"chat": ("avqa", "vqa"), "completion": ("cm", "ppl")}
    assert together.needs == {
        "input_scoring": Need(capability="input_scoring", sources=("ppl",)),
        "sampled_logprobs": Need(capability="sampled_logprobs", sources=("cm", "cn")),
        "top_logprobs": Need(capability="top_logprobs", sources=("cm", "cn"), minimum=100),
        "multimodal_input": Need(capability="multimodal_input", sources=("avqa", "vqa"), modalities=("audio", "image")),
    }


def test_the_order_of_the_tasks_makes_no_difference() -> None:
    backwards = dict(reversed(TASKS.items()))
    assert canonical_json(aggregate(backwards)) == canonical_json(aggregate(TASKS))


def test_no_work_needs_nothing() -> None:
    assert aggregate({}) == AggregatedRequirements()
    assert aggregate({"plain": TaskRequirements()}).needs == {}


def test_one_meaning_has_one_spelling() -> None:
    assert canonical_json({"b": frozenset({"y", "x"}), "a": 1.0}) == b'{"a":1,"b":["x","y"]}'
    assert fingerprint({"b": 1, "a": 2}) == fingerprint({"a": 2, "b": 1})
    assert fingerprint({"a": [1, 2]}) != fingerprint({"a": [2, 1]})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53])
def test_what_json_cannot_carry_exactly_has_no_fingerprint(value: float) -> None:
    with pytest.raises(ValueError):
        fingerprint({"a": value})
