"""The commands of `synapse` against the fake service: what they print, what they send, how they end."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import psutil
import pytest
from typer.testing import CliRunner, Result

from fixtures.fake_service import DIMS, FINGERPRINT, FakeCall, FakeService, embedded, model_row, status, vector_of
from synapse_cli.commands import stop
from synapse_cli.commands.embed import CHUNK_BYTES, chunks
from synapse_cli.main import app
from synapse_wire import results as r
from synapse_wire.errors import SynapseError, invalid_state

Run = Callable[..., Result]


@pytest.fixture
def run(home: Path) -> Run:
    """Runs `synapse` with arguments, for the service of the test's home."""

    def invoke(*arguments: str, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(app, list(arguments), input=stdin, env={"SYNAPSE_HOME": str(home)})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


# --- when no service runs ---


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["embed", "-m", "mini", "x"],
        ["models"],
        ["models", "list"],
        ["models", "status", "mini"],
        ["models", "unload", "mini"],
        ["jobs"],
        ["jobs", "list"],
        ["jobs", "status", "j"],
        ["jobs", "wait", "j"],
        ["jobs", "cancel", "j"],
        ["probe", "start", "mini"],
        ["probe", "status", "j"],
        ["probe", "report"],
        ["settings", "get"],
        ["settings", "set", "a=1"],
        ["logs"],
    ],
)
def test_without_a_service_every_command_exits_with_3_and_says_how_to_start_it(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "  code: service_not_running\n" in result.stderr
    assert "  next: Start it with `synapse serve`" in result.stderr


def test_without_a_service_the_error_is_json_when_asked_for(run: Run) -> None:
    result = run("status", "--json")
    error = json.loads(result.stderr)
    assert (result.exit_code, result.stdout) == (3, "")
    assert (error["code"], error["class"]) == ("service_not_running", "transient")
    assert "synapse serve" in error["details"]["remedy"]


def test_the_home_option_wins_over_the_environment(fake: FakeService, run: Run, tmp_path: Path) -> None:
    assert run("status", "--home", str(tmp_path)).exit_code == 3
    assert run("status").exit_code == 0


# --- status ---


def test_status_shows_where_the_service_is_and_what_it_has(fake: FakeService, run: Run) -> None:
    result = run("status")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Synapse 0.0-fake is running (serving)",
        "  process      0, up 1 min 5 s, start number 1",
        f"  socket       {fake.address}",
        f"  home         {fake.directory.parent}",
        "  connections  1",
        "  models       mini (ready)",
        "  jobs         none at work",
    ]


def test_status_as_json_is_what_the_service_says(fake: FakeService, run: Run) -> None:
    said = json.loads(run("status", "--json").stdout)
    assert said["service"]["socket_path"] == fake.address
    assert [row["model_id"] for row in said["models"]] == ["mini"]


# --- call ---


def test_call_prints_the_result_as_it_came(fake: FakeService, run: Run) -> None:
    result = run("call", "model.status", '{"model_id": "mini"}')
    assert result.exit_code == 0
    assert json.loads(result.stdout)["fingerprint"] == FINGERPRINT
    assert result.stdout.count("\n") == 1


def test_call_sends_nothing_before_and_leaves_the_parameters_alone(fake: FakeService, run: Run) -> None:
    result = run("call", "service.hello", '{"client":\n  {"name": "x"},\n "protocol": 1}')
    assert result.exit_code == 0
    assert fake.received == [("service.hello", {"client": {"name": "x"}, "protocol": 1})]


def test_call_passes_repeated_members_on_for_the_service_to_refuse(fake: FakeService, run: Run) -> None:
    def refuse(call: FakeCall) -> Any:
        raise AssertionError("the wire refuses this line")

    fake.on("model.status", refuse)
    received: list[bytes] = []
    take = fake.take

    def spy(connection: Any, line: bytes) -> None:
        received.append(line)
        take(connection, b'{"jsonrpc":"2.0","id":1,"method":"service.info","params":{}}')

    fake.take = spy  # type: ignore[method-assign]
    run("call", "model.status", '{"job_id":"a","job_id":"b"}')
    assert b'"params":{"job_id":"a","job_id":"b"}' in received[0]


