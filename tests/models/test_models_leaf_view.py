"""What a plan shows of the audit, leaf by leaf: the same as a call would find."""

from __future__ import annotations

import pytest

from fixtures.bound_models import deployment, model, plan, pool
from synapse_models.audit import at_pointer
from synapse_models.errors import RequestRejected
from synapse_models.leaf_view import LeafView, example, leaf_views
from synapse_models.leaves import LEAVES, active_leaves
from synapse_models.profiles import ModelProfile, SupportFact
from synapse_models.registry import DIALECT_BINDERS

NO_TEMPERATURE = ModelProfile(
    model_id="m",
    leaves={"sampling.temperature": SupportFact(support="unsupported", source="a test", date="2026-11-30")},
)


def views(dialect_id: str = "openai_chat", profile: ModelProfile | None = None, **planned: object) -> list[LeafView]:
    made = plan(deployment(), dialect_id, profile=profile, **planned)  # type: ignore[arg-type]
    return list(leaf_views(made.binding, made.unavailable, "unknown", DIALECT_BINDERS[dialect_id]))


def of(leaf: str, found: list[LeafView]) -> LeafView:
    return next(view for view in found if view.leaf == leaf)


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("kind", ["chat", "completion"])
def test_every_leaf_has_an_example_in_which_it_is_active(leaf: str, kind: str) -> None:
    assert leaf in active_leaves(example(leaf, kind))  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect_id", DIALECT_BINDERS)
async def test_a_view_says_what_a_call_would_find(dialect_id: str) -> None:
    kind = "chat" if "chat" in DIALECT_BINDERS[dialect_id].spec.inputs else "completion"
    async with pool() as own:
        bound = model(own, dialect_id=dialect_id)
        for view in views(dialect_id):
            request = example(view.leaf, kind)  # type: ignore[arg-type]
            if view.decision == "rejected":
                with pytest.raises(RequestRejected) as caught:
                    bound.prepare(request)
                assert (view.leaf, view.reason) in [(one.leaf, one.reason) for one in caught.value.rejections]
            else:
                prepared = bound.prepare(request)
                decision = prepared.decisions[view.leaf]
                assert (decision.kind, decision.wire_path, decision.reason) == (
                    view.decision,
                    view.wire_path,
                    view.reason,
                )
                assert (view.wire_path is None) == (view.decision == "noop")
                if view.wire_path is not None and view.wire_path.startswith("/"):
                    assert at_pointer(prepared.wire.body, view.wire_path)[0]


def test_a_default_is_decided_on_with_its_own_value() -> None:
    found = views(defaults={"sampling.temperature": 0.5, "tools.parallel": False}, option_defaults={"verbosity": "low"})
    temperature, parallel = of("sampling.temperature", found), of("tools.parallel", found)
    assert (temperature.example, temperature.is_default, temperature.wire_path) == (0.5, True, "/temperature")
    assert (parallel.example, parallel.is_default, parallel.wire_path) == (False, True, "/parallel_tool_calls")
    assert found[-1] == LeafView(
        leaf="dialect_options.verbosity",
        example="low",
        is_default=True,
        decision="passed_through",
        wire_path="/verbosity",
    )
    assert [view.leaf for view in found[:-1]] == list(LEAVES)
    assert not of("sampling.seed", found).is_default


def test_what_the_model_or_the_server_doesn_t_have_says_so() -> None:
    found = views(profile=NO_TEMPERATURE, unavailable={"reasoning": "nobody looked"})
    assert of("sampling.temperature", found).decision == "rejected"
    effort = of("reasoning.effort", found)
    assert (effort.decision, effort.reason) == ("rejected", "the plan has no reasoning: nobody looked")
