"""Deployments: their routes and their fingerprints."""

from __future__ import annotations

import pytest
from msgspec import structs

from synapse_models.deployment import Deployment, RouteIntent, ServingFacts, resolve_route
from synapse_models.errors import PlanError

PLAIN = Deployment(engine_id="vllm", engine_source="config", api_base="http://h")
SPLIT = structs.replace(PLAIN, endpoints={"decode": "http://d", "prefill": "http://p"})


def test_a_deployment_of_one_address_is_its_own_route() -> None:
    route = resolve_route(PLAIN, "http_json", RouteIntent())
    assert (route.service_role, route.endpoint, route.connection_family) == ("default", "http://h", "http_json")


def test_the_only_service_needs_no_name() -> None:
    one = structs.replace(PLAIN, endpoints={"serve": "http://s"})
    assert resolve_route(one, "http_json", RouteIntent()).endpoint == "http://s"


def test_of_several_services_none_is_picked_silently() -> None:
    with pytest.raises(PlanError, match=r"several services \(decode, prefill\); name one"):
        resolve_route(SPLIT, "http_json", RouteIntent())
    assert resolve_route(SPLIT, "http_json", RouteIntent(service_role="prefill")).endpoint == "http://p"


def test_a_service_that_is_not_there_is_an_error_that_says_what_is() -> None:
    with pytest.raises(PlanError, match=r"no service 'router'; it has decode, prefill"):
        resolve_route(SPLIT, "http_json", RouteIntent(service_role="router"))


def test_a_fingerprint_follows_what_is_deployed_and_observed() -> None:
    seen = structs.replace(PLAIN, facts=ServingFacts(engine_version="0.11.0"))
    prints = [one.fingerprint for one in (PLAIN, SPLIT, seen)]
    assert len(set(prints)) == 3
    assert structs.replace(PLAIN).fingerprint == prints[0]
    routes = [resolve_route(SPLIT, "http_json", RouteIntent(service_role=role)) for role in ("decode", "prefill")]
    assert routes[0].fingerprint != routes[1].fingerprint


def test_a_server_that_somebody_else_runs_has_no_plan_and_no_id() -> None:
    assert (PLAIN.plan, PLAIN.deployment_id, PLAIN.topology) == (None, None, None)