def test_call_reads_parameters_from_stdin(fake: FakeService, run: Run) -> None:
    result = run("call", "model.status", "-", stdin='{"model_id":"mini"}')
    assert json.loads(result.stdout)["model_id"] == "mini"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["model.status", '{"model_id":"nobody"}'], "unknown_model"),
        (["model.status", '{"x":1}'], "invalid_request"),
        (["no.such.method"], "invalid_request"),
        (["model.status", '{"model_id":'], "invalid_json"),
        (["model.status", "model_id=mini"], "invalid_json"),
    ],
)
def test_call_exits_with_1_and_prints_the_error_as_json(
    fake: FakeService, run: Run, arguments: list[str], code: str
) -> None:
    result = run("call", *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr)["code"] == code


def test_call_exits_with_1_without_a_service_too(run: Run) -> None:
    result = run("call", "service.info")
    assert (result.exit_code, json.loads(result.stderr)["code"]) == (1, "service_not_running")


# --- errors for people ---


def test_an_error_says_what_failed_which_code_and_what_to_do(fake: FakeService, run: Run) -> None:
    result = run("embed", "-m", "nobody", "x")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "Could not embed the texts: no model is called 'nobody'",
        "  code: unknown_model",
        "  model_id: nobody",
        "  next: `synapse models` shows the ids that exist.",
    ]


def test_an_error_from_elsewhere_can_not_command_the_terminal(fake: FakeService, run: Run) -> None:
    def hostile(call: FakeCall) -> Any:
        raise SynapseError("unknown_model", "\x1b[2Jgone\n\x07", details={"model_id": "\x1b[31m"})

    fake.on("embed.batch", hostile)
    result = run("embed", "-m", "mini", "x")
    assert "\\x1b[2Jgone\\n\\x07" in result.stderr
    assert "\x1b" not in result.stderr


# --- embed ---


def test_embed_shows_the_first_numbers_and_the_fingerprint(fake: FakeService, run: Run) -> None:
    result = run("embed", "--model", "mini", "one", "two words")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"text  tokens  first 4 of {DIMS} numbers",
        "0     3       +0.375000 -0.750000 +0.500000 +0.000010",
        "1     4       +1.125000 -2.250000 +0.500000 +0.000010",
        f"fingerprint {FINGERPRINT}",
    ]


def test_embed_takes_each_line_of_stdin_as_a_text(fake: FakeService, run: Run) -> None:
    result = run("embed", "-m", "mini", "--json", stdin="eins\n\nzwei ä\n".encode())
    said = json.loads(result.stdout)
    assert [item["id"] for item in said["vectors"]] == ["0", "1", "2"]
    assert [item["vector"] for item in said["vectors"]] == [vector_of(text) for text in ("eins", "", "zwei ä")]
    assert said["real_token_counts"] == [3, 2, 4]
    assert said["fingerprint"] == FINGERPRINT


@pytest.mark.parametrize("command", [["embed", "-m", "mini"], ["rerank", "-m", "mini", "q"]])
def test_only_a_line_feed_ends_a_text(fake: FakeService, run: Run, command: list[str]) -> None:
    inside = "".join(map(chr, (0x0B, 0x0C, 0x1C, 0x85, 0x2028, 0x2029))) + "\ra"
    sent: list[str] = []
    fake.models["mini"] = model_row("mini", task=command[0])

    def asked(call: FakeCall) -> NoReturn:
        texts = call.params.items if command[0] == "embed" else call.params.candidates
        sent.extend(item.text for item in texts)
        raise SynapseError("invalid_request", "enough seen")

    fake.on("embed.batch" if command[0] == "embed" else "rerank.score", asked)
    assert run(*command, stdin=f"one{inside}\r\n\n two \r\r\nlast\n\n".encode()).exit_code == 1
    assert sent == [f"one{inside}", "", " two \r", "last", ""]


