"""Settings: sources and their order, refusals that name the place, and changes that happen wholly or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from synapse_service.settings.declared import Settings
from synapse_service.settings.store import ConfigError, SettingsStore
from synapse_wire.errors import SynapseError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "config.toml"


def load(file: Path, text: str | None = None, **environ: str) -> SettingsStore:
    if text is not None:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text.encode())
    return SettingsStore.load(file, environ)


def described(store: SettingsStore, name: str) -> tuple[Any, str]:
    (setting,) = store.describe([name])
    return setting.value, setting.source


# --- sources ---


def test_without_a_file_every_setting_has_its_default(file: Path) -> None:
    store = load(file)
    assert store.current == Settings()
    assert {setting.source for setting in store.describe()} == {"default"}
    assert not file.exists()


def test_the_defaults_are_those_that_the_contract_promises() -> None:
    settings = Settings()
    assert settings.cpu_lanes is False
    assert (settings.inline_max_items, settings.inline_max_tokens, settings.inline_max_bytes) == (64, 8192, 8_388_608)
    assert (settings.default_max_queue_ms, settings.default_deadline_ms) == (5000, 30_000)
    assert (settings.bulk_quantum_tokens, settings.bulk_quantum_ms) == (3072, 250)
    assert (settings.idle_unload_ms, settings.result_ttl_ms) == (900_000, 86_400_000)
    assert (settings.microllm_max_tokens, settings.cache_max_bytes) == (512, 34_359_738_368)


def test_environment_wins_over_file_and_file_over_default(file: Path) -> None:
    text = "inline_max_items = 7\ninline_max_tokens = 256\n"
    store = load(file, text, SYNAPSE_INLINE_MAX_ITEMS="9", SYNAPSE_CPU_LANES="true")
    assert described(store, "inline_max_items") == (9, "env")
    assert described(store, "inline_max_tokens") == (256, "file")
    assert described(store, "cpu_lanes") == (True, "env")
    assert described(store, "log_level") == ("info", "default")
    assert (store.current.inline_max_items, store.current.inline_max_tokens) == (9, 256)


def test_an_empty_variable_counts_as_absent(file: Path) -> None:
    assert described(load(file, SYNAPSE_CPU_LANES=""), "cpu_lanes") == (False, "default")


def test_misspelt_variables_are_reported(file: Path) -> None:
    store = load(file, SYNAPSE_CPU_LANE="1", SYNAPSE_HOME="/x", SYNAPSE_RUNTIME_DIR="/y", SYNAPSE_CPU_LANES="1")
    assert store.unknown_variables == ("SYNAPSE_CPU_LANE",)


def test_a_setting_is_described_with_bounds_and_restart(file: Path) -> None:
    items, storage, level, lanes = load(file).describe(["inline_max_items", "storage_dir", "log_level", "cpu_lanes"])
    assert (items.bounds, items.default, items.needs_restart) == ({"type": "integer", "min": 1, "max": 4096}, 64, False)
    assert (storage.bounds, storage.default, storage.needs_restart) == (
        {"type": "string", "nullable": True},
        None,
        False,
    )
    assert level.bounds == {"type": "string", "choices": ["debug", "info", "warning", "error"]}
    assert (lanes.bounds, lanes.needs_restart) == ({"type": "boolean"}, False)
    assert lanes.description == "Offer lanes that compute on the processor."


def test_describing_an_unknown_name_is_refused_with_its_place(file: Path) -> None:
    with pytest.raises(SynapseError, match="did you mean cpu_lanes") as caught:
        load(file).describe(["log_level", "cpu_lane"])
    assert (caught.value.code, caught.value.level) == ("invalid_request", "channel")
    assert caught.value.details == {"field": "names[1]"}


# --- refusals at the start ---


@pytest.mark.parametrize(
    ("text", "key", "line", "message"),
    [
        ("# mine\n\ncpu_lane = true\n", "cpu_lane", 3, "no such setting; did you mean cpu_lanes?"),
        ("[lanes]\ncpu_lanes = true\n", "lanes", 1, "no such setting"),
        ("cpu_lanes = true\nlog_level = 'info'\ncpu_lanes = false\n", "cpu_lanes", 3, "the key stands twice"),
        ('cpu_lanes = "true"\n', "cpu_lanes", 1, "Expected `bool`, got `str`"),
        ("cpu_lanes = 1\n", "cpu_lanes", 1, "Expected `bool`, got `int`"),
        ("\ninline_max_items = 1e400\n", "inline_max_items", 2, "Expected `int`, got `float`"),
        ('inline_max_items = "64"\n', "inline_max_items", 1, "Expected `int`, got `str`"),
        ("inline_max_items = 4097\n", "inline_max_items", 1, "Expected `int` <= 4096"),
        ("inline_max_items = 0\n", "inline_max_items", 1, "Expected `int` >= 1"),
        ('log_level = "loud"\n', "log_level", 1, "Invalid enum value 'loud'"),
        ("cpu_lanes = yes\n", None, 1, "Invalid value"),
        ("ca_file = '''\n/a\n/b'''\n", "ca_file", 1, "Expected `str` matching regex"),
    ],
)
def test_a_bad_file_is_refused_with_key_and_line(
    file: Path, text: str, key: str | None, line: int, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(file, text)
    assert (caught.value.source, caught.value.key, caught.value.line) == (file, key, line)
    assert caught.value.message.startswith(message)
    assert str(caught.value).startswith(f"{file}:{line}: ")


def test_a_text_that_never_ends_is_refused(file: Path) -> None:
    with pytest.raises(ConfigError, match="Unterminated string"):
        load(file, 'ca_file = """\nabc\n')


