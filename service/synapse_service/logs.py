"""The log: JSON lines in a private rotating file, a readable form on a terminal, and the latest entries in memory.

``configure`` is called once by ``boot``; everyone else takes a logger with :func:`get_logger` and names events and
fields: ``log.warning("store_rebuilt", path=...)``. Entries of the standard library's ``logging`` end up in the same
places. What a caller sent is never logged; fields whose names say that they hold text or a secret are blanked here,
should one slip in anyway.
"""

from __future__ import annotations

import contextlib
import logging
import logging.handlers
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any, Final

import msgspec

from synapse_wire.params import LogLevel
from synapse_wire.results import LogEntry, LogTail

# Where rich is installed, structlog imports it to colour tracebacks: five times the import time of structlog itself,
# and several MB, for something that a background service never shows. So rich is hidden from that one import.
sys.modules.setdefault("rich", None)  # type: ignore[arg-type]
import structlog  # noqa: E402

if sys.modules["rich"] is None:
    del sys.modules["rich"]

LOG_FILE: Final = "service.jsonl"
FILE_BYTES: Final = 4 * 1024 * 1024
OLD_FILES: Final = 3
RING_CAPACITY: Final = 2000
MAX_TEXT: Final = 4000
"""Longest text in a field; longer ones are cut."""