def test_embed_splits_many_texts_and_joins_the_answers(fake: FakeService, run: Run) -> None:
    texts = [f"text {index}" for index in range(130)]
    result = run("embed", "-m", "mini", "--json", *texts)
    batches = [params["items"] for method, params in fake.received if method == "embed.batch"]
    assert [len(batch) for batch in batches] == [64, 64, 2]
    said = json.loads(result.stdout)
    assert [item["id"] for item in said["vectors"]] == [str(index) for index in range(130)]
    assert [item["id"] for item in said["truncation_disclosures"]] == [str(index) for index in range(130)]
    plain = run("embed", "-m", "mini", *texts)
    assert plain.stdout.splitlines()[130].startswith("129 ")
    assert plain.stderr.splitlines()[-1] == "Embedding: 100%"


def test_chunks_hold_what_an_inline_request_may_hold() -> None:
    long = "x" * (CHUNK_BYTES * 2)
    assert [(start, len(piece)) for start, piece in chunks(["a"] * 65)] == [(0, 64), (64, 1)]
    assert [(start, len(piece)) for start, piece in chunks(["a", long, "b"])] == [(0, 1), (1, 1), (2, 1)]
    half = "é" * (CHUNK_BYTES // 4 - 1)  # two bytes each, and two tokens more for each text
    assert [len(piece) for _, piece in chunks([half, half, half])] == [2, 1]


def test_embed_refuses_to_mix_two_fingerprints(fake: FakeService, run: Run) -> None:
    def changing(call: FakeCall) -> Any:
        answer = embedded(call, [(item.id, item.text) for item in call.params.items])
        if fake.methods().count("embed.batch") == 1:
            return answer
        return {**json.loads(msgspec.json.encode(answer)), "fingerprint": "syn1-other"}

    fake.on("embed.batch", changing)
    result = run("embed", "-m", "mini", "--json", *(["x"] * 65))
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr)["code"] == "fingerprint_changed"
    fake.received.clear()
    plain = run("embed", "-m", "mini", *(["x"] * 65))
    assert (plain.exit_code, plain.stdout) == (1, "")
    assert "  code: fingerprint_changed" in plain.stderr.splitlines()


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_batch_that_became_a_job_is_an_error_that_says_where_it_is(
    fake: FakeService, run: Run, form: list[str]
) -> None:
    fake.durable.inline_items = 1
    result = run("embed", "-m", "mini", "one", "two", *form)
    assert (result.exit_code, result.stdout) == (1, "")
    if form:
        assert json.loads(result.stderr)["code"] == "batch_diverted"
        return
    assert result.stderr.splitlines() == [
        "Could not embed the texts: The batch is over the inline budgets and became job job-0.",
        "  code: batch_diverted",
        "  next: The inline budgets of this service are small. `synapse jobs` shows the job, which goes on; "
        "`synapse embed --file` reads the vectors of any number of texts.",
    ]


def test_embed_passes_its_deadline_on(fake: FakeService, run: Run) -> None:
    run("embed", "-m", "mini", "--deadline-ms", "1500", "x")
    run("embed", "-m", "mini", "--deadline-ms", "1500", "--json", "x")
    assert [params["deadline_ms"] for method, params in fake.received if method == "embed.batch"] == [1500, 1500]


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [(["embed", "-m", "mini"], b""), (["embed", "-m", "mini"], b"\xff\xfe")],
)
def test_wrong_usage_of_embed_exits_with_2(fake: FakeService, run: Run, arguments: list[str], stdin: Any) -> None:
    assert run(*arguments, stdin=stdin).exit_code == 2
    assert "embed.batch" not in fake.methods()


# --- models ---


