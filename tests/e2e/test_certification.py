"""`ckdev-synapse-certify run` as a release maker runs it: a real service, real workers, and a mirror on loopback."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import psutil
import pytest

from fixtures.certification_kit import CLASSIFIER, EMBEDDER, JUDGE, ROW, TEXTS, Kit, certification_kit
from synapse_cli.certification import record as records

PROGRAM = shutil.which("ckdev-synapse-certify", path=sysconfig.get_path("scripts"))


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return certification_kit(tmp_path_factory.mktemp("kit"), EMBEDDER, CLASSIFIER, JUDGE)


def certify(kit: Kit, folder: Path, model: str, *more: str, row: str = ROW) -> subprocess.CompletedProcess[str]:
    assert PROGRAM is not None
    folder.mkdir(exist_ok=True)
    command = [PROGRAM, *kit.arguments(model, row=row), "--salt", str(folder / "salt"), *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=150)


def services() -> list[int]:
    """Services that were started by a process of ours and are still there."""
    children = psutil.Process().children(recursive=True)
    return [child.pid for child in children if child.is_running() and "synapse_service" in " ".join(child.cmdline())]


@pytest.fixture(scope="module")
def certified(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """The folder of a run that certified the embedder, and the record."""
    folder = tmp_path_factory.mktemp("run")
    done = certify(kit, folder, EMBEDDER)
    assert done.returncode == 0, done.stderr
    assert f"{EMBEDDER}-cpu is certified on {ROW}." in done.stdout
    assert services() == []
    return folder, (folder / f"{EMBEDDER}.{ROW}.json").read_bytes()


def test_a_record_says_what_was_certified_and_how_near_it_came_to_the_gates(
    kit: Kit, certified: tuple[Path, bytes]
) -> None:
    record = json.loads(certified[1])
    entry = kit.small.entry(EMBEDDER)
    assert (record["schema_version"], record["row"], record["outcome"]) == (3, ROW, "passed")
    subject = record["subject"]
    assert (subject["lane_id"], subject["backend"], subject["engine"]) == (f"{EMBEDDER}-cpu", "cpu", "owned-cpu")
    assert (subject["fingerprint"], subject["manifest_digest"]) == (entry.lanes[-1].fingerprint, entry.manifest_digest)
    assert record["self_check"]["state"] == "passed"
    assert record["self_check"]["evidence"]["cases"] == 5
    assert 0.999999 < record["figures"]["min_cosine"] <= 1.000001
    assert record["figures"]["max_norm_error"] < 1e-5
    assert [each["id"] for each in record["fixtures"]] == [f"text-{index}" for index in range(len(TEXTS))]
    digests = {file["sha256"] for file in record["mirror"]}
    assert digests == set(kit.small.digests(EMBEDDER).values())
    # One load-time check and one request for each fixture.
    assert record["observations"] == {
        "available": True,
        "inventories": [],
        "worker_requests": {f"{EMBEDDER}-cpu": len(TEXTS) + 1},
        "admitted_count": 0,
    }
    assert record["checkout"]["catalog_sha256"] == hashlib.sha256(kit.catalog.read_bytes()).hexdigest()


def test_a_record_is_sealed_and_holds_no_text_no_vector_and_no_id_of_a_device(
    kit: Kit, certified: tuple[Path, bytes]
) -> None:
    folder, data = certified
    assert records.intact(data)
    record = json.loads(data)
    for name in ("row", "outcome"):
        assert not records.intact(json.dumps(record | {name: "other"}).encode())
    for text in TEXTS[1:]:
        assert text not in data.decode()
    vector = kit.fixtures(EMBEDDER)[1]["vector"]
    assert str(vector[0]) not in data.decode()
    machine_id = Path("/etc/machine-id")
    if machine_id.is_file() and machine_id.read_text().strip():
        assert machine_id.read_text().strip() not in data.decode()
        salt = (folder / "salt").read_bytes()
        digest = hashlib.sha256(b"synapse/platform-uuid/v1\0" + salt + machine_id.read_bytes().strip()).hexdigest()
        assert record["machine"]["platform_uuid_sha256"] == digest
    assert (folder / "salt").stat().st_mode & 0o777 == 0o600


def test_two_runs_give_the_same_digests_of_what_was_computed(kit: Kit, certified: tuple[Path, bytes]) -> None:
    folder, data = certified
    done = certify(kit, folder, EMBEDDER, "--record", "again.json", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outcome"] == "passed"
    first, again = json.loads(data), json.loads((folder / "again.json").read_bytes())
    assert [each["vector_sha256"] for each in first["fixtures"]] == [
        each["vector_sha256"] for each in again["fixtures"]
    ]
    assert first["machine"] == again["machine"]
    assert first["subject"] == again["subject"]
    assert struct.calcsize("<f") == 4


@pytest.mark.parametrize("model", [CLASSIFIER, JUDGE])
def test_a_reranker_is_certified_by_its_scores(kit: Kit, tmp_path: Path, model: str) -> None:
    done = certify(kit, tmp_path, model)
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / f"{model}.{ROW}.json").read_bytes())
    assert record["subject"]["task"] == "rerank"
    assert record["figures"]["max_score_error"] < 1e-4
    assert [each["id"] for each in record["fixtures"]] == ["three", "one"]


def test_wrong_numbers_are_told_in_full_and_leave_no_record(kit: Kit, tmp_path: Path) -> None:
    other = certification_kit(tmp_path / "kit", EMBEDDER)
    fixtures = other.fixtures(EMBEDDER)
    fixtures[0]["vector"] = [-each for each in fixtures[0]["vector"]]
    fixtures[1]["input_ids"] = [2, 3]
    other.edit(EMBEDDER, fixtures=fixtures)
    done = certify(other, tmp_path / "run", EMBEDDER, "--json")
    assert done.returncode == 1
    error = json.loads(done.stderr.splitlines()[-1])
    assert error["code"] == "certification_failed"
    assert "text-0: the cosine is -1.0" in error["message"]
    assert "text-1: the engine got other token ids" in error["message"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["salt"]
    assert services() == []


def test_a_model_whose_self_check_fails_is_not_certified(tmp_path: Path) -> None:
    other = certification_kit(tmp_path / "kit", EMBEDDER, wrong=[EMBEDDER])
    done = certify(other, tmp_path / "run", EMBEDDER)
    assert done.returncode == 1
    assert "  code: self_check_failed\n" in done.stderr
    assert not list((tmp_path / "run").glob("*.json"))


def test_a_mirror_with_a_damaged_file_is_not_certified(tmp_path: Path) -> None:
    other = certification_kit(tmp_path / "kit", EMBEDDER)
    (config,) = other.mirror.rglob("config.json")
    config.write_bytes(config.read_bytes() + b" ")
    done = certify(other, tmp_path / "run", EMBEDDER)
    assert done.returncode == 1
    assert "  code: artifact_invalid\n" in done.stderr
    assert not list((tmp_path / "run").glob("*.json"))


def test_the_home_is_kept_when_that_is_asked_for(kit: Kit, tmp_path: Path) -> None:
    home = tmp_path / "w"
    done = certify(kit, tmp_path, EMBEDDER, "--work", str(home))
    assert done.returncode == 0, done.stderr
    settings: Any = (home / "config" / "config.toml").read_text()
    assert "certify_observation = true\n" in settings
    assert len(list((home / "cache" / "blobs").iterdir())) == 3
    done = certify(kit, tmp_path, EMBEDDER, "--work", str(home))
    assert done.returncode == 1
    assert "  code: work_not_empty\n" in done.stderr
