"""The parts of a certification: rows, the machine, the mirror, figures and their judgement, and the record."""

from __future__ import annotations

import hashlib
import http.client
import json
import math
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from synapse_cli.certification import assets, checkout, judging, machine, mirror, record, rows
from synapse_cli.certification.machine import GPU_DOMAIN, PLATFORM_DOMAIN, Gpu, Machine, Secret
from synapse_cli.reporting import CommandError
from synapse_service.catalog.compiled import shipped_catalog

UUID = "564D8C1B-0000-4A5B-9C3D-123456789ABC"
MAC = Machine("darwin", "arm64", "Apple M5", Secret(UUID))
LINUX = Machine("linux", "x86_64", "unknown", None)
CUDA = Machine("linux", "x86_64", "unknown", None, (Gpu("NVIDIA H200", "590.1", Secret("GPU-1")),))


# --- rows ---


@pytest.mark.parametrize(
    ("row", "here"),
    [
        ("cpu-x86_64", LINUX),
        ("cpu-amd64", LINUX),
        ("cpu-arm64", MAC),
        ("cpu-aarch64", MAC),
        ("metal-m5", MAC),
        ("ane-m5", MAC),
        ("metal-m5-max", Machine("darwin", "arm64", "Apple M5 Max", None)),
        ("cuda-h200", CUDA),
        ("vulkan-h200", CUDA),
    ],
)
def test_a_row_that_is_this_machine_is_accepted(row: str, here: Machine) -> None:
    rows.require(rows.parse(row), here)


@pytest.mark.parametrize(
    ("row", "here", "words"),
    [
        ("cpu-arm64", LINUX, "this machine is x86_64"),
        ("metal-m5", LINUX, "needs a Mac with Apple silicon, and this is linux on x86_64"),
        ("ane-m5", LINUX, "needs a Mac"),
        ("metal-m4", MAC, "has the chip Apple M5"),
        ("metal-m5", Machine("darwin", "arm64", "Apple M5 Max", None), "has the chip Apple M5 Max"),
        ("cuda-h200", LINUX, "no GPU was found"),
        ("cuda-h20", CUDA, "this machine has NVIDIA H200"),
        ("vulkan-rx", CUDA, "this machine has NVIDIA H200"),
    ],
)
def test_a_row_that_is_another_machine_is_refused_with_the_reason(row: str, here: Machine, words: str) -> None:
    with pytest.raises(CommandError) as refused:
        rows.require(rows.parse(row), here)
    assert refused.value.code == "hardware_missing"
    assert words in refused.value.message


@pytest.mark.parametrize(
    "name", ["", "metal", "metal-", "tpu-v5", "cpu-X86", "cpu-../x", "m5-metal", "cuda-" + "x" * 65]
)
def test_what_is_no_row_is_told_which_there_are(name: str) -> None:
    with pytest.raises(CommandError) as refused:
        rows.parse(name)
    assert refused.value.code == "unknown_row"
    assert "metal-m5" in refused.value.remedy


# --- the machine ---


def test_an_id_becomes_a_digest_that_needs_the_salt() -> None:
    salt = bytes(range(32))
    expected = hashlib.sha256(b"synapse/platform-uuid/v1\0" + salt + UUID.lower().encode()).hexdigest()
    assert Secret(UUID).digest(PLATFORM_DOMAIN, salt) == expected
    others = {Secret(UUID).digest(GPU_DOMAIN, salt), Secret(UUID).digest(PLATFORM_DOMAIN, bytes(32))}
    assert expected not in others
    assert hashlib.sha256(UUID.lower().encode()).hexdigest() not in others | {expected}


def test_an_id_is_shown_nowhere() -> None:
    for shown in (repr(MAC), str(MAC), repr(Gpu("g", "1", Secret(UUID))), f"{Secret(UUID)}"):
        assert UUID not in shown


