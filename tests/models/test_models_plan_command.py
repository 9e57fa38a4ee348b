"""`synapse plan`: the reconciliation of a file, for people and for programs, without calling anybody."""

from __future__ import annotations

import builtins
import io
import json
import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest
from typer.testing import CliRunner, Result

from synapse_cli.main import app
from synapse_models.leaves import LEAVES
from synapse_models.profiles.loading import shipped

GOOD = """\
models:
  qwen3:
    dialect: openai_chat
    model: a-model-of-mine
    api_base: http://127.0.0.1:9/v1
    credential: env:A_CREDENTIAL_THAT_IS_NOT_SET
    args: {sampling: {temperature: 0}}
    capabilities: {reasoning: {effort: high}, hosted_tools: false}
    requires: {nightly: {input: chat, min_top_logprobs: 100}}
"""
BAD = GOOD.replace("hosted_tools: false", "input_scoring: true").replace("a-model-of-mine", "a-model")


def write(folder: Path, text: str, name: str = "models.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def plan(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def test_a_file_that_fits_prints_what_each_model_has_and_exits_with_0(tmp_path: Path) -> None:
    result = plan(write(tmp_path, GOOD))
    assert result.exit_code == 0
    rows = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "qwen3 openai_chat v1 reasoning required replies are checked" in rows
    assert "qwen3 openai_chat v1 function_tools on demand replies are checked" in rows
    assert "qwen3 openai_chat v1 hosted_tools no it is switched off in the declaration" in rows
    assert len([row for row in rows if row.startswith("qwen3 ")]) == 12
    assert rows[-1] == "Everything fits."


def test_an_error_prints_every_axis_and_the_remedy_and_exits_with_1(tmp_path: Path) -> None:
    result = plan(write(tmp_path, BAD))
    assert result.exit_code == 1
    rows = [" ".join(line.split()) for line in result.stdout.splitlines()]
    start = rows.index("error: model 'qwen3': capability 'input_scoring' can't be enabled")
    assert rows[start + 1 : start + 5] == [
        "declaration input_scoring asks for it ok",
        "dialect openai_chat chat completions return no log-probabilities of the prompt fail",
        "model a-model isn't known to have it; replies are checked unknown",
        "remedy use the dialect openai_completions, or remove 'input_scoring'",
    ]


def test_json_carries_the_whole_reconciliation(tmp_path: Path) -> None:
    result = plan(write(tmp_path, GOOD), "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["ok"], document["diagnostics"]) == (0, True, [])
    assert document["declared"]["qwen3"]["capabilities"] == {"hosted_tools": False, "reasoning": {"effort": "high"}}
    assert document["bindings"]["qwen3"]["request_defaults"] == {
        "reasoning.effort": "high",
        "sampling.temperature": 0.0,
    }
    assert document["bindings"]["qwen3"]["intents"]["top_logprobs"]["minimums"] == {"minimum": 100}
    assert document["runtime_plans"]["qwen3"]["fingerprint"].startswith("sha256:")


def test_leaves_are_shown_one_by_one_with_where_they_go_or_why_not(tmp_path: Path) -> None:
    result = plan(write(tmp_path, GOOD), "--leaves")
    assert result.exit_code == 0
    rows = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "qwen3 sampling.temperature 0.0 (default) consumed /temperature" in rows
    assert 'qwen3 reasoning.effort "high" (default) consumed /reasoning_effort' in rows
    assert (
        "qwen3 scoring.input_scoring true rejected the plan has no input_scoring: openai_chat: "
        "chat completions return no log-probabilities of the prompt"
    ) in rows
    assert len([row for row in rows if row.startswith("qwen3 ")]) == 12 + len(LEAVES)
    document = json.loads(plan(write(tmp_path, GOOD), "--json").stdout)
    (temperature,) = [one for one in document["leaves"]["qwen3"] if one["leaf"] == "sampling.temperature"]
    assert (temperature["example"], temperature["decision"]) == (0.0, "consumed")


def test_a_derived_model_is_told_that_it_shares_a_server_and_nothing_else(tmp_path: Path) -> None:
    result = plan(write(tmp_path, GOOD + "  scorer:\n    base: qwen3\n    dialect: openai_completions\n"))
    assert "scorer: has the server of qwen3 and none of its args and capabilities" in result.stdout.splitlines()


def test_json_of_an_error_has_the_finding_and_exits_with_1(tmp_path: Path) -> None:
    result = plan(write(tmp_path, BAD), "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["ok"]) == (1, False)
    (finding,) = document["diagnostics"]
    assert (finding["code"], finding["capability"]) == ("capability_unavailable", "input_scoring")
    assert [axis["mark"] for axis in finding["axes"]] == ["ok", "fail", "unknown"]


def test_a_file_that_cannot_be_read_names_each_place(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + "    max_token: 5\n    concurrency: 0\n")
    result = plan(path)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"{path}: models.qwen3.max_token (line 10): no such key; there are dialect, wire_version, route, model, "
        "api_base, engine, credential, timeouts, retry, profile, base, args, concurrency, capabilities, requires",
        f"{path}: models.qwen3.concurrency (line 11): must be a whole number from 1, not 0",
    ]
    document = json.loads(plan(path, "--json").stdout)
    assert document["ok"] is False
    assert [(one["path"], one["line"]) for one in document["problems"]] == [
        ("models.qwen3.max_token", 10),
        ("models.qwen3.concurrency", 11),
    ]


def test_a_users_profile_goes_first_and_is_shown(tmp_path: Path) -> None:
    profile = write(
        tmp_path,
        "sources: {mine: {where: my own notes, date: 2026-11-30}}\n"
        "profiles:\n"
        "- {models: [a-model-of-mine], dialects: [openai_chat], source: mine,"
        " capabilities: {reasoning: unsupported}}\n",
        "profiles.yaml",
    )
    result = plan(write(tmp_path, GOOD), "--profiles", profile, "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert document["profiles"]["qwen3"] == {"origin": "user", "overridden": []}
    broken = write(tmp_path, "sources: {}\nprofiles: [{modles: []}]\n", "broken.yaml")
    refused = plan(write(tmp_path, GOOD), "--profiles", broken)
    assert refused.exit_code == 1
    assert f"{broken}: profiles[0].modles (line 2): no such key" in refused.stderr


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    assert plan(tmp_path / "gone.yaml").exit_code == 2


def test_only_the_named_file_is_read_and_nobody_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, GOOD)
    plan(path)  # once before, so that modules and the catalogue that ships with them are loaded
    shipped()
    opened: list[str] = []
    real = io.open

    def watched(file: Any, *args: Any, **kwargs: Any) -> Any:
        opened.append(str(file))
        return real(file, *args, **kwargs)

    def forbidden(*args: object, **kwargs: object) -> NoReturn:
        raise AssertionError("the plan called somebody")

    monkeypatch.setattr(io, "open", watched)
    monkeypatch.setattr(builtins, "open", watched)
    monkeypatch.setattr(socket, "socket", forbidden)
    monkeypatch.setattr(socket, "getaddrinfo", forbidden)
    result = plan(path)
    monkeypatch.undo()
    assert result.exit_code == 0
    assert [name for name in opened if name != str(path)] == []
    assert opened == [str(path)]
