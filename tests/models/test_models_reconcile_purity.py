"""Reconciliation is pure: the same bytes in any order, no I/O, and fingerprints of everything that is bound."""

from __future__ import annotations

import builtins
import io
import os
import random
import socket
from typing import NoReturn

import msgspec
import pytest

from fixtures.parley_dialect import ParleyBinder
from fixtures.reconciling import (
    PLAN,
    binding,
    fact,
    relaunch_case,
    run,
    server,
)
from synapse_models.deployment import ServingFacts
from synapse_models.dialect import WireAuth
from synapse_models.plans import (
    BindingCapabilityPlan,
    RuntimeBindingPlan,
)
from synapse_models.reconciliation import ReconcileBatch, reconcile
from synapse_models.requirements import TaskRequirements


def big_batch(seed: int) -> ReconcileBatch:
    chance = random.Random(seed)
    bindings = []
    for index in range(30):
        declared = {
            "reasoning": {"effort": "high"} if index % 3 else False,
            "top_logprobs": {"minimum": index + 1},
            "multimodal_input": True,
        }
        items = list(declared.items())
        chance.shuffle(items)
        tasks = [
            ("a", TaskRequirements(min_top_logprobs=index % 7 + 1)),
            ("b", TaskRequirements(input="chat", input_modalities=frozenset({"text", "image"}))),
        ]
        chance.shuffle(tasks)
        profile = {"multimodal_input": fact("supported")} if index % 2 else {}
        bindings.append(
            binding(
                f"m{index}",
                root=f"r{index % 5}",
                declared=dict(items),
                tasks=dict(tasks),
                profile=profile,
                args={"sampling.seed": index},
            )
        )
    servers = [server(f"r{index}", engine_id="vllm", plan=PLAN) for index in range(5)]
    chance.shuffle(bindings)
    chance.shuffle(servers)
    return ReconcileBatch(bindings=tuple(bindings), deployments=tuple(servers))


def test_shuffling_the_batch_gives_the_same_bytes() -> None:
    first = reconcile(big_batch(1)).canonical()
    assert len(first) > 10_000
    assert all(reconcile(big_batch(seed)).canonical() == first for seed in (2, 3, 4))


def test_nothing_is_opened_and_nobody_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = big_batch(1)

    def forbidden(*args: object, **kwargs: object) -> NoReturn:
        raise AssertionError("reconciliation did I/O")

    for owner, name in (
        (builtins, "open"),
        (io, "open"),
        (os, "open"),
        (os, "getenv"),
        (socket, "socket"),
        (socket, "create_connection"),
        (socket, "getaddrinfo"),
    ):
        monkeypatch.setattr(owner, name, forbidden)
    result = reconcile(batch)
    canonical = result.canonical()
    monkeypatch.undo()
    assert len(canonical) > 10_000


def test_the_input_is_left_as_it_was() -> None:
    batch = big_batch(1)
    before = msgspec.json.encode(batch)
    reconcile(batch)
    assert msgspec.json.encode(batch) == before


def test_plans_survive_their_json() -> None:
    result = relaunch_case(ServingFacts(engine_version="0.8.5", prefix_cache_enabled=False))
    binding_plan = result.bindings["m"]
    runtime = result.runtime_plans["m"]
    assert msgspec.json.decode(msgspec.json.encode(binding_plan), type=BindingCapabilityPlan) == binding_plan
    again = msgspec.json.decode(msgspec.json.encode(runtime), type=RuntimeBindingPlan)
    assert again.fingerprint == runtime.fingerprint


def test_a_fingerprint_follows_what_is_bound() -> None:
    plain = run(binding()).runtime_plans["m"].fingerprint
    assert plain == run(binding()).runtime_plans["m"].fingerprint
    assert plain.startswith("sha256:")
    for changed in (
        binding(args={"sampling.seed": 0}),
        binding(declared={"reasoning": True}),
        binding(dialect="openai_completions"),
        binding(profile={"reasoning": fact("supported")}),
    ):
        assert run(changed).runtime_plans["m"].fingerprint != plain


def test_a_fingerprint_follows_the_wire_version_and_how_a_credential_is_presented() -> None:
    def parley(auth: WireAuth, version: str) -> str:
        binder = ParleyBinder()
        binder.auth = auth
        wanted = binding(dialect="parley", wire_version=version)
        batch = ReconcileBatch(bindings=(wanted,), deployments=(server(),))
        return reconcile(batch, binders={"parley": binder}).runtime_plans["m"].fingerprint

    found = {parley(auth, version) for auth in (WireAuth.BEARER, WireAuth.X_API_KEY) for version in ("1", "2")}
    assert len(found) == 4
