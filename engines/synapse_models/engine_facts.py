"""What is known of each serving engine: its constraints with their version ranges, and how to ask a running one.

``ServingConstraints`` answers the requirements of a plan; ``Engine.verify_deployment`` turns a server's own replies
into facts. Which bytes are fetched, and how, is the caller's: a probe is a function that is handed in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias

from msgspec import structs

from synapse_models.constraints import (
    VERIFIERS,
    AbsentConstraint,
    BreadthConstraint,
    Companion,
    Constraint,
    DefaultLimit,
    FlagConstraint,
    ParserConstraint,
    SpeedConstraint,
    residual,
)
from synapse_models.deployment import Deployment, ServingFacts
from synapse_models.parts import JSONValue, Record
from synapse_models.serving import LaunchView, Satisfied, ServingRequirement, Verdict, VersionRange

UNKNOWN_ENGINE: Final = "unknown"

Probe: TypeAlias = Callable[[str], Awaitable[JSONValue | None]]
"""Fetches one path of a server and returns its JSON, or None when the server doesn't have the path."""

_EVERY: Final = VersionRange()


class Engine(Record, frozen=True):
    """One engine. ``probes`` are the paths asked, in order, until one answers; ``read`` turns that reply into facts."""

    id: str
    title: str
    constraints: tuple[Constraint, ...]
    probes: tuple[str, ...]
    read: Callable[[Mapping[str, Any]], ServingFacts]

    async def verify_deployment(self, deployment: Deployment, probe: Probe) -> ServingFacts:
        """The facts of ``deployment`` with everything that its server says of itself put in.

        What the server doesn't say stays as it was; a server that answers nothing changes nothing.
        """
        for path in self.probes:
            reply = await probe(path)
            if isinstance(reply, Mapping):
                seen = {name: value for name, value in structs.asdict(self.read(reply)).items() if value is not None}
                return structs.replace(deployment.facts, **seen)
        return deployment.facts


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _negated(value: object) -> bool | None:
    return not value if isinstance(value, bool) else None


def _read_vllm(reply: Mapping[str, Any]) -> ServingFacts:
    return ServingFacts(engine_version=_text(reply.get("version")))


def _read_sglang(reply: Mapping[str, Any]) -> ServingFacts:
    return ServingFacts(
        engine_version=_text(reply.get("version")),
        tokenizer_available=_negated(reply.get("skip_tokenizer_init")),
        prefix_cache_enabled=_negated(reply.get("disable_radix_cache")),
        reasoning_parser=_text(reply.get("reasoning_parser")),
        tool_call_parser=_text(reply.get("tool_call_parser")),
    )


def _read_llama_cpp(reply: Mapping[str, Any]) -> ServingFacts:
    # A build that isn't llama.cpp's own calls itself b0, which is no version. The server tokenizes by itself and can't
    # be started without its vocabulary.
    build = _text(reply.get("build_info"))
    known = build if build is not None and not build.startswith("b0-") else None
    return ServingFacts(engine_version=known, tokenizer_available=True)


def _tokenizer(engine: str) -> FlagConstraint:
    return FlagConstraint(
        id=f"{engine}.tokenizer_disabled",
        requirement="tokenizer",
        versions=_EVERY,
        source=f"the launch option skip_tokenizer_init of {engine}",
        parameter="skip_tokenizer_init",
        wanted=False,
        default=False,
        fact="tokenizer_available",
        fact_value=True,
        stage="request",
        why="the server returns token ids without text",
    )


_VLLM: Final = Engine(
    id="vllm",
    title="vLLM",
    probes=("/version",),
    read=_read_vllm,
    constraints=(
        FlagConstraint(
            id="vllm.prompt_logprobs_prefix_cache",
            requirement="complete_input_scores",
            # Since pull request 13949 a request for prompt log-probabilities doesn't read the cache. 0.9.0 is the
            # first release whose source was seen to skip it (17251); the change may have been in earlier ones.
            versions=VersionRange(before="0.9.0"),
            source="vllm-project/vllm issue 13409, pull requests 13949, 17251 and 23399",
            parameter="enable_prefix_caching",
            negation="no_enable_prefix_caching",
            wanted=False,
            default=True,
            fact="prefix_cache_enabled",
            fact_value=False,
            stage="request",
            why="a request for input scores fails or comes back short when the prefix cache is on",
        ),
        SpeedConstraint(
            id="vllm.prefix_cache_needless_remedy",
            requirement="complete_input_scores",
            versions=VersionRange(since="0.9.0"),
            source="vllm-project/vllm pull requests 17251 and 23399",
            parameter="enable_prefix_caching",
            plan=True,
            why="input scores don't read the cache, and other requests gain by it",
        ),
        BreadthConstraint(
            id="vllm.max_logprobs",
            requirement="top_logprobs_breadth",
            versions=_EVERY,
            source="vLLM engine arguments, --max-logprobs (0.10.1 and later: 20); issue 5299 (0.4.3: 5)",
            parameter="max_logprobs",
            unlimited=-1,
            defaults=(
                DefaultLimit(versions=VersionRange(since="0.10.1"), value=20),
                DefaultLimit(versions=VersionRange(before="0.10.1"), value=5),
            ),
        ),
        ParserConstraint(
            id="vllm.reasoning_parser",
            requirement="reasoning_parser",
            versions=_EVERY,
            source="vLLM engine arguments, --reasoning-parser; pull requests 17452 and 18404",
            parameter="reasoning_parser",
            fact="reasoning_parser",
            companions=(Companion(parameter="enable_reasoning", versions=VersionRange(before="0.9.0")),),
        ),
        ParserConstraint(
            id="vllm.tool_call_parser",
            requirement="tool_call_parser",
            versions=_EVERY,
            source="vLLM server arguments, --enable-auto-tool-choice and --tool-call-parser",
            parameter="tool_call_parser",
            fact="tool_call_parser",
            companions=(Companion(parameter="enable_auto_tool_choice"),),
        ),
        _tokenizer("vllm"),
    ),
)

