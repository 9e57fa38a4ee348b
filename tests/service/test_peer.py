"""Who connected: what the kernels say, and what follows from it."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time

import psutil
import pytest

from synapse_service.server.peer import Peer, PeerRefused, read_credentials, require_owner


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class MacSocket:
    """Answers as macOS does: ``struct xucred`` with its version, user and groups, and the process apart."""

    def __init__(self, uid: int, pid: int) -> None:
        self.answers = {
            (0, 1, 76): struct.pack("=IIhh16I", 0, uid, 1, 0, *range(16)),
            (0, 2, 4): struct.pack("=i", pid),
        }

    def getsockopt(self, level: int, option: int, length: int, /) -> bytes:
        return self.answers[level, option, length]


class SilentSocket:
    def getsockopt(self, level: int, option: int, length: int, /) -> bytes:
        raise OSError(22, "Invalid argument")


@pytest.mark.skipif(sys.platform != "linux", reason="asks the running kernel as Linux is asked")
def test_linux_names_process_and_user() -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert read_credentials(one) == (os.getpid(), os.geteuid())


def test_macos_names_process_and_user() -> None:
    assert read_credentials(MacSocket(uid=501, pid=777), platform="darwin") == (777, 501)


@pytest.mark.parametrize("platform", ["linux", "darwin", "sunos5"])
def test_who_is_not_named_is_refused(platform: str) -> None:
    with pytest.raises(PeerRefused):
        read_credentials(SilentSocket(), platform=platform)


def test_nobody_but_the_owner_is_let_in() -> None:
    require_owner(1000, 1000)
    for uid in (1001, 0, 2**32 - 1):
        with pytest.raises(PeerRefused, match=f"user {uid} connected to the service of user 1000"):
            require_owner(uid, 1000)


def test_program_and_start_of_a_living_peer() -> None:
    peer = Peer(os.getpid(), os.geteuid(), now_ms())
    assert peer.executable == psutil.Process().exe()
    assert peer.started_ms == int(psutil.Process().create_time() * 1000)


def test_nothing_is_said_about_a_process_that_is_gone_or_unknown() -> None:
    finished = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    finished.wait()
    for pid in (finished.pid, None):
        peer = Peer(pid, os.geteuid(), now_ms())
        assert (peer.executable, peer.started_ms) == (None, None)


def test_a_process_that_started_after_the_accept_is_not_the_one_that_connected() -> None:
    started_ms = int(psutil.Process().create_time() * 1000)
    reused = Peer(os.getpid(), os.geteuid(), started_ms - 5000)
    assert (reused.executable, reused.started_ms) == (None, None)
