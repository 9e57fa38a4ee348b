"""The old names: deprecated, thin, and on the same plane as everything else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import synapse_models
from fixtures.bound_models import DEAD_URL, PROMPT, asking
from fixtures.openai_stub import OpenAIStub, completion, document, streamed
from synapse_models.compat import ChatModel, GenModel, SglangGenModel, as_type
from synapse_models.credentials import EnvironmentResolver
from synapse_models.errors import DialectNotImplemented
from synapse_models.model import Model
from synapse_models.stream import Completed


async def test_a_chat_model_and_what_it_becomes_share_one_pool() -> None:
    async with OpenAIStub(document(completion({"content": "Hi"}))) as stub:
        resolver = EnvironmentResolver({"KEY": "k"})
        with pytest.deprecated_call(match="ChatModel"):
            chat_model = ChatModel("m", stub.base_url, credential="env:KEY", resolver=resolver, concurrency=2)
        async with chat_model:
            response = await chat_model.arun(asking())
            assert response.provenance is not None
            assert (response.text, response.provenance.engine_id) == ("Hi", "unknown")
            stub.answer(streamed(["a"]))
            found = [event async for event in chat_model.astream(asking())]
            assert isinstance(found[-1], Completed)
            with pytest.deprecated_call(match="as_type"):
                gen_model = as_type(chat_model, GenModel)
            assert type(gen_model) is GenModel
            assert gen_model.model.pool is chat_model.model.pool
            assert gen_model.model.plan.fingerprint != chat_model.model.plan.fingerprint
            stub.answer(document({"choices": [{"text": "x"}]}))
            assert (await gen_model.arun(asking(PROMPT))).text == "x"
    assert [seen.path.rpartition("/v1/")[2] for seen in stub.seen] == [
        "chat/completions",
        "chat/completions",
        "completions",
    ]
    assert {seen.headers["Authorization"] for seen in stub.seen} == {"Bearer k"}


async def test_the_sglang_name_waits_for_its_binder() -> None:
    with pytest.deprecated_call(), pytest.raises(DialectNotImplemented, match="sglang_native"):
        SglangGenModel("m", DEAD_URL)
    with pytest.deprecated_call():
        chat_model = ChatModel("m", DEAD_URL)
    async with chat_model:
        with pytest.deprecated_call(), pytest.raises(DialectNotImplemented):
            as_type(chat_model, SglangGenModel)
        for other in (Model, str, object()):
            with pytest.raises(TypeError, match="not a wrapper"):
                as_type(chat_model, other)  # type: ignore[type-var]


def test_nothing_else_uses_the_old_names() -> None:
    root = Path(synapse_models.__file__).parent
    for path in root.rglob("*.py"):
        if path.name == "compat.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.module != "synapse_models.compat", path