def test_a_drivers_list_is_read_and_what_is_no_gpu_is_left_out() -> None:
    listing = "NVIDIA H200, 590.48.01, GPU-aa\nNVIDIA H200 MIG, 590.48.01, MIG-bb\nNo devices were found\n\n"
    found = machine.read_gpus(listing)
    assert [(gpu.name, gpu.driver, gpu.uuid) for gpu in found] == [
        ("NVIDIA H200", "590.48.01", Secret("GPU-aa")),
        ("NVIDIA H200 MIG", "590.48.01", Secret("MIG-bb")),
    ]
    assert machine.read_gpus(None) == ()


def test_the_platforms_id_is_read() -> None:
    assert machine.read_ioreg(f'  | "IOPlatformUUID" = "{UUID}"\n') == Secret(UUID)
    assert machine.read_ioreg("nothing of the kind") is None
    assert machine.read_ioreg(None) is None


def test_a_salt_is_made_once_and_kept_private(tmp_path: Path) -> None:
    file = tmp_path / "new" / "salt"
    salt = machine.read_salt(file)
    assert (len(salt), machine.read_salt(file)) == (32, salt)
    assert file.stat().st_mode & 0o777 == 0o600
    assert machine.read_salt(tmp_path / "other") != salt
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "other"]


@pytest.mark.parametrize("content", [b"", b"short", bytes(33)])
def test_a_salt_that_is_damaged_is_never_replaced(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "salt"
    file.write_bytes(content)
    with pytest.raises(CommandError) as refused:
        machine.read_salt(file)
    assert refused.value.code == "salt_damaged"
    assert file.read_bytes() == content


# --- the mirror ---


@pytest.fixture
def mirrored(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror" / "org" / "model" / "resolve" / "rev"
    (folder / "sub").mkdir(parents=True)
    (folder / "config.json").write_bytes(b"{}")
    (folder / "sub" / "weights").write_bytes(b"w" * 300_000)
    (tmp_path / "secret").write_bytes(b"secret")
    (folder / "link").symlink_to(tmp_path / "secret")
    return tmp_path / "mirror"


def fetch(url: str, path: str) -> tuple[int, bytes]:
    # By hand, because a library would tidy the path up before it is sent.
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    connection.putrequest("GET", path)
    connection.endheaders()
    response = connection.getresponse()
    try:
        return response.status, response.read()
    finally:
        connection.close()


def test_the_mirror_serves_its_files_on_loopback_and_nothing_else(mirrored: Path) -> None:
    with mirror.serving(mirrored) as url:
        assert urlsplit(url).hostname == "127.0.0.1"
        assert fetch(url, "/org/model/resolve/rev/config.json") == (200, b"{}")
        assert fetch(url, "/org/model/resolve/rev/sub%2Fweights") == (200, b"w" * 300_000)
        for path in (
            "/",
            "/org/model/resolve/rev",
            "/org/model/resolve/rev/absent",
            "/../secret",
            "/org/%2e%2e/%2e%2e/secret",
            "/org/model/resolve/rev/link",
            "//etc/hostname",
            "/%00",
        ):
            assert fetch(url, path)[0] == 404, path


def test_the_files_of_a_revision_are_hashed(mirrored: Path) -> None:
    (mirrored / "org" / "model" / "resolve" / "rev" / "link").unlink()
    found = mirror.files_of(mirrored, "org/model", "rev")
    assert [(file.path, file.size) for file in found] == [("config.json", 2), ("sub/weights", 300_000)]
    assert found[0].sha256 == hashlib.sha256(b"{}").hexdigest()
    with pytest.raises(CommandError) as refused:
        mirror.files_of(mirrored, "org/model", "other")
    assert refused.value.code == "mirror_empty"


# --- figures ---


def embed_assets(**changes: Any) -> dict[str, Any]:
    return {
        "schema": "synapse-certify-assets/1",
        "task": "embed",
        "catalog_id": "m",
        "source": "tests",
        "model": {"revision": "rev", "model_sha256": "a" * 64, "tokenizer_sha256": "b" * 64},
        "gates": {"cosine_min": 0.999, "norm_error_max": 0.001},
        "fixtures": [{"id": "one", "text": "x", "input_ids": [2, 3], "vector": [0.6, 0.8]}],
    } | changes


def rerank_assets(**changes: Any) -> dict[str, Any]:
    candidates = [
        {"id": name, "text": name, "input_ids": [number], "score": score}
        for number, (name, score) in enumerate([("high", 0.9), ("low", 0.2)])
    ]
    return (
        embed_assets(
            task="rerank",
            gates={"score_error_max": {"f32": 0.005}, "graded_gap": 0.05},
            readout_ids=[7, 9],
            fixtures=[{"id": "one", "query": "q", "candidates": candidates}],
        )
        | changes
    )


def load(folder: Path, content: Any) -> assets.Loaded:
    (folder / "m.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return assets.load(folder, "m")


@pytest.mark.parametrize(
    "content",
    [
        "{",
        embed_assets(schema="synapse-certify-assets/2"),
        embed_assets(task="generate"),
        embed_assets(catalog_id="other"),
        embed_assets(fixtures=[]),
        embed_assets(fixtures=embed_assets()["fixtures"] * 2),
        embed_assets(surplus=1),
        embed_assets(gates={"cosine_min": 1.5, "norm_error_max": 0.001}),
    ],
)
def test_assets_that_are_not_in_order_are_refused(tmp_path: Path, content: Any) -> None:
    with pytest.raises(CommandError) as refused:
        load(tmp_path, content)
    assert refused.value.code == "assets_damaged"


def test_assets_that_are_missing_are_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as refused:
        assets.load(tmp_path, "m")
    assert refused.value.code == "assets_unreadable"


@pytest.mark.parametrize(("revision", "digests"), [("other", "ab"), ("rev", "ac"), ("rev", "cb")])
def test_figures_of_other_files_are_refused(tmp_path: Path, revision: str, digests: str) -> None:
    loaded = load(tmp_path, embed_assets())
    good = [mirror.MirrorFile("f", 1, digit * 64) for digit in "ab"]
    assets.require_same_files(loaded.assets, "rev", good)
    with pytest.raises(CommandError) as refused:
        assets.require_same_files(loaded.assets, revision, [mirror.MirrorFile("f", 1, digit * 64) for digit in digests])
    assert refused.value.code == "assets_of_other_files"


def judged(loaded: assets.Loaded, answer: dict[str, Any], dtype: str = "f32") -> judging.Judged:
    return judging.judge(loaded.assets, loaded.fixtures[0], answer, "pin", dtype)


def embedded(**changes: Any) -> dict[str, Any]:
    return {"fingerprint": "pin", "vectors": [{"vector": [0.6, 0.8]}], "observation": {"input_ids": [[2, 3]]}} | changes


def test_an_answer_that_is_right_has_no_problem_and_its_figures(tmp_path: Path) -> None:
    found = judged(load(tmp_path, embed_assets()), embedded())
    assert found.problems == []
    assert found.figures["cosine"] == pytest.approx(1)
    assert found.figures["norm_error"] == pytest.approx(0, abs=1e-9)
    assert len(found.figures["vector_sha256"]) == 64


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fingerprint": "other"}, ["not the catalog's pin"]),
        ({"observation": None}, ["doesn't say what the engine got"]),
        ({"observation": {"input_ids": [[2]]}}, ["other token ids"]),
        ({"vectors": [{"vector": [0.8, 0.6]}]}, ["the cosine is 0.96"]),
        ({"vectors": [{"vector": [1.2, 1.6]}]}, ["length is 2.0"]),
        ({"vectors": [{"vector": [0.0, 0.0]}]}, ["length is 0.0", "the cosine is 0.0"]),
        ({"vectors": [{"vector": [math.nan, 0.8]}]}, ["length is nan", "the cosine is nan"]),
        ({"vectors": [{"vector": [1.0]}]}, ["1 numbers, not 2"]),
        ({"fingerprint": "other", "vectors": [{"vector": [0.8, 0.6]}]}, ["not the catalog's pin", "the cosine"]),
    ],
)
def test_everything_that_is_wrong_with_a_vector_is_told(tmp_path: Path, changes: Any, words: list[str]) -> None:
    found = judged(load(tmp_path, embed_assets()), embedded(**changes))
    assert len(found.problems) == len(words)
    for problem, word in zip(found.problems, words, strict=True):
        assert word in problem
        assert problem.startswith("one: ")


def scored(high: Any = 0.9, low: Any = 0.2, **changes: Any) -> dict[str, Any]:
    scores = [{"id": "low", "score": low}, {"id": "high", "score": high}]
    return {
        "fingerprint": "pin",
        "scores": scores,
        "observation": {"input_ids": [[0], [1]], "readout_ids": [7, 9]},
    } | changes


def test_scores_are_compared_by_id(tmp_path: Path) -> None:
    found = judged(load(tmp_path, rerank_assets()), scored(0.9004, 0.1998))
    assert found.problems == []
    assert found.figures["score_error"] == pytest.approx(0.0004)


@pytest.mark.parametrize(
    ("answer", "dtype", "words"),
    [
        (scored(0.91), "f32", ["one/high: the score is 0.010000 off"]),
        (scored(0.2, 0.9), "f32", ["one/high", "one/low", "high doesn't score above low"]),
        (scored(math.nan), "f32", ["one/high: the score is nan off", "high doesn't score above low"]),
        (scored(scores=[{"id": "high", "score": 0.9}]), "f32", ["other candidates were scored"]),
        (scored(), "int8", ["no gate for int8"]),
        (scored(observation={"input_ids": [[0], [1]]}), "f32", ["read from other tokens"]),
        (scored(observation={"input_ids": [[1], [0]], "readout_ids": [7, 9]}), "f32", ["other token ids"]),
    ],
)
def test_everything_that_is_wrong_with_scores_is_told(
    tmp_path: Path, answer: dict[str, Any], dtype: str, words: list[str]
) -> None:
    found = judged(load(tmp_path, rerank_assets()), answer, dtype)
    assert len(found.problems) == len(words), found.problems
    for problem, word in zip(found.problems, words, strict=True):
        assert word in problem


def test_the_worst_figures_of_all_are_kept() -> None:
    figures = [{"cosine": 0.9999, "norm_error": 1e-6}, {"cosine": 0.9995, "norm_error": 1e-5}, {"score_error": 0.1}]
    assert judging.worst(figures) == {"min_cosine": 0.9995, "max_norm_error": 1e-5, "max_score_error": 0.1}
    assert judging.worst([]) == {}


def observed(**changes: Any) -> dict[str, Any]:
    return {"available": True, "inventories": [], "worker_requests": {"l": 3}, "admitted_count": 0} | changes


INVENTORY = {"lane_id": "l", "admission": 1}


@pytest.mark.parametrize(
    ("found", "neural_engine", "words"),
    [
        (observed(), False, []),
        (observed(inventories=[INVENTORY], admitted_count=1), True, []),
        # One that isn't available is never read as an empty one, however complete it looks.
        (observed(available=False), False, ["not available"]),
        (observed(available=False, inventories=[INVENTORY], admitted_count=1), True, ["not available"]),
        ({"inventories": [], "worker_requests": {"l": 3}, "admitted_count": 0}, False, ["not available"]),
        (observed(worker_requests={"l": 1}), False, ["asked 1 times for 2 fixtures"]),
        (observed(worker_requests={"other": 9}), False, ["asked 0 times"]),
        (observed(), True, ["never admitted"]),
        (observed(admitted_count=1), True, ["1 admissions, and 0 inventories", "never admitted"]),
        (observed(inventories=[INVENTORY], admitted_count=2), True, ["2 admissions, and 1 inventories"]),
        (observed(inventories=[INVENTORY], admitted_count=1), False, ["nothing to do with"]),
    ],
)
def test_observations_have_to_account_for_what_was_asked(found: Any, neural_engine: bool, words: list[str]) -> None:
    problems = judging.judge_observations(found, "l", 2, neural_engine=neural_engine)
    assert len(problems) == len(words), problems
    for problem, word in zip(problems, words, strict=True):
        assert word in problem


# --- the checkout and the record ---


def test_a_tree_without_a_repository_of_its_own_has_no_revision(tmp_path: Path) -> None:
    catalog = tmp_path / "resources" / "synapse_resources" / "catalog.json"
    catalog.parent.mkdir(parents=True)
    catalog.write_text('{"entries": [{"id": "m", "n": 1}]}')
    tree, entries = checkout.read(tmp_path, None)
    assert (tree.revision, tree.clean, list(entries)) == (None, None, ["m"])
    assert tree.catalog_sha256 == hashlib.sha256(catalog.read_bytes()).hexdigest()
    assert checkout.manifest_digest(entries["m"]) == hashlib.sha256(b'{"id":"m","n":1}').hexdigest()


def test_the_shipped_catalog_is_found_in_this_tree_and_its_entries_are_named_as_the_service_names_them() -> None:
    tree, entries = checkout.read(Path(__file__).parents[2], None)
    assert entries.keys() == {entry.id for entry in shipped_catalog().entries}
    for entry in shipped_catalog().entries:
        assert checkout.manifest_digest(entries[entry.id]) == entry.manifest_digest
    assert tree.revision is None or len(tree.revision) == 40


@pytest.mark.parametrize("content", [None, "{", "[]", '{"entries": [{}]}', '{"entries": 1}'])
def test_a_tree_without_a_catalog_is_refused(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "catalog.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(CommandError) as refused:
        checkout.read(tmp_path, file)
    assert refused.value.code == "checkout_unusable"


def some_record() -> record.Record:
    return record.Record(
        schema_version=3,
        row="cpu-x86_64",
        outcome="passed",
        started_at_ms=1,
        finished_at_ms=2,
        tool=record.Tool(name="t", version="1"),
        service=record.Service(version="1", protocol=1, settings={"cpu_lanes": True}),
        subject=record.Subject(
            catalog_id="m",
            lane_id="m-cpu",
            backend="cpu",
            task="embed",
            engine="owned-cpu",
            dtype="f32",
            fingerprint="syn1-a",
            catalog_revision="1",
            manifest_digest="d",
            hf_repo="o/m",
            revision="r",
        ),
        checkout=record.Checkout(revision=None, clean=None, catalog_sha256="c"),
        mirror=[record.File(path="config.json", size=2, sha256="s")],
        assets=record.AssetsUsed(sha256="a", source="tests", fixtures=1),
        self_check=record.SelfCheck(state="passed", check_id="k", evidence={"cases": 1}),
        figures={"min_cosine": 0.9999},
        fixtures=[{"id": "one", "ms": 1.5}],
        observations=record.Observed(available=True, inventories=[], worker_requests={"m-cpu": 2}, admitted_count=0),
        machine=record.MachineUsed(profile={"system": "linux"}),
        environment=record.Environment(python="3.11.0", libraries={}),
    )


def test_a_record_is_written_in_one_step_and_can_be_checked(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    file.write_text("an earlier one")
    record.write(some_record(), file)
    data = file.read_bytes()
    assert record.intact(data)
    assert not record.intact(data.replace(b"0.9999", b"0.99999"))
    assert "gpu" not in json.loads(data)["machine"]
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]


def test_a_record_that_can_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as refused:
        record.write(some_record(), tmp_path / "absent" / "record.json")
    assert refused.value.code == "record_unwritable"
    folder = tmp_path / "record.json"
    folder.mkdir()
    with pytest.raises(CommandError):
        record.write(some_record(), folder)
    assert [path.name for path in tmp_path.iterdir()] == ["record.json"]


def test_a_record_reads_back_as_what_it_was(tmp_path: Path) -> None:
    sealed = msgspec.json.decode(record.seal(some_record()))
    sealed.pop("record_sha256")
    assert msgspec.convert(sealed, record.Record) == some_record()
