"""``settings.get`` and ``settings.set``, and the topic ``settings``."""

from __future__ import annotations

from typing import Final

from synapse_service.events import EventHub
from synapse_service.server.router import Call, Router
from synapse_service.settings.store import SettingsStore
from synapse_wire.errors import invalid_state
from synapse_wire.params import SettingsGet, SettingsSet
from synapse_wire.results import Settings

STORAGE: Final = "storage_dir"


def register(router: Router, store: SettingsStore, hub: EventHub) -> None:
    """Serve both operations, and tell subscribers about every change, whoever made it.

    Setting writes the file before it returns, which takes a disk's time on the loop's thread: it happens when a
    person turns a switch, and nothing may read the settings in between.
    """

    def everything() -> Settings:
        return Settings(settings=store.describe())

    def get(call: Call, params: SettingsGet) -> Settings:
        return Settings(settings=store.describe(params.names))

    def put(call: Call, params: SettingsSet) -> Settings:
        if STORAGE in params.values:
            raise invalid_state(
                f"{STORAGE} is changed by storage.move (`synapse models storage move`), which takes the models along",
                setting=STORAGE,
                operation="storage.move",
            )
        return Settings(settings=store.set(params.values))

    router.add_inline("settings.get", get)
    router.add_inline("settings.set", put)
    hub.register_topic("settings", everything)
    store.on_change(lambda names: hub.publish("settings", everything(), key="settings"))
