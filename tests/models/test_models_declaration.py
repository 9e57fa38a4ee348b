"""A file of models: what it may say, what it means, and every problem with its place."""

from __future__ import annotations

import pytest

from synapse_models.capabilities import CAPABILITY_SPECS, ReasoningConfig, TopLogprobsConfig, parse_config
from synapse_models.declaration import Declarations, EngineDeclaration, read_declarations
from synapse_models.policy import RetryPolicy, Timeouts
from synapse_models.requirements import TaskRequirements
from synapse_models.yaml_loader import DocumentError

HEAD = "models:\n  m:\n    dialect: openai_chat\n    model: x\n    api_base: http://127.0.0.1:1/v1\n"
"""The next line is line 6."""


def read(more: str = "") -> Declarations:
    return read_declarations(HEAD + more)


def problems(text: str) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        read_declarations(text)
    return [str(problem) for problem in caught.value.problems]


def test_a_full_declaration_is_read() -> None:
    model = read(
        "    wire_version: v1\n"
        "    engine: {id: vllm, version: 0.11.0, params: {max_logprobs: 100}}\n"
        "    credential: keyring:lab\n"
        "    route: decode\n"
        "    profile: other\n"
        "    args:\n"
        "      sampling: {temperature: 0, stop: [END], n: 2}\n"
        "      dialect_options: {verbosity: low, absent: null}\n"
        "    timeouts: {total_s: 30, idle_s: 5}\n"
        "    retry: {max_attempts: 3}\n"
        "    concurrency: 4\n"
        "    capabilities: {reasoning: {effort: high}, top_logprobs: {minimum: 7}, hosted_tools: false}\n"
        "    requires: {nightly: {input: chat, min_top_logprobs: 5, input_modalities: [text, image]}}\n"
    ).models["m"]
    assert (model.root, model.dialect, model.model, model.api_base) == (
        "m",
        "openai_chat",
        "x",
        "http://127.0.0.1:1/v1",
    )
    assert model.engine == EngineDeclaration(id="vllm", version="0.11.0", params={"max_logprobs": 100})
    assert (model.credential, model.route, model.profile) == ("keyring:lab", "decode", "other")
    assert model.args == {"sampling.temperature": 0, "sampling.stop": ["END"], "sampling.n": 2}
    assert model.options == {"verbosity": "low", "absent": None}
    assert model.timeouts == Timeouts(total_s=30, idle_s=5)
    assert model.retry == RetryPolicy(max_attempts=3)
    assert model.concurrency == 4
    assert model.capabilities == {
        "reasoning": ReasoningConfig(effort="high"),
        "top_logprobs": TopLogprobsConfig(minimum=7),
        "hosted_tools": False,
    }
    assert model.requires == {
        "nightly": TaskRequirements(input="chat", min_top_logprobs=5, input_modalities=frozenset({"text", "image"}))
    }


def test_true_and_an_empty_mapping_are_the_same_and_false_is_kept() -> None:
    spellings = [
        read("    capabilities: {reasoning: true, function_tools: false}\n"),
        read("    capabilities: {function_tools: false, reasoning: {}}\n"),
    ]
    canonical = [one.canonical()["m"]["capabilities"] for one in spellings]
    assert canonical == [{"reasoning": {}, "function_tools": False}] * 2


def test_a_capability_that_is_not_named_is_nobodys_opinion() -> None:
    assert "capabilities" not in read().canonical()["m"]


