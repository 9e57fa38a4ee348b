"""Which keyrings are used: those on the list, by their exact names, and no other one, whoever chose it."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from keyring import core
from keyring.backends import chainer, fail, null
from keyring.errors import KeyringLocked, PasswordSetError

from synapse_models.credentials import Secret
from synapse_service.gateway import system_keyring as module
from synapse_service.gateway.system_keyring import ALLOWED, KeyringTrouble, SystemKeyring, require_allowed


def backend_named(full_name: str, **members: Any) -> Any:
    """An instance of a class with this name. It is a stand-in: real ones belong to other systems."""
    where, _, name = full_name.rpartition(".")
    return type(name, (), {"__module__": where, "__qualname__": name, **members})()


class Memory:
    """What a keyring class does."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.fault: Exception | None = None

    def members(self) -> dict[str, Any]:
        def get(_: Any, service: str, name: str) -> str | None:
            self._fail()
            return self.kept.get((service, name))

        def put(_: Any, service: str, name: str, text: str) -> None:
            self._fail()
            self.kept[service, name] = text

        def drop(_: Any, service: str, name: str) -> None:
            del self.kept[service, name]

        return {"get_password": get, "set_password": put, "delete_password": drop, "priority": 5}

    def _fail(self) -> None:
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    """A keyring of macOS, as far as its name goes."""
    memory = Memory()
    backend = backend_named(ALLOWED[0], **memory.members())
    monkeypatch.setattr(module, "_chosen", lambda: backend)
    return memory


def trouble(backend: Any) -> KeyringTrouble:
    with pytest.raises(KeyringTrouble) as caught:
        require_allowed(backend)
    return caught.value


@pytest.mark.parametrize("name", ALLOWED)
def test_a_keyring_on_the_list_is_used(name: str) -> None:
    require_allowed(backend_named(name))


@pytest.mark.parametrize(
    "name",
    [
        "keyrings.alt.file.PlaintextKeyring",
        "keyrings.alt.file.EncryptedKeyring",
        "keyring.backends.libsecret.Keyring",
        "keyring.backends.SecretService.Keyring2",
        "somebody.keyring.backends.macOS.Keyring",
    ],
)
def test_any_other_keyring_is_refused_by_name(name: str) -> None:
    # Goes red without the list in `require_allowed`.
    refused = trouble(backend_named(name))
    assert refused.kind == "refused"
    assert name in refused.message
    assert "PYTHON_KEYRING_BACKEND=keyring.backends.SecretService.Keyring" in refused.message


@pytest.mark.parametrize("backend", [fail.Keyring, null.Keyring], ids=["fail", "null"])
def test_a_keyring_that_keeps_nothing_is_none(backend: Any) -> None:
    refused = trouble(backend())
    assert (refused.kind, "gnome-keyring" in refused.message) == ("none", True)


def test_a_chain_is_as_good_as_its_worst_member(monkeypatch: pytest.MonkeyPatch) -> None:
    members = [backend_named(ALLOWED[2]), backend_named("keyrings.alt.file.PlaintextKeyring")]
    monkeypatch.setattr(chainer.ChainerBackend, "backends", members)
    refused = trouble(chainer.ChainerBackend())  # type: ignore[no-untyped-call]
    assert (refused.kind, "keyrings.alt.file.PlaintextKeyring" in refused.message) == ("refused", True)
    monkeypatch.setattr(chainer.ChainerBackend, "backends", members[:1])
    require_allowed(chainer.ChainerBackend())  # type: ignore[no-untyped-call]
    monkeypatch.setattr(chainer.ChainerBackend, "backends", [])
    assert trouble(chainer.ChainerBackend()).kind == "none"  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("choice", "kind", "words"),
    [
        ("keyring.backends.null.Keyring", "none", "keyring.backends.null.Keyring"),
        ("clear_text_double.PlaintextKeyring", "refused", "clear_text_double.PlaintextKeyring"),
        ("no.such.module.Keyring", "none", "ModuleNotFoundError"),
    ],
)
def test_what_a_person_chose_is_looked_at_too(
    monkeypatch: pytest.MonkeyPatch, choice: str, kind: str, words: str
) -> None:
    double = ModuleType("clear_text_double")
    # No subclass of the library's own base: those are remembered for the life of the process.
    double.PlaintextKeyring = type(backend_named("clear_text_double.PlaintextKeyring", **Memory().members()))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "clear_text_double", double)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", choice)
    with pytest.raises(KeyringTrouble) as caught:
        SystemKeyring("synapse").put("huggingface", Secret("s"))
    assert (caught.value.kind, words in caught.value.message) == (kind, True)


def test_without_a_choice_a_keyring_in_clear_text_is_never_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND", raising=False)
    monkeypatch.setattr(core, "load_config", lambda: None)
    plain = backend_named("keyrings.alt.file.PlaintextKeyring", priority=0.5)
    monkeypatch.setattr(module, "_others", lambda: [plain])

    def not_here(name: str) -> Any:
        raise RuntimeError(name)

    monkeypatch.setattr(core, "load_keyring", not_here)
    with pytest.raises(KeyringTrouble, match=r"keyrings\.alt\.file\.PlaintextKeyring") as caught:
        SystemKeyring("synapse").get("huggingface")
    assert caught.value.kind == "refused"
    safe = backend_named(ALLOWED[0], **Memory().members())
    monkeypatch.setattr(core, "load_keyring", lambda name: safe if name == ALLOWED[0] else not_here(name))
    assert SystemKeyring("synapse").get("huggingface") is None


def test_a_secret_is_kept_read_and_forgotten_under_the_owners_name(memory: Memory) -> None:
    box = SystemKeyring("synapse /home/me")
    box.put("huggingface", Secret("hf_x"))
    assert memory.kept == {("synapse /home/me", "huggingface"): "hf_x"}
    assert box.get("huggingface") == Secret("hf_x")
    assert SystemKeyring("synapse").get("huggingface") is None
    box.drop("huggingface")
    box.drop("huggingface")
    assert memory.kept == {}


def test_a_keyring_that_loses_secrets_is_noticed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    lossy = backend_named(ALLOWED[0], **memory.members() | {"set_password": lambda *_: None})
    monkeypatch.setattr(module, "_chosen", lambda: lossy)
    with pytest.raises(KeyringTrouble, match="doesn't give it back") as caught:
        SystemKeyring("synapse").put("huggingface", Secret("hf_x"))
    assert (caught.value.kind, "hf_x" in caught.value.message) == ("failed", False)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (KeyringLocked("hf_x"), "locked"),
        (PasswordSetError("hf_x"), "failed"),
        (OSError("hf_x"), "failed"),
    ],
)
def test_a_fault_is_told_by_its_kind_and_not_by_its_text(memory: Memory, fault: Exception, kind: str) -> None:
    memory.fault = fault
    with pytest.raises(KeyringTrouble) as caught:
        SystemKeyring("synapse").put("huggingface", Secret("hf_x"))
    assert caught.value.kind == kind
    assert "hf_x" not in f"{caught.value} {caught.value!r}"
    assert caught.value.__cause__ is None


def test_the_library_is_not_imported_before_it_is_needed() -> None:
    import subprocess

    code = "import sys, synapse_service.boot; print('keyring' in sys.modules or 'secretstorage' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n"


def test_a_stand_in_has_the_name_that_is_asked_for() -> None:
    assert module.name_of(backend_named("a.b.C")) == "a.b.C"
    assert module.name_of(SimpleNamespace()) == "types.SimpleNamespace"
