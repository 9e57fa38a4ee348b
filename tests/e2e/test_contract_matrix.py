"""Every operation over a real socket: wrong parameters never reach it, right ones get what its page promises.

The values follow from the types in the registry, as in the tests of the parameters; here they go to a running service,
which afterwards has to be as it was before. Adding an operation or a member adds its cases.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import msgspec.inspect as mi
import pytest

import wire.test_params as cases
from fixtures.service_process import ServiceProcess, running_service
from synapse_wire.errors import ERRORS, MAX_MESSAGE_CHARS
from synapse_wire.operations import CONTRACT, OPERATIONS
from wire.contract_document import OperationText, parse
from wire.contract_drift import fields_of

DOCS = Path(__file__).parents[2] / "docs"
CONTRACT_PAGE = (DOCS / "wire-contract-v1.md").read_text(encoding="utf-8")
PAGES = [parse(CONTRACT_PAGE), parse((DOCS / "extensions.md").read_text(encoding="utf-8"))]
TEXTS: dict[str, OperationText] = {text.name: text for page in PAGES for text in page.operations}
INFERENCE = ("embed.query", "embed.batch", "rerank.score", "microllm.oneshot")
SERVED = [name for name, row in OPERATIONS.items() if row.served]
UNSERVED = [name for name, row in OPERATIONS.items() if not row.served]
CHUNK = 32
"""Requests at a time on one connection, which takes 64."""

LAST = ("service.pause", "service.resume", "lanes.pause", "lanes.resume", "storage.move", "storage.cancel")
"""Operations whose examples change what others answer, in an order that undoes it."""


def inference_refusals() -> frozenset[str]:
    section = CONTRACT_PAGE.partition("### Inference refusals")[2].partition("\n## ")[0]
    listed = section[section.index("Errors:") :].partition("\n\n")[0]
    return frozenset(re.findall(r"`([a-z_]+)`", listed))


def documented(name: str) -> frozenset[str]:
    """The codes that the page lists for an operation, and those that any request may get."""
    own = TEXTS[name].errors | {"invalid_request", "overloaded"}
    return own | inference_refusals() if name in INFERENCE else own


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with running_service(tmp_path_factory.mktemp("home"), arguments=("--cpu-lanes",)) as service:
        yield service


def send(service: ServiceProcess, name: str, values: list[Any]) -> list[dict[str, Any]]:
    """The replies to requests with these parameters, in their order; events are passed over."""
    replies: dict[int, dict[str, Any]] = {}
    for start in range(0, len(values), CHUNK):
        chunk = dict(enumerate(values[start : start + CHUNK], start))
        replies |= exchange(service, {at: (name, value) for at, value in chunk.items()})
    return [replies[at] for at in range(len(values))]


def exchange(service: ServiceProcess, requests: dict[int, tuple[str, Any]]) -> dict[int, dict[str, Any]]:
    """Send requests on one connection; the replies by id."""
    replies: dict[int, dict[str, Any]] = {}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(service.address)
        for at, (method, params) in requests.items():
            request = {"jsonrpc": "2.0", "id": at, "method": method, "params": params}
            connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile("rb") as reader:
            while len(replies) < len(requests):
                message = json.loads(reader.readline())
                if "id" in message:
                    replies[message["id"]] = message
    return replies


def wrong_values(name: str) -> Iterator[tuple[Any, str]]:
    """Parameters with one thing wrong, and the member that has to be named."""
    params = cases.SERVED[name]
    for field in fields_of(params):
        path, place = field.path, cases.shown(field.path)
        if field.required:
            yield cases._take(name, path), place
            yield cases._put(name, path, None), place
        for stranger in cases.STRANGERS[type(cases._type_of(name, path))]:
            yield cases._put(name, path, stranger), place
        if (name, path) not in cases.BEYOND_TYPES:
            for value in cases._bounds(name, path)[1]:
                yield cases._put(name, path, value), place
    if name not in cases.TOLERANT:
        for owner, prefix in cases._objects():
            if owner == name:
                example = cases._fresh(cases.EXAMPLES[name][0])
                holder, last = cases._holder(example, f"{prefix}surplus")
                holder[last] = 1
                yield example, cases.shown(f"{prefix}surplus")
    for value in ([], "a", 1, True):
        yield value, "params"


def state(service: ServiceProcess) -> dict[str, Any]:
    """What a request that never reached its operation leaves alone."""
    asked = {
        name: send(service, name, [{}])[0]["result"]
        for name in ("settings.get", "jobs.list", "downloads.list", "lanes.status", "models.list", "storage.status")
    }
    asked["storage.status"] = {key: value for key, value in asked["storage.status"].items() if "bytes" not in key}
    asked["generation"] = send(service, "service.info", [{}])[0]["result"]["module_generation"]
    return asked


@pytest.mark.parametrize("name", SERVED)
def test_wrong_parameters_are_refused_by_name_and_never_reach_the_operation(service: ServiceProcess, name: str) -> None:
    wrong, before = list(wrong_values(name)), state(service)
    assert len(wrong) > 4
    for (value, field), reply in zip(wrong, send(service, name, [value for value, _ in wrong]), strict=True):
        error = reply.get("error", {})
        data = error.get("data", {})
        seen = (error.get("code"), data.get("code"), data.get("class"), data.get("safe_to_retry_same_request"))
        assert (value, *seen) == (value, -32602, "invalid_request", "permanent", False)
        assert (value, data["details"]) == (value, {"field": field})
        assert 0 < len(data["message"]) <= MAX_MESSAGE_CHARS
        assert set(data) == {"code", "class", "safe_to_retry_same_request", "message", "details"}
    assert state(service) == before


@pytest.mark.parametrize("name", UNSERVED)
def test_an_operation_that_is_not_served_answers_like_an_unknown_method(service: ServiceProcess, name: str) -> None:
    for reply in send(service, name, [{}, {"model_id": "m"}]):
        assert (reply["error"]["code"], reply["error"]["data"]["code"]) == (-32601, "invalid_request")
        assert name in reply["error"]["data"]["message"]


def fits(result: Any, shape: type[Any]) -> bool:
    """Whether a result has the members of a shape, and no others."""
    try:
        msgspec.convert(result, shape)
    except msgspec.ValidationError:
        return False
    info = mi.type_info(shape)
    assert isinstance(info, mi.StructType)
    return set(result) <= {field.encode_name for field in info.fields}


def check(name: str, reply: dict[str, Any]) -> str | None:
    """Hold a reply to what the page and the tables say; the code of a refusal."""
    if "error" in reply:
        error, level = reply["error"]["data"], "channel"
    elif set(reply["result"]) == {"module_generation", "error"}:
        error, level = reply["result"]["error"], "semantic"
    else:
        assert any(fits(reply["result"], shape) for shape in OPERATIONS[name].result), reply
        return None
    spec = ERRORS[error["code"]]
    assert error["code"] in documented(name), f"{name} answers {error['code']}, and its page doesn't say so"
    assert (level in spec.levels, error["class"]) == (True, spec.class_)
    assert error["safe_to_retry_same_request"] == spec.safe_to_retry
    assert ("retry_after_ms" in error) == (spec.class_ == "transient" and spec.retry_after_ms is not None)
    assert spec.accepts(error.get("details"))
    return str(error["code"])


def right_values(name: str) -> Iterator[Any]:
    """The examples, and each member at its bounds."""
    yield from cases.EXAMPLES[name]
    for field in fields_of(cases.SERVED[name]):
        if (name, field.path) not in cases.BEYOND_TYPES:
            for value in cases._bounds(name, field.path)[0]:
                yield cases._put(name, field.path, value)
            if not field.required and name not in cases.ONE_OF:
                yield cases._put(name, field.path, None)


@pytest.mark.parametrize("name", [name for name in SERVED if OPERATIONS[name].kind == "query"])
def test_a_query_answers_every_value_that_its_types_allow_as_its_page_says(service: ServiceProcess, name: str) -> None:
    values = list(right_values(name))
    if name == "service.hello":
        replies = [send(service, name, [value])[0] for value in values]
    else:
        replies = send(service, name, values)
    for value, reply in zip(values, replies, strict=True):
        check(name, reply)
        # The types allow every name of a setting, and the settings don't.
        if name != "settings.get":
            assert (value, reply.get("error", {}).get("data", {}).get("code")) != (value, "invalid_request")


@pytest.mark.parametrize(
    "name",
    [name for name in SERVED if OPERATIONS[name].kind == "mutate" and name not in (*LAST, "service.shutdown")],
)
def test_a_mutation_answers_its_examples_as_its_page_says(service: ServiceProcess, name: str) -> None:
    for value in cases.EXAMPLES[name]:
        check(name, send(service, name, [value])[0])


def test_what_stops_lanes_and_what_starts_them_again_answers_as_its_page_says(service: ServiceProcess) -> None:
    assert {name for name in SERVED if OPERATIONS[name].kind == "mutate"} >= set(LAST)
    for name in LAST:
        for value in cases.EXAMPLES[name]:
            check(name, send(service, name, [value])[0])
    (status,) = send(service, "lanes.status", [{}])
    assert check("lanes.status", status) is None


def test_an_operation_of_the_contract_refuses_a_flow_exactly_when_it_changes_something(
    service: ServiceProcess,
) -> None:
    hello = {"client": {"name": "test", "version": "1"}, "protocol": 1, "scope": {"flow_id": "f"}}
    for name in SERVED:
        if name in ("service.hello", "service.shutdown"):
            continue
        reply = exchange(service, {0: ("service.hello", hello), 1: (name, {"surplus": 1})})[1]
        code = reply.get("error", {}).get("data", {}).get("code")
        queries = name in CONTRACT and OPERATIONS[name].kind == "query"
        served = queries or name == "service.info"
        assert (name, code == "flow_scope_refused") == (name, not served)
