"""`synapse embed --file` against the fake service: what it reads, what it writes, and how it is taken up again."""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from fixtures.bulk import notes
from fixtures.fake_service import DIMS, FINGERPRINT, FakeCall, FakeService, model_row, vector_of
from synapse_cli.main import app
from synapse_cli.reporting import CommandError
from synapse_cli.text_lines import TextLines
from synapse_cli.vector_files import OutputFiles
from synapse_client import Client, Item
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

Run = Callable[..., Result]
TEXTS = notes(150)


@pytest.fixture
def run(home: Path) -> Run:
    """Runs `synapse embed` with arguments, for the service of the test's home."""

    def invoke(*arguments: str | Path, stdin: bytes | None = None) -> Result:
        line = ["embed", *map(str, arguments)]
        result = CliRunner().invoke(app, line, input=stdin, env={"SYNAPSE_HOME": str(home)})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file of 150 texts with ids: too many to be answered at once."""
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps({"id": item_id, "text": text}) + "\n" for item_id, text in TEXTS.items()))
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder of its own for the output, so that anything left there is seen."""
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def facts(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.with_name(path.name + ".json").read_text())
    return found


def as_float32(numbers: list[float]) -> list[float]:
    read: list[float] = np.asarray(numbers, dtype=np.float32).tolist()
    return read


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- what is written ---


def test_jsonl_has_one_object_for_each_text_under_its_id(fake: FakeService, run: Run, source: Path, out: Path) -> None:
    assert run("--file", source, "--out", out / "v.jsonl").exit_code == 0
    written = rows(out / "v.jsonl")
    assert {row["id"]: as_float32(row["vector"]) for row in written} == {
        item_id: vector_of(text) for item_id, text in TEXTS.items()
    }
    assert len(written) == 150
    (row,) = [row for row in written if row["id"] == "note-7"]
    assert {**row, "vector": None} == {
        "id": "note-7",
        "vector": None,
        "fingerprint": FINGERPRINT,
        "token_count": 3,
        "truncated": False,
    }
    assert names(out) == ["v.jsonl", "v.jsonl.json"]


def test_numbers_in_jsonl_are_as_short_as_they_can_be(fake: FakeService, run: Run, source: Path, out: Path) -> None:
    run("--file", source, "--out", out / "v.jsonl")
    (line,) = [line for line in (out / "v.jsonl").read_text().splitlines() if '"note-3"' in line]
    assert '"vector":[1.25,-2.5,0.5,0.00001]' in line  # The last one is 9.99999974e-06 in float64.


def test_npy_has_its_rows_in_the_order_of_the_input(fake: FakeService, run: Run, source: Path, out: Path) -> None:
    assert run("--file", source, "--out", out / "v.npy").exit_code == 0
    assert fake.durable.computed != list(TEXTS)
    matrix = np.load(out / "v.npy")
    assert (matrix.dtype, matrix.shape, matrix.flags.c_contiguous) == (np.dtype("<f4"), (150, DIMS), True)
    assert matrix.tolist() == [vector_of(text) for text in TEXTS.values()]
    assert [json.loads(line) for line in (out / "v.npy.ids.jsonl").read_text().splitlines()] == list(TEXTS)
    assert names(out) == ["v.npy", "v.npy.ids.jsonl", "v.npy.json"]


def test_the_fingerprint_and_the_epoch_go_beside_the_vectors(
    fake: FakeService, run: Run, source: Path, out: Path
) -> None:
    said = run("--file", source, "--out", out / "v.npy", "--json")
    assert facts(out / "v.npy") == {
        "vectors": "v.npy",
        "ids": "v.npy.ids.jsonl",
        "count": 150,
        "dims": DIMS,
        "model": "mini",
        "fingerprint": FINGERPRINT,
        "table_epoch": 0,
        "truncated": 0,
        "source": "notes.jsonl",
        "source_sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "request_key": keys(fake)[0].removesuffix("/0"),
    }
    assert json.loads(said.stdout) == facts(out / "v.npy")
    assert said.stderr == ""