def test_a_file_that_is_not_text_is_refused(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"cpu_lanes = true # \xff\n")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load(file)


def test_a_file_that_cant_be_read_is_refused(file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"can't be read \(Is a directory\)"):
        load(file)


@pytest.mark.parametrize("value", ["yes", "on", "2", "tru"])
def test_a_bad_variable_is_refused_by_name(file: Path, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(file, SYNAPSE_CPU_LANES=value)
    assert caught.value.source == "SYNAPSE_CPU_LANES"
    assert str(caught.value).startswith("SYNAPSE_CPU_LANES: ")


def test_a_variable_that_is_no_text_is_refused_by_name(file: Path) -> None:
    with pytest.raises(ConfigError, match=r"SYNAPSE_CA_FILE.*must be UTF-8 text"):
        SettingsStore(file, {"SYNAPSE_CA_FILE": os.fsdecode(b"/tmp/\xfe.pem")})


def test_the_tilde_is_expanded_and_other_variables_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert load(file, 'storage_dir = "~/models"\n').current.storage_dir == "/home/me/models"
    assert load(file, "", SYNAPSE_CA_FILE="~/ca.pem").current.ca_file == "/home/me/ca.pem"
    for text in ("$HOME/models", "models", "~other/models", "./x"):
        with pytest.raises(ConfigError, match="must be an absolute path"):
            load(file, f'storage_dir = "{text}"\n')


@pytest.mark.parametrize(
    "url", ["https://mirror.example/hub", "http://127.0.0.1:8080", "http://localhost/x", "http://[::1]:99"]
)
def test_a_hub_address_uses_https_or_loopback(file: Path, url: str) -> None:
    assert load(file, f'hf_base_url = "{url}"\n').current.hf_base_url == url


@pytest.mark.parametrize(
    "url",
    [
        "http://mirror.example",
        "http://127.evil.example",
        "http://localhost.example",
        "ftp://127.0.0.1",
        "mirror.example",
        "https://",
        "https://user:word@mirror.example",
        "https://mirror.example/?a=b",
        "https://[oops",
        "https://mirror.example:port",
        "https://user:wo#rd@mirror.example",
    ],
)
def test_other_hub_addresses_are_refused(file: Path, url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(file, f'hf_base_url = "{url}"\n')
    assert caught.value.key == "hf_base_url"


def test_a_proxy_carries_no_credentials(file: Path) -> None:
    assert load(file, 'http_proxy = "http://proxy.example:3128"\n').current.http_proxy == "http://proxy.example:3128"
    with pytest.raises(ConfigError, match="must not contain a user name or a password") as caught:
        load(file, 'http_proxy = "http://me:hunter2@proxy.example"\n')
    assert "hunter2" not in str(caught.value)


# --- changes ---


def test_set_writes_the_file_and_takes_effect(file: Path) -> None:
    store = load(file)
    seen: list[frozenset[str]] = []
    store.on_change(seen.append)
    (lanes, items) = store.set({"cpu_lanes": True, "inline_max_items": 8})
    assert (lanes.value, lanes.source, items.value, items.source) == (True, "file", 8, "file")
    assert file.read_text() == "cpu_lanes = true\ninline_max_items = 8\n"
    assert store.current.cpu_lanes is True
    assert seen == [frozenset({"cpu_lanes", "inline_max_items"})]
    assert load(file).current == store.current


def test_set_leaves_comments_order_and_other_keys_alone(file: Path) -> None:
    before = (
        "# my settings\r\n"
        "cpu_lanes = false  # laptop # old\r\n"
        "\r\n"
        'hf_base_url = "https://mirror.example/#not"\r\n'
        "ca_file = '''/etc/\\\r\nx'''\r\n"
        "inline_max_items = 5 # few"
    )
    expected = (
        "# my settings\r\n"
        "cpu_lanes = true  # laptop # old\r\n"
        "\r\n"
        'hf_base_url = "https://other.example" # set\r\n'
        "inline_max_items = 6 # few\r\n"
        'log_level = "debug"\r\n'
    )
    before = before.replace("/#not", "").replace("ca_file = '''/etc/\\\r\nx'''", 'ca_file = """/etc/\\\r\n  x"""')
    before = before.replace('mirror.example"', 'mirror.example/a%23b" # set')
    store = load(file, before)
    assert store.current.ca_file == "/etc/x"
    store.set(
        {
            "cpu_lanes": True,
            "hf_base_url": "https://other.example",
            "ca_file": None,
            "inline_max_items": 6,
            "log_level": "debug",
        }
    )
    assert file.read_bytes().decode() == expected


def test_a_hash_inside_a_text_is_no_comment(file: Path) -> None:
    store = load(file, 'storage_dir = "/disk #1/models" # big\n')
    store.set({"storage_dir": "/disk #2"})
    assert file.read_text() == 'storage_dir = "/disk #2" # big\n'


def test_null_takes_a_setting_back_to_its_default(file: Path) -> None:
    store = load(file, "inline_max_items = 7\n")
    (items,) = store.set({"inline_max_items": None})
    assert (items.value, items.source) == (64, "default")
    assert file.read_text() == ""
    assert store.current.inline_max_items == 64


def test_a_setting_that_needs_a_restart_is_stored_but_not_in_force(file: Path) -> None:
    store = load(file, "max_connections = 100\n")
    (connections,) = store.set({"max_connections": 200})
    assert (connections.value, connections.needs_restart) == (200, True)
    assert store.current.max_connections == 100
    assert load(file).current.max_connections == 200


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        ({"inline_max_item": 3}, "values.inline_max_item"),
        ({"inline_max_items": "3"}, "values.inline_max_items"),
        ({"inline_max_items": 3.0}, "values.inline_max_items"),
        ({"inline_max_items": True}, "values.inline_max_items"),
        ({"inline_max_items": 5000}, "values.inline_max_items"),
        ({"storage_dir": "a\nb"}, "values.storage_dir"),
        ({"http_proxy": "http://me:word@h"}, "values.http_proxy"),
    ],
)
def test_one_bad_value_refuses_all_and_changes_nothing(file: Path, bad: dict[str, Any], field: str) -> None:
    store = load(file, "cpu_lanes = false\n")
    store.on_change(lambda names: pytest.fail(f"called with {names}"))
    with pytest.raises(SynapseError) as caught:
        store.set({"cpu_lanes": True, **bad})
    assert (caught.value.code, caught.value.level) == ("invalid_request", "channel")
    assert caught.value.details == {"field": field}
    assert file.read_text() == "cpu_lanes = false\n"
    assert store.current.cpu_lanes is False


