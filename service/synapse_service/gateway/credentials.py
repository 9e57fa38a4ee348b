"""The user's credentials: names in the database, secrets in the keyring, and nobody waits for it for ever.

A credential has a name and, so far, an origin (scheme, host, port) to which alone it is sent. Who needs one asks for
the origin. The keyring is asked only when something needs a secret, or a person looks at the list; serving local models
never does.

Each call runs in a daemon thread of its own, because a keyring that hangs can't be interrupted and must not keep the
service from ending. While one hangs, further calls are refused at once instead of piling up behind it.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from typing import Final, TypeVar
from urllib.parse import urlsplit

import msgspec

from synapse_models.credentials import Secret
from synapse_service.catalog.sources import may_be_fetched, origin
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
        self._silent: threading.Thread | None = None

    async def put(self, name: str, secret: Secret, url: str | None) -> CredentialRow:
        """Keep a secret under a name; it is sent to the origin of ``url`` alone.

        Raises ``invalid_request``, ``needs_reauth``, ``provider_unavailable``, ``credential_config_invalid`` and
        StoreError; then what was kept before is as it was, but for a keyring that failed half-way.
        """
        if _NAME.fullmatch(name) is None:
            raise invalid_params("name takes at most 128 letters, digits and, not at first, .:/-", "name")
        if _SECRET.fullmatch(secret.reveal()) is None:
            raise invalid_params("secret has to be 1 to 2048 characters of printable ASCII without spaces", "secret")
        where = _origin_text(url or self._default_origin())
        async with self._turn:
            known = await self._store.read(lambda: _stored(name))
            row = CredentialRow(name=name, origin=where, state="present", changed_ms=self._clock.wall_ms())
            # The name first: it is seen in the list without its secret; a secret without its name would be lost.
            await self._store.write(lambda: _write(row))
            try:
                await self._ask(lambda: self._box.put(name, secret))
            except KeyringTrouble as trouble:
                await self._store.write(lambda: _forget(name) if known is None else _write(known))
                raise refusal(trouble, name) from None
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
        stored = await self._store.read(_all)
        if not stored:
            return []
        async with self._turn:
            try:
                present = await self._ask(lambda: [self._box.get(row.name) is not None for row in stored])
            except KeyringTrouble as trouble:
                state = _STATES.get(trouble.kind, "unavailable")
                return [msgspec.structs.replace(row, state=state, problem=trouble.message) for row in stored]
        states = ["present" if found else "missing" for found in present]
        return [msgspec.structs.replace(row, state=state) for row, state in zip(stored, states, strict=True)]

    async def token(self, url: str) -> Secret | None:
        """The secret for the origin of ``url``, None if there is none. Raises KeyringTrouble and StoreError."""
        where = _origin_text(url)
        names = await self._store.read(lambda: [row.name for row in _all() if row.origin == where])
        async with self._turn:
            for name in names:
                secret = await self._ask(lambda name=name: self._box.get(name))  # type: ignore[misc]
                if secret is not None:
                    return secret
        return None

    async def _ask(self, call: Callable[[], T]) -> T:
        """Run ``call`` in a thread, for so long at most. Raises KeyringTrouble."""
        if self._silent is not None and self._silent.is_alive():
            raise KeyringTrouble("silent", "the keyring doesn't answer; an earlier question is still open")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def tell(result: T | None, error: BaseException | None) -> None:
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(result)  # type: ignore[arg-type]

        def work() -> None:
            result: T | None = None
            fault: BaseException | None = None
            try:
                result = call()
            except KeyringTrouble as trouble:
                fault = trouble
            except Exception as error:  # noqa: BLE001 - the edge of the thread; its text could quote a secret
                fault = KeyringTrouble("failed", f"the keyring reported an error ({type(error).__name__})")
            if not loop.is_closed():
                loop.call_soon_threadsafe(tell, result, fault)

        thread = threading.Thread(target=work, name="keyring", daemon=True)
        thread.start()
        try:
            async with asyncio.timeout(self._time_limit_s):
                return await answer
        except asyncio.CancelledError:
            self._silent = thread  # Nobody waits for it any more, and the next one must not wait behind it.
            raise
        except TimeoutError:
            self._silent = thread
            _log.warning("keyring_silent", seconds=self._time_limit_s)
            message = f"the keyring didn't answer within {self._time_limit_s:g} s; look whether it asks something"
            raise KeyringTrouble("silent", message) from None


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
        scheme, host, port = origin(url)
    except ValueError:
        fine = False
    if not fine:
        raise invalid_params("origin must be a URL such as https://host, without a user name", "origin")
    shown = f"[{host}]" if ":" in host else host
    usual = {"https": 443, "http": 80}.get(scheme)
    return f"{scheme}://{shown}" if port == usual else f"{scheme}://{shown}:{port}"


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
