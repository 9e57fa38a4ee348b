"""Running a probe through the product, as an app would: a file of models, a session, a request."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from live import evidence
from live.probes import MODELS, PROFILES, REQUESTED, Probe
from live.recorder import Recorder
from synapse_models.credentials import EnvironmentResolver
from synapse_models.declaration import read_declarations
from synapse_models.deployment import ServingFacts
from synapse_models.errors import ModelError, OutputContractViolation
from synapse_models.profiles.loading import read_profiles
from synapse_models.response import Response
from synapse_models.session import ModelSession

_MODEL_NAMED: Final = re.compile(rb'"model": *"([^"]*)"')
"""A reply's own word for the model, whatever a dialect makes of the reply."""


def session(origin: str, key: str, *, engine: str = "llama_cpp", facts: ServingFacts | None = None) -> ModelSession:
    """The models of the probes at a server, whoever it is."""
    declared = read_declarations(MODELS.format(model=REQUESTED, origin=origin, engine=engine))
    return ModelSession(
        declared,
        read_profiles(PROFILES, "user"),
        resolver=EnvironmentResolver({"LIVE_KEY": key}),
        facts={} if facts is None else {"chat": facts},
    )


async def outcome(probe: Probe, models: ModelSession) -> Response | ModelError:
    """What comes of a probe."""
    try:
        return await models.models[probe.model].arun(probe.request)
    except ModelError as error:
        return error


def told(found: Response | ModelError) -> Mapping[str, Any]:
    """An outcome as JSON has it. A provenance names the address that was called, so only what doesn't is kept."""
    told: dict[str, Any]
    if isinstance(found, ModelError):
        told = {"error": found.code, "message": found.message, "excerpt": found.excerpt, "attempts": found.attempts}
        if isinstance(found, OutputContractViolation):
            told["channels"] = found.channels
    else:
        assert found.provenance is not None
        names = ("dialect_id", "wire_version", "auth_scheme", "engine_id", "model_identity", "attempts")
        told = {
            "response": msgspec.structs.replace(found, provenance=None),
            "provenance": {name: getattr(found.provenance, name) for name in names},
        }
    return msgspec.json.decode(msgspec.json.encode(told), type=dict[str, Any])


def today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def evidence_of(
    probe: Probe,
    models: ModelSession,
    found: Response | ModelError,
    recorder: Recorder,
    *,
    server: evidence.Server,
    standing: Literal["live", "wire_shape"],
    rerun: str,
) -> evidence.Evidence:
    """The record of a probe that was run through a recorder."""
    plan = models.models[probe.model].plan
    received = b"".join(piece for one in recorder.exchanges for piece in one.received)
    named = _MODEL_NAMED.search(received)
    return evidence.Evidence(
        record_version=evidence.RECORD_VERSION,
        probe=probe.name,
        shows=probe.shows,
        rerun=rerun,
        standing=standing,
        case=probe.case,
        date=today(),
        dialect=plan.dialect_id,
        wire_version=plan.wire_version,
        stream=probe.request.scheduling.stream,
        requested_model=REQUESTED,
        reported_model=named[1].decode() if named is not None else None,
        server=server,
        proxy="a recording proxy on loopback, which changes nothing",
        exchanges=tuple(
            evidence.Exchange(sent=evidence.written(one.sent), received=evidence.written(one.received))
            for one in recorder.exchanges
        ),
        outcome=told(found),
    )


def fault(probe: Probe, found: Response | ModelError) -> str | None:
    """What is wrong with an outcome, None when it is what the probe expects."""
    if isinstance(probe.expects, str):
        return None if isinstance(found, ModelError) and found.code == probe.expects else f"{found!r}"
    return f"{found!r}" if isinstance(found, ModelError) else probe.expects(found)
