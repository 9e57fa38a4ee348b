"""The programs printed in ``docs/for-local-apps.md`` do what the page says, against a service played from a script."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fixtures.fake_scores import reranked, reranking_row
from fixtures.fake_service import FINGERPRINT, FakeService, model_row, short_folder
from synapse_client import SynapseError
from synapse_wire.messages import decode_params, decode_request, encode_error, encode_success
from synapse_wire.operations import OPERATIONS

PAGE = (Path(__file__).parents[2] / "docs" / "for-local-apps.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
VECTOR_JSON = [0.6, 0.8]
VECTOR_BASE64 = "mpkZP83MTD8="  # the same two numbers as little-endian float32
LANE = {"model_id": "small", "task": "embed", "engine": "owned-cpu", "state": "ready", "fingerprint": "syn1-f"}


def blocks(language: str) -> list[str]:
    return [body for name, body in BLOCKS if name == language]


class ScriptedService:
    """Answers the few operations that the page uses, refuses what the contract would, and notes what was asked."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / "service.sock"))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                for line in stream:
                    stream.write(self._answer(line))
                    stream.flush()

    def _answer(self, line: bytes) -> bytes:
        request = decode_request(line)
        assert not isinstance(request.id, msgspec.UnsetType)
        params_type = OPERATIONS[request.method].params
        assert params_type is not None
        try:
            decode_params(request.params, params_type)
        except SynapseError as error:
            return encode_error(request.id, error, 1)
        params = json.loads(bytes(request.params))
        self.asked.append((request.method, params))
        return encode_success(request.id, self._result(request.method, params))

    def _result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "service.hello":
            return {
                "server_version": "1",
                "protocol": 1,
                "module_generation": 1,
                "operations": [],
                "extensions": [],
            }
        if method == "models.list":
            row = {
                **LANE,
                "max_tokens": 256,
                "max_tokens_source": "catalog",
                "dtype": "f32",
                "device_class": "cpu",
                "overlength": "refuse",
                "pinned": False,
                "self_check": {"state": "not_applicable"},
                "equivalent_to": [],
            }
            return {"module_generation": 1, "table_epoch": 0, "models": [row], "aliases": []}
        items = params.get("items") or [{"id": "0"}]
        vector = VECTOR_BASE64 if params.get("vector_encoding") == "base64" else VECTOR_JSON
        return {
            "fingerprint": "syn1-f",
            "table_epoch": 0,
            "dims": 2,
            "provenance": {"engine": {"engine": "owned-cpu", "version": "1", "build_flags": {}}},
            "module_generation": 1,
            "equivalent_to": [],
            "vectors": [
                {"id": item["id"], "vector": vector, "content_sha256": "0" * 64, "submitted_sha256": "0" * 64}
                for item in items
            ],
            "real_token_counts": [3 for _ in items],
            "truncation_disclosures": [
                {"id": item["id"], "submitted_tokens": 3, "effective_tokens": 3, "truncated": False} for item in items
            ],
        }


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ScriptedService]:
    played = ScriptedService(tmp_path)
    yield played
    played.close()


def run(command: list[str], folder: Path, cwd: Path | None = None) -> str:
    environment = {**os.environ, "SYNAPSE_RUNTIME_DIR": str(folder)}
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_python_program_prints_a_vector_for_each_id(service: ScriptedService, tmp_path: Path) -> None:
    shown = run([sys.executable, "-c", blocks("python")[0]], tmp_path).splitlines()
    assert [line.split(" [")[0] for line in shown] == ["note-17 2", "note-18 2", "fingerprint: syn1-f", "2"]
    assert [method for method, _ in service.asked] == ["service.hello", "models.list", "embed.batch", "embed.query"]
    assert service.asked[-1][1]["required_fingerprint"] == "syn1-f"


def test_the_program_for_many_texts_prints_each_id_once(tmp_path: Path) -> None:
    texts = {f"note-{number}": "word " * (number % 7) for number in range(150)}
    lines = [json.dumps({"id": note, "text": text}) for note, text in texts.items()]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with short_folder() as folder, FakeService(folder) as service:
        service.models["small"] = model_row("small")
        shown = run([sys.executable, "-c", blocks("python")[1]], folder, tmp_path).splitlines()
        assert service.durable.keys() == ["notes-2026-06/0"]
    assert sorted(shown) == sorted(f"{note} {FINGERPRINT} {2 + len(text.split())} 4" for note, text in texts.items())


def test_the_program_for_ranking_prints_the_best_note_first(tmp_path: Path) -> None:
    with short_folder() as folder, FakeService(folder) as service:
        service.models["small"] = model_row("small")
        service.models["ranker"] = reranking_row(model_row("ranker"))
        service.on("rerank.score", reranked)
        shown = run([sys.executable, "-c", blocks("python")[2]], folder, tmp_path).splitlines()
    assert shown == ["0.540 note-17", "0.531 note-18"]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node isn't installed")
def test_the_node_program_prints_a_vector_for_each_id(service: ScriptedService, tmp_path: Path) -> None:
    shown = run(["node", "-e", blocks("js")[0]], tmp_path)
    assert shown.splitlines() == ["note-17 2", "note-18 2", "fingerprint: syn1-f"]
    assert [method for method, _ in service.asked] == ["models.list", "embed.batch"]


def test_the_request_of_the_shell_program_is_a_request() -> None:
    (line,) = re.findall(r"echo '([^']+)'", blocks("sh")[0])
    assert decode_request(line.encode()).method == "models.list"


# --- the retry loop of the page ---


class Failing:
    """A client whose first answers are failures."""

    def __init__(self, *failures: SynapseError) -> None:
        self.failures = list(failures)
        self.calls = 0

    def embed_query(self, model: str, text: str, *, deadline_ms: int) -> str:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return f"{model}:{text}:{deadline_ms}"


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    return slept


def printed_embed() -> Any:
    namespace: dict[str, Any] = {}
    exec(compile(blocks("python")[3], "for-local-apps.md", "exec"), namespace)
    return namespace["embed"]


def test_the_loop_repeats_what_is_safe_to_repeat_after_the_time_it_was_told(pauses: list[float]) -> None:
    client = Failing(
        SynapseError("model_loading", "loading"),
        SynapseError(
            "lane_paused",
            "paused",
            details={"lane_id": "l", "paused_until_ms": 1, "reason": "r"},
            retry_after_ms=1500,
        ),
    )
    assert printed_embed()(client, "m", "t") == "m:t:30000"
    assert pauses == [0.25, 1.5]


@pytest.mark.parametrize(
    "failure",
    [
        SynapseError("deadline_exceeded", "late"),
        SynapseError("unknown_model", "what", details={"model_id": "m"}),
        SynapseError("request_cancelled", "cancelled"),
    ],
    ids=lambda failure: failure.code,
)
def test_the_loop_does_not_repeat_anything_else(failure: SynapseError, pauses: list[float]) -> None:
    client = Failing(failure)
    with pytest.raises(SynapseError) as caught:
        printed_embed()(client, "m", "t")
    assert (caught.value, client.calls, pauses) == (failure, 1, [])


def test_the_loop_gives_up_after_its_attempts(pauses: list[float]) -> None:
    client = Failing(*[SynapseError("queue_full", "full") for _ in range(9)])
    with pytest.raises(SynapseError, match="queue_full"):
        printed_embed()(client, "m", "t")
    assert (client.calls, pauses) == (5, [0.25] * 4)
