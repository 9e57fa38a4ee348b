"""The operating system's keyring: the only place where a secret is kept.

Everything here blocks, perhaps for ever: a keyring may ask a question that nobody sees. ``credentials`` calls it in a
thread of its own with a time limit. The library is imported when a credential is first asked for, since it brings
plug-ins of other packages along.

Only keyrings that encrypt are used, by their exact names. A person may choose one with ``PYTHON_KEYRING_BACKEND`` or
the library's own configuration file, and is refused what isn't on the list; without a choice the best one on the list
is taken, whatever else is installed. A locked keyring is never unlocked from here: that takes a question on a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

from synapse_models.credentials import Secret
from synapse_service.catalog.credentials import CredentialTrouble

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

ALLOWED: Final = (
    "keyring.backends.macOS.Keyring",
    "keyring.backends.Windows.WinVaultKeyring",
    "keyring.backends.SecretService.Keyring",
    "keyring.backends.kwallet.DBusKeyring",
    "keyring.backends.kwallet.DBusKeyringKWallet4",
)
"""Keyrings that keep secrets encrypted, under the user's own login."""

SECRET_SERVICE: Final = "keyring.backends.SecretService.Keyring"
CHAINER: Final = "keyring.backends.chainer.ChainerBackend"
NOTHING: Final = ("keyring.backends.fail.Keyring", "keyring.backends.null.Keyring")

Trouble = Literal["locked", "none", "refused", "failed", "silent"]

T = TypeVar("T")


class KeyringTrouble(CredentialTrouble):
    """The keyring can't be used: it is locked, there is none, it isn't a safe one, it failed, or it doesn't answer.

    ``undecided`` says that it may yet do what it was asked for.
    """

    def __init__(self, kind: Trouble, message: str, *, undecided: bool = False) -> None:
        super().__init__(message)
        self.kind: Trouble = kind
        self.undecided = undecided


class SecretBox(Protocol):
    """A place for secrets, by name. Blocks; raises KeyringTrouble."""

    def get(self, name: str) -> Secret | None:
        """The secret, None if there is none of this name."""
        ...

    def put(self, name: str, secret: Secret) -> None:
        """Keep a secret, in place of an earlier one of this name."""
        ...

    def drop(self, name: str) -> None:
        """Forget a secret; harmless when there is none."""
        ...


class SystemKeyring:
    """The user's keyring. ``owner`` is the name under which the entries stand there."""

    def __init__(self, owner: str) -> None:
        self._owner = owner

    def get(self, name: str) -> Secret | None:
        backend = usable_backend()
        text = _told(lambda: backend.get_password(self._owner, name))
        return None if text is None else Secret(text)

    def put(self, name: str, secret: Secret) -> None:
        backend = usable_backend()
        _told(lambda: backend.set_password(self._owner, name, secret.reveal()))
        if _told(lambda: backend.get_password(self._owner, name)) != secret.reveal():
            raise KeyringTrouble("failed", f"the keyring {name_of(backend)} took the secret and doesn't give it back")

    def drop(self, name: str) -> None:
        backend = usable_backend()
        if _told(lambda: backend.get_password(self._owner, name)) is not None:
            _told(lambda: backend.delete_password(self._owner, name))


def usable_backend() -> KeyringBackend:
    """The keyring to use, unlocked. Raises KeyringTrouble."""
    backend = _chosen() or _best()
    require_allowed(backend)
    if SECRET_SERVICE in _names(backend):
        _require_unlocked()
    return backend


def require_allowed(backend: Any) -> None:
    """Refuse a keyring that is not on the list, naming it. Raises KeyringTrouble."""
    names = _names(backend)
    if all(name in NOTHING for name in names):
        raise KeyringTrouble(
            "none",
            f"there is no keyring here ({', '.join(names) or 'none was found'}); install one that offers the Secret "
            "Service, such as gnome-keyring, and log in again",
        )
    refused = [name for name in names if name not in ALLOWED]
    if refused:
        raise KeyringTrouble(
            "refused",
            f"the keyring {', '.join(refused)} is not known to encrypt what it keeps and is not used; choose a safe "
            f"one, for example PYTHON_KEYRING_BACKEND={SECRET_SERVICE}",
        )


def name_of(backend: Any) -> str:
    """The full name of a keyring's class, which is what the list is about."""
    return f"{type(backend).__module__}.{type(backend).__qualname__}"


def _names(backend: Any) -> list[str]:
    """The names of a keyring, or of those that a chain of them would ask."""
    name = name_of(backend)
    return [name_of(member) for member in backend.backends] if name == CHAINER else [name]


def _chosen() -> KeyringBackend | None:
    """The keyring that the person chose, if there is such a choice."""
    from keyring import core

    try:
        return core.load_env() or core.load_config()
    except Exception as error:  # noqa: BLE001 - the edge to plug-ins of other packages
        # Whatever importing and asking somebody's plug-in raises. Its text may be anything, so only its kind is told.
        message = f"the chosen keyring can't be used ({type(error).__name__}); correct PYTHON_KEYRING_BACKEND"
        raise KeyringTrouble("none", message) from None


def _best() -> Any:
    """The best keyring on the list; else whatever the library would have used, to be named in a refusal."""
    from keyring import core

    viable = []
    for name in ALLOWED:
        try:
            backend = core.load_keyring(name)
        except Exception:  # noqa: BLE001 - a keyring of another system says in many ways that it isn't for this one
            continue
        viable.append((backend.priority, name, backend))
    if viable:
        return max(viable)[2]
    from keyring.backends import fail

    rest: Iterable[Any] = _others()
    none = fail.Keyring()  # type: ignore[no-untyped-call]
    return max(rest, key=lambda backend: backend.priority, default=none)


def _others() -> list[Any]:
    from keyring.backend import get_all_keyring

    return [backend for backend in get_all_keyring() if name_of(backend) not in (*ALLOWED, CHAINER)]


def _require_unlocked() -> None:
    """Refuse a Secret Service that would have to ask a question first. Raises KeyringTrouble."""
    import secretstorage
    from secretstorage import exceptions

    try:
        with _closing(secretstorage.dbus_init()) as connection:
            # Asking for the default collection by its library function would make one, with a question.
            collection = secretstorage.Collection(connection, "/org/freedesktop/secrets/aliases/default")
            locked = collection.is_locked()
    except exceptions.ItemNotFoundException:
        message = (
            "the keyring has no default collection yet; log in to the desktop once, or make one in its own program"
        )
        raise KeyringTrouble("none", message) from None
    except Exception as error:  # noqa: BLE001 - whatever the bus says, it isn't there
        raise KeyringTrouble("none", f"the keyring can't be reached ({type(error).__name__})") from None
    if locked:
        raise KeyringTrouble("locked", "the keyring is locked; unlock it, by logging in or in its own program")


def _closing(connection: Any) -> Any:
    from contextlib import closing

    return closing(connection)


def _told(call: Callable[[], T]) -> T:
    """The result of ``call``, its failures as KeyringTrouble. Their texts are not repeated: they may quote anything."""
    from keyring import errors

    try:
        return call()
    except errors.KeyringLocked:
        raise KeyringTrouble(
            "locked", "the keyring is locked; unlock it, by logging in or in its own program"
        ) from None
    except errors.NoKeyringError:
        raise KeyringTrouble("none", "there is no keyring here") from None
    except Exception as error:  # noqa: BLE001 - keyrings raise what their systems raise
        message = f"the keyring reported an error ({type(error).__name__})"
        raise KeyringTrouble("failed", message) from None
