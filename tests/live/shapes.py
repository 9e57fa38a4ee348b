"""Writes the evidence that no machine here can record: replies of engines that need an accelerator.

The bytes follow the engines' source, which each record names; no server of theirs has run. They are read through the
whole product all the same, as a recording is, so that a change of ours shows. Run this file to write them again; run
``run.py --url`` against a real server of that engine to put recordings in their place.
"""

from __future__ import annotations

import asyncio
import sys
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

import msgspec

from live import evidence
from live.probes import REQUESTED, SCORING, Probe
from live.recorder import Recorder
from live.replay import Replay
from live.sessions import evidence_of, fault, outcome, session

SGLANG = "sglang 0.5.23: srt/entrypoints/openai/serving_completions.py, protocol.py and utils.py"
VLLM = "vllm at commit cc139d8ea6ff: entrypoints/openai/completion/serving.py and protocol.py"

TOKENS = ["The", " capital", " of", " France", " is", " Paris"]
SCORES = [None, -6.5, -0.5, -2.25, -0.125, -0.25]
OTHERS = ["A", " only", " in", " the", ",", " Lyon"]
TEXT = "".join(TOKENS)
NEXT, NEXT_SCORE = ".", -0.375


def echoed(generated: bool, *, offsets: bool) -> dict[str, Any]:
    """The parallel lists of an echo. SGLang has -1 for every offset, vLLM counts characters."""
    tokens = [*TOKENS, NEXT] if generated else TOKENS
    scores = [*SCORES, NEXT_SCORE] if generated else SCORES
    tops: list[dict[str, float] | None] = [
        None if score is None else {token: score, other: score - 1.0}
        for token, score, other in zip(tokens, scores, [*OTHERS, "!"], strict=False)
    ]
    places = [len("".join(tokens[:at])) if offsets else -1 for at in range(len(tokens))]
    return {"text_offset": places, "token_logprobs": scores, "tokens": tokens, "top_logprobs": tops}


def usage(output: int) -> dict[str, Any]:
    given = len(TOKENS)
    return {
        "prompt_tokens": given,
        "total_tokens": given + output,
        "completion_tokens": output,
        "prompt_tokens_details": None,
    }


def prompt_logprobs() -> list[dict[str, Any] | None]:
    """vLLM's own shape: token ids to score, rank and text, the prompt's own token first."""
    found: list[dict[str, Any] | None] = [None]
    for at, (token, score, other) in enumerate(zip(TOKENS[1:], SCORES[1:], OTHERS[1:], strict=True)):
        assert score is not None
        found.append(
            {
                str(100 + at): {"logprob": score, "rank": 1, "decoded_token": token},
                str(200 + at): {"logprob": score - 1.0, "rank": 2, "decoded_token": other},
            }
        )
    return found


def document(choice: dict[str, Any], output: int, **more: Any) -> dict[str, Any]:
    choices = [{"index": 0, "finish_reason": "length", **choice}]
    head = {"id": "cmpl-1", "object": "text_completion", "created": 1796076000, "model": REQUESTED}
    return {**head, "choices": choices, "usage": usage(output), **more}


def whole(body: dict[str, Any]) -> list[bytes]:
    raw = msgspec.json.encode(body)
    head = b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-length: %d\r\ncontent-type: application/json\r\n\r\n"
    return [head % len(raw), raw]


def chunked(*chunks: dict[str, Any]) -> list[bytes]:
    head = b"HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    events = [b"data: " + msgspec.json.encode(chunk) + b"\n\n" for chunk in chunks] + [b"data: [DONE]\n\n"]
    return [
        head + b"transfer-encoding: chunked\r\n\r\n",
        *(b"%x\r\n%s\r\n" % (len(event), event) for event in events),
        b"0\r\n\r\n",
    ]


def streamed(choice: dict[str, Any], *, last: dict[str, Any]) -> list[bytes]:
    """The echo with the first token in one chunk, the end in another, then the usage."""
    first = document({**choice, "finish_reason": None}, 1)
    end = document({"text": "", "logprobs": None, **last}, 1)
    counts = document({}, 1) | {"choices": []}
    return chunked(first | {"usage": None}, end | {"usage": None}, counts)


class Shape(NamedTuple):
    """One reply of one engine, for the scoring probe of that name."""

    engine: str
    source: str
    probe: str
    reply: Sequence[bytes]


_SGLANG_ECHO = {"text": TEXT + NEXT, "logprobs": echoed(True, offsets=False), "matched_stop": None}
_SGLANG_DOCUMENT = whole(document(_SGLANG_ECHO, 1, metadata={"weight_version": "default"}))
_VLLM_SCORED = {"text": NEXT, "logprobs": None, "stop_reason": None, "prompt_logprobs": prompt_logprobs()}

SHAPES: tuple[Shape, ...] = (
    # SGLang refuses to generate nothing, so that probe is refused here before anything is sent.
    Shape("sglang", SGLANG, "scores_one_generated", _SGLANG_DOCUMENT),
    Shape("sglang", SGLANG, "scores_cached", _SGLANG_DOCUMENT),
    Shape("sglang", SGLANG, "scores_stream", streamed(_SGLANG_ECHO, last={"matched_stop": None})),
    Shape(
        "vllm",
        VLLM,
        "scores_none_generated",
        # The one token that vLLM generates all the same is counted and not shown.
        whole(
            document(
                {
                    "text": TEXT,
                    "logprobs": echoed(False, offsets=True),
                    "stop_reason": None,
                    "prompt_logprobs": prompt_logprobs(),
                },
                1,
                kv_transfer_params=None,
            )
        ),
    ),
    Shape("vllm", VLLM, "scores_one_generated", whole(document(_VLLM_SCORED, 1, kv_transfer_params=None))),
    Shape("vllm", VLLM, "scores_cached", whole(document(_VLLM_SCORED, 1, kv_transfer_params=None))),
    Shape(
        "vllm",
        VLLM,
        "scores_stream",
        streamed({"text": TEXT + NEXT, "logprobs": echoed(True, offsets=True), "stop_reason": None}, last={}),
    ),
)


def scoring_probe(name: str) -> Probe:
    return next(probe for probe in SCORING if probe.name == name)


async def record(shape: Shape) -> tuple[evidence.Evidence, str | None]:
    """The evidence of one shape, and what is wrong with what we make of it."""
    probe = scoring_probe(shape.probe)
    async with Replay([shape.reply]) as server:
        parts = urllib.parse.urlsplit(server.origin)
        async with (
            Recorder(parts.hostname or "", parts.port or 0) as recorder,
            session(recorder.origin, "none", engine=shape.engine) as models,
        ):
            found = await outcome(probe, models)
    written = evidence_of(
        probe,
        models,
        found,
        recorder,
        server=evidence.Server(engine=shape.engine, version=None, source=shape.source),
        standing="wire_shape",
        rerun=f"python tests/live/run.py --engine {shape.engine} --url ADDRESS",
    )
    return written, fault(probe, found)


async def write(folder: Path = evidence.FOLDER) -> list[str]:
    """Writes every shape and returns what is wrong."""
    wrong = []
    for shape in SHAPES:
        written, problem = await record(shape)
        evidence.save(written, folder)
        if problem is not None:
            wrong.append(f"{shape.engine} {shape.probe}: {problem}")
    return wrong


if __name__ == "__main__":
    found = asyncio.run(write())
    print("\n".join(found) or f"{len(SHAPES)} shapes written")
    sys.exit(bool(found))
