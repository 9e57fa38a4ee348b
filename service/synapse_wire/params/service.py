"""Parameters of the operations on the service itself."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from synapse_wire.params.base import Count, Label, Name, Params

DEFAULT_DRAIN_MS: Final = 10_000

DEFAULT_TAIL_LIMIT: Final = 200


class ClientInfo(Params, frozen=True, kw_only=True):
    """Who is calling, for people to read; nothing is decided by it."""

    name: Name
    version: Label | None = None


class Scope(Params, frozen=True, kw_only=True):
    """What a connection is bound to. With ``flow_id`` only query operations are served on it."""

    flow_id: Name | None = None
    project_root: Annotated[str, Meta(max_length=4096)] | None = None
    harness: Label | None = None
    session: Label | None = None


class ServiceHello(Params, frozen=True, kw_only=True):
    """``service.hello``: bind the connection; optional, first and once."""

    client: ClientInfo
    protocol: Literal[1] | None = None
    scope: Scope | None = None


class ServiceShutdown(Params, frozen=True, kw_only=True):
    """``service.shutdown``: stop after at most ``drain_ms`` (:data:`DEFAULT_DRAIN_MS` when absent).

    ``force`` stops although something is held.
    """

    drain_ms: Annotated[int, Meta(ge=0, le=600_000)] | None = None
    force: bool | None = None


Topic = Literal["service", "settings", "log", "jobs", "downloads", "lanes", "models", "storage"]


class EventsSubscribe(Params, frozen=True, kw_only=True):
    """``events.subscribe``: receive the snapshot and then the changes of these topics."""

    topics: Annotated[list[Topic], Meta(min_length=1, max_length=16)]


class SettingsGet(Params, frozen=True, kw_only=True):
    """``settings.get``: all settings, or those named."""

    names: Annotated[list[Name], Meta(max_length=256)] | None = None


class SettingsSet(Params, frozen=True, kw_only=True):
    """``settings.set``: several settings at once, all or none. ``null`` takes a setting back to its default."""

    values: Annotated[dict[Name, Any], Meta(min_length=1, max_length=256)]


LogLevel = Literal["debug", "info", "warning", "error"]


class LogsTail(Params, frozen=True, kw_only=True):
    """``logs.tail``: entries after a sequence number, oldest first.

    Absent, ``after_seq`` is 0 and ``limit`` is :data:`DEFAULT_TAIL_LIMIT`.
    """

    after_seq: Count | None = None
    level: LogLevel | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] | None = None
