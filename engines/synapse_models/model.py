"""A bound model: the one place where a request becomes a call and a reply becomes a response.

The order of a call is fixed: fill in defaults, hold the request against the plan, decide every active leaf, refuse,
encode, hold the body against the decisions, and only then take a slot and send. After the reply: read it, parse
structured output, hold it against the output contract and the plan's checks, attach where it came from. A request that
is refused touches no connection and no limiter; a reply that breaks the contract never reaches the caller.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from synapse_models.audit import LeafDecision, RequestAudit
from synapse_models.binding import BoundDialect, bind_dialect
from synapse_models.capabilities import CAPABILITY_SPECS
from synapse_models.checks import run_checks
from synapse_models.connection import Call
from synapse_models.contract import choice_conflicts, missing_channels, partial_channels, requested_channels
from synapse_models.defaults import Defaults, read_defaults
from synapse_models.deployment import Deployment
from synapse_models.dialect import DialectBinder, WireReply, WireRequest
from synapse_models.errors import DialectFault, OutputContractViolation, PlanError, Rejection, RequestRejected, redacted
from synapse_models.leaves import OPTION_PREFIX, active_leaves, leaf
from synapse_models.parts import JSONValue, is_json
from synapse_models.plans import RuntimeBindingPlan, lacks
from synapse_models.policy import Timeouts
from synapse_models.pool import ConnectionPool, Limiter
from synapse_models.registry import DIALECT_BINDERS
from synapse_models.reply import Reply
from synapse_models.request import Request
from synapse_models.response import (
    CapabilityEvidence,
    ModelIdentity,
    ModelProvenance,
    Response,
)
from synapse_models.stream import Completed, Fold, StreamEvent
from synapse_models.structured import with_structured_output

_NOT_JSON: Final = "JSON can't carry this value"


class PreparedCall(NamedTuple):
    """A request that passed every check and is ready to be sent; what a dry run shows.

    ``data`` is the body of ``wire`` as it goes out.
    """

    request: Request
    active: Mapping[str, Any]
    decisions: Mapping[str, LeafDecision]
    wire: WireRequest
    used_defaults: Mapping[str, JSONValue]
    data: bytes


class Model:
    """One model on one dialect at one deployment. Made by :meth:`bind`; cheap, immutable, owns no connection."""

    def __init__(
        self,
        plan: RuntimeBindingPlan,
        bound: BoundDialect,
        deployment: Deployment,
        pool: ConnectionPool,
        *,
        timeouts: Timeouts,
        limiters: Sequence[Limiter] = (),
        own_defaults: Defaults = Defaults(),  # noqa: B008  immutable
        binders: Mapping[str, DialectBinder] = DIALECT_BINDERS,
    ) -> None:
        self.plan = plan
        self.deployment = deployment
        self.pool = pool
        self.timeouts = timeouts
        self._bound = bound
        self._limiters = tuple(limiters)
        self._own = own_defaults
        self._binders = binders
        self._defaults = Defaults(
            leaves=read_defaults(plan.binding.request_defaults),
            options=plan.binding.option_defaults,
            dialect_id=plan.dialect_id,
        ).extended(own_defaults)
        self._evidence = CapabilityEvidence(
            declared=plan.binding.declared,
            effective=plan.effective,
            plan_fingerprint=plan.fingerprint,
            verification_fingerprint=plan.verification_fingerprint,
        )

    @classmethod
    def bind(
        cls,
        plan: RuntimeBindingPlan,
        *,
        deployment: Deployment,
        pool: ConnectionPool,
        timeouts: Timeouts = Timeouts(),  # noqa: B008  immutable
        concurrency: int | None = None,
        binders: Mapping[str, DialectBinder] = DIALECT_BINDERS,
    ) -> Model:
        """A model that calls the plan's route through ``pool``, which stays the caller's to close.

        ``concurrency`` caps this model's own calls, beside the pool's shared limit.

        Raises:
            DialectNotImplemented, PlanError: something doesn't fit; see :func:`synapse_models.binding.bind_dialect`.
        """
        bound = bind_dialect(plan, deployment=deployment, pool=pool, binders=binders)
        limiters = () if concurrency is None else (Limiter(concurrency),)
        return cls(plan, bound, deployment, pool, timeouts=timeouts, limiters=limiters, binders=binders)

    def __repr__(self) -> str:
        return f"Model({self.plan.model_id!r} by {self.plan.dialect_id} at {self._bound.base_url})"

    def with_args(
        self,
        defaults: Mapping[str, Any] | None = None,
        *,
        options: Mapping[str, JSONValue] | None = None,
        concurrency: int | None = None,
    ) -> Model:
        """The same model with more request defaults, by leaf, and a narrower limit of its own.

        The limit comes on top of this model's: it is a cap on the calls of the derived model, not a share reserved
        for it. ``options`` are defaults of dialect options.

        Raises:
            PlanError: a name that is no leaf of a request. Dialect, engine, address, credential, retries and
                connection belong to the binding and can't be set here.
        """
        added = Defaults(leaves=read_defaults(defaults or {}), options=options or {}, dialect_id=self.plan.dialect_id)
        limiters = self._limiters if concurrency is None else (Limiter(concurrency), *self._limiters)
        return self._derived(self.plan, self._bound, limiters, self._own.extended(added))

    def with_dialect(
        self,
        plan: RuntimeBindingPlan,
        *,
        options: Mapping[str, JSONValue] | None = None,
    ) -> Model:
        """The model on another dialect, by a plan that was made for it, with the same pool and limits.

        ``options`` replaces the option defaults of :meth:`with_args`, which were another dialect's.

        Raises:
            DialectNotImplemented, PlanError: the plan is for another root or deployment, or doesn't fit; or there are
                option defaults of the old dialect and ``options`` doesn't replace them.
        """
        if plan.binding.root_key != self.plan.binding.root_key:
            raise PlanError(f"the plan is for the deployment of {plan.binding.root_key}, not of this model")
        own = self._own
        if options is not None:
            own = Defaults(leaves=own.leaves, options=options, dialect_id=plan.dialect_id)
        elif own.options and own.dialect_id != plan.dialect_id:
            raise PlanError(
                f"option defaults are set for {own.dialect_id} ({', '.join(sorted(own.options))}); replace them"
            )
        bound = bind_dialect(plan, deployment=self.deployment, pool=self.pool, binders=self._binders)
        return self._derived(plan, bound, self._limiters, own)

    def prepare(self, request: Request, *, stream: bool | None = None) -> PreparedCall:
        """Everything up to sending; does no I/O. ``stream`` overrides the request's own word.

        Raises:
            RequestRejected: leaves that can't be sent, all of them named.
            PlanError: the defaults and the request exclude each other.
            DialectFault: the dialect contradicts itself.
        """
        request, used = self._defaults.apply(request)
        if stream is not None and stream != request.scheduling.stream:
            request = msgspec.structs.replace(
                request, scheduling=msgspec.structs.replace(request.scheduling, stream=stream)
            )
        active = active_leaves(request)
        audit = RequestAudit(active)
        refused = self._against_plan(active)
        for path, value in active.items():
            decision = self._bound.binder.decide(path, value, request, self._bound.context)
            audit.record(path, decision)
        refused.update(audit.rejections)
        if refused:
            raise self._rejected(refused)
        wire = self._bound.binder.encode(request, self._bound.context)
        if faults := audit.faults(wire.body):
            raise DialectFault(f"{self.plan.dialect_id}: " + "; ".join(faults))
        data = _encoded(wire.body)
        if data is None:
            if unsaid := {path: _NOT_JSON for path, value in active.items() if _encoded(value) is None}:
                raise self._rejected(unsaid)
            raise DialectFault(f"{self.plan.dialect_id}: the body isn't JSON, and no leaf of the request is to blame")
        return PreparedCall(request, active, audit.decisions, wire, used, data)

    async def arun(self, request: Request) -> Response:
        """The response to a request.

        Raises:
            RequestRejected, PlanError, DialectFault: before anything is sent.
            ModelError: the call failed, or its reply breaks the contract; ``attempts`` tells what was tried.
        """
        prepared = self.prepare(request)
        if prepared.request.scheduling.stream:
            response: Response | None = None
            async with contextlib.aclosing(self._run_stream(prepared)) as events:
                async for event in events:
                    if isinstance(event, Completed):
                        response = event.response
            if response is None:
                raise DialectFault("a stream ended without its response")
            return response
        async with self.pool.exchange(self._call(prepared), timeouts=self.timeouts, local=self._limiters) as reply:
            read = self._bound.binder.decode(
                WireReply(status=reply.status, headers=reply.headers, body=reply.body),
                prepared.request,
                self._bound.context,
            )
            return self._finished(prepared, read, reply)

    async def astream(self, request: Request) -> AsyncGenerator[StreamEvent, None]:
        """The events of a streamed response as they come, and one :class:`Completed` at the end.

        Every check of the request is over before the first byte is sent. Events before the end are evidence, not an
        answer: when the stream breaks or its guarantees fail, the error comes in place of ``Completed``. Closing or
        dropping the iterator frees the connection and its slots.

        Raises:
            RequestRejected, PlanError, DialectFault: before anything is sent.
            StreamTruncated: the stream ended without saying so.
            ModelError: the call failed, or its reply breaks the contract.
        """
        async with contextlib.aclosing(self._run_stream(self.prepare(request, stream=True))) as events:
            async for event in events:
                yield event

    async def _run_stream(self, prepared: PreparedCall) -> AsyncGenerator[StreamEvent, None]:
        decoder = self._bound.binder.stream_decoder(prepared.request, self._bound.context)
        folding = Fold()
        async with self.pool.exchange(self._call(prepared), timeouts=self.timeouts, local=self._limiters) as reply:
            while not decoder.ended and (batch := await reply.next_events()):
                for wire_event in batch:
                    for event in decoder.feed(wire_event):
                        folding.add(event)
                        yield event
            for event in decoder.end():
                folding.add(event)
                yield event
            await reply.settle()
            response = self._finished(prepared, folding.response(), reply)
        yield Completed(response=response)

    def _derived(
        self, plan: RuntimeBindingPlan, bound: BoundDialect, limiters: Sequence[Limiter], own: Defaults
    ) -> Model:
        return Model(
            plan,
            bound,
            self.deployment,
            self.pool,
            timeouts=self.timeouts,
            limiters=limiters,
            own_defaults=own,
            binders=self._binders,
        )

    def _rejected(self, refused: Mapping[str, str]) -> RequestRejected:
        """The refusal of these leaves, with the reason of each."""
        return RequestRejected(
            Rejection(leaf=path, dialect=self.plan.dialect_id, reason=reason) for path, reason in refused.items()
        )

    def _against_plan(self, active: Mapping[str, Any]) -> dict[str, str]:
        """Leaf → why the plan doesn't allow it."""
        once = "it asks for a channel that comes once, and sampling.n for several answers"
        refused = dict.fromkeys(choice_conflicts(active), once)
        for path, value in active.items():
            # A conversation may be long, and holds text and bytes alone: encoding the body finds what is wrong with it.
            if path.partition(".")[0] != "input" and not is_json(value):
                refused[path] = _NOT_JSON
            if path.startswith(OPTION_PREFIX):
                continue
            key = leaf(path).capability
            if key is None:
                continue
            if key not in self.plan.available:
                reason = self.plan.unavailable.get(key, f"nobody has shown that it is there; declare {key} to have it")
                refused.setdefault(path, lacks(key, reason))
        floor = self.plan.minimums.get("top_logprobs", {}).get("minimum")
        asked = active.get("scoring.top_logprobs")
        if floor is not None and asked is not None and asked < floor:
            refused["scoring.top_logprobs"] = f"{asked} is below the plan's minimum of {floor}"
        return refused

    def _call(self, prepared: PreparedCall) -> Call:
        wire = prepared.wire
        return Call(
            url=self._bound.base_url + wire.path,
            body=prepared.data,
            method=wire.method,
            headers=wire.headers,
            auth=self._bound.auth,
            stream=prepared.request.scheduling.stream,
        )

    def _finished(self, prepared: PreparedCall, response: Response, reply: Reply) -> Response:
        """The response, held against everything that was promised, with its provenance."""
        request, active = prepared.request, prepared.active
        if response.refusal is None and len(response.choices) != request.sampling.n:
            raise OutputContractViolation(
                f"{request.sampling.n} answers were asked for and {len(response.choices)} came", channels=("text",)
            )
        response = with_structured_output(request, response)
        required = requested_channels(active)
        wrong = missing_channels(required, self._bound.binder.output_rules, response)
        wrong += partial_channels(active, response)
        named = {name for name, _ in wrong}
        checked = run_checks(self.plan.request_checks, active, self.plan.minimums, response)
        # A channel that is missing is told once, by its own name.
        wrong += tuple(found for found in checked if not named & {*CAPABILITY_SPECS[found[0]].channels})
        if wrong:
            raise OutputContractViolation(
                "the reply lacks what was asked for: " + "; ".join(f"{name}: {fault}" for name, fault in wrong),
                channels=[name for name, _ in wrong],
            )
        return msgspec.structs.replace(
            response, provenance=self._provenance(response.response_model, prepared.used_defaults, reply)
        )

    def _provenance(self, reported: str | None, used: Mapping[str, JSONValue], reply: Reply) -> ModelProvenance:
        plan = self.plan
        identity = self._bound.binder.identity_headers
        return ModelProvenance(
            dialect_id=plan.dialect_id,
            wire_version=plan.wire_version,
            engine_id=plan.engine_id,
            engine_source=plan.engine_source,
            deployment_id=plan.deployment_id,
            model_identity=ModelIdentity(requested_model_id=plan.model_id, provider_reported_model_id=reported),
            auth_scheme=plan.binding.auth.value,
            engine_version=plan.engine_version,
            deployment_fingerprint=plan.deployment_fingerprint,
            capabilities=self._evidence,
            request_defaults=used,
            reported_headers={name: redacted(reply.headers[name]) for name in identity if name in reply.headers},
            attempts=reply.attempts,
        )


def _encoded(value: Any) -> bytes | None:
    """``value`` as JSON, None when it can't be written."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError, msgspec.EncodeError):
        return None
