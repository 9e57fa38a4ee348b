"""The lock of the machine, between real processes."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.lock_holders import Holder, hold
from synapse_service.lanes import hardware_lock
from synapse_service.lanes.hardware_lock import HardwareLock, LockFailed, LockHeld


@pytest.fixture
def path(quick_dir: Path) -> Path:
    return quick_dir / "neural-engine.lock"


@pytest.fixture
def lock(path: Path) -> Iterator[HardwareLock]:
    lock = HardwareLock(path)
    yield lock
    lock.release()


def test_a_fresh_lock_can_be_opened_by_every_user_whatever_the_mask(lock: HardwareLock, path: Path) -> None:
    before = os.umask(0o077)
    try:
        lock.acquire()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert lock.held


def test_taking_it_twice_and_giving_it_back_twice_is_harmless(lock: HardwareLock, path: Path) -> None:
    lock.acquire()
    descriptor = lock.descriptor
    lock.acquire()
    assert lock.descriptor == descriptor
    lock.release()
    lock.release()
    assert not lock.held
    assert path.exists()  # Deleting it would let two programs hold locks on different files of one name.
    lock.acquire()


def test_a_private_program_that_holds_it_is_named_only_if_it_signed(lock: HardwareLock, path: Path) -> None:
    with hold(path), pytest.raises(LockHeld) as caught:
        lock.acquire()
    assert (caught.value.pid, str(caught.value)) == (None, f"another process holds {path}")


def test_another_service_that_holds_it_is_named(lock: HardwareLock, path: Path) -> None:
    with hold(path, signed=True) as holder, pytest.raises(LockHeld) as caught:
        lock.acquire()
    assert (caught.value.pid, str(caught.value)) == (holder.pid, f"process {holder.pid} holds {path}")


def test_a_signature_of_a_process_that_is_gone_names_nobody(lock: HardwareLock, path: Path) -> None:
    with hold(path, signed=True):
        pass
    assert "pid" in json.loads(path.read_text())
    with hold(path), pytest.raises(LockHeld) as caught:
        lock.acquire()
    assert caught.value.pid is None


@pytest.mark.parametrize(
    "content", ['{"pid": 1e999, "started": 1}', '{"pid": -5, "started": 1}', '{"pid": "x"}', "[]", "7", "\xff"]
)
def test_whatever_others_write_into_the_file_names_nobody(lock: HardwareLock, path: Path, content: str) -> None:
    path.write_text(content)
    with hold(path), pytest.raises(LockHeld) as caught:
        lock.acquire()
    assert caught.value.pid is None


def test_a_killed_holder_leaves_it_free(lock: HardwareLock, path: Path) -> None:
    with hold(path, signed=True) as holder:
        with pytest.raises(LockHeld):
            lock.acquire()
        holder.kill()
        lock.acquire()
    assert lock.held


def test_it_stays_held_while_a_child_lives_that_inherited_it(path: Path, lock: HardwareLock) -> None:
    # What protects the hardware from a second user while the worker of a killed service still computes on it.
    script = (
        "import subprocess, sys\n"
        "from pathlib import Path\n"
        "from synapse_service.lanes.hardware_lock import HardwareLock\n"
        "lock = HardwareLock(Path(sys.argv[1]))\n"
        "lock.acquire()\n"
        "child = subprocess.Popen(['sleep', '60'], pass_fds=(lock.descriptor,), stdout=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as service:
        assert service.stdout is not None
        worker = int(service.stdout.readline())
        service.kill()
    try:
        with pytest.raises(LockHeld):
            lock.acquire()
    finally:
        os.kill(worker, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while not lock.held and time.monotonic() < deadline:
        try:
            lock.acquire()
        except LockHeld:
            time.sleep(0.01)
    assert lock.held


def test_ordinary_children_inherit_nothing(lock: HardwareLock, path: Path) -> None:
    lock.acquire()
    child = subprocess.Popen(["sleep", "60"])
    try:
        lock.release()
        other = HardwareLock(path)
        other.acquire()
        other.release()
    finally:
        child.kill()
        child.wait()


def test_a_lock_on_a_file_that_was_replaced_meanwhile_is_taken_anew(
    lock: HardwareLock, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.touch()
    real, replaced = hardware_lock._lock, []

    def replacing(descriptor: int) -> None:
        if not replaced:
            path.unlink()
            path.touch()
            replaced.append(True)
        real(descriptor)

    monkeypatch.setattr(hardware_lock, "_lock", replacing)
    lock.acquire()
    assert os.fstat(lock.descriptor).st_ino == path.stat().st_ino


def test_a_file_that_is_always_replaced_is_an_error_and_no_endless_loop(
    lock: HardwareLock, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware_lock, "_is_at", lambda descriptor, path: False)
    with pytest.raises(LockFailed, match="replaced again and again"):
        lock.acquire()


def test_a_full_disk_does_not_keep_the_lock_from_being_taken(
    lock: HardwareLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        lock.acquire()
    assert lock.held


@pytest.mark.parametrize("what", ["folder", "link", "missing folder", "pipe"])
def test_something_else_in_its_place_is_refused(what: str, path: Path) -> None:
    match what:
        case "folder":
            path.mkdir()
        case "link":
            (path.parent / "elsewhere").touch()
            path.symlink_to(path.parent / "elsewhere")
        case "pipe":
            os.mkfifo(path)
        case _:
            path = path.parent / "none" / "lock"
    with pytest.raises(LockFailed, match=r"can't be opened|is not a file"):
        HardwareLock(path).acquire()


def test_a_lock_that_the_system_will_not_unlock_is_retained_and_can_be_tried_again(
    lock: HardwareLock, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock.acquire()

    def refuse(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(hardware_lock, "_unlock", refuse)
        with pytest.raises(LockFailed, match="can't be unlocked: Input/output error"):
            lock.release()
        assert lock.held
        with pytest.raises(LockHeld):
            HardwareLock(path).acquire()
    lock.release()
    assert not lock.held


def test_holders_of_the_fixture_exclude_each_other(path: Path) -> None:
    with hold(path) as first, pytest.raises(AssertionError), Holder(path, signed=False):
        pass
    assert first.pid
