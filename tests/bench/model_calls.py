"""What the model plane adds to a call: over a bare aiohttp POST, beside the vendor's SDK, and for each streamed event.

The server is a process of its own that writes canned bytes, the same for all clients, over connections that are kept
alive. Audit, output contract and provenance are on, as they always are. A bare parse of a stream splits it at empty
lines and decodes each datum with the standard library.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

import aiohttp
import psutil
from aiohttp import web

from bench.figures import Report, ratio, spread
from fixtures.bound_models import asking, model, pool
from synapse_models.capabilities import CAPABILITY_SPECS, parse_config
from synapse_models.deployment import Deployment
from synapse_models.dialect import Supported
from synapse_models.plans import BindingReconcileInput, DeploymentReconcileInput
from synapse_models.profiles import ModelProfile, SupportFact
from synapse_models.reconciliation import ReconcileBatch, reconcile
from synapse_models.registry import DIALECT_SPECS
from synapse_models.request import Request, chat
from synapse_models.requirements import TaskRequirements, aggregate

SECONDS = 40
ROUNDS = 5
CALLS = 120
CHUNKS = 2000
CONCURRENT = 1000
MODELS = 200
SIZES = {"1 KB": 1 << 10, "64 KB": 64 << 10}


def measure() -> Report:
    """All figures of the plane's cost."""
    report = Report()
    with canned_server() as base_url:
        asyncio.run(_calls(base_url, report))
        asyncio.run(_streams(base_url, report))
        _concurrent(base_url, report)
    _reconciliation(report)
    return report


async def _calls(base_url: str, report: Report) -> None:
    import openai

    async with (
        aiohttp.ClientSession() as session,
        pool(base_url) as connections,
        openai.AsyncOpenAI(base_url=base_url, api_key="k", max_retries=0) as sdk,
    ):
        bound = model(connections, base_url)
        for label, size in SIZES.items():
            text = "x" * size
            request = asking(chat(("user", text)))
            body = {"model": "m", "messages": [{"role": "user", "content": text}]}

            async def bare(body: dict[str, Any] = body) -> None:
                async with session.post(f"{base_url}/chat/completions", json=body) as response:
                    json.loads(await response.read())

            async def plane(request: Request = request) -> None:
                await bound.arun(request)

            async def vendor(body: dict[str, Any] = body) -> None:
                await sdk.chat.completions.create(**body)

            times: dict[str, list[float]] = {"bare": [], "plane": [], "sdk": []}
            for _ in range(ROUNDS):
                for name, once in (("bare", bare), ("plane", plane), ("sdk", vendor)):
                    times[name].append(await _p50_ms(once))
            added = [over - under for over, under in zip(times["plane"], times["bare"], strict=True)]
            report.at_most(f"added p50 of a call, {label}", statistics.median(added), "ms", 0.6)
            report.at_most(
                f"p50 of a call, of the SDK's, {label}",
                ratio(times["plane"], times["sdk"]),
                "x",
                1.0,
                spread(times["plane"], times["sdk"]),
            )
            shown = ", ".join(f"{name} {statistics.median(found):.2f} ms" for name, found in times.items())
            report.lines.append(f"{label}: {shown}")


async def _p50_ms(once: Callable[[], Awaitable[None]]) -> float:
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        await once()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


async def _streams(base_url: str, report: Report) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
    bare_us, plane_us = [], []
    async with aiohttp.ClientSession() as session, pool(base_url) as connections:
        bound = model(connections, base_url)
        for _ in range(ROUNDS):
            start = time.perf_counter()
            async with session.post(f"{base_url}/chat/completions", json=body) as response:
                rest = b""
                async for piece in response.content.iter_any():
                    *events, rest = (rest + piece).split(b"\n\n")
                    for event in events:
                        if event != b"data: [DONE]":
                            json.loads(event.removeprefix(b"data: "))
            bare_us.append((time.perf_counter() - start) / CHUNKS * 1e6)
            start = time.perf_counter()
            async for _event in bound.astream(asking()):
                pass
            plane_us.append((time.perf_counter() - start) / CHUNKS * 1e6)
    report.at_most(
        f"an event of a stream of {CHUNKS:,}, of a bare parse",
        ratio(plane_us, bare_us),
        "x",
        1.5,
        spread(plane_us, bare_us),
    )
    report.lines.append(
        f"an event: bare {statistics.median(bare_us):.1f} us, plane {statistics.median(plane_us):.1f} us"
    )


