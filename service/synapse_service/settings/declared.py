"""Every setting: its type, its default, what it means, and which values it takes.

``store`` reads and changes them; everyone else is handed a :class:`Settings` and takes values from it.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from synapse_service.settings.tables import manifests
from synapse_wire.params import NO_CONTROL, ModelLoad

ENVIRONMENT_PREFIX: Final = "SYNAPSE_"
OTHER_VARIABLES: Final = frozenset({"SYNAPSE_HOME", "SYNAPSE_RUNTIME_DIR"})
"""Variables with the prefix that are no settings: they say where the folders are."""

GIB: Final = 1024**3
MINUTE_MS: Final = 60_000
DAY_MS: Final = 24 * 60 * MINUTE_MS

RESTART: Final = {"needs_restart": True}


_Text = Annotated[str, Meta(pattern=NO_CONTROL, max_length=4096)]


def _about(description: str, **extra: Any) -> Meta:
    return Meta(description=description, extra=extra)


def _range(low: int, high: int, description: str, **extra: Any) -> Meta:
    return Meta(ge=low, le=high, description=description, extra=extra)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every setting with its default. Durations are milliseconds, sizes are bytes."""

    cpu_lanes: Annotated[bool, _about("Offer lanes that compute on the processor.")] = False
    alias_administration: Annotated[bool, _about("Allow declaring and retracting model aliases.")] = False
    certify_observation: Annotated[
        bool, _about("Record what engines get, for the certification of a release.", **RESTART)
    ] = False
    grammar_enabled: Annotated[bool, _about("Allow grammars in text generation.")] = False

    idle_unload_ms: Annotated[
        int, _range(1000, DAY_MS, "Unload a lane this long after its last completed request.")
    ] = 15 * MINUTE_MS
    worker_threads: Annotated[
        int, _range(0, 1024, "Threads a processor lane computes with; 0 is by the knob. Holds for lanes loaded after.")
    ] = 0
    knob: Annotated[
        Literal["performance", "balanced", "quiet"],
        _about("Speed or quiet: which lanes are recommended, and how many cores models of your own may use."),
    ] = "performance"

    inline_max_items: Annotated[int, _range(1, 4096, "Most items that one request computes inline.")] = 64
    inline_max_tokens: Annotated[int, _range(128, 2**20, "Most tokens that one request computes inline.")] = 8192
    inline_max_bytes: Annotated[int, _range(1024, 16 * 2**20, "Most bytes of text in one inline request.")] = 8 * 2**20
    default_max_queue_ms: Annotated[
        int, _range(0, 10 * MINUTE_MS, "Longest estimated wait of a request that names none.")
    ] = 5000
    default_deadline_ms: Annotated[int, _range(1, DAY_MS, "Time for a request that names no deadline.")] = 30_000
    queue_capacity: Annotated[int, _range(1, 65_536, "Requests that may wait, for each lane and class.")] = 256
    bulk_quantum_tokens: Annotated[
        int, _range(1, 2**20, "Most tokens of bulk work before interactive work gets its turn.")
    ] = 3072
    bulk_quantum_ms: Annotated[
        int, _range(1, MINUTE_MS, "Longest bulk work, as measured, before interactive work gets its turn.")
    ] = 250
    microllm_max_tokens: Annotated[int, _range(1, 65_536, "Most tokens that one generation may ask for.")] = 512

    result_ttl_ms: Annotated[
        int, _range(1000, 365 * DAY_MS, "How long a job may run, and how long its results are kept after it.")
    ] = DAY_MS
    cache_max_bytes: Annotated[int, _range(2**20, 2**53 - 1, "Space that model files may take.")] = 32 * GIB
    storage_dir: Annotated[
        _Text | None,
        _about("Folder for model files, in place of the usual one; storage.move changes it.", kind="path"),
    ] = None

    hf_base_url: Annotated[_Text, _about("Where model files of a hub are fetched from.", kind="url")] = (
        "https://huggingface.co"
    )
    http_proxy: Annotated[
        _Text | None, _about("Proxy for downloads, as a URL without user name and password.", kind="proxy")
    ] = None
    ca_file: Annotated[
        _Text | None, _about("File with certificates to trust in place of the system's, in PEM form.", kind="path")
    ] = None

    preload: Annotated[
        tuple[ModelLoad, ...],
        _about(
            "Models to register and load at the start, each written as model.load takes it.", kind="tables", **RESTART
        ),
    ] = ()

    max_connections: Annotated[int, _range(1, 4096, "Connections at a time.", **RESTART)] = 256
    max_in_flight: Annotated[int, _range(1, 4096, "Requests in flight on one connection.", **RESTART)] = 64
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], _about("Least severe entries that are logged.")
    ] = "info"


class Spec(msgspec.Struct, frozen=True):
    """What is known about one setting beside its value."""

    name: str
    type: Any
    default: Any
    description: str
    kind: str | None
    needs_restart: bool
    bounds: dict[str, Any]

    @property
    def variable(self) -> str:
        return ENVIRONMENT_PREFIX + self.name.upper()


def _spec(name: str, hint: Any, default: Any) -> Spec:
    base, *_, meta = typing.get_args(hint)
    choices = typing.get_args(base) if typing.get_origin(base) is Literal else ()
    types = {bool: "boolean", int: "integer", tuple[ModelLoad, ...]: "array"}
    bounds: dict[str, Any] = {"type": types.get(base, "string")}
    bounds |= {key: value for key, value in (("min", meta.ge), ("max", meta.le)) if value is not None}
    if choices:
        bounds["choices"] = list(choices)
    if default is None:
        bounds["nullable"] = True
    extra = meta.extra or {}
    return Spec(name, hint, default, meta.description, extra.get("kind"), "needs_restart" in extra, bounds)


_HINTS: Final = typing.get_type_hints(Settings, include_extras=True)
SPECS: Final[Mapping[str, Spec]] = {
    field.name: _spec(field.name, _HINTS[field.name], field.default) for field in msgspec.structs.fields(Settings)
}


def convert(spec: Spec, value: Any, *, from_text: bool = False) -> Any:
    """``value`` as the setting's type, paths expanded; raises ValueError. ``from_text`` also reads ``"64"``."""
    if spec.kind == "tables":
        return manifests(spec.name, value)
    try:
        converted = msgspec.convert(value, spec.type, strict=not from_text)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    if isinstance(converted, str) and not _is_text(converted):
        raise ValueError("must be UTF-8 text")  # A variable may hold any bytes; nobody could be told of these.
    if converted is None or spec.kind is None:
        return converted
    if spec.kind == "path":
        path = Path(converted).expanduser() if converted == "~" or converted.startswith("~/") else Path(converted)
        if not path.is_absolute():
            raise ValueError("must be an absolute path, or one that begins with ~/; other variables are not expanded")
        return str(path)
    _check_url(converted, proxy=spec.kind == "proxy")
    return converted


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_url(text: str, *, proxy: bool) -> None:
    wanted = "must be a URL such as https://host or https://host:port"
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError(wanted) from None  # What Python says quotes parts of the text, and one may be a password.
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ValueError(wanted)
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not contain a user name or a password: settings are shown and logged")
    loopback = host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdigit())
    if not proxy and parts.scheme != "https" and not loopback:
        raise ValueError("must use https; plain http is for loopback addresses only")


def suggestion(name: str) -> str:
    import difflib  # Only wrong names need it.

    close = difflib.get_close_matches(name, SPECS, n=1)
    return f"; did you mean {close[0]}?" if close else ""
