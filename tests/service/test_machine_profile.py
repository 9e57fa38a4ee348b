"""What identifies a machine for certification, and what doesn't."""

from __future__ import annotations

import hashlib
import platform
import sys
from pathlib import Path

import msgspec
import pytest

from synapse_service.certify.machine import MachineProfile, chip_name, machine_id, this_machine, uuid_digest
from synapse_service.engine_builds import ENGINE_BUILDS

PROFILE = MachineProfile(
    system="linux", os_build="debian-12", architecture="x86_64", chip="Some CPU @ 3.00GHz", kernel="6.1.0-18-amd64"
)


def test_the_id_is_the_digest_of_everything_but_the_kernel() -> None:
    text = '{"architecture":"x86_64","chip":"Some CPU @ 3.00GHz","os_build":"debian-12","system":"linux"}'
    assert PROFILE.id == hashlib.sha256(text.encode()).hexdigest()


def test_a_new_kernel_keeps_the_id() -> None:
    assert msgspec.structs.replace(PROFILE, kernel="6.12.0").id == PROFILE.id


@pytest.mark.parametrize("member", ["system", "os_build", "architecture", "chip"])
def test_everything_else_changes_it(member: str) -> None:
    assert msgspec.structs.replace(PROFILE, **{member: "other"}).id != PROFILE.id


@pytest.mark.parametrize(
    ("release", "build"),
    [
        ({"ID": "ubuntu", "VERSION_ID": "22.04"}, "ubuntu-22"),
        ({"ID": "debian", "VERSION_ID": "12"}, "debian-12"),
        ({"ID": "arch"}, "arch-0"),
        ({}, "linux-0"),
    ],
)
def test_a_linux_build_is_distribution_and_major_version(
    monkeypatch: pytest.MonkeyPatch, release: dict[str, str], build: str
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    assert this_machine().os_build == build


def test_a_linux_without_a_release_file_is_just_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> dict[str, str]:
        raise FileNotFoundError

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "freedesktop_os_release", missing)
    assert this_machine().os_build == "linux"


def test_this_machine_is_the_same_machine_twice() -> None:
    machine = this_machine()
    assert machine.id == this_machine().id
    assert (machine.system, machine.architecture) == (sys.platform, platform.machine())
    assert machine.kernel == platform.release()


@pytest.mark.parametrize(
    ("text", "chip"),
    [
        ("processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 3.00GHz\n", "Some CPU @ 3.00GHz"),
        ("processor\t: 0\nBogoMIPS\t: 108.00\nModel\t\t: Some Board Rev 1.4\n", "Some Board Rev 1.4"),
        ("model name : first\nmodel name : second\n", "first"),
        ("processor\t: 0\n", "unknown"),
        ("", "unknown"),
    ],
)
def test_the_chip_is_named_by_the_kernel(tmp_path: Path, text: str, chip: str) -> None:
    (tmp_path / "cpuinfo").write_text(text)
    assert chip_name(tmp_path / "cpuinfo") == chip


def test_a_kernel_that_tells_nothing_has_no_chip(tmp_path: Path) -> None:
    assert chip_name(tmp_path / "absent") == "unknown"


def test_engine_builds_and_the_machines_own_id_are_facts_and_no_identity() -> None:
    changed = msgspec.structs.replace(PROFILE, engine_builds={"owned-cpu": "other"}, platform_uuid_sha256="0" * 64)
    assert changed.id == PROFILE.id
    assert this_machine().engine_builds == dict(ENGINE_BUILDS)


def test_the_machines_own_id_appears_as_a_salted_digest_only() -> None:
    own = "0123456789abcdef0123456789abcdef"
    digest = uuid_digest(own)
    assert digest == uuid_digest(f" {own.upper()}\n")
    assert digest is not None
    assert digest not in {hashlib.sha256(text.encode()).hexdigest() for text in (own, own.upper(), f"{own}\n")}
    assert uuid_digest("other") != digest
    assert uuid_digest("") is uuid_digest(None) is None


def test_the_first_file_that_holds_an_id_counts(tmp_path: Path) -> None:
    empty, fresh, good = tmp_path / "empty", tmp_path / "fresh", tmp_path / "good"
    empty.write_text("\n")
    fresh.write_text("uninitialized\n")
    good.write_text("abc\n")
    assert machine_id([tmp_path / "absent", empty, fresh, good]) == "abc"
    assert machine_id([tmp_path / "absent", empty, fresh]) is None
