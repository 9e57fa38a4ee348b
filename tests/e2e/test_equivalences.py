"""Equivalences in a real service: two lanes, declared and retracted while they serve, across a crash."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from fixtures.model_files import tiny_model
from fixtures.service_process import ServiceProcess, load_and_probe, running_service
from synapse_client import Client, SynapseError


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ServiceProcess]:
    environ = {"SYNAPSE_ALIAS_ADMINISTRATION": "true"}
    with running_service(tmp_path / "home", environ=environ, arguments=("--cpu-lanes",)) as service:
        yield service


def fingerprints(client: Client) -> dict[str, str]:
    return {row["model_id"]: row["fingerprint"] for row in client.call("models.list")["models"]}


def test_equivalents_serve_for_each_other_while_they_are_declared_and_across_a_crash(service: ServiceProcess) -> None:
    with service.client() as client:
        # The same weights under another envelope of lengths: another fingerprint, and the same vectors.
        load_and_probe(client, "short", tiny_model("bert"), max_tokens=96)
        load_and_probe(client, "long", tiny_model("bert"), max_tokens=128)
        short, long = (fingerprints(client)[name] for name in ("short", "long"))
        asked = {"model": "long", "text": "a", "required_fingerprint": short, "allow_equivalent": True}
        with pytest.raises(SynapseError, match="substitution_rejected"):
            client.call("embed.query", asked)
        pair = {"left": short, "right": long, "evidence": {"cosine": 1.0}}
        assert client.call("alias.declare", pair)["changed"] is True
        vector = client.call("embed.query", {"model": "short", "text": "a"})["vectors"]
        answer = client.call("embed.query", asked | {"required_epoch": 1})
        assert (answer["fingerprint"], answer["equivalent_to"], answer["table_epoch"]) == (long, [short], 1)
        assert answer["vectors"] == vector
    service.kill()
    service.start()
    with service.client() as client:
        answer = client.call("embed.query", asked)
        assert (answer["equivalent_to"], answer["table_epoch"]) == ([short], 1)
        assert client.call("alias.declare", pair) | {"module_generation": 0} == {
            "changed": False,
            "table_epoch": 1,
            "module_generation": 0,
        }
        outcomes, changes = _asked_while_the_table_changes(service, asked, pair)
        # Every answer is whole: served with the pair standing in the answer, or refused.
        assert outcomes == {"served", "substitution_rejected"}
        assert client.call("models.list")["table_epoch"] == 1 + changes


def _asked_while_the_table_changes(
    service: ServiceProcess, asked: dict[str, Any], pair: dict[str, Any]
) -> tuple[set[str], int]:
    """How queries ended while a pair came and went, and how often it did: twenty times or until both were seen."""
    outcomes: set[str] = set()
    stopped = False

    def ask() -> None:
        with service.client() as client:
            while not stopped:
                try:
                    answer = client.call("embed.query", asked)
                except SynapseError as error:
                    outcomes.add(error.code)
                else:
                    listed = answer["equivalent_to"] == [asked["required_fingerprint"]]
                    outcomes.add("served" if listed and answer["table_epoch"] % 2 else f"torn: {answer}")

    changes = 0
    with ThreadPoolExecutor() as pool, service.client() as client:
        asking = [pool.submit(ask) for _ in range(3)]
        try:
            while changes < 40 or (len(outcomes) < 2 and changes < 2000):
                for method in ("alias.retract", "alias.declare"):
                    assert client.call(method, pair)["changed"] is True
                    changes += 1
        finally:
            stopped = True
        for each in asking:
            each.result()
    return outcomes, changes