_OWN_LOGGERS: Final = ("synapse_service", "synapse_wire", "synapse_engines", "synapse_models")
_LEVELS: Final[Mapping[str, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger whose methods take an event name and fields. Pass ``__name__``."""
    logger: structlog.stdlib.BoundLogger = structlog.get_logger(name)
    return logger


def _to_record(_logger: Any, _method: str, event: structlog.typing.EventDict) -> Mapping[str, Any]:
    # The fields travel in one attribute of the record: as attributes of their own they could collide with its own.
    arguments = {key: event.pop(key) for key in ("exc_info", "stack_info") if key in event}
    return {"msg": event.pop("event", ""), "extra": {"fields": event}, **arguments}


structlog.configure(
    processors=[structlog.stdlib.filter_by_level, _to_record],
    wrapper_class=structlog.stdlib.BoundLogger,
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)


# --- what an entry may say ---

_SECRET: Final = re.compile(
    r"(^|[^a-z])(authorization|(api|access|private)_?-?key|passw(or)?d|passphrase|secret|token|credentials?|cookie)$"
)
_CONTENT: Final = frozenset(
    {"text", "texts", "query", "candidates", "items", "prompt", "messages", "params", "line", "vector", "vectors"}
)
_SECRET_TEXT: Final = re.compile(r"(?<=://)[^/\s@]+(?=@)|(?<=\bBearer )\S+|\b(?:sk|hf|gh[pousr])[-_][\w-]{8,}")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_DEPTH: Final = 4


def _clean(value: Any, depth: int = 0) -> Any:
    """``value`` as something that JSON can hold, without secrets, control characters or unreasonable length."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    if isinstance(value, Mapping) and depth < _DEPTH:
        return {_clean_text(str(key)): _clean_field(str(key), item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth < _DEPTH:
        return [_clean(item, depth + 1) for item in value]
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[{len(value)} bytes]"
    if isinstance(value, str | PurePath | BaseException):
        return _clean_text(str(value))
    return f"[{type(value).__name__}]"  # What other objects print of themselves isn't known to be harmless.


def _clean_field(name: str, value: Any, depth: int = 0) -> Any:
    # Numbers pass: "items=64" and "tokens=12" are counts, and what needs hiding is never a number.
    if not isinstance(value, int | float | None):
        if _SECRET.search(name.lower()):
            return "[redacted]"
        if name.lower() in _CONTENT:
            return "[withheld]"
    return _clean(value, depth)


def _clean_text(text: str) -> str:
    text = _SECRET_TEXT.sub("[redacted]", text[: 2 * MAX_TEXT])
    text = _CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode(), text)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"


class _Entry(msgspec.Struct, frozen=True):
    time_ms: int
    level: LogLevel
    event: str
    fields: dict[str, Any]


_RESERVED: Final = frozenset({"time_ms", "timestamp", "level", "event", "logger", "exception"})
"""Names that the outputs use themselves; a field of such a name gets an underscore behind it."""

_PLAIN: Final = logging.Formatter()


def _entry_of(record: logging.LogRecord) -> _Entry:
    """The entry that a record stands for; made once, because several outputs ask for it."""
    made: _Entry | None = getattr(record, "synapse_entry", None)
    if made is not None:
        return made
    fields = {
        f"{name}_" if name in _RESERVED else name: _clean_field(name, value)
        for name, value in getattr(record, "fields", {}).items()
    }
    fields["logger"] = record.name
    if record.exc_info:
        fields["exception"] = _clean_text(_PLAIN.formatException(record.exc_info))
    entry = _Entry(round(record.created * 1000), _level_name(record.levelno), _clean_text(record.getMessage()), fields)
    record.synapse_entry = entry
    return entry


def _level_name(number: int) -> LogLevel:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warning"
    return "info" if number >= logging.INFO else "debug"


# --- the latest entries, in memory ---


class LogRing:
    """The latest ``capacity`` entries, numbered from 1. Every thread may use it."""

    def __init__(self, capacity: int = RING_CAPACITY) -> None:
        self._entries: deque[LogEntry] = deque(maxlen=capacity)
        self._last_seq = 0
        self._lock = threading.Lock()
        self._listeners: list[Callable[[LogEntry], None]] = []

    def append(self, time_ms: int, level: LogLevel, event: str, fields: dict[str, Any]) -> None:
        with self._lock:
            self._last_seq += 1
            entry = LogEntry(seq=self._last_seq, time_ms=time_ms, level=level, event=event, fields=fields)
            self._entries.append(entry)
        for listener in tuple(self._listeners):
            listener(entry)

    def subscribe(self, listener: Callable[[LogEntry], None]) -> Callable[[], None]:
        """Call ``listener`` with each new entry, on the thread that logged it; returns how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tail(self, after_seq: int = 0, level: LogLevel | None = None, limit: int = 200) -> LogTail:
        """Entries after ``after_seq``, oldest first, at least as severe as ``level``, at most ``limit``.

        ``next_seq`` is the ``after_seq`` that continues from here. ``dropped`` counts the entries after ``after_seq``
        that the ring no longer has. A number that was never given comes from an earlier run of the service, and the
        answer starts at the beginning.
        """
        with self._lock:
            entries, last_seq = list(self._entries), self._last_seq
        if after_seq > last_seq:
            after_seq = 0
        least = _LEVELS[level or "debug"]
        dropped = max(0, last_seq - len(entries) - after_seq)
        found: list[LogEntry] = []
        next_seq = last_seq
        for entry in entries:
            if entry.seq > after_seq and _LEVELS[entry.level] >= least:
                if len(found) == limit:
                    next_seq = found[-1].seq
                    break
                found.append(entry)
        return LogTail(entries=found, next_seq=next_seq, dropped=dropped)


# --- the outputs ---


class _RingHandler(logging.Handler):
    def __init__(self, ring: LogRing) -> None:
        super().__init__()
        self._ring = ring

    def emit(self, record: logging.LogRecord) -> None:
        entry = _entry_of(record)
        self._ring.append(entry.time_ms, entry.level, entry.event, entry.fields)


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = _entry_of(record)
        line = {**entry.fields, "time_ms": entry.time_ms, "level": entry.level, "event": entry.event}
        return msgspec.json.encode(line, order="sorted").decode()


class _ConsoleFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__()
        self._render = structlog.dev.ConsoleRenderer(colors=True, exception_formatter=structlog.dev.plain_traceback)

    def format(self, record: logging.LogRecord) -> str:
        entry = _entry_of(record)
        stamp = time.strftime("%H:%M:%S", time.localtime(entry.time_ms / 1000))
        fields = {"timestamp": stamp, "level": entry.level, "event": entry.event, **entry.fields}
        return str(self._render(None, entry.level, fields))


class _PrivateFileHandler(logging.handlers.RotatingFileHandler):
    """A rotating file that only the user can read. A full disk costs log lines, never a request."""

    def __init__(self, path: Path) -> None:
        self.failures = 0
        super().__init__(path, maxBytes=FILE_BYTES, backupCount=OLD_FILES, encoding="utf-8")
        self.setFormatter(_JsonFormatter())

    def _open(self) -> Any:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        return os.fdopen(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:
        self.failures += 1
        # The stream still holds the line that didn't fit and would fail again when closed; the next line opens anew.
        stream, self.stream = self.stream, None
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


class Logs:
    """The outputs that :func:`configure` set up. ``file`` is None when the log can't be written to the disk."""

    def __init__(self, ring: LogRing, handlers: list[logging.Handler], file: Path | None) -> None:
        self.ring = ring
        self.file = file
        self._handlers = handlers

    @property
    def lost_lines(self) -> int:
        """Lines that could not be written to the file."""
        return sum(handler.failures for handler in self._handlers if isinstance(handler, _PrivateFileHandler))

    def set_level(self, level: LogLevel) -> None:
        # Libraries speak from warnings on: below that, some of them quote what they were given.
        for name in _OWN_LOGGERS:
            logging.getLogger(name).setLevel(_LEVELS[level])

    def close(self) -> None:
        """Stop writing, and put ``logging`` back to where it was."""
        for handler in self._handlers:
            logging.getLogger().removeHandler(handler)
            handler.close()
        for name in _OWN_LOGGERS:
            logging.getLogger(name).setLevel(logging.NOTSET)


def configure(log_dir: Path | None, level: LogLevel, stderr_is_tty: bool) -> Logs:
    """Send the log to ``log_dir``, which must exist, to memory, and to the terminal if stderr is one.

    If the file can't be opened the service runs on without it, and says so in the log that remains.
    """
    ring = LogRing()
    handlers: list[logging.Handler] = [_RingHandler(ring)]
    file: Path | None = None
    failure: OSError | None = None
    if log_dir is not None:
        try:
            handlers.append(_PrivateFileHandler(log_dir / LOG_FILE))
            file = log_dir / LOG_FILE
        except OSError as error:
            failure = error
    if stderr_is_tty:
        console = logging.StreamHandler(sys.stderr)
        console.setFormatter(_ConsoleFormatter())
        handlers.append(console)
    for handler in handlers:
        logging.getLogger().addHandler(handler)
    logs = Logs(ring, handlers, file)
    logs.set_level(level)
    if failure is not None:
        get_logger(__name__).warning("log_file_unavailable", path=str(log_dir), reason=failure.strerror)
    return logs
