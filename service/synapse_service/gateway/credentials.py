"""The user's credentials: names in the database, secrets in the keyring, and nobody waits for it for ever.

A credential has a name and, so far, an origin (scheme, host, port) to which alone it is sent. Who needs one asks for
the origin. The keyring is asked only when something needs a secret, or a person looks at the list; serving local models
never does.

An entry of the keyring is the origin, a space and the secret. The database says where a secret may be found, and the
entry alone says where it may go: the two can't be written together, and a keyring that was given up may still change
its entry. One that was written without an origin, as was done once, could be for any server, so it is never used.

Each call runs in a daemon thread of its own, because a keyring that hangs can't be interrupted and must not keep the
service from ending. While one hangs, further calls are refused at once instead of piling up behind it.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from typing import Final, TypeVar, cast
from urllib.parse import urlsplit

import msgspec

from synapse_models.credentials import Secret
from synapse_service.catalog.credentials import CredentialTrouble, set_command
from synapse_service.catalog.sources import may_be_fetched, origin_text
from synapse_service.clock import Clock
from synapse_service.gateway.system_keyring import KeyringTrouble, SecretBox
from synapse_service.logs import get_logger
from synapse_service.store.database import Store
from synapse_service.store.models import Credential
from synapse_wire.errors import SynapseError, invalid_params, invalid_state
from synapse_wire.results import CredentialRow

TIME_LIMIT_S: Final = 4.5
"""A caller waits five seconds at most, the way to the thread and back included."""

T = TypeVar("T")

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}")
_SECRET: Final = re.compile(r"[\x21-\x7e]{1,2048}")
"""What may stand in a header. Some keyrings take no more than this."""

_STATES: Final = {"locked": "locked", "none": "unavailable", "refused": "unavailable"}

_log = get_logger(__name__)


class Credentials:
    """All credentials. Used on the event loop; ``box`` is used in threads. ``default_origin`` is a setting."""

    def __init__(
        self,
        store: Store,
        box: SecretBox,
        clock: Clock,
        *,
        default_origin: Callable[[], str],
        time_limit_s: float = TIME_LIMIT_S,
    ) -> None:
        self._store = store
        self._box = box
        self._clock = clock
        self._default_origin = default_origin
        self._time_limit_s = time_limit_s
        self._turn = asyncio.Lock()
        self._latest: asyncio.Future[object] | None = None
        self._silent: asyncio.Future[object] | None = None

    async def put(self, name: str, secret: Secret, url: str | None) -> CredentialRow:
        """Keep a secret under a name; it is sent to the origin of ``url`` alone.

        Raises ``invalid_request``, ``needs_reauth``, ``provider_unavailable``, ``credential_config_invalid`` and
        StoreError; then what was kept before is as it was, unless the keyring took the secret after all.
        """
        if _NAME.fullmatch(name) is None:
            raise invalid_params("name takes at most 128 letters, digits and, not at first, .:/-", "name")
        if _SECRET.fullmatch(secret.reveal()) is None:
            raise invalid_params("secret has to be 1 to 2048 characters of printable ASCII without spaces", "secret")
        where = _origin_text(url or self._default_origin())
        async with self._turn:
            known = await self._store.read(lambda: _stored(name))
            row = CredentialRow(name=name, origin=where, state="present", changed_ms=self._clock.wall_ms())
            if known is None:
                # The name first: it is seen in the list without its secret; a secret without its name would be lost.
                await self._store.write(lambda: _write(row))
            try:
                await self._ask(lambda: self._box.put(name, _entry(where, secret)))
            except KeyringTrouble as trouble:
                if known is None and not trouble.undecided:
                    await self._store.write(lambda: _forget(name))
                raise refusal(trouble, name) from None
            if known is not None:
                # Not before: until the keyring has the new secret, the earlier one can be had for its server.
                await self._store.write(lambda: _write(row))
        _log.info("credential_kept", name=name, origin=where)
        return row

    async def delete(self, name: str) -> None:
        """Forget a credential. Raises as :meth:`put` does; an unknown name is ``invalid_request``."""
        async with self._turn:
            if await self._store.read(lambda: _stored(name)) is None:
                raise invalid_state(f"no credential is called {name!r}; see credentials.list", name=name)
            try:
                await self._ask(lambda: self._box.drop(name))
            except KeyringTrouble as trouble:
                raise refusal(trouble, name) from None
            await self._store.write(lambda: _forget(name))
        _log.info("credential_forgotten", name=name)

    async def rows(self) -> list[CredentialRow]:
        """Every name, and whether its secret can be had now. Raises StoreError."""
        async with self._turn:
            stored = await self._store.read(_all)
            if not stored:
                return []
            try:
                entries = await self._ask(lambda: [self._box.get(row.name) for row in stored])
            except KeyringTrouble as trouble:
                state = _STATES.get(trouble.kind, "unavailable")
                return [msgspec.structs.replace(row, state=state, problem=trouble.message) for row in stored]
        return [_seen(row, entry) for row, entry in zip(stored, entries, strict=True)]

    async def token(self, url: str) -> Secret | None:
        """The secret for the origin of ``url``, None if there is none. Raises CredentialTrouble and StoreError."""
        where = _origin_text(url)
        unusable: CredentialRow | None = None
        async with self._turn:
            for row in await self._store.read(lambda: [known for known in _all() if known.origin == where]):
                entry = await self._ask(lambda name=row.name: self._box.get(name))  # type: ignore[misc]
                secret = _secret_for(where, entry)
                if secret is not None:
                    return secret
                if entry is not None:
                    unusable = row
        if unusable is not None:
            raise CredentialTrouble(_set_again(unusable))
        return None

    async def _ask(self, call: Callable[[], T]) -> T:
        """Run ``call`` in a thread, for so long at most; by who has the turn alone. Raises KeyringTrouble."""
        if self._silent is not None and not self._silent.done():
            raise KeyringTrouble("silent", "the keyring doesn't answer; an earlier question is still open")
        begun = False
        try:
            async with asyncio.timeout(self._time_limit_s):
                if self._latest is not None:
                    # Whoever asked may have left, which says nothing about the keyring.
                    await asyncio.wait([self._latest])
                begun = True
                self._latest = answer = self._begin(call)
                await asyncio.wait([answer])
        except TimeoutError:
            self._silent = self._latest
            _log.warning("keyring_silent", seconds=self._time_limit_s)
            message = f"the keyring didn't answer within {self._time_limit_s:g} s; look whether it asks something"
            raise KeyringTrouble("silent", message, undecided=begun) from None
        result = answer.result()
        if isinstance(result, KeyringTrouble):
            raise result
        return cast("T", result)

    def _begin(self, call: Callable[[], object]) -> asyncio.Future[object]:
        """Run ``call`` in a thread. The answer is its result or its KeyringTrouble, which nobody has to fetch."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[object] = loop.create_future()

        def work() -> None:
            result: object
            try:
                result = call()
            except KeyringTrouble as trouble:
                result = trouble
            except Exception as error:  # noqa: BLE001 - the edge of the thread; its text could quote a secret
                result = KeyringTrouble("failed", f"the keyring reported an error ({type(error).__name__})")
            if not loop.is_closed():
                loop.call_soon_threadsafe(answer.set_result, result)

        threading.Thread(target=work, name="keyring", daemon=True).start()
        return answer