def test_a_person_is_told_what_was_written_where(fake: FakeService, run: Run, source: Path, out: Path) -> None:
    said = run("--file", source, "--out", out / "v.npy")
    first, *about = said.stdout.splitlines()
    assert first.startswith(f"150 vectors of {DIMS} numbers (in ")
    assert about == [
        f"  vectors      {out / 'v.npy'}",
        f"  ids          {out / 'v.npy.ids.jsonl'}",
        f"  facts        {out / 'v.npy.json'}",
        "  model        mini",
        f"  fingerprint  {FINGERPRINT}",
    ]
    assert said.stderr.splitlines()[-1] == "Embedding notes.jsonl: 100% (150 of 150 texts)"


def test_cut_texts_are_disclosed(fake: FakeService, run: Run, source: Path, out: Path) -> None:
    def cut(item: r.PageItem) -> r.PageItem:
        if item.id not in ("note-3", "note-50"):
            return item
        truncation = r.PageTruncation(submitted_tokens=900, effective_tokens=256, truncated=True)
        return msgspec.structs.replace(item, truncation=truncation, real_token_count=256)

    fake.durable.corrupt = cut
    said = run("--file", source, "--out", out / "v.jsonl")
    assert said.stderr.splitlines()[-1] == "2 texts were longer than the model takes and were cut."
    assert (facts(out / "v.jsonl")["truncated"], set(facts(out / "v.jsonl")["truncated_ids"])) == (
        2,
        {"note-3", "note-50"},
    )
    assert {row["id"] for row in rows(out / "v.jsonl") if row["truncated"]} == {"note-3", "note-50"}


def test_parquet_without_pyarrow_is_refused_before_anything_is_sent(
    fake: FakeService, run: Run, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = run("--file", source, "--out", out / "v.parquet")
    assert result.exit_code == 1
    assert "  code: pyarrow_missing" in result.stderr.splitlines()
    assert "pip install 'synapse[parquet]'" in result.stderr
    assert fake.methods() == ["service.hello"]


def test_parquet_has_the_same_columns_in_row_groups(
    fake: FakeService, run: Run, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("synapse_cli.vector_files.GROUP_BYTES", 40 * DIMS * 4)
    assert run("--file", source, "--out", out / "v.parquet").exit_code == 0
    with parquet.ParquetFile(out / "v.parquet") as file:
        assert [file.metadata.row_group(index).num_rows for index in range(file.num_row_groups)] == [40, 40, 40, 30]
        assert file.schema_arrow.metadata[b"synapse.fingerprint"] == FINGERPRINT.encode()
        table = file.read()
    assert table.column_names == ["id", "vector", "fingerprint", "token_count", "truncated"]
    found = {row["id"]: row["vector"] for row in table.to_pylist()}
    assert found == {item_id: vector_of(text) for item_id, text in TEXTS.items()}
    assert facts(out / "v.parquet")["count"] == 150


# --- what is read ---


def test_a_line_is_a_string_or_an_object_and_empty_lines_dont_count(
    fake: FakeService, run: Run, tmp_path: Path, out: Path
) -> None:
    source = tmp_path / "mixed.jsonl"
    lines = [
        '\ufeff"first"',
        "",
        '{"id": "b", "text": "zweite ä", "more": [1]}',
        "  ",
        '{"text": "", "id": 7}',
        '"last"',
    ]
    source.write_text("\r\n".join(lines), encoding="utf-8")
    run("--file", source, "--out", out / "v.npy")
    ids = [json.loads(line) for line in (out / "v.npy.ids.jsonl").read_text().splitlines()]
    assert ids == ["0", "b", "7", "3"]
    assert np.load(out / "v.npy").tolist() == [vector_of(text) for text in ("first", "zweite ä", "", "last")]


def test_other_members_can_be_named(fake: FakeService, run: Run, tmp_path: Path, out: Path) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text('{"key": "k1", "body": "some words", "id": "no", "text": 5}\n')
    run("--file", source, "--out", out / "v.jsonl", "--field", "body", "--id-field", "key")
    assert [(row["id"], row["vector"][0]) for row in rows(out / "v.jsonl")] == [("k1", vector_of("some words")[0])]


def test_what_comes_through_a_pipe_is_a_file_too(fake: FakeService, run: Run, source: Path, out: Path) -> None:
    result = run("--file", "-", "--out", out / "v.npy", stdin=source.read_bytes())
    assert result.exit_code == 0
    assert np.load(out / "v.npy").tolist() == [vector_of(text) for text in TEXTS.values()]
    assert facts(out / "v.npy")["source"] == "the standard input"
    os.mkfifo(out / "pipe")
    feeder = threading.Thread(target=lambda: (out / "pipe").write_bytes(source.read_bytes()))
    feeder.start()
    assert run("--file", out / "pipe", "--out", out / "w.npy").exit_code == 0
    feeder.join()
    assert (out / "w.npy").read_bytes() == (out / "v.npy").read_bytes()
    assert len(fake.durable.attempts) == 1  # The same bytes are the same work, wherever they come from.


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"id": "x", "text": "a"', "is not JSON: Input data was truncated."),
        (b'"\xff"', "is not JSON: Invalid UTF-8 encoded string."),
        (b'["a"]', "is neither a JSON string nor an object."),
        (b"17", "is neither a JSON string nor an object."),
        (b'{"id": "x"}', "can't be used: its member 'text' is missing."),
        (b'{"id": "x", "text": null}', "can't be used: its member 'text' is not a string."),
        (b'{"text": "a"}', "can't be used: its member 'id' is missing."),
        (b'{"id": "n1", "text": "a"}', "has the id 'n1' of line 1."),
        (b'"a text whose place is 2"', "has the id '2' of line 2."),
        *(
            (
                json.dumps({"id": wrong, "text": "a"}).encode(),
                "can't be used: its member 'id' is no id (a string of 1 to 256 characters without control characters, "
                "or an integer).",
            )
            for wrong in ("", "x" * 257, "a\nb", True, 1.5, None)
        ),
    ],
)
def test_a_wrong_line_is_named_before_anything_is_sent(
    fake: FakeService, run: Run, tmp_path: Path, out: Path, line: bytes, problem: str
) -> None:
    source = tmp_path / "x.jsonl"
    source.write_bytes(b'{"id": "n1", "text": "a"}\n{"id": 2, "text": "b"}\n\n' + line + b'\n"c"\n')
    result = run("--file", source, "--out", out / "v.npy")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == f"Could not embed x.jsonl: Line 4 of x.jsonl {problem}"
    assert "embed.batch" not in fake.methods()
    assert names(out) == []