@pytest.mark.parametrize("key", sorted(CAPABILITY_SPECS))
def test_null_is_neither_yes_nor_no(key: str) -> None:
    with pytest.raises(ValueError, match="null says neither yes nor no"):
        parse_config(key, None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("capabilities: {reasoning: null}", "m.capabilities.reasoning (line 6): null says neither yes nor no"),
        ("capabilities: {reasoning: 'true'}", "must be true, false or a mapping of options, not 'true'"),
        ("capabilities: {reasoning: yes}", "must be true, false or a mapping of options, not 'yes'"),
        ("capabilities: {reasoning: 1}", "must be true, false or a mapping of options, not 1"),
        ("capabilities: {thinking: true}", "m.capabilities.thinking (line 6): no capability has this name"),
        ("capabilities: {stateful_session: true}", "is reserved: no dialect of this release has it"),
        ("capabilities: {prefill: {}}", "is reserved: no dialect of this release has it"),
        ("capabilities: {reasoning: {efort: high}}", "unknown field `efort`"),
        ("capabilities: {reasoning: {effort: hihg}}", "Invalid enum value 'hihg'"),
        ("capabilities: {reasoning: {budget_tokens: -1}}", "Expected `int` >= 0"),
        ("capabilities: {reasoning: {effort: low, budget_tokens: 5}}", "takes either effort or budget_tokens"),
        ("capabilities: {top_logprobs: {minimum: 0}}", "Expected `int` >= 1"),
        ("capabilities: {top_logprobs: {minimum: '5'}}", "Expected `int | null`, got `str`"),
        ("capabilities: {top_logprobs: {minimum: true}}", "Expected `int | null`, got `bool`"),
        ("capabilities: {structured_output: {formats: [xml]}}", "Invalid enum value 'xml'"),
        ("capabilities: [reasoning]", "must be a mapping, not ['reasoning']"),
        ("max_token: 5", "models.m.max_token (line 6): no such key; there are dialect,"),
        ("timeouts: {deadlin_ms: 5}", "models.m.timeouts.deadlin_ms (line 6): no such key; there are total_s"),
        ("timeouts: {total_s: '5'}", "models.m.timeouts.total_s (line 6): Expected `float`, got `str`"),
        ("timeouts: {total_s: 1e400}", "models.m.timeouts.total_s (line 6): 1e400 is too large a number"),
        ("timeouts: {total_s: 0}", "total_s must be a positive number of seconds"),
        ("retry: {max_attempts: 99}", "max_attempts must be from 1 to 10"),
        ("concurrency: 0", "models.m.concurrency (line 6): must be a whole number from 1, not 0"),
        ("concurrency: true", "must be a whole number from 1, not True"),
        ("concurrency: null", "models.m.concurrency (line 6): null is no value; leave the key out"),
        ("wire_version: v2", "models.m.wire_version (line 6): openai_chat has v1, not 'v2'"),
        ("engine: vLLM", "models.m.engine (line 6): names no engine"),
        ("engine: {id: unknown}", "models.m.engine.id (line 6): names no engine"),
        ("engine: {id: vllm, verson: 1.0.0}", "models.m.engine.verson (line 6): no such key"),
        ("engine: {id: vllm, version: 0.9}", "models.m.engine.version (line 6): Expected `str | null`, got `float`"),
        ("args: {sampling: {temprature: 1}}", "models.m.args.sampling.temprature (line 6): no default can stand here"),
        ("args: {sampling: {temperature: hot}}", "Expected `float | null`, got `str`"),
        ("args: {dialect_options: {'': 1}}", "an option has a name"),
        ("args: {sampling: {seed: null}}", "models.m.args.sampling.seed (line 6): null is no value"),
        ("args: {session: {previous_response_id: x}}", "models.m.args.session (line 6): no such group"),
        ("args: {temperature: 1}", "models.m.args.temperature (line 6): no such group"),
        ("args: {reasoning: {effort: low, budget_tokens: 5}}", "takes either effort or budget_tokens"),
        ("requires: {t: {inptu: chat}}", "models.m.requires.t.inptu (line 6): no such key"),
        ("requires: {t: {input: speech}}", "Invalid enum value 'speech'"),
        ("requires: {t: {min_top_logprobs: 0}}", "Expected `int` >= 1"),
        ("credential: sk-abcdefgh12345678", "models.m.credential (line 6): a credential is keyring:NAME"),
        ("credential: [x]", "must be keyring:NAME, env:NAME or none"),
        ("base: m", "models.m.base (line 6): there is no other model 'm'"),
        ("base: gone", "models.m.base (line 6): there is no other model 'gone'"),
    ],
)
def test_nothing_that_is_wrong_is_accepted_and_ignored(line: str, expected: str) -> None:
    (problem,) = problems(HEAD + f"    {line}\n")
    assert expected in problem
    assert "(line 6)" in problem


