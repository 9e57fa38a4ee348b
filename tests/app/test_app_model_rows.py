"""What the models page says of a model, as pure functions of the picture."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import synapse_resources
from fixtures.tray_rows import lane, lane_row, lanes_listing
from synapse_app import reducers
from synapse_app.pages import model_rows
from synapse_app.pages.model_rows import ModelEntry
from synapse_app.problems import Problem
from synapse_app.state import AppState
from synapse_wire import results as r

NAMES = ["long " * 400, "نموذج للتجربة", "a & b {x} <b>🦜</b>"]


def backend(name: str = "cpu", reason: str | None = None) -> r.CatalogBackend:
    return r.CatalogBackend(
        backend=name,
        lane_id=f"m-{name}",
        fingerprint=f"syn1-{name}",
        runnable=reason is None,
        reason=reason,
        installed=False,
        self_check=None,
    )


def model(model_id: str = "m", install_state: str = "not_installed", **more: Any) -> r.CatalogModel:
    members: dict[str, Any] = {
        "task": "embed",
        "name": f"The {model_id}",
        "description": "A model.",
        "default_for_task": False,
        "upstream": r.CatalogUpstream(hf_repo="who/what", revision="5" * 40),
        "manifest_digest": "d",
        "download_bytes": 3_000_000_000,
        "backends": [backend()],
    }
    return r.CatalogModel(id=model_id, install_state=install_state, **(members | more))


def download(state: str, created_ms: int = 1, **more: Any) -> r.DownloadRow:
    members: dict[str, Any] = {"job_id": f"d{created_ms}", "catalog_id": "m", "bytes_done": 1, "bytes_total": 4}
    return r.DownloadRow(state=state, created_ms=created_ms, **(members | more))


def picture(*models: r.CatalogModel, downloads: tuple[r.DownloadRow, ...] = ()) -> AppState:
    state = reducers.catalog_read(AppState(), r.ModelsCatalog(catalog_revision="1", models=list(models)))
    return reducers.downloads_read(state, r.DownloadsList(downloads=list(downloads)))


def usage(free: int = 50 * 10**9, used: int = 0) -> r.CacheUsage:
    return r.CacheUsage(
        path="/models",
        used_bytes=used,
        reclaimable_bytes=0,
        arriving_bytes=0,
        quarantined_bytes=0,
        free_bytes=free,
        limit_bytes=34 * 10**9,
        models=[],
    )


def test_the_catalog_comes_first_and_own_models_after_it_without_lanes_of_the_catalog() -> None:
    state = picture(model("m"))
    rows = [lane_row("m-cpu", catalog_id="m"), lane_row("mine", "ready")]
    state = reducers.lanes_read(state, r.LanesList(module_generation=1, lanes=rows))
    state = reducers.models_read(state, lanes_listing(lane("m-cpu", "unloaded"), lane("mine", "ready")))
    found = model_rows.entries(state)
    assert [(entry.key, entry.model is None) for entry in found] == [("m", False), ("mine", True)]
    assert [lane.lane_id for lane in found[0].lanes] == ["m-cpu"]


def test_the_newest_download_counts_and_a_failure_only_while_the_model_is_not_here() -> None:
    failed = download("failed", 1, error={"code": "download_failed", "message": "no route"})
    (entry,) = model_rows.entries(picture(model(), downloads=(failed,)))
    assert (model_rows.state_word(entry), model_rows.tone(entry)) == ("download failed", "bad")
    assert "Check the network" in model_rows.note(entry, None)[0]
    (entry,) = model_rows.entries(picture(model(), downloads=(failed, download("downloading", 2))))
    assert (entry.downloading, model_rows.failed(entry), model_rows.look(entry).progress) == (True, None, 0.25)
    (entry,) = model_rows.entries(picture(model(install_state="installed"), downloads=(failed,)))
    assert (model_rows.failed(entry), model_rows.state_word(entry)) == (None, "installed")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (download("queued"), "waits for its turn"),
        (download("verifying"), "everything is here and is being verified"),
        (download("downloading", bytes_done=0, bytes_total=0), "0 bytes of 0 bytes"),
        (
            download("downloading", bytes_done=2_000_000, bytes_total=4_000_000, rate=1e6, eta_ms=2000),
            "2.0 MB of 4.0 MB · 1.0 MB/s · 2 s left",
        ),
    ],
)
def test_an_arrival_is_told_with_rate_and_time_left(row: r.DownloadRow, expected: str) -> None:
    assert model_rows.arrival(row) == expected


def test_a_model_that_nothing_here_can_run_says_why() -> None:
    metal = backend("metal", "not_supported_on_platform")
    entry = ModelEntry("m", "M", "embed", model=model(backends=[metal]))
    assert (entry.runnable, model_rows.note(entry, None)[1], entry.fingerprint) == (False, True, "")
    facts = {fact.name: fact.value for fact in model_rows.facts(entry)}
    assert facts["Runs on"] == "Apple graphics (Metal): no, not supported on this operating system"
    assert facts["Licence"] == "see its page at the source"


def test_the_disk_is_watched_before_a_download_and_at_all_times() -> None:
    entry = ModelEntry("m", "M", "embed", model=model())
    assert model_rows.note(entry, 10**9) == ("It needs 3.0 GB, and 1.0 GB are free on the disk of the models.", True)
    assert model_rows.note(entry, 10**10) == ("A model.", False)
    assert model_rows.disk_warning(usage()) == ""
    assert model_rows.disk_warning(usage(free=10**9)).startswith("Only 1.0 GB are free")
    assert model_rows.disk_warning(usage(used=40 * 10**9)).startswith("Models take more than the limit")
    assert model_rows.disk_line(usage()) == "Models take 0 bytes of 34.0 GB; 50.0 GB are free on their disk."


def test_models_of_this_release_show_their_licence() -> None:
    catalog = msgspec.json.decode(synapse_resources.read("catalog.json"))
    for entry in catalog["entries"]:
        upstream = r.CatalogUpstream(hf_repo=entry["upstream"]["hf_repo"], revision=entry["upstream"]["revision"])
        assert model_rows.licence(model(entry["id"], upstream=upstream)) == entry["upstream"]["licence"] != ""


def test_holders_are_named_by_what_they_are() -> None:
    held = [{"kind": "loaded", "model_id": "m-cpu"}, {"kind": "job", "job_id": "7"}, {"kind": "newer"}]
    assert model_rows.holders_text(Problem("model_in_use", details={"holders": held})) == (
        "loaded: m-cpu, job: 7, newer"
    )
    assert model_rows.holders_text(Problem("model_in_use")) == ""


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_kind_are_found_and_shown_as_they_are(name: str) -> None:
    found = model_rows.entries(picture(model("m", name=name)))
    assert [entry.name for entry in model_rows.chosen(found, name[:12].upper(), "all")] == [name]
    assert model_rows.look(found[0]).title == name
    assert model_rows.spoken(found[0]).startswith(name)
