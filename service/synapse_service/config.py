"""The settings: what each one means, where its value comes from, and changing it.

A value comes from the environment (``SYNAPSE_`` and the name in capitals) before the configuration file before the
default, and everyone who shows a setting shows which. Nothing is ignored in silence: an unknown or repeated key, a
wrong type or a number out of range stops the service with the line it stands on.

``boot`` loads a :class:`SettingsStore`; operations read ``store.current`` each time they need a value, so a change is
in force with the next request. It is used on the event loop's thread only.
"""

from __future__ import annotations

import errno
import os
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from synapse_service import toml_edit
from synapse_service.config_tables import manifests, shown
from synapse_wire import results
from synapse_wire.errors import SynapseError, invalid_params, invalid_state
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


class _Spec(msgspec.Struct, frozen=True):
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


def _spec(name: str, hint: Any, default: Any) -> _Spec:
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
    return _Spec(name, hint, default, meta.description, extra.get("kind"), "needs_restart" in extra, bounds)


_HINTS: Final = typing.get_type_hints(Settings, include_extras=True)
_SPECS: Final[Mapping[str, _Spec]] = {
    field.name: _spec(field.name, _HINTS[field.name], field.default) for field in msgspec.structs.fields(Settings)
}


class ConfigError(Exception):
    """Settings that can't be used. ``line`` counts from 1; ``key`` and ``line`` are None where there is none.

    ``source`` is the file, or the name of the environment variable.
    """

    def __init__(self, source: Path | str, message: str, *, key: str | None = None, line: int | None = None) -> None:
        super().__init__(source, message, key, line)
        self.source = source
        self.message = message
        self.key = key
        self.line = line

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line is not None else str(self.source)
        return ": ".join(part for part in (place, self.key, self.message) if part)


class SettingsStore:
    """The settings in force, and the file behind them."""

    def __init__(self, config_file: Path, environ: Mapping[str, str]) -> None:
        self._file = config_file
        self._environ = environ
        self._from_environment = _read_environment(environ)
        self._from_file = self._checked(*_read_text(config_file))
        self._current = self._merged()
        self._listeners: list[Callable[[frozenset[str]], None]] = []

    @classmethod
    def load(cls, config_file: Path, environ: Mapping[str, str]) -> SettingsStore:
        """Read both sources; raises :class:`ConfigError`. A missing file is an empty one."""
        return cls(config_file, environ)

    @property
    def current(self) -> Settings:
        """What is in force now. Settings that need a restart keep the value of the start."""
        return self._current

    @property
    def unknown_variables(self) -> tuple[str, ...]:
        """Variables with the prefix of settings that no setting reads: most likely misspelt ones."""
        known = {spec.variable for spec in _SPECS.values() if spec.kind != "tables"} | OTHER_VARIABLES
        return tuple(sorted(name for name in self._environ.keys() - known if name.startswith(ENVIRONMENT_PREFIX)))

    def on_change(self, callback: Callable[[frozenset[str]], None]) -> None:
        """Call ``callback`` with the names after each change."""
        self._listeners.append(callback)

    def describe(self, names: Iterable[str] | None = None) -> list[results.Setting]:
        """The settings named, or all, as they are configured; a needed restart may stand between that and `current`.

        Raises ``invalid_request`` for a name that is no setting.
        """
        configured = {**self._from_file, **self._from_environment}
        described = []
        for index, name in enumerate(_SPECS if names is None else names):
            spec = _SPECS.get(name)
            if spec is None:
                raise invalid_params(f"{name!r} is no setting{_suggestion(name)}", f"names[{index}]")
            source = "env" if name in self._from_environment else "file" if name in self._from_file else "default"
            described.append(
                results.Setting(
                    name=name,
                    value=shown(configured.get(name, spec.default)),
                    source=source,
                    default=shown(spec.default),
                    needs_restart=spec.needs_restart,
                    bounds=spec.bounds,
                    description=spec.description,
                )
            )
        return described

    def set(self, values: Mapping[str, Any]) -> list[results.Setting]:
        """Change all of ``values`` in the file, or none of them; None takes a setting back to its default.

        Raises ``invalid_request`` naming the value that is wrong or fixed by the environment, and ``store_failure``
        when the file can't be written; then the file and the settings in force are as before.
        """
        for name, value in values.items():
            self._check_new(name, value)
        try:
            text, _ = _read_text(self._file)
            text = toml_edit.edited(text, values)
            from_file = self._checked(text, self._file)
            _replace(self._file, text)
        except ConfigError as error:  # Someone edited the file by hand since it was read, and made a mistake.
            raise invalid_state(f"the configuration file must be corrected first: {error}") from error
        except OSError as error:
            raise _write_failure(self._file, error) from error
        before = {setting.name: setting.value for setting in self.describe()}
        self._from_file = from_file
        self._current = self._merged(keep=self._current)
        changed = frozenset(setting.name for setting in self.describe() if setting.value != before[setting.name])
        if changed:
            for listener in self._listeners:
                listener(changed)
        return self.describe(values)

    def checked(self, name: str, value: Any, field: str) -> Any:
        """``value`` as it would be set, None for the default. Raises ``invalid_request`` naming ``field``."""
        self._check_new(name, value, field)
        return None if value is None else _convert(_SPECS[name], value)

    def stored(self, name: str) -> Any:
        """What the file says now, None for nothing. Raises ConfigError."""
        return self._checked(*_read_text(self._file)).get(name)

    def _check_new(self, name: str, value: Any, field: str | None = None) -> None:
        field = field or f"values.{name}"
        spec = _SPECS.get(name)
        if spec is None:
            raise invalid_params(f"{name!r} is no setting{_suggestion(name)}", field)
        if value is not None:
            try:
                _convert(spec, value)
            except ValueError as error:
                raise invalid_params(f"{name}: {error}", field) from error
        if spec.kind == "tables":
            raise invalid_params(f"{name} is a list of tables; write them into {self._file}, each as [[{name}]]", field)
        if name in self._from_environment:
            raise invalid_state(
                f"{name} is fixed by the environment variable {spec.variable} for as long as the service runs",
                setting=name,
                source="env",
            )

    def _merged(self, keep: Settings | None = None) -> Settings:
        values = {**self._from_file, **self._from_environment}
        if keep is not None:
            values |= {name: getattr(keep, name) for name, spec in _SPECS.items() if spec.needs_restart}
        return Settings(**values)

    def _checked(self, text: str, file: Path) -> dict[str, Any]:
        try:
            document = toml_edit.parse(text)
        except toml_edit.TomlError as error:
            raise ConfigError(file, error.message, key=error.key, line=error.line) from error
        values = {}
        for key, value in document.items():
            spec = _SPECS.get(key)
            try:
                if spec is None:
                    raise ValueError(f"no such setting{_suggestion(key)}")
                values[key] = _convert(spec, value)
            except ValueError as error:
                line = toml_edit.line_of(text, key, getattr(error, "index", 0))
                raise ConfigError(file, str(error), key=key, line=line) from error
        return values


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for name, spec in _SPECS.items():
        if spec.kind == "tables":
            continue
        # An empty variable counts as absent, as it does for most programs.
        if text := environ.get(spec.variable):
            try:
                values[name] = _convert(spec, text, from_text=True)
            except ValueError as error:
                raise ConfigError(spec.variable, str(error)) from error
    return values


