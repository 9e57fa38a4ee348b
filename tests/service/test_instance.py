"""One service for each user: the lock, what may be removed for it, and where the socket goes."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.socket_server import endpoint_in, short_folder
from synapse_service import instance
from synapse_service.instance import (
    AlreadyRunning,
    BoundSocket,
    InstanceLock,
    ModelsInUse,
    StartFailed,
    acquire_lock,
    bind_socket,
    lock_data,
    lock_models,
)
from synapse_wire.endpoint import MAX_SOCKET_PATH_BYTES, resolve_endpoint


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as made:
        yield made


def lock_in(folder: Path) -> InstanceLock:
    return acquire_lock(endpoint_in(folder), folder / "service.lock")


def bind_in(folder: Path, lock: InstanceLock) -> BoundSocket:
    return bind_socket(str(folder / "service.sock"), lock)


def stale_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))


# --- the lock ---


def test_the_lock_is_exclusive_and_names_its_holder(folder: Path) -> None:
    lock = lock_in(folder)
    assert (folder / "service.lock").read_text() == f"{os.getpid()}\n"
    assert stat.S_IMODE((folder / "service.lock").stat().st_mode) == 0o600
    with pytest.raises(AlreadyRunning) as refused:
        lock_in(folder)
    assert refused.value.pid == os.getpid()
    assert str(refused.value) == (
        f"the service is already running: process {os.getpid()} holds the lock for {folder}/service.sock. "
        "Use that one, or stop it first; if it doesn't react, end that process"
    )
    lock.release()
    lock.release()
    assert not lock.held
    assert (folder / "service.lock").read_text() == ""
    lock_in(folder).release()


def test_one_service_keeps_its_data_in_a_folder_whatever_its_socket(folder: Path) -> None:
    lock = lock_data(folder)
    with pytest.raises(AlreadyRunning, match=f"process {os.getpid()} holds the lock for {folder}"):
        lock_data(folder)
    lock.release()
    lock_data(folder).release()


def test_a_full_disk_does_not_keep_the_lock_from_being_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        patch.setattr(os, "ftruncate", full)
        lock = lock_in(folder)
    monkeypatch.setattr(instance, "_PID_PAUSE_S", 0.0)
    with pytest.raises(AlreadyRunning, match="another process"):
        lock_in(folder)
    lock.release()


def test_a_holder_that_cannot_be_read_is_not_guessed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance, "_PID_PAUSE_S", 0.0)
    lock = lock_in(folder)
    for content in ("", "4194304999\n", "not a number"):
        (folder / "service.lock").write_text(content)
        with pytest.raises(AlreadyRunning, match="another process holds the lock") as refused:
            lock_in(folder)
        assert refused.value.pid is None
    lock.release()


def test_the_number_left_by_a_killed_service_means_nothing(folder: Path) -> None:
    # The number may by now belong to an unrelated process that lives, such as this one's parent.
    (folder / "service.lock").write_text(f"{os.getppid()}\n")
    lock = lock_in(folder)
    assert (folder / "service.lock").read_text() == f"{os.getpid()}\n"
    lock.release()


def test_a_replaced_lock_file_is_noticed(folder: Path) -> None:
    lock = lock_in(folder)
    assert lock.intact
    (folder / "service.lock").unlink()
    assert not lock.intact
    (folder / "service.lock").touch()
    assert not lock.intact
    lock.release()


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_a_lock_file_that_is_no_file_is_refused(folder: Path, kind: str) -> None:
    path = folder / "service.lock"
    if kind == "link":
        (folder / "target").write_text("kept")
        path.symlink_to(folder / "target")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    with pytest.raises(StartFailed, match="lock file"):
        lock_in(folder)
    assert os.path.lexists(path)
    if kind == "link":
        assert (folder / "target").read_text() == "kept"


def test_a_folder_that_others_may_enter_is_refused(folder: Path) -> None:
    folder.chmod(0o755)
    with pytest.raises(StartFailed) as refused:
        lock_in(folder)
    assert str(refused.value) == f"{folder} is open to other users (mode 0755). Run: chmod 700 '{folder}'"
    folder.chmod(0o700)


def test_the_folder_is_made_private(folder: Path) -> None:
    inner = folder / "new" / "run"
    lock = acquire_lock(endpoint_in(inner), inner / "service.lock")
    assert stat.S_IMODE(inner.stat().st_mode) == 0o700
    lock.release()


def test_the_models_of_a_folder_belong_to_one_service(folder: Path) -> None:
    lock = lock_models(folder)
    with pytest.raises(ModelsInUse) as refused:
        lock_models(folder)
    assert str(refused.value) == (
        f"the models in {folder} are used by another service (process {os.getpid()}). "
        "Stop that one, or give this one a folder of its own with the setting storage_dir"
    )
    lock.release()
    lock_models(folder).release()


# --- the socket ---


def test_the_socket_is_the_owners_alone(folder: Path) -> None:
    lock = lock_in(folder)
    bound = bind_in(folder, lock)
    status = (folder / "service.sock").lstat()
    assert (stat.S_ISSOCK(status.st_mode), stat.S_IMODE(status.st_mode)) == (True, 0o600)
    bound.socket.close()
    bound.remove()
    assert not (folder / "service.sock").exists()
    bound.remove()
    lock.release()


def test_nothing_is_bound_without_the_lock(folder: Path) -> None:
    lock = lock_in(folder)
    lock.release()
    with pytest.raises(RuntimeError):
        bind_in(folder, lock)


def test_a_stale_socket_is_replaced(folder: Path) -> None:
    stale_socket(folder / "service.sock")
    lock = lock_in(folder)
    bound = bind_in(folder, lock)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(folder / "service.sock"))
    bound.socket.close()
    bound.remove()
    lock.release()


def test_remove_leaves_another_sockets_path(folder: Path) -> None:
    lock = lock_in(folder)
    bound = bind_in(folder, lock)
    (folder / "service.sock").rename(folder / "moved.sock")
    stale_socket(folder / "service.sock")
    bound.socket.close()
    bound.remove()
    assert (folder / "service.sock").is_socket()
    lock.release()


@pytest.mark.parametrize(
    ("kind", "words"),
    [("file", "a regular file"), ("link", "a symbolic link"), ("folder", "a folder"), ("pipe", "a special file")],
)
def test_what_is_no_socket_is_never_removed(folder: Path, kind: str, words: str) -> None:
    # Goes red when the path is removed without asking what it is.
    path = folder / "service.sock"
    if kind == "file":
        path.write_text("precious")
    elif kind == "link":
        stale_socket(folder / "target.sock")
        path.symlink_to(folder / "target.sock")
    elif kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    lock = lock_in(folder)
    with pytest.raises(StartFailed) as refused:
        bind_in(folder, lock)
    assert str(refused.value) == f"{path} is {words}, not a socket, and was left alone. Move it away"
    assert os.path.lexists(path)
    if kind == "file":
        assert path.read_text() == "precious"
    if kind == "link":
        assert path.is_symlink()
        assert (folder / "target.sock").is_socket()
    lock.release()


def test_a_socket_of_another_user_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = lock_in(folder)
    stale_socket(folder / "service.sock")
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    with pytest.raises(StartFailed, match="belongs to user"):
        bind_in(folder, lock)
    assert (folder / "service.sock").is_socket()
    lock.release()


@pytest.mark.parametrize("backlog", [0, 5])
def test_a_socket_at_which_someone_answers_is_left_alone(folder: Path, backlog: int) -> None:
    with socket.socket(socket.AF_UNIX) as live, socket.socket(socket.AF_UNIX) as waiting:
        live.bind(str(folder / "service.sock"))
        live.listen(backlog)
        # With a backlog of 0 this fills the queue, and further connections are neither taken nor refused.
        waiting.connect(str(folder / "service.sock"))
        lock = lock_in(folder)
        with pytest.raises(StartFailed, match="another program accepts connections"):
            bind_in(folder, lock)
        assert (folder / "service.sock").is_socket()
        lock.release()


def test_an_address_that_cannot_be_bound_is_told(folder: Path) -> None:
    lock = lock_in(folder)
    with pytest.raises(StartFailed, match="can't be bound"):
        bind_socket(str(folder / "missing" / "service.sock"), lock)
    lock.release()


# --- where it is ---


def test_a_home_of_120_characters_is_served_at_a_short_address(folder: Path) -> None:
    home = folder / ("h" * (120 - len(str(folder)) - 1))
    home.mkdir()
    assert len(str(home)) == 120
    endpoint = resolve_endpoint({"HOME": str(home)}, platform="linux", temp=folder)
    assert len(os.fsencode(endpoint.address)) <= MAX_SOCKET_PATH_BYTES
    assert endpoint.directory.parent == folder
    assert "is too long for a socket address" in endpoint.notes[0]
    assert resolve_endpoint({"HOME": str(home)}, platform="linux", temp=folder) == endpoint
    lock = acquire_lock(endpoint, endpoint.directory / "service.lock")
    bound = bind_socket(endpoint.address, lock)
    assert stat.S_IMODE(endpoint.directory.stat().st_mode) == 0o700
    bound.socket.close()
    bound.remove()
    lock.release()


def test_a_runtime_folder_that_is_not_private_is_passed_over_with_a_note(folder: Path) -> None:
    runtime, home = folder / "runtime", folder / "home"
    runtime.mkdir(mode=0o700)
    environ = {"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime)}
    assert resolve_endpoint(environ, platform="linux").address == f"{runtime}/synapse/service.sock"
    fallback = home / ".local/state/synapse/run"
    for mode in (0o777, 0o1777, 0o720):
        runtime.chmod(mode)
        endpoint = resolve_endpoint(environ, platform="linux")
        assert endpoint.directory == fallback
        assert endpoint.notes == (f"XDG_RUNTIME_DIR is not used because {runtime} can be written by other users",)
    runtime.chmod(0o700)
    foreign = resolve_endpoint(environ, platform="linux", uid=os.getuid() + 1)
    assert (foreign.directory, foreign.notes) == (
        fallback,
        (f"XDG_RUNTIME_DIR is not used because {runtime} belongs to another user",),
    )
    del environ["XDG_RUNTIME_DIR"]
    assert resolve_endpoint(environ, platform="linux").notes == ()
    assert resolve_endpoint(environ, platform="linux").directory == fallback


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"SYNAPSE_RUNTIME_DIR": "/r", "SYNAPSE_HOME": "/h", "HOME": "/u"}, "linux", "/r/service.sock"),
        ({"SYNAPSE_HOME": "/h", "HOME": "/u"}, "linux", "/h/run/service.sock"),
        ({"SYNAPSE_HOME": "/h", "HOME": "/u"}, "darwin", "/h/run/service.sock"),
        ({"HOME": "/u"}, "darwin", "/u/Library/Application Support/Synapse/run/s.sock"),
        ({"HOME": "/u", "XDG_RUNTIME_DIR": "/nowhere"}, "linux", "/u/.local/state/synapse/run/service.sock"),
    ],
)
def test_the_order_of_places(environ: dict[str, str], platform: str, expected: str) -> None:
    assert resolve_endpoint(environ, platform=platform).address == expected