def refusal(trouble: KeyringTrouble, name: str) -> SynapseError:
    """The wire error of a keyring that can't be used."""
    if trouble.kind == "locked":
        return SynapseError("needs_reauth", trouble.message, details={"logical_handle": name})
    if trouble.kind in ("silent", "failed"):
        details = {"provider": "keyring", "http_status": None}
        return SynapseError("provider_unavailable", trouble.message, details=details)
    reason = "no_keyring" if trouble.kind == "none" else "refused_keyring"
    return SynapseError(
        "credential_config_invalid", trouble.message, details={"logical_handle": name, "reason": reason}
    )


def _origin_text(url: str) -> str:
    """``https://host`` or ``https://host:port`` of a URL. Raises ``invalid_request``."""
    try:
        fine = may_be_fetched(url) and urlsplit(url).username is None and bool(urlsplit(url).hostname)
        text = origin_text(url)
    except ValueError:
        fine = False
    if not fine:
        raise invalid_params("origin must be a URL such as https://host, without a user name", "origin")
    return text


# --- entries of the keyring ---


def _entry(where: str, secret: Secret) -> Secret:
    return Secret(f"{where} {secret.reveal()}")


def _secret_for(where: str, entry: Secret | None) -> Secret | None:
    """The secret of an entry that is for this origin; None for any other entry, and for none."""
    found, _, text = ("" if entry is None else entry.reveal()).partition(" ")
    return Secret(text) if found == where and text else None


def _seen(row: CredentialRow, entry: Secret | None) -> CredentialRow:
    """A row as the list shows it, by what the keyring has under its name."""
    if _secret_for(row.origin, entry) is not None:
        return msgspec.structs.replace(row, state="present")
    if entry is not None:
        return msgspec.structs.replace(row, state="missing", problem=_set_again(row))
    return msgspec.structs.replace(row, state="missing")


def _set_again(row: CredentialRow) -> str:
    # What the entry says is not repeated: one that was written without an origin is nothing but the secret.
    return (
        f"the keyring doesn't say that the secret {row.name} is for {row.origin}; "
        f"set it again with `{set_command(row.name, row.origin)}`"
    )


# --- rows; all of these run inside a closure of the store ---


def _all() -> list[CredentialRow]:
    return [_row(row) for row in Credential.select().order_by(Credential.name)]


def _stored(name: str) -> CredentialRow | None:
    row = Credential.get_or_none(Credential.name == name)
    return None if row is None else _row(row)


def _row(row: Credential) -> CredentialRow:
    return CredentialRow(name=str(row.name), origin=str(row.origin), state="missing", changed_ms=int(row.changed_ms))


def _write(row: CredentialRow) -> None:
    values = {"name": row.name, "origin": row.origin, "changed_ms": row.changed_ms}
    Credential.insert(values).on_conflict_replace().execute()


def _forget(name: str) -> None:
    Credential.delete().where(Credential.name == name).execute()
