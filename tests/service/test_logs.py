"""The log: where entries go, what they never say, and the ring that the tray and the command line read."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.expected_warnings import ExpectedWarnings
from synapse_service import logs as logs_module
from synapse_service.logs import LogRing, Logs, configure, get_logger

log = get_logger("synapse_service.tests")


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[Logs]:
    logs = configure(tmp_path, "info", stderr_is_tty=False)
    yield logs
    logs.close()


def lines(logs: Logs) -> list[dict[str, Any]]:
    assert logs.file is not None
    return [json.loads(line) for line in logs.file.read_text(encoding="utf-8").splitlines()]


def last(logs: Logs) -> dict[str, Any]:
    entry = logs.ring.tail().entries[-1]
    return {"event": entry.event, "level": entry.level, **entry.fields}


# --- where entries go ---


def test_an_entry_is_a_json_line_and_in_the_ring(logs: Logs) -> None:
    log.info("lane_loaded", model_id="m", load_ms=12.5)
    (line,) = lines(logs)
    (entry,) = logs.ring.tail().entries
    assert line == {
        "time_ms": entry.time_ms,
        "level": "info",
        "event": "lane_loaded",
        "logger": "synapse_service.tests",
        "model_id": "m",
        "load_ms": 12.5,
    }
    assert (entry.seq, entry.level, entry.event) == (1, "info", "lane_loaded")
    assert entry.fields == {"logger": "synapse_service.tests", "model_id": "m", "load_ms": 12.5}


def test_an_exception_comes_with_its_traceback(logs: Logs, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("job_failed")
    try:
        raise ValueError("no good")
    except ValueError:
        log.exception("job_failed", job_id="j")
    entry = last(logs)
    assert (entry["level"], entry["job_id"]) == ("error", "j")
    assert entry["exception"].splitlines()[0] == "Traceback (most recent call last):"
    assert entry["exception"].splitlines()[-1] == "ValueError: no good"


def test_the_level_can_change_while_running(logs: Logs) -> None:
    log.debug("unheard")
    logs.set_level("debug")
    log.debug("heard")
    logs.set_level("error")
    log.info("unheard")
    assert [entry.event for entry in logs.ring.tail().entries] == ["heard"]


def test_libraries_are_heard_from_warnings_on(logs: Logs, expected_warnings: ExpectedWarnings) -> None:
    logs.set_level("debug")
    expected_warnings("slow 7")
    library = logging.getLogger("some.library")
    library.debug("SELECT %s", "what a caller sent")
    library.info("chatter")
    library.warning("slow %d", 7)
    assert [(entry.event, entry.level) for entry in logs.ring.tail().entries] == [("slow 7", "warning")]


def test_a_field_may_have_any_name(logs: Logs) -> None:
    log.info("odd", level=3, name="n", args=(1,), time_ms=5, logger="l", exception="e", message="m")
    line = lines(logs)[0]
    assert (line["level"], line["level_"], line["time_ms_"], line["logger_"], line["exception_"]) == (
        "info",
        3,
        5,
        "l",
        "e",
    )
    assert (line["name"], line["args"], line["message"]) == ("n", [1], "m")


def test_on_a_terminal_entries_are_readable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs = configure(None, "info", stderr_is_tty=True)
    try:
        log.info("lane_loaded", model_id="minilm", note="esc\x1b[2J")
    finally:
        logs.close()
    shown = capsys.readouterr().err
    assert "lane_loaded" in shown
    assert "minilm" in shown
    assert "\x1b[2J" not in shown
    assert logs.file is None


def test_without_a_terminal_stderr_stays_silent(logs: Logs, capsys: pytest.CaptureFixture[str]) -> None:
    log.info("lane_loaded")
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX")
def test_the_files_are_private_and_rotate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs_module, "FILE_BYTES", 400)
    before = os.umask(0)
    logs = configure(tmp_path, "info", stderr_is_tty=False)
    try:
        for number in range(40):
            log.info("tick", number=number)
    finally:
        logs.close()
        os.umask(before)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["service.jsonl", "service.jsonl.1", "service.jsonl.2", "service.jsonl.3"]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert json.loads((tmp_path / "service.jsonl").read_text().splitlines()[-1])["number"] == 39


def test_a_log_folder_that_cant_be_used_leaves_the_ring(tmp_path: Path, expected_warnings: ExpectedWarnings) -> None:
    expected_warnings("log_file_unavailable")
    logs = configure(tmp_path / "missing", "info", stderr_is_tty=False)
    try:
        log.info("still_here")
        assert logs.file is None
        assert [entry.event for entry in logs.ring.tail().entries] == ["log_file_unavailable", "still_here"]
    finally:
        logs.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_costs_lines_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "service.jsonl").symlink_to("/dev/full")
    logs = configure(tmp_path, "info", stderr_is_tty=False)
    try:
        log.info("lost")
        log.info("lost_too")
        assert logs.lost_lines == 2
        (tmp_path / "service.jsonl").unlink()
        log.info("space_again")
        assert [line["event"] for line in lines(logs)] == ["space_again"]
    finally:
        logs.close()
    assert [entry.event for entry in logs.ring.tail().entries] == ["lost", "lost_too", "space_again"]
    assert capsys.readouterr().err == ""


def test_closing_puts_logging_back(tmp_path: Path) -> None:
    handlers = list(logging.getLogger().handlers)
    configure(tmp_path, "debug", stderr_is_tty=True).close()
    assert logging.getLogger().handlers == handlers
    assert logging.getLogger("synapse_service").level == logging.NOTSET


# --- what entries never say ---


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "API-Key",
        "x_api_key",
        "authorization",
        "hf_token",
        "password",
        "client_secret",
        "credential",
        "cookie",
    ],
)
def test_secrets_are_redacted_by_name(logs: Logs, name: str) -> None:
    log.info("fetch", **{name: "hunter2", "nested": [{name: "hunter2"}]})
    assert logs.file is not None
    assert "hunter2" not in logs.file.read_text()
    assert last(logs)[name] == "[redacted]"


@pytest.mark.parametrize("name", ["text", "texts", "query", "items", "candidates", "prompt", "params", "line"])
def test_what_a_caller_sent_is_withheld(logs: Logs, name: str) -> None:
    for value in ("my diary", ["my diary"], {"a": "my diary"}):
        log.info("request", **{name: value})
        assert last(logs)[name] == "[withheld]"


def test_counts_and_identities_pass(logs: Logs) -> None:
    log.info("done", items=64, tokens=12, token=3, tokenizer_digest="ab12", request_key="k", max_tokens=[1, 2])
    entry = last(logs)
    assert (entry["items"], entry["tokens"], entry["token"], entry["max_tokens"]) == (64, 12, 3, [1, 2])
    assert (entry["tokenizer_digest"], entry["request_key"]) == ("ab12", "k")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("http://me:hunter2@proxy.example/x", "http://[redacted]@proxy.example/x"),
        ("sent Bearer hunter2.abc now", "sent Bearer [redacted] now"),
        ("key sk-hunter2hunter2", "key [redacted]"),
        ("key hf_hunter2hunter2", "key [redacted]"),
        ("mail me@example.org", "mail me@example.org"),
    ],
)
def test_secrets_are_found_inside_texts(logs: Logs, text: str, shown: str) -> None:
    log.info("note", detail=text)
    assert last(logs)["detail"] == shown


class Thing:
    def __repr__(self) -> str:
        return "what a caller sent"


def test_values_of_every_kind_can_be_written(logs: Logs) -> None:
    deep: Any = "end"
    for _ in range(10):
        deep = {"d": deep}
    log.info("kinds", path=Path("/x"), raw=b"12345", big=2**70, nan=float("nan"), bad="\ud800\x00\x1b", none=None)
    log.info("kinds", deep=deep, error=OSError("why"), thing=Thing())
    line, second = lines(logs)
    assert (line["path"], line["raw"], line["big"]) == ("/x", "[5 bytes]", str(2**70))
    assert (line["nan"], line["none"]) == (None, None)
    assert line["bad"] == "\\ud800\\x00\\x1b"
    assert second["deep"] == {"d": {"d": {"d": {"d": "[dict]"}}}}
    assert (second["error"], second["thing"]) == ("why", "[Thing]")


def test_long_texts_are_cut(logs: Logs) -> None:
    log.info("long", detail="x" * 1_000_000)
    assert last(logs)["detail"] == "x" * 4000 + "…"


# --- the ring ---


def ring_with(count: int, capacity: int = 10) -> LogRing:
    ring = LogRing(capacity)
    for number in range(1, count + 1):
        ring.append(number, "warning" if number % 5 == 0 else "info", f"e{number}", {})
    return ring


def test_tail_continues_where_it_ended() -> None:
    ring = ring_with(7)
    first = ring.tail(limit=4)
    second = ring.tail(first.next_seq, limit=4)
    third = ring.tail(second.next_seq)
    assert [entry.event for entry in first.entries + second.entries] == ["e1", "e2", "e3", "e4", "e5", "e6", "e7"]
    assert (first.next_seq, second.next_seq, third.next_seq) == (4, 7, 7)
    assert third.entries == []
    assert (first.dropped, second.dropped) == (0, 0)


def test_tail_counts_what_the_ring_dropped_since_the_number_given() -> None:
    ring = ring_with(25)
    tail = ring.tail()
    assert [entry.seq for entry in tail.entries] == list(range(16, 26))
    assert (tail.dropped, tail.next_seq) == (15, 25)
    assert ring.tail(12).dropped == 3
    assert ring.tail(20).dropped == 0


def test_tail_filters_by_severity_and_still_moves_on() -> None:
    ring = ring_with(12, capacity=20)
    tail = ring.tail(level="warning")
    assert [entry.event for entry in tail.entries] == ["e5", "e10"]
    assert tail.next_seq == 12
    assert ring.tail(level="warning", limit=1).next_seq == 5
    assert ring.tail(level="error").entries == []


def test_a_number_from_an_earlier_run_starts_again() -> None:
    assert [entry.seq for entry in ring_with(3).tail(500).entries] == [1, 2, 3]


def test_listeners_hear_new_entries_until_they_stop() -> None:
    ring = LogRing()
    heard: list[str] = []
    stop = ring.subscribe(lambda entry: heard.append(entry.event))
    ring.append(1, "info", "a", {})
    stop()
    ring.append(2, "info", "b", {})
    assert heard == ["a"]


def test_threads_get_distinct_numbers() -> None:
    ring = LogRing(10_000)

    def log_many() -> None:
        for _ in range(500):
            ring.append(0, "info", "e", {})

    threads = [threading.Thread(target=log_many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [entry.seq for entry in ring.tail(limit=5000).entries] == list(range(1, 2001))


# --- the house ---


def test_rich_stays_out_of_the_service_and_can_still_be_imported() -> None:
    script = (
        "import sys, synapse_service.logs\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in ('rich', 'pygments')]\n"
        "import rich.console\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_an_unexpected_warning_fails_a_test(expected_warnings: ExpectedWarnings) -> None:
    log.warning("surprise", model_id="m")
    problem = expected_warnings.problem()
    assert problem == "unexpected log entries:\nWARNING synapse_service.tests: surprise {'model_id': 'm'}"
    expected_warnings("surprise", "absent")
    assert expected_warnings.problem() == "expected log entries that never came: ['absent']"
    expected_warnings.expected.remove("absent")
    assert expected_warnings.problem() is None
    assert expected_warnings.seen == ["surprise"]
    assert expected_warnings.fields("surprise") == {"model_id": "m"}