def test_a_setting_fixed_by_the_environment_cant_be_changed(file: Path) -> None:
    store = load(file, "", SYNAPSE_CPU_LANES="1")
    with pytest.raises(SynapseError, match="SYNAPSE_CPU_LANES") as caught:
        store.set({"log_level": "debug", "cpu_lanes": False})
    assert (caught.value.code, caught.value.level) == ("invalid_request", "semantic")
    assert caught.value.details == {"setting": "cpu_lanes", "source": "env"}
    assert file.read_text() == ""


def test_setting_the_same_value_calls_no_listener(file: Path) -> None:
    store = load(file, "cpu_lanes = true\n")
    store.on_change(lambda names: pytest.fail(f"called with {names}"))
    store.set({"cpu_lanes": True})


def test_edits_by_hand_survive_a_change(file: Path) -> None:
    store = load(file, "cpu_lanes = false\n")
    file.write_text("cpu_lanes = false\ninline_max_items = 3 # by hand\n")
    seen: list[frozenset[str]] = []
    store.on_change(seen.append)
    store.set({"cpu_lanes": True})
    assert file.read_text() == "cpu_lanes = true\ninline_max_items = 3 # by hand\n"
    assert store.current.inline_max_items == 3
    assert seen == [frozenset({"cpu_lanes", "inline_max_items"})]


def test_a_mistake_made_by_hand_is_reported_and_kept(file: Path) -> None:
    store = load(file, "cpu_lanes = false\n")
    file.write_text("cpu_lanes = false\noops\n")
    with pytest.raises(SynapseError, match="must be corrected first") as caught:
        store.set({"cpu_lanes": True})
    assert (caught.value.code, caught.value.level) == ("invalid_request", "semantic")
    assert file.read_text() == "cpu_lanes = false\noops\n"
    assert store.current.cpu_lanes is False


