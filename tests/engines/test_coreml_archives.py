"""Zipped packages: what is refused before a byte is written, and unpacking into a folder that the digest names."""

from __future__ import annotations

import errno
import io
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fixtures.packages import bundle_files, sha256_of, write_package, zipped
from synapse_engines.coreml import archives
from synapse_engines.errors import ArtifactError, StorageError


def listed(data: bytes, tmp_path: Path) -> archives.Listing:
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with archives.opened(path) as (archive, _):
        return archives.listing(archive, len(data))


def refusal(data: bytes, tmp_path: Path) -> str:
    with pytest.raises(ArtifactError) as caught:
        listed(data, tmp_path)
    assert caught.value.reason == "bad_archive"
    return caught.value.detail


def test_a_sound_package_is_listed_with_its_folder(tmp_path: Path) -> None:
    found = listed(zipped(bundle_files(128)), tmp_path)
    assert found.bundle == "model.mlmodelc"
    assert [str(path) for path, _ in found.members] == list(bundle_files(128))


def test_what_the_finder_adds_is_passed_over(tmp_path: Path) -> None:
    extra = {"__MACOSX/model.mlmodelc/._model.mil": b"x", "model.mlmodelc/.DS_Store": b"x", "model.mlmodelc/._a": b"x"}
    assert len(listed(zipped(bundle_files(128) | extra), tmp_path).members) == len(bundle_files(128))


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "/etc/evil",
        "model.mlmodelc/../../evil",
        "model.mlmodelc//evil",
        "model.mlmodelc/./../evil",
        "model.mlmodelc\\..\\evil",
        "C:/evil",
        "model.mlmodelc/a:stream",
        "model.mlmodelc/a\nb",
        "model.mlmodelc/" + "n" * 1024,
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    detail = refusal(zipped(bundle_files(128) | {name: b"evil"}), tmp_path)
    assert "no name for a file" in detail or "outside its folder" in detail


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(kind: int, tmp_path: Path) -> None:
    out = io.BytesIO(zipped(bundle_files(128)))
    with zipfile.ZipFile(out, "a") as archive:
        info = zipfile.ZipInfo("model.mlmodelc/link")
        info.external_attr = (kind | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    assert "is a link or a device" in refusal(out.getvalue(), tmp_path)


@pytest.mark.parametrize(
    "second",
    ["model.mlmodelc/model.mil", "model.mlmodelc/MODEL.mil", "model.mlmodelc/weights", "model.mlmodelc/model.mil/x"],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(second: str, tmp_path: Path) -> None:
    out = io.BytesIO(zipped(bundle_files(128)))
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr(second, b"other")
    assert "stands in it twice" in refusal(out.getvalue(), tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {"other.mlmodelc/model.mil": b"x"},
        {"loose.txt": b"x"},
    ],
)
def test_more_than_the_one_folder_is_refused(files: dict[str, bytes], tmp_path: Path) -> None:
    assert "exactly one folder" in refusal(zipped(bundle_files(128) | files), tmp_path)


def test_an_archive_without_a_compiled_model_is_refused(tmp_path: Path) -> None:
    assert "exactly one folder" in refusal(zipped({}), tmp_path)
    assert "exactly one folder" in refusal(zipped({"model.mlpackage/Manifest.json": b"{}"}), tmp_path)
    assert "not a folder" in refusal(zipped({"model.mlmodelc": b"x"}), tmp_path)


def test_a_bomb_is_refused_by_its_directory_alone(tmp_path: Path) -> None:
    bomb = zipped(bundle_files(128) | {"model.mlmodelc/zeros": bytes(64 << 20)})
    assert len(bomb) < 1 << 20
    assert "more than 100 times as many" in refusal(bomb, tmp_path)


def test_too_many_members_and_too_many_bytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_MEMBERS", 4)
    assert "5 members, at most 4" in refusal(zipped(bundle_files(128)), tmp_path)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 5)
    monkeypatch.setattr(archives, "MAX_UNPACKED_BYTES", 4000)
    assert "at most 4000 are taken" in refusal(zipped(bundle_files(128)), tmp_path)


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """The trick of archives in which one compressed kernel stands behind many names."""
    data = bytearray(zipped(bundle_files(128), zipfile.ZIP_STORED))
    path = tmp_path / "shared.zip"
    path.write_bytes(data)
    with archives.opened(path) as (archive, _):
        infos = archive.infolist()
        for info in infos[:4]:
            info.header_offset = infos[4].header_offset
            info.compress_size = infos[4].compress_size
        with pytest.raises(ArtifactError, match="overlap"):
            archives.listing(archive, len(data))


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    data = bytearray(zipped(bundle_files(128)))
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    assert "is encrypted" in refusal(bytes(data), tmp_path)


def test_another_packing_is_refused(tmp_path: Path) -> None:
    assert "packed in a way" in refusal(zipped(bundle_files(128), zipfile.ZIP_BZIP2), tmp_path)