def test_models_lists_them_as_a_table_or_as_json(fake: FakeService, run: Run) -> None:
    fake.models["raw"] = model_row("raw", state="unloaded", dims=msgspec.UNSET, certified=False)
    plain = run("models")
    assert plain.stdout.splitlines() == [
        "model  task   engine     state     dims  max tokens  dtype  certified",
        "mini   embed  owned-cpu  ready     4     256         f32    yes",
        "raw    embed  owned-cpu  unloaded  -     256         f32    no",
    ]
    assert run("models", "list").stdout == plain.stdout
    assert [row["model_id"] for row in json.loads(run("models", "--json").stdout)["models"]] == ["mini", "raw"]


def test_an_empty_list_of_models_says_how_to_get_one(fake: FakeService, run: Run) -> None:
    fake.models.clear()
    assert "synapse models load --help" in run("models").stdout


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "a model"
    folder.mkdir()
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        (folder / name).write_bytes(name.encode() * 1000)
    return folder


def test_load_sends_urls_and_digests_and_waits(fake: FakeService, run: Run, model_folder: Path) -> None:
    result = run(
        "models",
        "load",
        "new",
        "--folder",
        str(model_folder),
        "--pooling",
        "mean",
        "--max-tokens",
        "128",
        "--no-normalize",
        "--overlength",
        "truncate",
    )
    assert result.exit_code == 0
    assert result.stdout == "new is loaded. Next: `synapse probe start new`.\n"
    assert result.stderr.splitlines()[-3:] == ["Loading new: 0%", "Loading new: 33%", "Loading new: 100%"]
    sent = dict(fake.received)["model.load"]
    assert sent == {
        "model_id": "new",
        "task": "embed",
        "engine": "owned-cpu",
        "source": "file",
        "pooling": "mean",
        "max_tokens": 128,
        "normalize": False,
        "overlength": "truncate",
        "files": {
            role: {
                "url": f"file://{str(model_folder / name).replace(' ', '%20')}",
                "sha256": hashlib.sha256(name.encode() * 1000).hexdigest(),
            }
            for role, name in (
                ("model", "model.safetensors"),
                ("tokenizer", "tokenizer.json"),
                ("config", "config.json"),
            )
        },
    }


def test_load_leaves_out_what_was_not_said(fake: FakeService, run: Run, model_folder: Path) -> None:
    (model_folder / "config.json").unlink()
    result = run("models", "load", "new", "--folder", str(model_folder), "--no-wait", "--json")
    assert json.loads(result.stdout) == {"job_id": "load-new", "model_id": "new", "state": "queued"}
    sent = dict(fake.received)["model.load"]
    assert set(sent) == {"model_id", "task", "engine", "source", "files"}
    assert set(sent["files"]) == {"model", "tokenizer"}


def test_load_of_an_incomplete_folder_names_the_missing_file(fake: FakeService, run: Run, model_folder: Path) -> None:
    (model_folder / "tokenizer.json").unlink()
    result = run("models", "load", "new", "--folder", str(model_folder))
    assert result.exit_code == 1
    assert f"{model_folder} has no tokenizer.json." in result.stderr
    assert "  code: model_file_missing" in result.stderr
    assert "model.load" not in fake.methods()


def test_a_load_that_fails_shows_the_jobs_error(fake: FakeService, run: Run, model_folder: Path) -> None:
    failed = {"code": "artifact_invalid", "class": "permanent", "safe_to_retry_same_request": False, "message": "bad"}
    fake.job("load-new", status("load-new", "failed", 1, 3, error=failed))
    result = run("models", "load", "new", "--folder", str(model_folder))
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-4:] == [
        "Could not load new: bad",
        "  code: artifact_invalid",
        "  reported by job load-new (model.load), which ended as failed",
        "  next: The file isn't what it should be; get it again and load the model again.",
    ]


