"""A process that dies at any moment of a move leaves one whole store, and the next start ends what was begun."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fixtures import storage_processes
from fixtures.expected_warnings import ExpectedWarnings
from fixtures.storage_desk import StorageDesk, files_in
from fixtures.storage_processes import BEGINNING, POINTS, UNDO
from synapse_service.settings.store import SettingsStore

TESTS = Path(__file__).parents[1]

MOVES = [(how, point) for how in ("link", "copy") for point in POINTS[how]]


def killed_at(how: str, point: str, folder: Path) -> None:
    """Run the program until it has killed itself."""
    command = [sys.executable, storage_processes.__file__, str(folder), how, point]
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def whole(store: Path, digests: set[str]) -> bool:
    """Every file is there with the right bytes."""
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (store / "blobs").iterdir()}
    return all(found.get(sha256) == sha256 for sha256 in digests)


@pytest.mark.parametrize(("how", "point"), MOVES)
async def test_a_killed_move_is_ended_by_the_next_start(quick_dir: Path, how: str, point: str) -> None:
    killed_at(how, point, quick_dir)
    disk = quick_dir / "disk"
    settings = SettingsStore.load(quick_dir / "config.toml", {})
    before_the_fence = point in BEGINNING or point == "one file copied"
    # The guard against loss: the folder that storage_dir names is whole at every moment.
    assert settings.current.storage_dir == (None if before_the_fence else str(disk))
    desk = StorageDesk(quick_dir)
    digests = desk.digests("alpha", "beta")
    assert whole(desk.default if before_the_fence else disk, digests)
    desk.boot()
    ended = await desk.settled()
    assert (ended.state, ended.to_path, ended.corrupt, ended.missing) == ("done", str(disk), [], [])
    assert (desk.storage.root, desk.pending, desk.moves.status().state) == (disk, None, "ready")
    assert desk.settings.stored("storage_dir") == str(disk)
    assert desk.usable("alpha")
    assert desk.usable("beta")
    assert files_in(disk) == {"store.json"} | {f"blobs/{sha256}" for sha256 in digests}
    assert list(desk.default.rglob("*")) == []
    await desk.close()
    again = StorageDesk(quick_dir)
    again.boot()
    assert (again.storage.root, again.storage.problem, again.usable("alpha")) == (disk, None, True)
    await again.close()


@pytest.mark.parametrize("point", POINTS["adopt"])
async def test_a_killed_adoption_is_ended_by_the_next_start_and_leaves_the_old_folder(
    quick_dir: Path, point: str
) -> None:
    killed_at("adopt", point, quick_dir)
    disk = quick_dir / "disk"
    desk = StorageDesk(quick_dir)
    digests = desk.digests("alpha", "beta")
    assert whole(desk.default, digests)
    assert whole(disk, digests)
    desk.boot()
    assert (await desk.settled()).state == "done"
    assert (desk.storage.root, desk.pending) == (disk, None)
    assert desk.usable("alpha")
    assert whole(desk.default, digests)
    await desk.close()


@pytest.mark.parametrize("point", UNDO)
async def test_a_move_that_was_killed_while_it_was_taken_back_is_taken_back(
    quick_dir: Path, point: str, expected_warnings: ExpectedWarnings
) -> None:
    expected_warnings("move_failed")
    killed_at("undo", point, quick_dir)
    disk = quick_dir / "disk"
    desk = StorageDesk(quick_dir)
    assert desk.pending == "undoing"
    assert whole(desk.default, desk.digests("alpha", "beta"))
    desk.boot()
    ended = await desk.settled()
    assert ended.state == "failed"
    assert isinstance(ended.error, dict)
    assert ended.error["details"] == {"reason": "interrupted", "path": str(disk)}
    assert (desk.storage.root, desk.pending, desk.storage.problem) == (desk.default, None, None)
    assert desk.settings.stored("storage_dir") is None
    assert not disk.exists()
    assert desk.usable("alpha")
    await desk.close()
