"""Persisted plans: the committed record of version 1 stays readable, and says the same by the same fingerprints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import structs

from synapse_models.canonical import fingerprint
from synapse_models.deployment import Deployment, DeploymentPlanProjection, ServingFacts
from synapse_models.dialect import WireAuth
from synapse_models.errors import RequestRejected
from synapse_models.model import Model
from synapse_models.plans import BindingReconcileInput, DeploymentReconcileInput, ReconcileResult
from synapse_models.policy import ConnectionIdentity
from synapse_models.pool import ConnectionPool
from synapse_models.profiles import Fact, ModelProfile, SupportFact
from synapse_models.reconciliation import ReconcileBatch, reconcile
from synapse_models.records import RecordError, read_plans, write_plans
from synapse_models.request import Request, SamplingParams, chat
from synapse_models.requirements import TaskRequirements, aggregate

BEFORE_V1 = (Path(__file__).parent / "records" / "plans_before_launch_v1.json").read_bytes()
AFTER_V1 = (Path(__file__).parent / "records" / "plans_v1.json").read_bytes()
LAUNCH = DeploymentPlanProjection(fingerprint="sha256:0", engine_id="vllm")
KNOWN = ModelProfile(
    model_id="qwen",
    origin="user",
    capabilities={"sampled_logprobs": SupportFact(support="supported", source="tried", date="2026-11-30", maximum=20)},
    leaves={"sampling.seed": SupportFact(support="unsupported", source="tried", date="2026-11-30", reason="refused")},
    facts={"max_tokens_key": Fact(value="max_completion_tokens", source="tried", date="2026-11-30")},
)
BEFORE = DeploymentReconcileInput(
    root_key="lab",
    engine_id="vllm",
    engine_source="deployment",
    plan=LAUNCH,
    planned_facts=ServingFacts(engine_version="0.8.5"),
    recipe={"no_enable_prefix_caching": False, "max_logprobs": 5},
    explicit={"swap_space": 4},
)


def plans(server: DeploymentReconcileInput) -> ReconcileResult:
    """A writer and a scorer on one server, with floors, defaults and checks; what the committed records hold."""
    return reconcile(
        ReconcileBatch(
            bindings=(
                BindingReconcileInput(
                    binding_id="writer",
                    root_key="lab",
                    dialect_id="openai_chat",
                    model_id="qwen",
                    profile=KNOWN,
                    args={"sampling.temperature": 0.0, "sampling.stop": ["END"]},
                    options={"verbosity": "low"},
                    requirements=aggregate({"nightly": TaskRequirements(input="chat", sampled_logprobs=True)}),
                ),
                BindingReconcileInput(
                    binding_id="scorer",
                    root_key="lab",
                    dialect_id="openai_completions",
                    model_id="qwen",
                    profile=ModelProfile(model_id="qwen"),
                    requirements=aggregate({"ppl": TaskRequirements(input_scoring=True, min_top_logprobs=50)}),
                ),
            ),
            deployments=(server,),
        )
    )


def running(before: ReconcileResult) -> DeploymentReconcileInput:
    """The server after its launch, with the plan that it was launched by."""
    facts = ServingFacts(engine_version="0.8.5", prefix_cache_enabled=False, max_top_logprobs=50)
    deployment = Deployment(
        engine_id="vllm",
        engine_source="deployment",
        api_base="http://127.0.0.1:8000/v1",
        deployment_id="lab-1",
        plan=LAUNCH,
        facts=facts,
    )
    return structs.replace(BEFORE, facts=facts, deployment=deployment, frozen=before.deployments["lab"])


def test_a_committed_record_of_version_1_reads_as_it_was_meant() -> None:
    result = read_plans(AFTER_V1)
    assert result.ok
    launched = result.deployments["lab"]
    assert launched.launch_patch == {"enable_prefix_caching": False, "max_logprobs": 50}
    assert launched.launch_drops == ("no_enable_prefix_caching",)
    scorer, writer = result.runtime_plans["scorer"], result.runtime_plans["writer"]
    assert scorer.minimums == {"top_logprobs": {"minimum": 50}}
    assert scorer.binding.required == ("input_scoring", "sampled_logprobs", "top_logprobs")
    assert writer.binding.request_defaults == {"sampling.stop": ["END"], "sampling.temperature": 0.0}
    assert writer.binding.option_defaults == {"verbosity": "low"}
    assert (writer.binding.auth, writer.wire_version, writer.engine_version) == (WireAuth.BEARER, "v1", "0.8.5")
    assert writer.binding.profile == KNOWN
    assert writer.route is not None
    assert (writer.route.endpoint, writer.deployment_id) == ("http://127.0.0.1:8000/v1", "lab-1")


def test_fingerprints_of_version_1_don_t_change() -> None:
    before, after = read_plans(BEFORE_V1), read_plans(AFTER_V1)
    assert {
        "writer": after.runtime_plans["writer"].fingerprint,
        "scorer": after.runtime_plans["scorer"].fingerprint,
        "launch": fingerprint(before.deployments["lab"]),
    } == {
        "writer": "sha256:a2cc4ba71a75d40f1abd2ee44103eb2ffaafae363b485e3fa425af8d954afc10",
        "scorer": "sha256:6ca53a9a0c4db217e96aaf2be989281cae5ccef4433d7872a36e9bf5e6ab25a7",
        "launch": "sha256:011dbde12abc037ff9730b69fe801c56ad32241cd49c5f8fbfdd2e104f36bef9",
    }


def test_the_same_input_gives_the_committed_records() -> None:
    before = plans(BEFORE)
    assert json.loads(write_plans(before)) == json.loads(BEFORE_V1)
    assert json.loads(write_plans(plans(running(before)))) == json.loads(AFTER_V1)


def test_a_server_is_verified_against_a_plan_that_another_process_wrote() -> None:
    again = plans(running(read_plans(BEFORE_V1)))
    assert again.ok
    assert again.canonical() == read_plans(AFTER_V1).canonical()


async def test_a_model_is_bound_by_what_was_read_back_alone() -> None:
    server = running(read_plans(BEFORE_V1))
    assert server.deployment is not None
    identity = ConnectionIdentity(family="http_json", origin="http://127.0.0.1:8000")
    async with ConnectionPool(identity) as pool:
        writer = Model.bind(read_plans(AFTER_V1).runtime_plans["writer"], deployment=server.deployment, pool=pool)
        body = writer.prepare(Request(input=chat(("user", "u")), sampling=SamplingParams(max_tokens=5))).wire.body
        with pytest.raises(RequestRejected, match=r"sampling\.seed.*refused"):
            writer.prepare(Request(input=chat(("user", "u")), sampling=SamplingParams(seed=0)))
    assert body == {
        "model": "qwen",
        "messages": [{"role": "user", "content": "u"}],
        "temperature": 0.0,
        "stop": ["END"],
        "max_completion_tokens": 5,
        "verbosity": "low",
    }


def test_an_unknown_field_is_skipped_and_a_missing_one_has_its_default() -> None:
    record = json.loads(AFTER_V1)
    plan = record["plans"]["runtime_plans"]["writer"]
    plan["a_later_field"] = {"x": 1}
    del plan["engine_version"], plan["binding"]["option_defaults"]
    read = read_plans(json.dumps(record)).runtime_plans["writer"]
    assert (read.engine_version, read.binding.option_defaults) == (None, {})


@pytest.mark.parametrize("version", [0, 2])
def test_a_version_that_may_mean_something_else_is_refused(version: int) -> None:
    record = json.loads(AFTER_V1)
    record["record_version"] = version
    with pytest.raises(RecordError, match=f"record version {version} can't be read here"):
        read_plans(json.dumps(record))


@pytest.mark.parametrize("text", [b"", b"[]", b'{"record_version": 1}', b'{"record_version": 1, "plans": []}'])
def test_a_text_that_is_no_record_of_plans_is_refused(text: bytes) -> None:
    with pytest.raises(RecordError):
        read_plans(text)
