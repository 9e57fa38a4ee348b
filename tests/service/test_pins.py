"""Which models are pinned is known in memory, also after a restart and when a pinned file turned out corrupt."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from fixtures.clocks import FakeClock
from synapse_service.catalog.installs import invalidate_blob
from synapse_service.catalog.pins import Pins
from synapse_service.store.database import Store
from synapse_wire.results import ModelPin

ONE, TWO = "1" * 64, "2" * 64


@pytest.fixture
async def store(quick_dir: Path) -> AsyncIterator[Store]:
    store = Store.open(quick_dir / "synapse.db", FakeClock())
    yield store
    await store.close()


@pytest.fixture
def pins(store: Store) -> Pins:
    return Pins(store)


async def test_a_restarted_service_knows_which_models_are_pinned(pins: Pins, store: Store) -> None:
    assert await pins.put("me", "alpha", [ONE, TWO]) == [ModelPin(owner="me", blob=ONE), ModelPin(owner="me", blob=TWO)]
    fresh = Pins(store)
    fresh.restore()
    assert [(each.has("alpha"), each.has("beta")) for each in (pins, fresh)] == [(True, False)] * 2


async def test_a_model_is_pinned_until_its_last_pin_goes_with_its_file(pins: Pins, store: Store) -> None:
    await pins.put("me", "alpha", [ONE, TWO])
    await pins.put("me", "beta", [TWO])
    for sha256, left in ((TWO, (True, False)), (ONE, (False, False))):
        await store.write(partial(invalidate_blob, sha256))
        pins.forget(sha256)
        assert (pins.has("alpha"), pins.has("beta")) == left
        fresh = Pins(store)
        fresh.restore()
        assert (fresh.has("alpha"), fresh.has("beta")) == left