def test_a_key_that_occurs_twice_is_no_last_word() -> None:
    assert problems(HEAD + "    concurrency: 1\n    concurrency: 2\n") == [
        "models.m.concurrency (line 7): the key is there twice; first on line 6"
    ]
    assert problems(HEAD + "  m: {}\n") == ["models.m (line 6): the key is there twice; first on line 2"]


def test_a_pasted_secret_is_never_repeated() -> None:
    for pasted in ("sk-CANARY-0123456789", "env:", "Bearer CANARY", "[CANARY]", "{k: CANARY}"):
        assert not any("CANARY" in problem for problem in problems(HEAD + f"    credential: {pasted}\n"))


@pytest.mark.parametrize(
    "line",
    [
        "engine: {id: vllm, params: {api-key: CANARY}}",
        "engine: {id: vllm, params: {nested: {Authorization: CANARY}}}",
        "engine: {id: vllm, params: {headers: [Bearer CANARY]}}",
        "args: {dialect_options: {api_key: CANARY}}",
        "args: {dialect_options: {extra: sk-CANARY-0123456789}}",
        "args: {tools: {hosted: [{tool: web_search, options: {api_key: CANARY}}]}}",
        "args: {tools: {hosted: [{tool: web_search, options: {a: [{x: Bearer CANARY}]}}]}}",
    ],
)
def test_no_secret_stands_where_anything_may(line: str) -> None:
    (problem,) = problems(HEAD + f"    {line}\n")
    assert "is never written here" in problem
    assert "(line 6)" in problem
    assert "CANARY" not in problem


KEY = "sk-live-canary0123456789"


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("route: K", "route"),
        ("profile: K", "profile"),
        ("engine: K", "engine"),
        ("engine: {id: vllm, version: K}", "engine.version"),
        ("args: {sampling: {stop: [a, K]}}", "args.sampling.stop[1]"),
        ("args: {tools: {functions: [{name: f, description: call it with K}]}}", "args.tools.functions[0].description"),
        (
            "args: {tools: {functions: [{name: f, parameters: {default: K}}]}}",
            "args.tools.functions[0].parameters.default",
        ),
        ("args: {structured_output: {format: json_schema, schema: {const: K}}}", "args.structured_output.schema.const"),
        ("args: {dialect_options: {K: 1}}", "args.dialect_options.[redacted]"),
        ("engine: {id: vllm, params: {a: {K: 1}}}", "engine.params.a.[redacted]"),
    ],
)
def test_what_can_only_be_a_secret_stands_nowhere(line: str, place: str) -> None:
    assert problems(HEAD + f"    {line.replace('K', KEY)}\n") == [
        f"models.m.{place} (line 6): this looks like a secret, which is never written here"
    ]


def test_no_name_of_a_model_and_no_address_is_a_secret() -> None:
    assert problems(
        f"models:\n  {KEY}:\n    dialect: openai_chat\n    model: {KEY}\n    api_base: http://h/{KEY}\n"
    ) == [
        f"models.[redacted]{place} (line {line}): this looks like a secret, which is never written here"
        for place, line in (("", 2), (".model", 4), (".api_base", 5))
    ]


@pytest.mark.parametrize(
    "line",
    [
        "retry: K",
        "engine: [K]",
        "concurrency: K",
        "api_base: [K]",
        "model: [K]",
        "base: K",
        "wire_version: K",
        "K: 1",
        "timeouts: {K: 1}",
        "timeouts: {total_s: K}",
        "args: K",
        "args: {K: 1}",
        "args: {sampling: {temperature: K}}",
        "args: {reasoning: {effort: K}}",
        "capabilities: K",
        "capabilities: {reasoning: K}",
        "capabilities: {reasoning: {effort: K}}",
        "requires: {t: {input: K}}",
    ],
)
def test_a_secret_in_the_wrong_place_is_not_repeated(line: str) -> None:
    text = HEAD.replace("    api_base: http://127.0.0.1:1/v1\n", "") if line.startswith("api_base") else HEAD
    text = text.replace("    model: x\n", "") if line.startswith("model") else text
    told = problems(text + f"    {line.replace('K', KEY)}\n")
    assert len(told) == 1
    assert "canary" not in told[0]


