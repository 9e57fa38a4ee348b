"""The model plane: one way to ask for a generation, whichever provider answers it.

A request and a response that all providers share; the declaration of what a model can do; the check of one against the
other before anything is sent; and one package under ``dialects/`` for each provider's wire format. Importable without
the service. Only the module that owns connections imports an HTTP client.

The names below come from their modules when they are first used, so that planning doesn't load what calling needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from synapse_models.binding import bind_dialect as bind_dialect
    from synapse_models.capabilities import CAPABILITY_SPECS as CAPABILITY_SPECS
    from synapse_models.declaration import read_declarations as read_declarations
    from synapse_models.deployment import Deployment as Deployment
    from synapse_models.deployment import DeploymentPlanProjection as DeploymentPlanProjection
    from synapse_models.deployment import DeploymentTopology as DeploymentTopology
    from synapse_models.deployment import RouteIntent as RouteIntent
    from synapse_models.deployment import ServingFacts as ServingFacts
    from synapse_models.engine_facts import ENGINES as ENGINES
    from synapse_models.errors import DialectNotImplemented as DialectNotImplemented
    from synapse_models.errors import ModelError as ModelError
    from synapse_models.errors import OutputContractViolation as OutputContractViolation
    from synapse_models.errors import PlanError as PlanError
    from synapse_models.errors import RequestRejected as RequestRejected
    from synapse_models.errors import StreamTruncated as StreamTruncated
    from synapse_models.model import Model as Model
    from synapse_models.parts import ChatMessage as ChatMessage
    from synapse_models.parts import ImagePart as ImagePart
    from synapse_models.parts import ProviderItems as ProviderItems
    from synapse_models.parts import TextPart as TextPart
    from synapse_models.parts import ToolCallPart as ToolCallPart
    from synapse_models.parts import ToolResultPart as ToolResultPart
    from synapse_models.parts import UnknownPart as UnknownPart
    from synapse_models.planning import plan as plan
    from synapse_models.plans import BindingReconcileInput as BindingReconcileInput
    from synapse_models.plans import DeploymentReconcileInput as DeploymentReconcileInput
    from synapse_models.plans import ReconcileResult as ReconcileResult
    from synapse_models.plans import RuntimeBindingPlan as RuntimeBindingPlan
    from synapse_models.policy import ConnectionIdentity as ConnectionIdentity
    from synapse_models.policy import RetryPolicy as RetryPolicy
    from synapse_models.policy import Timeouts as Timeouts
    from synapse_models.pool import ConnectionPool as ConnectionPool
    from synapse_models.profiles import ModelProfile as ModelProfile
    from synapse_models.profiles.loading import read_profiles as read_profiles
    from synapse_models.profiles.loading import shipped as shipped
    from synapse_models.reconciliation import ReconcileBatch as ReconcileBatch
    from synapse_models.reconciliation import reconcile as reconcile
    from synapse_models.records import read_plans as read_plans
    from synapse_models.records import read_response as read_response
    from synapse_models.records import write_plans as write_plans
    from synapse_models.records import write_response as write_response
    from synapse_models.registry import DIALECT_BINDERS as DIALECT_BINDERS
    from synapse_models.registry import DIALECT_SPECS as DIALECT_SPECS
    from synapse_models.request import ChatInput as ChatInput
    from synapse_models.request import CompletionInput as CompletionInput
    from synapse_models.request import DialectOptions as DialectOptions
    from synapse_models.request import FunctionTool as FunctionTool
    from synapse_models.request import HostedTool as HostedTool
    from synapse_models.request import NamedFunction as NamedFunction
    from synapse_models.request import ReasoningParams as ReasoningParams
    from synapse_models.request import Request as Request
    from synapse_models.request import SamplingParams as SamplingParams
    from synapse_models.request import SchedulingParams as SchedulingParams
    from synapse_models.request import ScoringParams as ScoringParams
    from synapse_models.request import SessionParams as SessionParams
    from synapse_models.request import StructuredOutputParams as StructuredOutputParams
    from synapse_models.request import ToolParams as ToolParams
    from synapse_models.request import chat as chat
    from synapse_models.requirements import TaskRequirements as TaskRequirements
    from synapse_models.requirements import aggregate as aggregate
    from synapse_models.response import Response as Response
    from synapse_models.session import ModelSession as ModelSession
    from synapse_models.stream import Completed as Completed
    from synapse_models.stream import ReasoningDelta as ReasoningDelta
    from synapse_models.stream import TextDelta as TextDelta
    from synapse_models.stream import ToolCallDelta as ToolCallDelta

_HOMES: Final = {
    "bind_dialect": "binding",
    "CAPABILITY_SPECS": "capabilities",
    "read_declarations": "declaration",
    "Deployment": "deployment",
    "DeploymentPlanProjection": "deployment",
    "DeploymentTopology": "deployment",
    "RouteIntent": "deployment",
    "ServingFacts": "deployment",
    "ENGINES": "engine_facts",
    "DialectNotImplemented": "errors",
    "ModelError": "errors",
    "OutputContractViolation": "errors",
    "PlanError": "errors",
    "RequestRejected": "errors",
    "StreamTruncated": "errors",
    "Model": "model",
    "ChatMessage": "parts",
    "ImagePart": "parts",
    "ProviderItems": "parts",
    "TextPart": "parts",
    "ToolCallPart": "parts",
    "ToolResultPart": "parts",
    "UnknownPart": "parts",
    "plan": "planning",
    "BindingReconcileInput": "plans",
    "DeploymentReconcileInput": "plans",
    "ReconcileResult": "plans",
    "RuntimeBindingPlan": "plans",
    "ConnectionIdentity": "policy",
    "RetryPolicy": "policy",
    "Timeouts": "policy",
    "ConnectionPool": "pool",
    "ModelProfile": "profiles",
    "read_profiles": "profiles.loading",
    "shipped": "profiles.loading",
    "ReconcileBatch": "reconciliation",
    "reconcile": "reconciliation",
    "read_plans": "records",
    "read_response": "records",
    "write_plans": "records",
    "write_response": "records",
    "DIALECT_BINDERS": "registry",
    "DIALECT_SPECS": "registry",
    "ChatInput": "request",
    "CompletionInput": "request",
    "DialectOptions": "request",
    "FunctionTool": "request",
    "HostedTool": "request",
    "NamedFunction": "request",
    "ReasoningParams": "request",
    "Request": "request",
    "SamplingParams": "request",
    "SchedulingParams": "request",
    "ScoringParams": "request",
    "SessionParams": "request",
    "StructuredOutputParams": "request",
    "ToolParams": "request",
    "chat": "request",
    "TaskRequirements": "requirements",
    "aggregate": "requirements",
    "Response": "response",
    "ModelSession": "session",
    "Completed": "stream",
    "ReasoningDelta": "stream",
    "TextDelta": "stream",
    "ToolCallDelta": "stream",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    # Found once; from then on it is an ordinary attribute.
    globals()[name] = value
    return value
