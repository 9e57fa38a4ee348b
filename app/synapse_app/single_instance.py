"""One tray application for each user: the first holds a lock, and a second start asks it to show itself.

The lock belongs to the open file, so a killed application leaves nothing that would stop the next one. The socket lies
beside the service's own, in a folder that only the user can enter; in the usual temporary folder anybody could take
its name.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import Final

from PySide6.QtCore import QLockFile, QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from synapse_wire.endpoint import Endpoint

SHOW: Final = b"show\n"
_ANSWER: Final = b"shown\n"
_WAIT_MS: Final = 3000

_log = logging.getLogger(__name__)


class SingleInstance(QObject):
    """``shown`` is emitted when another start asks for the window."""

    shown = Signal()

    def __init__(self, endpoint: Endpoint, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = endpoint.directory
        self._name = _server_name(endpoint)
        self._lock = QLockFile(str(self._folder / "tray.lock"))
        self._lock.setStaleLockTime(0)
        self._server: QLocalServer | None = None

    def become_first(self) -> bool:
        """True when this process is the one; False when another is. Raises ``OSError`` for an unusable folder."""
        _private_folder(self._folder)
        if not self._lock.tryLock(0):
            if self._lock.error() is not QLockFile.LockError.LockFailedError:
                raise OSError(f"{self._folder / 'tray.lock'} can't be written")
            return False
        server = QLocalServer(self)
        server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(self._name)  # left by one that was killed; we hold its lock now
        if not server.listen(self._name):
            # Without it a second start can't show this window; everything else works.
            _log.warning("tray_socket_failed", extra={"fields": {"reason": server.errorString()}})
        server.newConnection.connect(self._greeted)
        self._server = server
        return True

    def ask_first_to_show(self) -> bool:
        """Ask the application that runs to show its window; False when it doesn't react."""
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if not socket.waitForConnected(_WAIT_MS):
            return False
        socket.write(SHOW)
        answered = socket.waitForReadyRead(_WAIT_MS) and socket.readAll().data() == _ANSWER
        socket.disconnectFromServer()
        return bool(answered)

    def release(self) -> None:
        """Give everything back, so that the next start is the first."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self._lock.unlock()

    def _greeted(self) -> None:
        assert self._server is not None
        while (connection := self._server.nextPendingConnection()) is not None:
            connection.readyRead.connect(lambda connection=connection: self._asked(connection))
            connection.disconnected.connect(connection.deleteLater)
            if connection.bytesAvailable():
                self._asked(connection)

    def _asked(self, connection: QLocalSocket) -> None:
        if connection.readLine(64).data() == SHOW:
            connection.write(_ANSWER)
            connection.flush()
            self.shown.emit()


def _server_name(endpoint: Endpoint) -> str:
    return endpoint.address + "-tray" if sys.platform == "win32" else str(endpoint.directory / "t.sock")


def _private_folder(folder: Path) -> None:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
    if os.name == "nt":
        return
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise OSError(f"{folder} is open to other users; run: chmod 700 '{folder}'")
