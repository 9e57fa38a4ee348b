"""Where the values of the settings come from, and changing them.

A value comes from the environment (``SYNAPSE_`` and the name in capitals) before the configuration file before the
default, and everyone who shows a setting shows which. Nothing is ignored in silence: an unknown or repeated key, a
wrong type or a number out of range stops the service with the line it stands on.

``boot`` loads a :class:`SettingsStore`; operations read ``store.current`` each time they need a value, so a change is
in force with the next request. It is used on the event loop's thread only.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from synapse_service.durable_files import sync_file, sync_folder
from synapse_service.settings import toml_edit
from synapse_service.settings.declared import ENVIRONMENT_PREFIX, OTHER_VARIABLES, SPECS, Settings, convert, suggestion
from synapse_service.settings.tables import shown
from synapse_wire import results
from synapse_wire.errors import SynapseError, invalid_params, invalid_state


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
        known = {spec.variable for spec in SPECS.values() if spec.kind != "tables"} | OTHER_VARIABLES
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
        for index, name in enumerate(SPECS if names is None else names):
            spec = SPECS.get(name)
            if spec is None:
                raise invalid_params(f"{name!r} is no setting{suggestion(name)}", f"names[{index}]")
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
        return None if value is None else convert(SPECS[name], value)

    def stored(self, name: str) -> Any:
        """What the file says now, None for nothing. Raises ConfigError."""
        return self._checked(*_read_text(self._file)).get(name)

    def _check_new(self, name: str, value: Any, field: str | None = None) -> None:
        field = field or f"values.{name}"
        spec = SPECS.get(name)
        if spec is None:
            raise invalid_params(f"{name!r} is no setting{suggestion(name)}", field)
        if value is not None:
            try:
                convert(spec, value)
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
            values |= {name: getattr(keep, name) for name, spec in SPECS.items() if spec.needs_restart}
        return Settings(**values)

    def _checked(self, text: str, file: Path) -> dict[str, Any]:
        try:
            document = toml_edit.parse(text)
        except toml_edit.TomlError as error:
            raise ConfigError(file, error.message, key=error.key, line=error.line) from error
        values = {}
        for key, value in document.items():
            spec = SPECS.get(key)
            try:
                if spec is None:
                    raise ValueError(f"no such setting{suggestion(key)}")
                values[key] = convert(spec, value)
            except ValueError as error:
                line = toml_edit.line_of(text, key, getattr(error, "index", 0))
                raise ConfigError(file, str(error), key=key, line=line) from error
        return values


def _read_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values = {}
    for name, spec in SPECS.items():
        if spec.kind == "tables":
            continue
        # An empty variable counts as absent, as it does for most programs.
        if text := environ.get(spec.variable):
            try:
                values[name] = convert(spec, text, from_text=True)
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


def _replace(file: Path, text: str) -> None:
    """Put ``text`` in place of the file in one step that survives a crash. Raises OSError."""
    file = file.resolve()  # A link into a folder of dot files stays a link.
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as stream:
            stream.write(text.encode())
            stream.flush()
            sync_file(stream)
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(file.parent)


def _write_failure(file: Path, error: OSError) -> SynapseError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = "storage_full"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        reason = "read_only"
    else:
        reason = "io_error"
    message = f"the settings could not be written to {file} ({error.strerror}); nothing was changed"
    return SynapseError("store_failure", message, details={"reason": reason, "path": str(file)})