_SGLANG: Final = Engine(
    id="sglang",
    title="SGLang",
    probes=("/server_info", "/get_server_info"),
    read=_read_sglang,
    constraints=(
        FlagConstraint(
            id="sglang.radix_cache",
            requirement="complete_input_scores",
            # 0.5.23 caps the prefix match where scoring starts. Which release began to do so wasn't looked up, so
            # every earlier one counts as affected.
            versions=VersionRange(before="0.5.23"),
            source="sglang 0.5.23, managers/schedule_batch.py",
            parameter="disable_radix_cache",
            wanted=True,
            default=False,
            fact="prefix_cache_enabled",
            fact_value=False,
            stage="request",
            why="a prefix that is in the cache gets no scores",
        ),
        SpeedConstraint(
            id="sglang.radix_cache_needless_remedy",
            requirement="complete_input_scores",
            versions=VersionRange(since="0.5.23"),
            source="sglang 0.5.23, managers/schedule_batch.py",
            parameter="disable_radix_cache",
            plan=False,
            why="input scores are complete with the cache, and other requests gain by it",
        ),
        ParserConstraint(
            id="sglang.reasoning_parser",
            requirement="reasoning_parser",
            versions=_EVERY,
            source="sglang 0.5.23, server argument --reasoning-parser",
            parameter="reasoning_parser",
            fact="reasoning_parser",
        ),
        ParserConstraint(
            id="sglang.tool_call_parser",
            requirement="tool_call_parser",
            versions=_EVERY,
            source="sglang 0.5.23, server argument --tool-call-parser",
            parameter="tool_call_parser",
            fact="tool_call_parser",
        ),
        _tokenizer("sglang"),
    ),
)

_LLAMA_CPP: Final = Engine(
    id="llama_cpp",
    title="llama.cpp",
    probes=("/props",),
    read=_read_llama_cpp,
    constraints=(
        AbsentConstraint(
            id="llama_cpp.no_input_scores",
            requirement="complete_input_scores",
            versions=VersionRange(before="b11435"),
            source="ggml-org/llama.cpp issue 27174; seen in b11434 and in xllamacpp 2026.10.11549, which has no build",
            why="returns log-probabilities of generated tokens only",
            remedy="use an engine that scores its input (vllm, sglang), or take input_scoring out",
        ),
        AbsentConstraint(
            id="llama_cpp.suffix_ignored",
            requirement="suffix",
            versions=_EVERY,
            source="the probe of xllamacpp 2026.10.11549: as many input tokens with a suffix as without",
            stage="setup",
            why="reads a prompt and drops its suffix",
            remedy="use another engine, or take fim out",
        ),
    ),
)

ENGINES: Final[Mapping[str, Engine]] = {engine.id: engine for engine in (_VLLM, _SGLANG, _LLAMA_CPP)}
"""The engines that have rules, by id. Any other, and ``unknown``, has none: replies are all that can be checked."""


class ServingReconciler(Protocol):
    """Answers what a server must do. Injected into ``reconcile()``."""

    def knows(self, engine_id: str) -> bool:
        """Whether there are rules for this engine; without any, replies are all that can be checked."""
        ...

    def judge(self, need: ServingRequirement, launch: LaunchView) -> tuple[tuple[str, Verdict], ...]:
        """(constraint id, verdict) of everything that bears on ``need``; never empty."""
        ...


class ServingConstraints:
    """The reconciler made of a table of engines."""

    def __init__(self, engines: Mapping[str, Engine] = ENGINES) -> None:
        self._engines = engines

    def knows(self, engine_id: str) -> bool:
        return engine_id in self._engines

    def judge(self, need: ServingRequirement, launch: LaunchView) -> tuple[tuple[str, Verdict], ...]:
        engine = self._engines.get(launch.engine_id)
        rules = engine.constraints if engine is not None else ()
        found = tuple((rule.id, rule.judge(need, launch)) for rule in rules if rule.requirement == need.name)
        if found:
            return found
        if need.name not in VERIFIERS:
            return ((f"{launch.engine_id}.no_rule", Satisfied(by="nothing is known against it")),)
        why = f"nothing is known of how {launch.engine_id} does this"
        return ((f"{launch.engine_id}.no_rule", residual(need, why)),)
