"""The evidence that is kept: it is complete, holds no secret, and the product still makes of it what it made then."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

import msgspec
import pytest

from live.evidence import FOLDER, RECORD_VERSION, Evidence, body_of, load, load_facts, read_back
from live.probes import LIVE, REQUESTED, SCORING, Probe
from live.replay import Replay
from live.sessions import fault, outcome, session, told
from live.shapes import SHAPES
from synapse_models.deployment import Deployment, ServingFacts
from synapse_models.engine_facts import ENGINES
from synapse_models.errors import RequestRejected
from synapse_models.parts import JSONValue
from synapse_models.registry import DIALECT_BINDERS

EVIDENCE = {(one.server.engine, one.probe): one for one in load()}
PROBES: dict[tuple[str, str], Probe] = {
    **{("llama_cpp", probe.name): probe for probe in LIVE},
    **{(engine, probe.name): probe for engine in ("sglang", "vllm") for probe in SCORING},
}
UNSENT = {("sglang", "scores_none_generated")}
"""Refused before anything is sent, so there is nothing to keep."""


def names(keys: Iterable[tuple[str, str]]) -> list[str]:
    return ["-".join(key) for key in keys]


def test_every_probe_has_its_evidence_and_every_record_its_probe() -> None:
    assert set(EVIDENCE) == set(PROBES) - UNSENT
    assert {(shape.engine, shape.probe) for shape in SHAPES} == {key for key in EVIDENCE if key[0] != "llama_cpp"}


@pytest.mark.parametrize("key", EVIDENCE, ids=names(EVIDENCE))
def test_a_record_says_who_answered_what_was_sent_and_how_to_see_it_again(key: tuple[str, str]) -> None:
    record = EVIDENCE[key]
    assert record.record_version == RECORD_VERSION
    datetime.date.fromisoformat(record.date)
    assert (record.shows, record.case) == (PROBES[key].shows, PROBES[key].case)
    assert (record.requested_model, record.wire_version) == (REQUESTED, "v1")
    assert record.stream is PROBES[key].request.scheduling.stream
    assert record.exchanges
    assert all(one.sent and one.received for one in record.exchanges)
    if record.standing == "live":
        assert (record.rerun, record.server.source) == ("make live", None)
        assert record.server.package is not None
        assert record.server.package.startswith("xllamacpp ")
        assert record.server.weights is not None
        assert record.server.cache is not None
        assert (record.reported_model is None) == ("error" in record.outcome and b"200 OK" not in head_of(record))
        assert record.reported_model != REQUESTED
    else:
        # What no machine here can run is marked as such: it names its source, and claims no server.
        assert record.server.source is not None
        assert (record.server.version, record.server.package, record.server.weights) == (None, None, None)


def head_of(record: Evidence) -> bytes:
    return read_back(record.exchanges[0].received)[0]


def test_each_executable_dialect_was_seen_to_work_and_to_lack_something_whole_and_streamed() -> None:
    live = [record for record in EVIDENCE.values() if record.standing == "live"]
    seen = {(record.dialect, record.case, record.stream) for record in live}
    assert seen == {
        (dialect, case, stream) for dialect in DIALECT_BINDERS for case in ("support", "absence") for stream in (0, 1)
    }


def test_no_record_holds_a_secret_or_a_place_on_a_machine() -> None:
    for path in FOLDER.rglob("*.json"):
        text = path.read_text()
        assert "key-of-the-probes" not in text
        assert not any(place in text for place in ("/tmp", "/home", "/work", "/root", "site-packages"))
        assert ("uthorization: Bearer [redacted]" in text) == ("uthorization" in text)


@pytest.mark.parametrize("key", EVIDENCE, ids=names(EVIDENCE))
async def test_a_replay_sends_the_same_body_and_comes_to_the_same_outcome(key: tuple[str, str]) -> None:
    record, probe = EVIDENCE[key], PROBES[key]
    async with (
        Replay([read_back(one.received) for one in record.exchanges]) as server,
        session(server.origin, "another-key", engine=record.server.engine) as models,
    ):
        found = await outcome(probe, models)
    assert fault(probe, found) is None
    assert told(found) == record.outcome
    sent = [b"".join(read_back(one.sent)) for one in record.exchanges]
    assert len(server.seen) == len(sent)
    for ours, theirs in zip(server.seen, sent, strict=True):
        assert ours.partition(b"\r\n")[0] == theirs.partition(b"\r\n")[0]
        assert msgspec.json.decode(body_of(ours)) == msgspec.json.decode(body_of(theirs))


async def test_what_a_server_said_of_itself_is_read_as_it_was() -> None:
    (found,) = load_facts()
    assert (found.engine, found.path, found.rerun) == ("llama_cpp", "/props", "make live")
    assert found.package == EVIDENCE["llama_cpp", "chat_text"].server.package

    async def fetch(path: str) -> JSONValue | None:
        return found.reply if path == found.path else None

    deployment = Deployment(engine_id=found.engine, engine_source="config", api_base="http://127.0.0.1/v1")
    facts = await ENGINES[found.engine].verify_deployment(deployment, fetch)
    assert facts == msgspec.convert(found.facts, type=ServingFacts)
    assert facts.tokenizer_available is True


async def test_what_an_engine_is_known_to_refuse_isn_t_sent_to_it() -> None:
    async with Replay([]) as server, session(server.origin, "none", engine="sglang") as models:
        found = await outcome(SCORING[0], models)
    assert isinstance(found, RequestRejected)
    assert server.seen == []