def test_a_write_that_fails_changes_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = load(file, "cpu_lanes = false\n")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SynapseError) as caught:
        store.set({"cpu_lanes": True})
    assert caught.value.code == "store_failure"
    assert caught.value.details == {"reason": "storage_full", "path": str(file)}
    assert [entry.name for entry in file.parent.iterdir()] == ["config.toml"]
    assert file.read_text() == "cpu_lanes = false\n"
    assert store.current.cpu_lanes is False


@pytest.mark.skipif(os.name == "nt", reason="file modes are POSIX")
def test_a_new_file_is_private_and_a_linked_one_stays_linked(file: Path, tmp_path: Path) -> None:
    load(file).set({"cpu_lanes": True})
    assert file.stat().st_mode & 0o777 == 0o600
    dotfiles = tmp_path / "dotfiles.toml"
    file.rename(dotfiles)
    file.symlink_to(dotfiles)
    load(file).set({"cpu_lanes": False})
    assert file.is_symlink()
    assert dotfiles.read_text() == "cpu_lanes = false\n"


# --- models to preload ---

PRELOAD = """\
cpu_lanes = true

[[preload]]
model_id = "a"
task = "embed"
engine = "owned-cpu"
source = "file"
files = {model = {url = "file:///m"}, tokenizer = {url = "file:///t"}, config = {url = "file:///c"}}

[[preload]]
model_id = "b"
task = "embed"
engine = "ane"
source = "hf"
repo = "org/name"
revision = "0123456789abcdef0123456789abcdef01234567"
profile = "gte-modernbert-base.ane"
[preload.files]
model = {url = "128.zip", sha256 = "MODEL"}
tokenizer = {url = "tokenizer.json", sha256 = "TOKENIZER"}
""".replace("MODEL", "a" * 64).replace("TOKENIZER", "b" * 64)


def test_models_to_preload_are_read_from_tables_as_model_load_takes_them(file: Path) -> None:
    store = load(file, PRELOAD)
    first, second = store.current.preload
    assert (first.model_id, first.engine, first.files.model.url) == ("a", "owned-cpu", "file:///m")
    assert (second.profile, second.files.model.sha256) == ("gte-modernbert-base.ane", "a" * 64)
    (setting,) = store.describe(["preload"])
    assert (setting.source, setting.default, setting.needs_restart, setting.bounds) == (
        "file",
        [],
        True,
        {"type": "array"},
    )
    assert setting.value[0] == {
        "model_id": "a",
        "task": "embed",
        "engine": "owned-cpu",
        "source": "file",
        "files": {"model": {"url": "file:///m"}, "tokenizer": {"url": "file:///t"}, "config": {"url": "file:///c"}},
    }


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('model_id = "b"', "model_id = 7", 10, "entry 2: Expected `str`, got `int` - at `$.model_id`"),
        ('engine = "ane"\n', "", 10, "entry 2 ('b'): Object missing required field `engine`"),
        (
            'repo = "org/name"',
            'repository = "org/name"',
            10,
            "entry 2 ('b'): Object contains unknown field `repository`",
        ),
        ('task = "embed"', 'task = "sing"', 3, "entry 1 ('a'): Invalid enum value 'sing'"),
    ],
)
def test_a_table_that_is_no_manifest_is_refused_with_its_place(
    file: Path, old: str, new: str, line: int, words: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        load(file, PRELOAD.replace(old, new, 1))
    assert (refusal.value.key, refusal.value.line) == ("preload", line)
    assert words in refusal.value.message


@pytest.mark.parametrize("text", ["preload = 7\n", "preload = ['a']\n", "[preload]\nmodel_id = 'a'\n"])
def test_preloads_that_are_no_tables_are_refused(file: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="must be tables, each written as"):
        load(file, text)


def test_preloads_are_changed_in_the_file_alone(file: Path) -> None:
    store = load(file, PRELOAD, SYNAPSE_PRELOAD="[]")
    assert len(store.current.preload) == 2
    assert store.unknown_variables == ("SYNAPSE_PRELOAD",)
    for value in (None, []):
        with pytest.raises(SynapseError) as refusal:
            store.set({"preload": value})
        assert (refusal.value.level, refusal.value.details) == ("channel", {"field": "values.preload"})
        assert "[[preload]]" in refusal.value.message
    store.set({"log_level": "debug"})
    assert len(load(file).current.preload) == 2
    assert load(file).current.log_level == "debug"