def _concurrent(base_url: str, report: Report) -> None:
    """In a process of its own, whose memory no other measurement has stretched before."""
    command = [sys.executable, __file__, base_url]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    failed, growth_mb = told.split()
    report.at_most(f"failures of {CONCURRENT:,} calls at once", int(failed), "calls", 0)
    report.at_most(f"memory growth of {CONCURRENT:,} calls at once", float(growth_mb), "MB", 80)


async def many(base_url: str) -> None:
    """Prints how many of the calls failed, and by how much they made this process grow."""
    async with pool(base_url) as connections:
        bound = model(connections, base_url)
        await bound.arun(asking())
        before = psutil.Process().memory_info().rss
        answers = await asyncio.gather(*(bound.arun(asking()) for _ in range(CONCURRENT)), return_exceptions=True)
    failed = sum(isinstance(answer, BaseException) for answer in answers)
    print(failed, (peak_rss() - before) / (1 << 20))


def peak_rss() -> int:
    """The most resident memory, in bytes, that this process has had."""
    status = Path("/proc/self/status")
    if status.exists():
        # `ru_maxrss` won't do on Linux: a fresh program inherits it from the process that started it.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _reconciliation(report: Report) -> None:
    known = SupportFact(support="supported", source="bench", date="2026-11-01")
    profile = ModelProfile(model_id="m", origin="user", capabilities=dict.fromkeys(CAPABILITY_SPECS, known))
    served = Deployment(engine_id="unknown", engine_source="unknown", api_base="https://api.example.org/v1")
    said = DIALECT_SPECS["openai_chat"].designed
    declared = {key: parse_config(key, isinstance(said[key], Supported)) for key in CAPABILITY_SPECS}
    work = aggregate({"nightly": TaskRequirements(input="chat", min_top_logprobs=5)})
    batch = ReconcileBatch(
        bindings=tuple(
            BindingReconcileInput(
                binding_id=f"m{number}",
                root_key=f"m{number}",
                dialect_id="openai_chat",
                model_id="m",
                profile=profile,
                declared=declared,
                args={"sampling.temperature": 0.0},
                requirements=work,
            )
            for number in range(MODELS)
        ),
        deployments=tuple(
            DeploymentReconcileInput(root_key=f"m{number}", deployment=served, facts=served.facts)
            for number in range(MODELS)
        ),
    )
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        result = reconcile(batch)
        times.append((time.perf_counter() - start) * 1e3)
    assert len(result.runtime_plans) == MODELS
    report.at_most(f"reconcile() of {MODELS} models x 12 capabilities", statistics.median(times), "ms", 150)


@contextmanager
def canned_server() -> Iterator[str]:
    """The server's base URL, while it runs in a process of its own."""
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.communicate()


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(body).encode() + b"\n\n"


async def serve() -> None:
    """Answers with a document, or with a stream when that is asked for."""
    message = {"role": "assistant", "content": "y" * 1024}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    whole = json.dumps(
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, "usage": usage}
    ).encode()
    stream = b"".join([*(_chunk({"content": f"word{n} "}) for n in range(CHUNKS - 1)), _chunk({}, "stop")])
    stream += b"data: [DONE]\n\n"

    async def answer(request: web.Request) -> web.StreamResponse:
        if b'"stream":' not in await request.read():
            return web.Response(body=whole, content_type="application/json")
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        for start in range(0, len(stream), 4096):
            await response.write(stream[start : start + 4096])
        return response

    app = web.Application(client_max_size=1 << 20)
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(many(sys.argv[1]) if len(sys.argv) > 1 else serve())