def test_models_status_shows_a_model_or_a_job(fake: FakeService, run: Run) -> None:
    fake.models["mini"] = model_row("mini", last_error={"code": "engine_crashed", "message": "killed"})
    model = run("models", "status", "mini")
    assert model.stdout.splitlines()[0] == "mini is ready"
    assert f"  fingerprint   {FINGERPRINT}" in model.stdout.splitlines()
    assert "  last error    engine_crashed: killed" in model.stdout.splitlines()
    fake.job("j", status("j", "running", 1, 4))
    job = run("models", "status", "--job", "j")
    assert job.stdout.splitlines() == ["Job j (model.load) is running", "  items  1 of 4"]
    assert json.loads(run("models", "status", "--job", "j", "--json").stdout)["items_done"] == 1
    assert run("models", "status").exit_code == 2
    assert run("models", "status", "mini", "--job", "j").exit_code == 2


def test_looking_at_a_failed_job_exits_with_1(fake: FakeService, run: Run) -> None:
    failed = {"code": "artifact_invalid", "class": "permanent", "safe_to_retry_same_request": False, "message": "bad"}
    fake.job("j", status("j", "failed", 1, 4, error=failed))
    result = run("probe", "status", "j")
    assert result.exit_code == 1
    assert "artifact_invalid" in result.stdout


def test_unload_says_what_became_of_the_model(fake: FakeService, run: Run) -> None:
    assert run("models", "unload", "mini").stdout == "mini is unloaded.\n"


# --- probe ---


def test_probe_start_waits_and_shows_the_report(fake: FakeService, run: Run) -> None:
    result = run("probe", "start", "mini")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "model  task   engine     certification  reason  measured",
        "mini   embed  owned-cpu  certified      -       tokens_per_second 100, latency_ms 1.5",
    ]
    assert result.stderr.splitlines() == ["Probing mini: 50%", "Probing mini: 100%"]
    assert json.loads(run("probe", "start", "mini", "--no-wait", "--json").stdout)["job_id"] == "probe-mini"
    assert json.loads(run("probe", "report", "mini", "--json").stdout)["lanes"][0]["model_id"] == "mini"


def test_the_whole_report_shows_what_each_position_of_the_knob_recommends(fake: FakeService, run: Run) -> None:
    assert run("probe", "report").stdout.splitlines()[2:] == [
        "The knob stands at balanced. What each position recommends:",
        "knob         embed  rerank",
        "performance  mini   -",
        "balanced     mini   -",
        "quiet        mini   -",
    ]


# --- settings ---


def test_settings_are_shown_with_their_source(fake: FakeService, run: Run) -> None:
    assert run("settings", "get").stdout.splitlines() == [
        "setting    value  from     default  meaning",
        "cpu_lanes  false  default  false    the setting cpu_lanes",
        "log_level  info   default  info     the setting log_level",
    ]
    assert [row["name"] for row in json.loads(run("settings", "get", "log_level", "--json").stdout)["settings"]] == [
        "log_level"
    ]


def test_setting_values_are_json_where_they_can_be(fake: FakeService, run: Run) -> None:
    assert run("settings", "set", "a=true", "b=5", "c=null", "d=/some/path", 'e="7"', "f=x=y").exit_code == 0
    assert fake.received[-1][1] == {"values": {"a": True, "b": 5, "c": None, "d": "/some/path", "e": "7", "f": "x=y"}}
    assert run("settings", "set", "nonsense").exit_code == 2


def test_a_setting_that_needs_a_restart_says_so(fake: FakeService, run: Run) -> None:
    fake.on(
        "settings.set",
        lambda _: r.Settings(
            settings=[
                r.Setting(
                    name="storage_dir",
                    value="/x",
                    source="file",
                    default=None,
                    needs_restart=True,
                    bounds={},
                    description="where files go",
                )
            ]
        ),
    )
    result = run("settings", "set", "storage_dir=/x")
    assert result.stderr == "Restart the service for: storage_dir\n"


# --- logs ---


