"""`synapse credentials` against the fake service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from fixtures.fake_service import FakeService
from synapse_cli.main import app
from synapse_client import calls
from synapse_wire import results as r
from synapse_wire.errors import SynapseError

Run = Callable[..., Result]
ROW = r.CredentialRow(name="huggingface", origin="https://huggingface.co", state="present", changed_ms=1)


@pytest.fixture
def run(home: Path) -> Run:
    """Runs `synapse credentials` with arguments and standard input."""

    def invoke(*arguments: str, stdin: str = "") -> Result:
        result = CliRunner().invoke(
            app, ["credentials", *arguments], input=stdin, env={"SYNAPSE_HOME": str(home), "COLUMNS": "200"}
        )
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def sent(fake: FakeService, method: str) -> list[dict[str, Any]]:
    return [params for name, params in fake.received if name == method]


def test_a_secret_comes_by_standard_input(fake: FakeService, run: Run) -> None:
    fake.on("credentials.set", lambda call: ROW)
    result = run("set", "huggingface", stdin="hf_x\n")
    assert (result.exit_code, result.stdout) == (0, "huggingface is in the keyring, for https://huggingface.co.\n")
    assert sent(fake, "credentials.set") == [{"name": "huggingface", "secret": "hf_x"}]
    assert "hf_x" not in run("set", "huggingface", "--json", "--origin", "https://m.test", stdin="hf_x").output
    assert sent(fake, "credentials.set")[1]["origin"] == "https://m.test"


def test_a_secret_is_no_argument(fake: FakeService, run: Run) -> None:
    assert run("set", "huggingface", "hf_x").exit_code == 2
    assert run("set", "huggingface", stdin="\n").exit_code == 2
    assert sent(fake, "credentials.set") == []


def test_the_list_says_which_secrets_can_be_had_and_why_not(fake: FakeService, run: Run) -> None:
    locked = r.CredentialRow(
        name="huggingface",
        origin="https://huggingface.co",
        state="locked",
        changed_ms=1,
        problem="the keyring is locked; unlock it",
    )
    fake.on("credentials.list", lambda call: r.CredentialsList(credentials=[locked]))
    assert run("list").stdout.splitlines() == [
        "name         for                     state",
        "huggingface  https://huggingface.co  locked",
        "The keyring is locked; unlock it.",
    ]
    fake.on("credentials.list", lambda call: r.CredentialsList(credentials=[]))
    assert "`synapse credentials set huggingface`" in run("list").stdout


def test_a_locked_keyring_is_said_with_its_code(fake: FakeService, run: Run) -> None:
    def locked(call: Any) -> None:
        raise SynapseError("needs_reauth", "the keyring is locked", details={"logical_handle": "huggingface"})

    fake.on("credentials.delete", locked)
    result = run("delete", "huggingface", "--json")
    assert (result.exit_code, json.loads(result.stderr)["code"]) == (1, "needs_reauth")
    fake.on("credentials.delete", lambda call: r.CredentialsList(credentials=[]))
    assert run("delete", "huggingface").stdout == "huggingface is forgotten.\n"


def test_a_call_does_not_show_its_parameters() -> None:
    assert repr(calls.credentials_set("huggingface", "hf_x", None)) == "Call('credentials.set')"