def test_a_line_that_never_ends_is_refused_without_reading_it_all(
    fake: FakeService, run: Run, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synapse_cli.text_lines.MAX_LINE_BYTES", 1000)
    source.write_text('"a"\n"' + "x" * 1000 + '"\n')
    result = run("--file", source, "--out", out / "v.npy")
    assert "Line 2 of notes.jsonl is longer than 1000 bytes." in result.stderr


def test_ids_whose_hashes_are_equal_are_no_duplicates(
    fake: FakeService, run: Run, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("synapse_cli.text_lines._HASH_MASK", 7)
    assert run("--file", source, "--out", out / "v.npy").exit_code == 0
    assert len(np.load(out / "v.npy")) == 150


@pytest.mark.parametrize("content", [b"", b"\n \n\n"])
def test_a_file_without_texts_is_refused(
    fake: FakeService, run: Run, tmp_path: Path, out: Path, content: bytes
) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    result = run("--file", tmp_path / "x.jsonl", "--out", out / "v.npy")
    assert (result.exit_code, names(out)) == (1, [])
    assert "  code: no_texts" in result.stderr.splitlines()


@pytest.mark.parametrize(
    "change", [lambda text: text + '"one more"\n', lambda text: text.replace("a text", "b text"), lambda text: ""]
)
def test_a_file_that_changes_meanwhile_gives_no_vectors(
    fake: FakeService, run: Run, source: Path, out: Path, change: Callable[[str], str]
) -> None:
    def listing(call: FakeCall) -> Any:
        source.write_text(change('"a text"\n' * 2))
        return r.ModelsList(module_generation=1, table_epoch=0, models=[model_row("mini")], aliases=[])

    source.write_text('"a text"\n' * 2)
    fake.on("models.list", listing)
    result = run("--file", source, "--out", out / "v.npy")
    assert (result.exit_code, names(out)) == (1, [])
    assert "notes.jsonl was changed while it was being read." in result.stderr


def test_nothing_is_taken_from_a_file_beyond_what_was_surveyed() -> None:
    file = io.BytesIO(b'"a"\n"b"\n')
    texts = TextLines(file, "x", text_field="text", id_field="id")
    survey = texts.survey(lambda _: None)
    file.write(b'"c"\n' * 1000)
    lines = texts.again(survey)
    assert [next(lines).text, next(lines).text] == ["a", "b"]
    with pytest.raises(CommandError, match="changed"):
        next(lines)


# --- which model ---


def test_a_model_has_to_be_named_when_there_is_a_choice(fake: FakeService, run: Run, source: Path, out: Path) -> None:
    fake.models["maxi"] = model_row("maxi")
    fake.models["ranker"] = model_row("ranker", task="rerank")
    result = run("--file", source, "--out", out / "v.npy")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "Could not embed notes.jsonl: There are 2 models to choose from: mini, maxi.",
        "  code: model_not_named",
        "  next: Name one with --model.",
    ]
    assert run("--file", source, "--out", out / "v.npy", "--model", "maxi").exit_code == 0
    assert facts(out / "v.npy")["model"] == "maxi"
    assert run("some text").exit_code == 1
    assert run("-m", "maxi", "some text").exit_code == 0
    fake.models.clear()
    assert "`synapse models load --help`" in run("some text").stderr


# --- taking up what is there ---


def keys(fake: FakeService) -> list[str]:
    return list(filter(None, fake.durable.keys()))


def fail_after(fake: FakeService, pages: int, error: SynapseError) -> None:
    """Let the service refuse to give out more than some pages."""
    given = iter(range(pages))

    def result(call: FakeCall) -> Any:
        if next(given, None) is None:
            raise error
        return fake.durable.page(call.params)

    fake.on("embed.result", result)


def test_the_same_command_takes_up_what_was_computed(fake: FakeService, run: Run, source: Path, out: Path) -> None:
    original = fake.handlers["embed.result"]
    fail_after(fake, 4, SynapseError("deadline_exceeded", "too slow"))
    failed = run("--file", source, "--out", out / "v.npy")
    key = keys(fake)[0].removesuffix("/0")
    assert (failed.exit_code, names(out)) == (1, [])
    assert (
        f"  what was accepted is kept. Run the same command to take up what is there (request key {key})."
        in failed.stderr.splitlines()
    )
    fake.durable.interrupt()
    fake.on("embed.result", original)
    assert run("--file", source, "--out", out / "v.npy").exit_code == 0
    assert keys(fake) == [f"{key}/0", f"{key}/0"]
    assert sorted(fake.durable.computed) == sorted(TEXTS)  # Each once, over both attempts.
    assert np.load(out / "v.npy").tolist() == [vector_of(text) for text in TEXTS.values()]


def test_another_format_of_the_same_work_computes_nothing(fake: FakeService, run: Run, source: Path, out: Path) -> None:
    for name in ("v.npy", "v.jsonl"):
        assert run("--file", source, "--out", out / name).exit_code == 0
    assert len(fake.durable.attempts) == 1
    assert facts(out / "v.npy")["request_key"] == facts(out / "v.jsonl")["request_key"]


def test_other_texts_members_models_and_fingerprints_are_other_work(
    fake: FakeService, run: Run, source: Path, out: Path
) -> None:
    def key(*more: str) -> str:
        assert run("--file", source, "--out", out / "v.npy", "--overwrite", *more).exit_code == 0
        found = facts(out / "v.npy")["request_key"]
        assert isinstance(found, str)
        return found

    first = key()
    assert key() == first
    found = [first]
    fake.models["mini"] = model_row("mini", fingerprint="syn1-" + "cd" * 32)
    fake.fingerprint = "syn1-" + "cd" * 32
    found.append(key())
    fake.models["maxi"] = model_row("maxi")
    fake.fingerprint = FINGERPRINT
    found.append(key("--model", "maxi"))
    source.write_text(source.read_text().replace('"id"', '"name"'))
    found.append(key("--model", "maxi", "--id-field", "name"))
    source.write_text(source.read_text() + '"one more"\n')
    found.append(key("--model", "maxi", "--id-field", "name"))
    assert len(set(found)) == len(found)


def test_a_request_key_of_ones_own_is_used(fake: FakeService, run: Run, source: Path, out: Path) -> None:
    run("--file", source, "--out", out / "v.npy", "--request-key", "notes-june", "--deadline-ms", "90000")
    assert keys(fake) == ["notes-june/0"]
    sent = dict(fake.received)["embed.batch"]
    assert (sent["deadline_ms"], sent["model"]) == (90000, "mini")
    source.write_text(source.read_text().replace("note-7", "note-x"))
    conflict = run("--file", source, "--out", out / "w.npy", "--request-key", "notes-june")
    assert "  code: idempotency_conflict" in conflict.stderr.splitlines()


def test_interrupting_leaves_the_job_and_says_how_to_go_on(
    fake: FakeService, home: Path, source: Path, out: Path
) -> None:
    fake.durable.working = False
    program = [sys.executable, "-c", "from synapse_cli.main import run; run()"]
    process = subprocess.Popen(
        [*program, "embed", "--file", str(source), "--out", str(out / "v.npy")],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SYNAPSE_HOME": str(home)},
    )
    fake.wait_for(lambda: "embed.result" in fake.methods())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    key = keys(fake)[0].removesuffix("/0")
    assert errors.splitlines()[-1] == (
        "Jobs that were accepted go on in the service; `synapse jobs` shows them. "
        f"Run the same command to take up what is there (request key {key})."
    )
    assert names(out) == []
    assert [attempt.state for attempt in fake.durable.attempts] == ["queued"]


def test_what_a_killed_run_left_is_removed_by_the_next_and_what_a_living_one_writes_is_not(
    fake: FakeService, home: Path, run: Run, source: Path, out: Path
) -> None:
    fake.durable.working = False
    program = [sys.executable, "-c", "from synapse_cli.main import run; run()"]
    process = subprocess.Popen(
        [*program, "embed", "--file", str(source), "--out", str(out / "v.npy")],
        env={**os.environ, "SYNAPSE_HOME": str(home)},
    )
    fake.wait_for(lambda: "embed.result" in fake.methods())
    process.kill()
    process.wait()
    abandoned = names(out)
    assert [name.rsplit(".", 2)[0] for name in abandoned] == [".v.npy", ".v.npy.ids.jsonl"]
    other = out / ".other.npy.01234567.partial"
    other.touch()
    living = OutputFiles(out / "v.npy", overwrite=False)
    living.create(living.target)
    (held,) = set(names(out)) - {*abandoned, other.name}
    fake.durable.working = True
    assert run("--file", source, "--out", out / "v.npy").exit_code == 0
    assert names(out) == sorted([held, other.name, "v.npy", "v.npy.ids.jsonl", "v.npy.json"])
    living.discard()


# --- failures ---


def test_a_text_that_the_service_refuses_is_named_with_its_line(
    fake: FakeService, run: Run, source: Path, out: Path
) -> None:
    def refuse(call: FakeCall) -> Any:
        details = {"tokens": 900, "max_tokens": 256, "item_id": "note-41"}
        raise SynapseError("sequence_too_long", "900 tokens", details=details)

    fake.on("embed.batch", refuse)
    result = run("--file", source, "--out", out / "v.npy")
    assert "  line: 42" in result.stderr.splitlines()
    assert "what was accepted" not in result.stderr  # The same command would fail again.
    assert json.loads(run("--file", source, "--out", out / "v.npy", "--json").stderr)["details"]["line"] == 42


def test_a_text_that_comes_back_as_another_is_named_with_its_line(
    fake: FakeService, run: Run, source: Path, out: Path
) -> None:
    def swap(item: r.PageItem) -> r.PageItem:
        return msgspec.structs.replace(item, submitted_sha256="0" * 64) if item.id == "note-41" else item

    fake.durable.corrupt = swap
    result = run("--file", source, "--out", out / "v.npy")
    assert "  code: diverged_item" in result.stderr.splitlines()
    assert "  line: 42" in result.stderr.splitlines()
    assert names(out) == []


def test_what_exists_is_replaced_only_when_that_is_said_and_only_by_something_whole(
    fake: FakeService, run: Run, source: Path, out: Path
) -> None:
    for name in ("v.npy", "v.npy.json", "v.npy.ids.jsonl"):
        (out / name).write_text("old")
        result = run("--file", source, "--out", out / "v.npy")
        assert (result.exit_code, (out / name).read_text()) == (1, "old")
        assert f"{out / name} exists." in result.stderr
        (out / name).rename(out / f"kept-{name}")
    assert "embed.batch" not in fake.methods()
    for name in ("v.npy", "v.npy.json", "v.npy.ids.jsonl"):
        (out / f"kept-{name}").rename(out / name)
    original = fake.handlers["embed.result"]
    fail_after(fake, 4, SynapseError("deadline_exceeded", "too slow"))
    assert run("--file", source, "--out", out / "v.npy", "--overwrite").exit_code == 1
    assert {name: (out / name).read_text() for name in names(out)} == dict.fromkeys(
        ["v.npy", "v.npy.ids.jsonl", "v.npy.json"], "old"
    )
    fake.on("embed.result", original)
    assert run("--file", source, "--out", out / "v.npy", "--overwrite").exit_code == 0
    assert len(np.load(out / "v.npy")) == facts(out / "v.npy")["count"] == 150


def test_a_vector_that_never_comes_leaves_no_file_with_a_hole(
    fake: FakeService, run: Run, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_all = Client.embed_all

    def all_but_the_first(*arguments: Any, **options: Any) -> Iterator[Item]:
        yield from itertools.islice(embed_all(*arguments, **options), 1, None)

    monkeypatch.setattr(Client, "embed_all", all_but_the_first)
    result = run("--file", source, "--out", out / "v.npy")
    assert (result.exit_code, names(out)) == (1, [])
    assert result.stderr.splitlines()[-3:-1] == [
        "Could not embed notes.jsonl: 1 of 150 vectors did not come.",
        "  code: incomplete",
    ]


def test_a_folder_that_takes_no_files_is_said(
    fake: FakeService, run: Run, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("synapse_cli.vector_files.OutputFiles.create", refuse)
    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    for name in (source, "-"):
        result = run("--file", name, "--out", out / "v.npy", stdin=source.read_bytes())
        assert result.exit_code == 1
        assert f"{out / 'v.npy'} can't be written: Permission denied." in result.stderr
    assert "embed.batch" not in fake.methods()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's full device")
def test_a_full_disk_is_said_and_leaves_nothing(
    fake: FakeService, run: Run, source: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/full").open("wb", 0) as full:
        monkeypatch.setattr("synapse_cli.vector_files.OutputFiles.create", lambda *_: full)
        result = run("--file", source, "--out", out / "v.jsonl")
    assert (result.exit_code, names(out)) == (1, [])
    assert result.stderr.splitlines()[-3:] == [
        f"Could not embed notes.jsonl: {out / 'v.jsonl'} can't be written: No space left on device.",
        "  code: output_not_written",
        "  next: Look at free space and permissions, then run the command again.",
    ]


def test_a_companion_that_is_the_input_is_refused(fake: FakeService, run: Run, out: Path) -> None:
    (out / "v.npy.ids.jsonl").write_text('"a"\n')
    assert run("--file", out / "v.npy.ids.jsonl", "--out", out / "v.npy", "--overwrite").exit_code == 2
    assert (out / "v.npy.ids.jsonl").read_text() == '"a"\n'


@pytest.mark.parametrize(
    "arguments",
    [
        ["--file", "SOURCE"],
        ["--out", "v.npy"],
        ["--file", "SOURCE", "--out", "v.npy", "a text"],
        ["--file", "SOURCE", "--out", "v.txt"],
        ["--file", "SOURCE", "--out", "no/such/folder/v.npy"],
        ["--file", "SOURCE", "--out", "SOURCE", "--overwrite"],
        ["--file", "absent.jsonl", "--out", "v.npy"],
        ["--request-key", "k", "a text"],
        ["--overwrite", "a text"],
    ],
)
def test_wrong_usage_exits_with_2(fake: FakeService, run: Run, source: Path, arguments: list[str]) -> None:
    before = source.read_bytes()
    result = run(*(str(source) if each == "SOURCE" else each for each in arguments))
    assert (result.exit_code, source.read_bytes()) == (2, before)
    assert fake.methods() == []