def _read_text(file: Path) -> tuple[str, Path]:
    try:
        return file.read_bytes().decode("utf-8"), file
    except FileNotFoundError:
        return "", file
    except UnicodeDecodeError as error:
        raise ConfigError(file, f"is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise ConfigError(file, f"can't be read ({error.strerror})") from error


def _convert(spec: _Spec, value: Any, *, from_text: bool = False) -> Any:
    """``value`` as the setting's type, paths expanded; raises ValueError. ``from_text`` also reads ``"64"``."""
    if spec.kind == "tables":
        return manifests(spec.name, value)
    try:
        converted = msgspec.convert(value, spec.type, strict=not from_text)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    if converted is None or spec.kind is None:
        return converted
    if spec.kind == "path":
        path = Path(converted).expanduser() if converted == "~" or converted.startswith("~/") else Path(converted)
        if not path.is_absolute():
            raise ValueError("must be an absolute path, or one that begins with ~/; other variables are not expanded")
        return str(path)
    _check_url(converted, proxy=spec.kind == "proxy")
    return converted


def _check_url(text: str, *, proxy: bool) -> None:
    parts = urlsplit(text)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ValueError("must be a URL such as https://host or https://host:port")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not contain a user name or a password: settings are shown and logged")
    loopback = host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdigit())
    if not proxy and parts.scheme != "https" and not loopback:
        raise ValueError("must use https; plain http is for loopback addresses only")


def _suggestion(name: str) -> str:
    import difflib  # Only wrong names need it.

    close = difflib.get_close_matches(name, _SPECS, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _replace(file: Path, text: str) -> None:
    """Put ``text`` in place of the file in one step that survives a crash. Raises OSError."""
    file = file.resolve()  # A link into a folder of dot files stays a link.
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    if os.name != "nt":
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _write_failure(file: Path, error: OSError) -> SynapseError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = "storage_full"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        reason = "read_only"
    else:
        reason = "io_error"
    message = f"the settings could not be written to {file} ({error.strerror}); nothing was changed"
    return SynapseError("store_failure", message, details={"reason": reason, "path": str(file)})