@pytest.mark.parametrize(("directory", "at", "offset"), [(b"PK\x01\x02", 42, 1 << 31), (b"PK\x05\x06", 16, 1 << 31)])
def test_a_member_outside_the_archive_is_refused(directory: bytes, at: int, offset: int, tmp_path: Path) -> None:
    """The offset of a member lies behind the end, or that of the directory puts every member before the beginning."""
    data = bytearray(zipped(bundle_files(128)))
    begin = data.index(directory) + at
    data[begin : begin + 4] = offset.to_bytes(4, "little")
    assert "outside of it" in refusal(bytes(data), tmp_path)


@pytest.mark.parametrize("cut", [lambda data: b"", lambda data: b"not a zip", lambda data: data[:-30]])
def test_what_is_no_archive_is_refused(cut: Callable[[bytes], bytes], tmp_path: Path) -> None:
    assert "not a sound zip archive" in refusal(cut(zipped(bundle_files(128))), tmp_path)


# --- unpacking ---


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_package_is_unpacked_under_its_digest(tmp_path: Path) -> None:
    path = write_package(tmp_path, 128)
    root = tmp_path / "packages"
    bundle = archives.materialise(path, sha256_of(path), root)
    assert bundle == root / sha256_of(path) / "model.mlmodelc"
    assert contents(bundle.parent) == bundle_files(128)
    assert [each.name for each in root.iterdir()] == [sha256_of(path)]


def test_unpacking_again_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    path = write_package(tmp_path, 128)
    bundle = archives.materialise(path, sha256_of(path), tmp_path)
    before = bundle.stat().st_ino, (bundle / "model.mil").stat().st_mtime_ns
    assert archives.materialise(path, sha256_of(path), tmp_path) == bundle
    assert (bundle.stat().st_ino, (bundle / "model.mil").stat().st_mtime_ns) == before


def _flip(bundle: Path) -> None:
    weights = bundle / "weights" / "weight.bin"
    data = bytearray(weights.read_bytes())
    data[7] ^= 1
    weights.write_bytes(data)


def _link(bundle: Path) -> None:
    (bundle / "model.mil").unlink()
    (bundle / "model.mil").symlink_to("/etc/hostname")


@pytest.mark.parametrize(
    "damage",
    [
        _flip,
        _link,
        lambda bundle: (bundle / "model.mil").unlink(),
        lambda bundle: (bundle / "extra.bin").write_bytes(b"x"),
        lambda bundle: (bundle / "model.mil").write_bytes(b"short"),
    ],
)
def test_a_folder_that_is_not_what_the_archive_holds_is_put_right(
    damage: Callable[[Path], object], tmp_path: Path
) -> None:
    """Red without the comparison in ``materialise``: a worker would open what somebody else wrote."""
    path = write_package(tmp_path, 128)
    bundle = archives.materialise(path, sha256_of(path), tmp_path / "packages")
    damage(bundle)
    archives.materialise(path, sha256_of(path), tmp_path / "packages")
    assert contents(bundle.parent) == bundle_files(128)
    assert not any(each.is_symlink() for each in bundle.rglob("*"))


def test_another_archive_than_the_one_named_is_not_unpacked(tmp_path: Path) -> None:
    path = write_package(tmp_path, 128)
    with pytest.raises(ArtifactError) as caught:
        archives.materialise(path, "0" * 64, tmp_path / "packages")
    assert caught.value.reason == "wrong_digest"
    assert not (tmp_path / "packages").exists()


def test_a_flipped_byte_inside_a_member_is_found_and_leaves_nothing(tmp_path: Path) -> None:
    data = bytearray(zipped(bundle_files(128), zipfile.ZIP_STORED))
    data[data.index(b"program(1.3)")] ^= 1
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    with pytest.raises(ArtifactError) as caught:
        archives.materialise(path, sha256_of(path), tmp_path / "packages")
    assert caught.value.reason == "bad_archive"
    assert list((tmp_path / "packages").iterdir()) == []


def test_a_folder_that_is_being_filled_says_whose_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever finds it later removes it only if that process is gone."""
    seen: list[Path] = []
    monkeypatch.setattr(archives.os, "fsync", lambda _: seen.extend((tmp_path / "packages").iterdir()))
    path = write_package(tmp_path, 128)
    archives.materialise(path, sha256_of(path), tmp_path / "packages")
    (folder,) = set(seen)
    assert folder.name.startswith(f".unpacking-{os.getpid()}-")


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_package(tmp_path, 128)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(archives.os, "fsync", full)
    with pytest.raises(StorageError, match="no room is left to unpack"):
        archives.materialise(path, sha256_of(path), tmp_path / "packages")
    assert list((tmp_path / "packages").iterdir()) == []


def test_an_archive_that_is_a_link_is_not_opened(tmp_path: Path) -> None:
    link = tmp_path / "link.zip"
    link.symlink_to(write_package(tmp_path, 128))
    with pytest.raises(OSError), archives.opened(link):
        pass