def test_words_that_look_a_little_like_keys_are_words() -> None:
    model = read(
        "    profile: hf-internal-testing/tiny-random-LlamaForCausalLM\n"
        "    args:\n"
        "      sampling: {stop: [sk-learn, 'Bearer of good news', 'pk_20251201123456']}\n"
        "      tools:\n"
        "        functions:\n"
        "        - {name: f, description: basic authentication, parameters: {properties: {password: {type: string}}}}\n"
        "        hosted: [{tool: web_search, options: {search_context_size: low}}]\n"
    ).models["m"]
    assert model.profile == "hf-internal-testing/tiny-random-LlamaForCausalLM"
    assert model.args["sampling.stop"] == ["sk-learn", "Bearer of good news", "pk_20251201123456"]
    assert model.args["tools.functions"][0]["description"] == "basic authentication"


def test_a_long_text_is_no_secret_and_may_hold_one() -> None:
    template = "{% for message in messages %}" * 40
    model = read(f"    engine: {{id: vllm, params: {{chat_template: '{template}'}}}}\n").models["m"]
    assert model.engine is not None
    assert model.engine.params == {"chat_template": template}
    (problem,) = problems(
        HEAD + f"    engine: {{id: vllm, params: {{t: '{template} sk-CANARY-0123456789 {template}'}}}}\n"
    )
    assert "looks like a secret" in problem


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("localhost:1", "must be an absolute http or https URL"),
        ("ftp://x", "must be an absolute http or https URL"),
        ("http://user:CANARY@x", "must not contain a user name or a password"),
        ("http://user:CANARY#1@x", "must be an absolute http or https URL, its port a number"),
        ("http://x/?key=CANARY", "an address has no query and no fragment"),
    ],
)
def test_an_address_carries_no_secret(address: str, expected: str) -> None:
    (problem,) = problems(f"models:\n  m: {{dialect: openai_chat, model: x, api_base: '{address}'}}\n")
    assert expected in problem
    assert "CANARY" not in problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "there must be a mapping with the key models"),
        ("[]", "line 1: there must be a mapping with the key models"),
        ("models: {}", "models (line 1): must be a mapping of at least one model"),
        ("models: {m: 3}", "models.m (line 1): must be a mapping"),
        ("models: {m: {dialect: openai_chat, model: x}}", "models.m (line 1): api_base is missing"),
        (
            "models: {m: {dialect: openai_chatt, model: x, api_base: 'http://h'}}",
            "models.m.dialect (line 1): no dialect is called 'openai_chatt'",
        ),
        ("models: {m: {dialect: openai_chat, model: 7, api_base: 'http://h'}}", "must be text, not 7"),
    ],
)
def test_a_file_says_which_models_there_are(text: str, expected: str) -> None:
    (problem,) = problems(text)
    assert expected in problem


def test_all_problems_of_a_file_come_at_once_in_its_order() -> None:
    found = problems(
        HEAD + "    max_token: 5\n    capabilities: {thinking: true, reasoning: null}\n    concurrency: 0\nmodel: {}\n"
    )
    assert len(found) == 5
    assert [text.partition("(line ")[2][0] for text in found] == ["6", "7", "7", "8", "9"]


DERIVED = HEAD + "    engine: vllm\n    credential: env:KEY\n    capabilities: {reasoning: true}\n  d:\n    base: m\n"
"""The next line is line 11."""


def test_a_derived_model_has_the_server_of_its_base_and_says_its_own_wishes() -> None:
    derived = read_declarations(DERIVED + "    dialect: openai_completions\n    concurrency: 2\n").models["d"]
    assert (derived.root, derived.model, derived.credential) == ("m", "x", "env:KEY")
    assert derived.engine == EngineDeclaration(id="vllm")
    assert (derived.dialect, derived.concurrency, derived.capabilities) == ("openai_completions", 2, {})


@pytest.mark.parametrize("line", ["api_base: http://h", "engine: sglang", "credential: none", "model: y", "retry: {}"])
def test_a_derived_model_has_no_server_of_its_own(line: str) -> None:
    (problem,) = problems(DERIVED + f"    {line}\n")
    assert "comes from the base 'm', and can't be another here" in problem


def test_a_base_is_no_derived_model() -> None:
    (problem,) = problems(DERIVED + "  e: {base: d}\n")
    assert problem == "models.e.base (line 11): 'd' has a base itself; name 'm'"
