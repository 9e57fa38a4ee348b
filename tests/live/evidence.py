"""What was seen of a real server, as records: one file a probe, kept beside the tests and read by them.

A record of standing ``live`` was taken off the wire by ``recorder.py``. One of standing ``wire_shape`` was not: no
server of that engine could run, and its bytes were written after the engine's source, which ``server.source`` names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

FOLDER = Path(__file__).parent / "recorded"
RECORD_VERSION = 1

_AUTHORIZATION = re.compile(rb"(?i)(\r\n(?:authorization|x-api-key): *(?:bearer +)?)[^\r\n]+")


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """Who answered.

    ``version`` is what the server says of itself, None where it says nothing. ``package`` is what was installed,
    ``weights`` the model's file and digest, ``cache`` the state of the prefix cache as far as it matters. ``source``
    is where a shape was read that nobody recorded.
    """

    engine: str
    version: str | None
    package: str | None = None
    weights: str | None = None
    cache: str | None = None
    source: str | None = None


class Exchange(msgspec.Struct, frozen=True):
    """One request and its reply: the bytes in the pieces in which they came, a character for each byte."""

    sent: tuple[str, ...]
    received: tuple[str, ...]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One probe and what came of it.

    ``case`` is whether it shows that something works or that it is absent. ``outcome`` is what our dialect made of the
    reply: ``response``, or ``error`` with its code and the channels that it names.
    """

    record_version: int
    probe: str
    shows: str
    rerun: str
    standing: Literal["live", "wire_shape"]
    case: Literal["support", "absence"]
    date: str
    dialect: str
    wire_version: str
    stream: bool
    requested_model: str
    reported_model: str | None
    server: Server
    proxy: str
    exchanges: tuple[Exchange, ...]
    outcome: Mapping[str, Any]


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of itself when its deployment is verified: one path's reply, and the facts read from it."""

    record_version: int
    rerun: str
    date: str
    engine: str
    package: str | None
    path: str
    reply: Any
    facts: Mapping[str, Any]


def written(pieces: Sequence[bytes]) -> tuple[str, ...]:
    """Bytes as they are stored, credentials taken out. A credential is in one piece, since a head is."""
    return tuple(_AUTHORIZATION.sub(rb"\1[redacted]", piece).decode("latin-1") for piece in pieces)


def read_back(pieces: Sequence[str]) -> list[bytes]:
    """Stored bytes as bytes."""
    return [piece.encode("latin-1") for piece in pieces]


def save(evidence: Evidence, folder: Path = FOLDER) -> Path:
    """Writes a record under its engine and its probe's name."""
    path = folder / evidence.server.engine / f"{evidence.probe}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(evidence), indent=1) + b"\n")
    return path


def load(folder: Path = FOLDER) -> Iterator[Evidence]:
    """Every record that is kept."""
    for path in sorted(folder.glob("*/*.json")):
        yield msgspec.json.decode(path.read_bytes(), type=Evidence)


def save_facts(found: ServerFacts, folder: Path = FOLDER) -> None:
    """Writes what a server says of itself, without the places and the long texts that it names."""
    left_out = {key: "[left out]" for key in ("model_path", "chat_template") if key in found.reply}
    found = msgspec.structs.replace(found, reply={**found.reply, **left_out})
    path = folder / f"{found.engine}_facts.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")


def load_facts(folder: Path = FOLDER) -> Iterator[ServerFacts]:
    """Every record of what a server says of itself."""
    for path in sorted(folder.glob("*_facts.json")):
        yield msgspec.json.decode(path.read_bytes(), type=ServerFacts)


def body_of(message: bytes) -> bytes:
    """What follows the head of a message."""
    return message.partition(b"\r\n\r\n")[2]
