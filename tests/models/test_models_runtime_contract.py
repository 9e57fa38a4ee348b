"""Contracts that every executable dialect keeps, generated from the registries.

For each (dialect, wire version) and each leaf a sample request is made; the decision must be one of the four, what is
refused is refused before anything is sent, and what is not refused must be on the wire, falsy values included. A new
leaf, channel or dialect fails here until it is decided.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from fixtures.bound_models import context, model, pool
from fixtures.leaf_samples import BINDERS, CELLS, SAMPLES, sample
from fixtures.openai_stub import OpenAIStub, document
from fixtures.request_fields import PAIRS, fields
from synapse_models.audit import RequestAudit, at_pointer
from synapse_models.capabilities import CAPABILITY_SPECS
from synapse_models.contract import CHANNELS, Guarantee
from synapse_models.dialect import Supported, Unsupported
from synapse_models.errors import RequestRejected
from synapse_models.leaves import LEAVES, active_leaves
from synapse_models.model import Model
from synapse_models.registry import DIALECT_BINDERS, active_keys
from synapse_models.request import (
    DialectOptions,
    Request,
    ToolParams,
)


@pytest.fixture
async def stub() -> AsyncIterator[OpenAIStub]:
    async with OpenAIStub(document({})) as running:
        yield running


@pytest.mark.parametrize(("dialect_id", "version"), CELLS)
def test_every_cell_has_an_outcome_a_rule_and_a_version(dialect_id: str, version: str) -> None:
    binder = BINDERS[dialect_id]
    assert set(binder.capabilities) == set(CAPABILITY_SPECS)
    for outcome in binder.capabilities.values():
        assert isinstance(outcome, Supported) or (isinstance(outcome, Unsupported) and outcome.reason)
    assert set(binder.output_rules) == set(CHANNELS)
    assert version in binder.spec.wire_versions
    for name, channel in CHANNELS.items():
        unsaid = channel.capability is not None and isinstance(binder.capabilities[channel.capability], Unsupported)
        if unsaid:
            assert binder.output_rules[name].guarantee is Guarantee.NEVER, name
    assert active_keys(BINDERS) >= active_keys()


def test_every_leaf_has_a_sample() -> None:
    assert set(SAMPLES) == set(LEAVES)


@pytest.mark.parametrize(("dialect_id", "version"), CELLS)
@pytest.mark.parametrize("leaf", LEAVES)
def test_every_leaf_is_decided_and_the_body_bears_it_out(leaf: str, dialect_id: str, version: str) -> None:
    binder = BINDERS[dialect_id]
    bound = context(dialect_id, wire_version=version)
    for groups in SAMPLES[leaf]:
        request = sample(groups, dialect_id)
        active = active_leaves(request)
        assert leaf in active
        audit = RequestAudit(active)
        for path, value in active.items():
            decision = binder.decide(path, value, request, bound)
            assert decision == binder.decide(path, value, request, bound), "a decision is a function"
            audit.record(path, decision)
        decision = audit.decisions[leaf]
        assert decision.kind in ("consumed", "rejected", "noop", "passed_through")
        assert (decision.reason is None) == (decision.kind in ("consumed", "passed_through"))
        if audit.rejections:
            continue
        wire = binder.encode(request, bound)
        assert audit.faults(wire.body) == ()
        if decision.wire_path is not None and decision.wire_path.startswith("@header:"):
            assert decision.wire_path.removeprefix("@header:") in wire.headers
        msgspec.json.encode(wire.body)
        plain = binder.encode(sample({}, dialect_id), bound)
        if decision.kind == "consumed" and leaf != "input":
            assert (wire != plain) or (decision.wire_path or "").startswith("@control:"), (
                "consumed and yet without a trace"
            )
        if decision.kind == "noop":
            assert wire == binder.encode(
                msgspec.structs.replace(request, tools=ToolParams(functions=request.tools.functions)), bound
            )


def _refuses(bound: Model, leaf: str, value: Any, request: Request) -> bool:
    binder = BINDERS[bound.plan.dialect_id]
    here = context(bound.plan.dialect_id, wire_version=bound.plan.wire_version)
    return binder.decide(leaf, value, request, here).kind == "rejected"


@pytest.mark.parametrize(("dialect_id", "version"), CELLS)
async def test_what_is_refused_is_refused_before_anything_is_sent(
    stub: OpenAIStub, dialect_id: str, version: str
) -> None:
    refused = 0
    async with pool(stub.base_url) as connections:
        bound = model(connections, stub.base_url, dialect_id, wire_version=version, binders=BINDERS)
        for leaf, samples in SAMPLES.items():
            for groups in samples:
                request = sample(groups, dialect_id)
                active = active_leaves(request)
                bad = {path for path, value in active.items() if _refuses(bound, path, value, request)}
                if not bad:
                    assert set(bound.prepare(request).decisions) == set(active) >= {leaf}
                    continue
                refused += 1
                for call in (bound.arun(request), anext(bound.astream(request))):
                    with pytest.raises(RequestRejected) as caught:
                        await call
                    assert {(one.leaf, one.dialect) for one in caught.value.rejections} >= {
                        (path, dialect_id) for path in bad
                    }
    assert refused > 0
    assert stub.connections == set()


@pytest.mark.parametrize(("dialect_id", "version"), CELLS)
def test_options_are_passed_on_or_refused_and_owned_keys_are_always_refused(dialect_id: str, version: str) -> None:
    binder = BINDERS[dialect_id]
    bound = context(dialect_id, wire_version=version)
    for value in (0, "", False, None, [], {}, {"a": [1]}):
        request = sample({"dialect_options": DialectOptions(dialect_id=dialect_id, values={"foo": value})}, dialect_id)
        decision = binder.decide("dialect_options.foo", value, request, bound)
        assert (decision.kind, decision.wire_path) == ("passed_through", "/foo")
        assert at_pointer(binder.encode(request, bound).body, "/foo") == (True, value)
    for key in binder.reserved_options:
        request = sample({"dialect_options": DialectOptions(dialect_id=dialect_id, values={key: 1})}, dialect_id)
        assert binder.decide(f"dialect_options.{key}", 1, request, bound).kind == "rejected"
    for other in (*BINDERS, "sglang_native", "unknown"):
        if other != dialect_id:
            request = sample({"dialect_options": DialectOptions(dialect_id=other, values={"foo": 1})}, dialect_id)
            decision = binder.decide("dialect_options.foo", 1, request, bound)
            assert decision.kind == "rejected"
            assert other in (decision.reason or "")
            assert dialect_id in (decision.reason or "")


def test_every_field_of_every_record_of_a_request_is_changed_once() -> None:
    assert {field for field, *_ in PAIRS} == fields()


@pytest.mark.parametrize("dialect_id", DIALECT_BINDERS)
@pytest.mark.parametrize(("field", "one", "other"), PAIRS)
async def test_what_a_field_says_is_on_the_wire_or_decided_on(
    field: str, one: Request, other: Request, dialect_id: str
) -> None:
    async with pool() as connections:
        bound = model(connections, dialect_id=dialect_id)

        def outcome(request: Request) -> Any:
            try:
                prepared = bound.prepare(request)
            except RequestRejected:
                return None
            beside = {path: said for path, said in prepared.decisions.items() if said.kind == "noop"}
            return prepared.wire, beside

        after = outcome(other)
        assert after is None or outcome(one) != after, field


@pytest.mark.parametrize("dialect_id", DIALECT_BINDERS)
def test_every_key_of_every_body_is_reserved(dialect_id: str) -> None:
    binder = BINDERS[dialect_id]
    for groups in (one for samples in SAMPLES.values() for one in samples):
        request = sample(groups, dialect_id)
        decisions = [binder.decide(p, v, request, context(dialect_id)) for p, v in active_leaves(request).items()]
        if all(decision.kind != "rejected" for decision in decisions):
            assert set(binder.encode(request, context(dialect_id)).body) <= binder.reserved_options
