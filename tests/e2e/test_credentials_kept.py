"""A token from the command line to a gated mirror, with real processes, and never where it must not be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures import secret_boxes
from fixtures.download_desk import two_models
from fixtures.mirror import Mirror, running_mirror
from fixtures.secret_service import lock, secret_service, unlock
from fixtures.service_process import ServiceProcess, running_service
from synapse_client import Client, SynapseError

TESTS = Path(__file__).parents[1]
TOKEN = "hf_TEST9f8e7d6c5b4a"


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with running_mirror() as mirror:
        two_models().serve(mirror)
        mirror.gated = TOKEN
        yield mirror


def arguments(folder: Path) -> tuple[str, ...]:
    return ("--cpu-lanes", "--catalog", str(two_models().write(folder)))


def synapse(service: ServiceProcess, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from synapse_cli.main import run; run()", *words],
        env=service.environ,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def failed_download(client: Client) -> dict[str, Any]:
    with pytest.raises(SynapseError) as failed:
        client.wait_download(client.models_download("alpha").job_id)
    assert failed.value.details is not None
    return {"message": failed.value.message, **failed.value.details}


def found(folder: Path, *, but: Path | None = None) -> list[str]:
    """The files below a folder that hold the token."""
    files = (path for path in folder.rglob("*") if path.is_file() and path != but)
    return [str(path) for path in files if TOKEN.encode() in path.read_bytes()]


def environments(service: ServiceProcess) -> bytes:
    """Arguments and environments of the service and its children."""
    pids = [
        service.pid,
        *(int(path.name) for path in Path("/proc").glob("[0-9]*") if _parent(path.name) == service.pid),
    ]
    return b"".join(Path(f"/proc/{pid}/{what}").read_bytes() for pid in pids for what in ("cmdline", "environ"))


def _parent(pid: str) -> int | None:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


class DoubleService(ServiceProcess):
    """The service with the double of a keyring in its place."""

    def start(self) -> None:
        self.environ["SYNAPSE_HOME"] = str(self.home)
        real = sys.executable
        wrapper = self.home / "python"
        wrapper.write_text(f'#!/bin/sh\nshift 2\nexec {real} {secret_boxes.__file__} "$@"\n')
        wrapper.chmod(0o700)
        sys.executable = str(wrapper)
        try:
            super().start()
        finally:
            sys.executable = real


@pytest.fixture
def service(tmp_path: Path, mirror: Mirror) -> Iterator[ServiceProcess]:
    home = tmp_path / "home"
    home.mkdir()
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    service = DoubleService(
        home,
        environ={
            "SYNAPSE_HF_BASE_URL": mirror.base,
            "SECRET_BOX_DOUBLE": str(tmp_path / "double.json"),
            "PYTHONPATH": os.pathsep.join(paths),
        },
        arguments=arguments(tmp_path),
    )
    service.start()
    yield service
    service.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_gated_model_is_downloaded_with_the_token_that_was_given_on_standard_input(
    service: ServiceProcess, mirror: Mirror, tmp_path: Path
) -> None:
    with service.client() as client:
        refused = failed_download(client)
        assert (refused["reason"], refused["http_status"]) == ("http_status", 401)
        host = mirror.base.partition("://")[2]
        assert f"store one with `synapse credentials set {host} --origin {mirror.base}`" in refused["message"]
        kept = synapse(service, "credentials", "set", "huggingface", stdin=TOKEN + "\n")
        assert (kept.returncode, kept.stdout) == (0, f"huggingface is in the keyring, for {mirror.base}.\n")
        assert client.wait_download(client.models_download("alpha").job_id).state == "committed"
        listed = synapse(service, "credentials", "list")
        assert listed.stdout.splitlines()[1].split() == ["huggingface", mirror.base, "present"]
        (tmp_path / "double.json").write_text("locked")
        refused = failed_download(client) if client.models_remove("alpha") else {}
        assert "it wants a token, and the keyring is locked; unlock it" in refused["message"]
        error = json.loads(synapse(service, "credentials", "delete", "huggingface", "--json").stderr)
        assert (error["code"], error["details"]) == ("needs_reauth", {"logical_handle": "huggingface"})
        (tmp_path / "double.json").write_text(json.dumps({"huggingface": TOKEN}))
        assert TOKEN.encode() not in environments(service)
        assert synapse(service, "credentials", "delete", "huggingface").stdout == "huggingface is forgotten.\n"
    service.stop()
    assert found(tmp_path) == []


def test_a_real_secret_service_keeps_the_token_and_is_not_asked_to_unlock(tmp_path: Path, mirror: Mirror) -> None:
    with secret_service(tmp_path) as desktop:
        environ = {
            "SYNAPSE_HF_BASE_URL": mirror.base,
            "DBUS_SESSION_BUS_ADDRESS": desktop["DBUS_SESSION_BUS_ADDRESS"],
        }
        with running_service(tmp_path / "home", environ=environ, arguments=arguments(tmp_path)) as service:
            with service.client() as client:
                assert client.credentials_list().credentials == []
                client.credentials_set("huggingface", TOKEN)
                assert client.credentials_list().credentials[0].state == "present"
                assert client.wait_download(client.models_download("alpha").job_id).state == "committed"
                lock(desktop)
                (row,) = client.credentials_list().credentials
                assert (row.state, row.problem) == (
                    "locked",
                    "the keyring is locked; unlock it, by logging in or in its own program",
                )
                client.models_remove("alpha")
                assert "the keyring is locked" in failed_download(client)["message"]
                with pytest.raises(SynapseError) as refused:
                    client.credentials_set("huggingface", "other")
                assert (refused.value.code, refused.value.details) == (
                    "needs_reauth",
                    {"logical_handle": "huggingface"},
                )
                unlock(desktop)
                assert client.credentials_list().credentials[0].state == "present"
                assert client.credentials_delete("huggingface").credentials == []
            service.stop()
    assert found(tmp_path) == []


def test_without_a_keyring_everything_but_credentials_works(tmp_path: Path, mirror: Mirror) -> None:
    mirror.gated = None
    environ = {
        "SYNAPSE_HF_BASE_URL": mirror.base,
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path}/nothing",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    with running_service(tmp_path / "home", environ=environ, arguments=arguments(tmp_path)) as service:
        with service.client() as client:
            assert client.wait_download(client.models_download("alpha").job_id).state == "committed"
            with pytest.raises(SynapseError) as refused:
                client.credentials_set("huggingface", TOKEN)
            assert refused.value.code == "credential_config_invalid"
            assert refused.value.details == {"logical_handle": "huggingface", "reason": "no_keyring"}
            assert client.credentials_list().credentials == []
        service.stop()
    assert found(tmp_path) == []
