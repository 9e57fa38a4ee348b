"""A process that dies at any moment of a download or a removal leaves nothing that the next start doesn't settle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures import download_processes
from fixtures.download_desk import DownloadDesk, two_models
from fixtures.download_processes import DOWNLOAD_POINTS, REMOVAL_POINTS
from fixtures.mirror import Mirror, running_mirror

TESTS = Path(__file__).parents[1]


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with running_mirror() as mirror:
        two_models().serve(mirror)
        yield mirror


def killed_at(point: str, folder: Path, mirror: Mirror) -> None:
    """Run the program until it has killed itself."""
    command = [sys.executable, download_processes.__file__, str(folder), mirror.base, point]
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("point", DOWNLOAD_POINTS)
async def test_a_killed_download_is_module_restarted_or_committed_and_a_new_one_commits(
    quick_dir: Path, mirror: Mirror, point: str
) -> None:
    killed_at(point, quick_dir, mirror)
    desk = DownloadDesk(quick_dir, two_models(), mirror, generation=2)
    orphans = desk.boot()
    status = await desk.status("job-1-1")
    if point == "committed":
        assert (status.state, orphans) == ("committed", [])
        assert desk.stored() == desk.files("alpha")
    else:
        assert (status.state, orphans) == ("failed", ["job-1-1"])
        assert isinstance(status.error, dict)
        assert (status.error["code"], "details" in status.error) == ("module_restarted", False)
        assert desk.installs.install_state(desk.entry("alpha")) == "not_installed"
        assert desk.stored() == set()
    assert (desk.left_over(), desk.rows()["blobs"]) == ([], [])
    mirror.requests.clear()
    again = await desk.download("alpha")
    assert again.state == "committed"
    assert len(mirror.requests) == (0 if point == "committed" else 3)
    assert not any("Range" in headers for _, headers in mirror.requests)
    assert desk.installs.complete(desk.entry("alpha"))
    await desk.close()


@pytest.mark.parametrize("point", REMOVAL_POINTS)
async def test_a_killed_removal_is_done_or_not_done(quick_dir: Path, mirror: Mirror, point: str) -> None:
    killed_at(point, quick_dir, mirror)
    desk = DownloadDesk(quick_dir, two_models(), mirror, generation=2)
    desk.boot()
    entry = desk.entry("alpha")
    if point == "after the commit":
        assert (desk.installs.install_state(entry), desk.stored()) == ("not_installed", set())
    else:
        assert desk.installs.complete(entry)
        assert desk.stored() == desk.files("alpha")
    assert desk.left_over() == []
    await desk.close()
