"""The vendor's own client reads the recorded bytes of a real server as the product did then."""

from __future__ import annotations

from typing import Any

import msgspec
import openai
import pytest

from live.evidence import Evidence, body_of, load, read_back
from live.replay import Replay

SDK_FAILS = {"chat_two_answers_stream"}
"""The SDK's accumulator fails on a stream that begins with another choice than the first, as a real server's may."""

ANSWERED = {
    one.probe: one
    for one in load()
    if one.standing == "live" and "response" in one.outcome and one.probe not in SDK_FAILS
}


async def read_by_the_sdk(record: Evidence) -> Any:
    """The SDK's reading of a recording: the same request, sent by its own means, and its own accumulator."""
    (exchange,) = record.exchanges
    body = msgspec.json.decode(body_of(b"".join(read_back(exchange.sent))))
    known = {"model", "messages", "prompt", "n", "max_tokens", "temperature", "logprobs", "top_logprobs", "stream"}
    named = {key: body.pop(key) for key in tuple(body) if key in known}
    async with (
        Replay([read_back(exchange.received)]) as server,
        openai.AsyncOpenAI(base_url=f"{server.origin}/v1", api_key="k", max_retries=0) as sdk,
    ):
        if record.dialect == "openai_completions":
            made = await sdk.completions.create(**named, extra_body=body)
            return await _joined(made) if record.stream else made
        if not named.pop("stream", False):
            return await sdk.chat.completions.create(**named, extra_body=body)
        try:
            async with sdk.chat.completions.stream(**named, extra_body=body) as stream:
                return await stream.get_final_completion()
        except openai.LengthFinishReasonError as cut:  # the SDK's way to say it; the completion is in the exception
            return cut.completion


async def _joined(chunks: Any) -> Any:
    """Completions have no accumulator of the SDK's, so its typed chunks are joined here."""
    found = [chunk async for chunk in chunks]
    last = found[-1]
    last.choices = [next(chunk.choices[0] for chunk in reversed(found) if chunk.choices)]
    last.choices[0].text = "".join(chunk.choices[0].text for chunk in found if chunk.choices)
    return last


def text_of(choice: Any) -> str:
    return (choice.text if hasattr(choice, "text") else choice.message.content) or ""


@pytest.mark.parametrize("probe", ANSWERED)
async def test_the_sdk_reads_a_recording_alike(probe: str) -> None:
    record = ANSWERED[probe]
    ours, theirs = record.outcome["response"], await read_by_the_sdk(record)
    assert (theirs.id, theirs.model) == (ours["response_id"], ours["response_model"])
    assert theirs.system_fingerprint == ours["system_fingerprint"]
    assert [(one.index, text_of(one), one.finish_reason) for one in sorted(theirs.choices, key=lambda c: c.index)] == [
        (one["index"], one.get("text", ""), one["finish_reason_raw"]) for one in ours["choices"]
    ]
    usage = ours["usage"]
    assert (theirs.usage.prompt_tokens, theirs.usage.completion_tokens, theirs.usage.total_tokens) == (
        usage["input_tokens"],
        usage["output_tokens"],
        usage["reported_total"],
    )
    if record.dialect == "openai_chat" and theirs.choices[0].logprobs is not None:
        assert [(one.token, one.logprob) for one in theirs.choices[0].logprobs.content] == [
            (one["token"], one["logprob"]) for one in ours["choices"][0]["logprobs"]
        ]
