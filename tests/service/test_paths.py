"""Folders: where they are, and that nobody else can reach into them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from synapse_service.paths import PathError, ensure_private_dir, resolve_paths

posix_only = pytest.mark.skipif(os.name == "nt", reason="folder modes are POSIX")
root_only = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file to another user"
)
OTHER_USER = 65534


def test_home_puts_everything_under_one_folder(tmp_path: Path) -> None:
    paths = resolve_paths({"SYNAPSE_HOME": "/elsewhere"}, tmp_path)
    assert paths.home == tmp_path
    assert paths.config_file == tmp_path / "config" / "config.toml"
    assert paths.data_dir == tmp_path / "data"
    assert paths.database == tmp_path / "data" / "synapse.db"
    assert paths.cache_dir == tmp_path / "cache"
    assert paths.log_dir == tmp_path / "log"
    assert paths.endpoint.directory == tmp_path / "run"
    assert paths.lock_file == tmp_path / "run" / "service.lock"


def test_home_from_the_environment_expands_the_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert resolve_paths({"SYNAPSE_HOME": "~/s"}).data_dir == Path("/somewhere/s/data")


def test_resolving_creates_nothing(tmp_path: Path) -> None:
    resolve_paths({}, tmp_path / "home")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the folders of Linux")
def test_without_home_the_folders_are_those_of_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    paths = resolve_paths({"HOME": str(tmp_path)})
    assert paths.home is None
    assert paths.config_file == tmp_path / ".config" / "synapse" / "config.toml"
    assert paths.database == tmp_path / ".local" / "share" / "synapse" / "synapse.db"
    assert paths.cache_dir == tmp_path / ".cache" / "synapse"
    assert paths.log_dir == tmp_path / ".local" / "state" / "synapse" / "log"


def test_a_long_home_still_gives_a_lock_beside_the_socket(tmp_path: Path) -> None:
    paths = resolve_paths({}, tmp_path / ("d" * 120))
    assert paths.lock_file.parent == paths.endpoint.directory
    assert len(os.fsencode(paths.endpoint.address)) <= 100


@posix_only
def test_new_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        ensure_private_dir(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    modes = [(tmp_path / part).stat().st_mode & 0o7777 for part in ("a", "a/b", "a/b/c")]
    assert modes == [0o700, 0o700, 0o700]


def test_an_existing_private_folder_is_accepted_again(tmp_path: Path) -> None:
    ensure_private_dir(tmp_path / "a")
    ensure_private_dir(tmp_path / "a")
    assert (tmp_path / "a").is_dir()


@posix_only
def test_a_folder_open_to_others_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.raises(PathError) as caught:
        ensure_private_dir(folder)
    assert caught.value.problem == "is open to other users (mode 0755)"
    assert caught.value.remedy == f"Run: chmod 700 '{folder}'"
    assert folder.stat().st_mode & 0o777 == 0o755


@posix_only
def test_a_folder_that_others_could_replace_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    with pytest.raises(PathError, match="can be replaced by other users"):
        ensure_private_dir(shared / "mine")
    shared.chmod(0o1777)
    ensure_private_dir(shared / "mine")


def test_a_folder_whose_name_is_no_text_is_refused_before_it_is_made(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"h\xff")
    with pytest.raises(PathError) as caught:
        ensure_private_dir(folder)
    assert caught.value.problem == "has a name that is not UTF-8 text"
    assert not folder.exists()


def test_a_file_in_the_way_is_refused_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("mine")
    with pytest.raises(PathError, match="is not a folder"):
        ensure_private_dir(file)
    with pytest.raises(PathError, match="can't be created or read"):
        ensure_private_dir(file / "below")
    assert file.read_text() == "mine"


@posix_only
def test_a_link_of_the_user_to_a_private_folder_is_followed(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(real)
    ensure_private_dir(tmp_path / "link")


@posix_only
def test_a_link_to_nowhere_is_refused_without_making_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(PathError, match="can't be created or read"):
        ensure_private_dir(tmp_path / "link")
    assert not (tmp_path / "nowhere").exists()


@posix_only
@root_only
def test_a_link_made_by_another_user_is_refused(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(real)
    os.lchown(link, OTHER_USER, OTHER_USER)
    with pytest.raises(PathError, match=f"is a link that belongs to another user \\(uid {OTHER_USER}\\)"):
        ensure_private_dir(link)


@posix_only
@root_only
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, OTHER_USER, OTHER_USER)
    with pytest.raises(PathError, match="belongs to another user"):
        ensure_private_dir(folder)
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(PathError, match="leads to a folder of another user"):
        ensure_private_dir(tmp_path / "link")
