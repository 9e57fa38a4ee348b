"""What the two pauses take beyond types: bounds, words that say something, and exactly one end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from synapse_wire.errors import SynapseError
from synapse_wire.messages import decode_params
from synapse_wire.params import LanesPause, ServicePause


def field_refused(params: type[Any], **members: Any) -> str | None:
    """The field that a channel-level refusal names, or None when the parameters are accepted."""
    try:
        decode_params(json.dumps(members).encode(), params)
    except SynapseError as error:
        refused = (error.code, error.level, error.number) == ("invalid_request", "channel", -32602)
        return str((error.details or {})["field"]) if refused else f"another error: {error}"
    return None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, None),
        ({"duration_ms": 1}, None),
        ({"duration_ms": 7_200_000}, None),
        ({"duration_ms": 0}, "duration_ms"),
        ({"duration_ms": -1}, "duration_ms"),
        ({"duration_ms": 7_200_001}, "duration_ms"),
        ({"duration_ms": 1.5}, "duration_ms"),
        ({"reason": ""}, "reason"),
        ({"reason": " \u2003"}, "reason"),
        ({"reason": "a\nb"}, "reason"),
        ({"reason": "x" * 513}, "reason"),
        ({"scope": "metal"}, "scope"),
        ({"scope": "NEURAL_ENGINE"}, "scope"),
        ({"scope": None}, "scope"),
    ],
)
def test_a_lane_pause_has_a_scope_a_bounded_time_and_a_reason(changes: dict[str, Any], field: str | None) -> None:
    members = {"scope": "neural_engine", "duration_ms": 1000, "reason": "measuring"} | changes
    assert field_refused(LanesPause, **members) == field


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"duration_ms": 1, "reason": "a film"}, None),
        ({"duration_ms": 604_800_000, "reason": "a film"}, None),
        ({"duration_ms": 604_800_001, "reason": "a film"}, "duration_ms"),
        ({"duration_ms": 0, "reason": "a film"}, "duration_ms"),
        ({"until_resumed": True, "reason": "a film"}, None),
        ({"until_resumed": True, "duration_ms": None, "reason": "a film"}, None),
        ({"until_resumed": False, "duration_ms": 5, "reason": "a film"}, None),
        ({"until_resumed": True, "duration_ms": 5, "reason": "a film"}, "duration_ms"),
        ({"until_resumed": False, "reason": "a film"}, "duration_ms"),
        ({"reason": "a film"}, "duration_ms"),
        ({"until_resumed": True}, "reason"),
        ({"until_resumed": True, "reason": "  "}, "reason"),
        ({"until_resumed": "yes", "reason": "a film"}, "until_resumed"),
    ],
)
def test_a_pause_of_everything_has_exactly_one_end_and_a_reason(members: dict[str, Any], field: str | None) -> None:
    assert field_refused(ServicePause, **members) == field
