"""The mirror: a folder of pinned files, served on loopback the way a model hub serves them.

Files lie at ``<hf_repo>/resolve/<revision>/<file>``. Nothing outside the folder is served, not even through a link,
and nothing but loopback is listened on.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

from synapse_cli.reporting import CommandError


@dataclass(frozen=True, slots=True)
class MirrorFile:
    """A file of the model as the mirror has it."""

    path: str
    size: int
    sha256: str


def files_of(folder: Path, hf_repo: str, revision: str) -> list[MirrorFile]:
    """Every file that the mirror has of one revision, hashed; raises CommandError when it has none."""
    root = folder / hf_repo / "resolve" / revision
    try:
        found = sorted(path for path in root.rglob("*") if path.is_file())
        files = [MirrorFile(path.relative_to(root).as_posix(), path.stat().st_size, _sha256(path)) for path in found]
    except OSError as error:
        raise CommandError(
            "mirror_unreadable", f"{error.filename} can't be read ({error.strerror})", _REMEDY
        ) from error
    if not files:
        raise CommandError("mirror_empty", f"the mirror has no file at {root}", _REMEDY)
    return files


_REMEDY = "Put the pinned files at <mirror>/<hf_repo>/resolve/<revision>/<file>."


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The folder at a URL on loopback, for the length of a ``with`` block."""
    handler = type("Handler", (_Handler,), {"root": folder.resolve()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="mirror", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    root: Path

    def do_GET(self) -> None:
        file = self._file()
        if file is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        with file.open("rb") as stream:
            self.send_response(200)
            self.send_header("Content-Length", str(file.stat().st_size))
            self.end_headers()
            # The service leaves when it has what it wants, or when a download is cancelled.
            with suppress(ConnectionError):
                shutil.copyfileobj(stream, self.wfile)

    def _file(self) -> Path | None:
        wanted = unquote(urlsplit(self.path).path).lstrip("/")
        try:
            file = (self.root / wanted).resolve()
            return file if file.is_relative_to(self.root) and file.is_file() else None
        except (OSError, ValueError):  # a name that no file can have
            return None

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the record says what was fetched."""