def test_logs_shows_the_latest_entries_oldest_first(fake: FakeService, run: Run) -> None:
    result = run("logs", "--lines", "2")
    assert [line.split(maxsplit=2)[2] for line in result.stdout.splitlines()] == [
        "info    event 4 n=4",
        "info    event 5 n=5",
    ]
    as_json = [json.loads(line) for line in run("logs", "-n", "2", "--json", "--level", "warning").stdout.splitlines()]
    assert [entry["seq"] for entry in as_json] == [4, 5]
    assert fake.received[-1][1]["level"] == "warning"


def test_logs_reads_more_than_one_page(fake: FakeService, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("synapse_cli.commands.logs.PAGE", 2)
    assert len(run("logs").stdout.splitlines()) == 5
    assert [params["after_seq"] for method, params in fake.received if method == "logs.tail"] == [0, 2, 4]


def test_following_the_log_prints_new_entries_once(
    fake: FakeService, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [1, 2]

    def tail(call: FakeCall) -> Any:
        new = [seq for seq in entries if seq > call.params.after_seq]
        rows = [r.LogEntry(seq=seq, time_ms=0, level="info", event=f"e{seq}", fields={}) for seq in new]
        return r.LogTail(entries=rows, next_seq=entries[-1], dropped=0)

    looks = 0

    def sleep(seconds: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            entries.append(3)
        elif looks == 3:
            # A service that started anew numbers from the beginning.
            entries[:] = [1]
            fake.stop()
            fake.generation = 2
            fake.start()
        elif looks == 5:
            raise KeyboardInterrupt

    fake.on("logs.tail", tail)
    monkeypatch.setattr("synapse_cli.commands.logs.time.sleep", sleep)
    result = run("logs", "--follow")
    assert [line.split()[3] for line in result.stdout.splitlines()] == ["e1", "e2", "e3", "e1"]
    assert result.exit_code == 130


# --- stop ---


@pytest.fixture
def process(fake: FakeService) -> Any:
    """A process that stands for the service's own and ends when the fake is told to stop."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    handlers = dict(fake.handlers)
    fake.on(
        "service.info",
        lambda call: msgspec.structs.replace(handlers["service.info"](call), pid=child.pid),
    )

    def shutdown(call: FakeCall) -> Any:
        child.terminate()
        return handlers["service.shutdown"](call)

    fake.on("service.shutdown", shutdown)
    yield child
    child.kill()
    child.wait()


def test_stop_waits_until_the_process_has_ended(fake: FakeService, run: Run, process: Any) -> None:
    result = run("stop", "--drain", "0.5")
    assert (result.exit_code, result.stdout) == (0, "The service has stopped.\n")
    assert fake.received[-1] == ("service.shutdown", {"drain_ms": 500})
    assert not Path(f"/proc/{process.pid}").exists() or process.poll() is not None


def test_stop_fails_while_the_process_lives(
    fake: FakeService, run: Run, process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stop, "GRACE_S", 0.05)
    fake.on("service.shutdown", lambda call: r.ShuttingDown(state="stopping", drain_ms=0, holders=[]))
    result = run("stop")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"Process {process.pid} hasn't ended." in result.stderr
    assert "  code: still_running" in result.stderr


def test_stop_does_not_wait_for_a_parent_that_never_asks_how_its_service_ended(fake: FakeService, run: Run) -> None:
    careless = "import subprocess as s, sys; print(s.Popen(['sleep', '60']).pid, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", careless], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        handlers = dict(fake.handlers)
        fake.on("service.info", lambda call: msgspec.structs.replace(handlers["service.info"](call), pid=pid))

        def shutdown(call: FakeCall) -> Any:
            os.kill(pid, signal.SIGKILL)
            return r.ShuttingDown(state="stopping", drain_ms=0, holders=[])

        fake.on("service.shutdown", shutdown)
        result = run("stop")
        assert psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        assert parent.stdin is not None
        parent.stdin.close()
    assert (result.exit_code, result.stdout) == (0, "The service has stopped.\n")


def test_stop_names_what_is_held_and_how_to_stop_nevertheless(fake: FakeService, run: Run, process: Any) -> None:
    def held(call: FakeCall) -> Any:
        raise invalid_state("1 holders would be cut off", holders=[{"kind": "job", "job_id": "j1"}])

    fake.on("service.shutdown", held)
    result = run("stop")
    assert result.exit_code == 1
    assert '  holders: [{"kind":"job","job_id":"j1"}]' in result.stderr.splitlines()
    assert "  next: Let what holds it finish, or use --force to cut it off." in result.stderr.splitlines()
    assert process.poll() is None


def test_a_forced_stop_says_what_it_cut_off(fake: FakeService, run: Run, process: Any) -> None:
    def forced(call: FakeCall) -> Any:
        assert call.params.force
        process.terminate()
        holders = [r.Holder(kind="job", job_id="j1"), r.Holder(kind="loaded", model_id="mini")]
        return r.ShuttingDown(state="stopping", drain_ms=0, holders=holders)

    fake.on("service.shutdown", forced)
    result = run("stop", "--force")
    assert result.exit_code == 0
    assert [line for line in result.stderr.splitlines() if "cut off" in line] == [
        "cut off: job j1",
        "cut off: loaded mini",
    ]


def test_stopping_nothing_is_no_error(run: Run) -> None:
    result = run("stop")
    assert (result.exit_code, result.stdout) == (0, "No service is running.\n")
    assert json.loads(run("stop", "--json").stdout) == {"state": "not_running"}


# --- serve ---


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    calls: list[list[str]] = []

    def execv(path: str, arguments: list[str]) -> None:
        assert path == arguments[0]
        calls.append(arguments[1:])
        raise SystemExit(0)

    monkeypatch.setattr(os, "execv", execv)
    return calls


def test_serve_becomes_the_service_with_its_options(
    run: Run, home: Path, executed: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.chdir(tmp_path)
    assert run("serve", "--home", "there", "--cpu-lanes").exit_code == 0
    (tmp_path / "synapse-service").write_text("")
    assert run("serve").exit_code == 0
    assert executed == [
        ["-m", "synapse_service", "--home", str(tmp_path / "there"), "--cpu-lanes"],
        ["--home", str(home)],
    ]


# --- the command line itself ---


def test_help_lists_the_commands_and_the_exit_statuses(run: Run) -> None:
    text = run("--help").stdout
    for command in (
        "serve",
        "status",
        "doctor",
        "embed",
        "jobs",
        "models",
        "probe",
        "settings",
        "logs",
        "call",
        "stop",
    ):
        assert f"\n  {command} " in text
    assert "3 the service isn't" in text
    assert run("nonsense").exit_code == 2


def test_every_command_takes_home_and_json(run: Run) -> None:
    for command in (
        ["status"],
        ["doctor"],
        ["embed"],
        ["models"],
        ["models", "list"],
        ["models", "load"],
        ["models", "status"],
        ["models", "unload"],
        ["jobs"],
        ["jobs", "list"],
        ["jobs", "status"],
        ["jobs", "wait"],
        ["jobs", "cancel"],
        ["probe", "start"],
        ["probe", "status"],
        ["probe", "report"],
        ["settings", "get"],
        ["settings", "set"],
        ["logs"],
        ["call"],
        ["stop"],
    ):
        text = run(*command, "--help").stdout
        assert "--home" in text, command
        assert "--json" in text, command


def test_help_loads_neither_the_client_nor_rich() -> None:
    program = """
import sys
from synapse_cli.main import app
try:
    app(["--help"])
except SystemExit:
    pass
print(" ".join(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    modules = set(done.stdout.splitlines()[-1].split())
    assert "synapse_cli.main" in modules
    assert {"synapse_client", "msgspec", "rich", "psutil", "asyncio", "numpy"} & modules == set()
