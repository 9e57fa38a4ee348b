"""The note on calling models: its programs run as they stand, against a stub where they call somebody."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
from pathlib import Path
from typing import Any

import pytest

import synapse_models
from fixtures.bound_models import asking, model, pool
from fixtures.openai_stub import OpenAIStub, completion, document, streamed
from synapse_models.capabilities import CAPABILITY_SPECS
from synapse_models.registry import DIALECT_BINDERS

NOTE = (Path(__file__).parents[2] / "docs" / "model-plane.md").read_text(encoding="utf-8")
CALLING, STREAMING, PLANNING = re.findall(r"```python\n(.*?)```", NOTE, re.S)


def names_of(program: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(program, "model-plane.md", "exec"), names)
    return names


def declare(text: str) -> None:
    Path("models.yaml").write_text(text)


async def test_the_program_that_calls_a_model_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    async with OpenAIStub(document(completion({"content": "Blue"}, usage=usage))) as stub:
        declare(f"models: {{writer: {{dialect: openai_chat, model: m, api_base: '{stub.base_url}'}}}}\n")
        program, last = CALLING.rstrip().rsplit("\n", 1)
        assert last == "asyncio.run(main())"
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            await names_of(program)["main"]()
    assert printed.getvalue().splitlines()[0].startswith("Blue stop Usage(input_tokens=3, output_tokens=1")
    assert stub.seen[0].body["temperature"] == 0.0


async def test_the_program_that_streams_runs() -> None:
    async with OpenAIStub(streamed(["a", "b"])) as stub, pool(stub.base_url) as connections:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            text = await names_of(STREAMING)["shown"](model(connections, stub.base_url), asking())
    assert (text, printed.getvalue()) == ("ab", "ab")


def test_the_program_that_plans_runs_and_calls_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a plan called somebody")

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", forbidden)
    monkeypatch.setattr(os, "getenv", forbidden)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        names = names_of(PLANNING)
    assert names["result"].ok
    lines = printed.getvalue().splitlines()
    assert [line.split()[0] for line in lines[-1 - len(CAPABILITY_SPECS) : -1]] == list(CAPABILITY_SPECS)


def test_the_note_names_every_decision_and_only_names_that_are_there() -> None:
    for word in ("consumed", "passed through", "no-op", "rejected"):
        assert f"| {word} |" in NOTE
    for name in re.findall(
        r"from synapse_models import \(?([^)\n]*(?:\n    [^)]*)?)\)?", "\n".join((CALLING, STREAMING))
    ):
        for one in re.split(r"[,\s]+", name.strip()):
            assert one in synapse_models.__all__
    assert "parley" not in DIALECT_BINDERS
    assert (Path(__file__).parents[1] / "fixtures" / "parley_dialect.py").is_file()
