"""The pages of the contract and the code say the same, and the comparison that says so is able to fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from synapse_wire import errors as e
from synapse_wire.framing import MAX_LINE_BYTES
from synapse_wire.messages import MAX_DUPLICATE_SCAN_BYTES
from synapse_wire.operations import CONTRACT, EXTENSIONS, Operation
from wire.contract_document import Document, DocumentError, anchor_of, parse
from wire.contract_drift import TEXTS, characters, differences

DOCS = Path(__file__).parents[2] / "docs"
CONTRACT_PAGE = (DOCS / "wire-contract-v1.md").read_text(encoding="utf-8")
EXTENSION_PAGE = (DOCS / "extensions.md").read_text(encoding="utf-8")

TYPE_WORDS = re.compile(
    r"(array of )*(any|boolean|integer|number|object( of (string|integer))?|string|name|label|url|path|sha256|`[^`]+`)"
    r"(, \d+ (or more|to \d+)| or `[^`]+`| or object| or string| or null|, up to \d+| members)*"
)
MULTIPLES = {"KiB": 1024, "MiB": 1024**2, "characters": 1}


def drift(text: str) -> list[str]:
    """What differs between a version of the contract's page and the code."""
    malformed = ((number, "invalid_request") for number in (e.PARSE_ERROR, e.INVALID_ENVELOPE, e.METHOD_NOT_FOUND))
    return differences(
        parse(text),
        operations=CONTRACT,
        errors=[spec for spec in e.ERRORS.values() if spec.origin == "contract"],
        numbers=[*malformed, *_numbers("contract")],
        shapes={"wire-error": e.WireError},
    )


def extension_drift(text: str) -> list[str]:
    return differences(
        parse(text),
        operations=EXTENSIONS,
        errors=[spec for spec in e.ERRORS.values() if spec.origin == "extension"],
        numbers=_numbers("extension"),
        shapes={},
    )


def _numbers(origin: str) -> list[tuple[int, str]]:
    return [(number, code) for code, number in e.CHANNEL_NUMBERS.items() if e.ERRORS[code].origin == origin]


def test_the_contract_page_says_what_the_code_says() -> None:
    assert drift(CONTRACT_PAGE) == []


def test_the_extension_page_says_what_the_code_says() -> None:
    assert extension_drift(EXTENSION_PAGE) == []


def test_the_contract_has_forty_operations() -> None:
    assert len(parse(CONTRACT_PAGE).operations) == 40


def test_the_extension_page_says_of_each_operation_whether_a_flow_may_call_it() -> None:
    assert {text.name: text.in_flow for text in parse(EXTENSION_PAGE).operations} == {
        name: name == "service.info" for name in EXTENSIONS
    }


def test_the_limits_of_the_wire_are_those_of_the_page() -> None:
    limits = parse(CONTRACT_PAGE).limits
    in_code = {
        "bytes in a line, its newline not counted": MAX_LINE_BYTES,
        "bytes in a line that is searched for repeated keys": MAX_DUPLICATE_SCAN_BYTES,
        "characters in an error message": e.MAX_MESSAGE_CHARS,
    }
    said = {}
    for name in in_code:
        number, unit = (limits[name] + " characters").split()[:2]
        said[name] = int(number) * MULTIPLES[unit]
    assert said == in_code


def test_the_text_types_of_the_page_have_the_lengths_of_the_code() -> None:
    types = parse(CONTRACT_PAGE).types
    assert set(types) == set(TEXTS)
    for word, (least, most, _) in TEXTS.items():
        if most is not None:
            assert characters(types[word]) == (least or 0, most), word
    assert characters(types["sha256"]) == (64, 64)


@pytest.mark.parametrize("page", [CONTRACT_PAGE, EXTENSION_PAGE], ids=["contract", "extensions"])
def test_every_field_has_a_type_from_the_vocabulary(page: str) -> None:
    document = parse(page)
    rows = [
        row for text in document.operations for table in (text.parameters, *text.results, text.later) for row in table
    ]
    rows += [row for table in document.shapes.values() for row in table]
    assert [f"{row.path}: {row.type}" for row in rows if not TYPE_WORDS.fullmatch(row.type)] == []


@pytest.mark.parametrize("name", ["wire-contract-v1.md", "extensions.md", "for-local-apps.md"])
def test_every_link_leads_somewhere(name: str) -> None:
    page = DOCS / name
    broken = []
    for target in parse(page.read_text(encoding="utf-8")).links:
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and anchor not in _anchors(file)):
            broken.append(target)
    assert broken == []


def _anchors(file: Path) -> frozenset[str]:
    return parse(file.read_text(encoding="utf-8")).anchors


# --- the comparison can fail ---


def section(name: str, page: str = CONTRACT_PAGE) -> str:
    """The part of a page from an operation's heading to the next heading."""
    start = page.index(f"### `{name}` (")
    return page[start : page.index("\n#", start + 1) + 1]


def planted(name: str, old: str, new: str) -> str:
    """The contract's page with one thing changed inside an operation's section."""
    part = section(name)
    assert part.count(old) == 1, f"{old!r} stands {part.count(old)} times under {name}"
    return CONTRACT_PAGE.replace(part, part.replace(old, new))


def error_row(code: str, old: str, new: str) -> str:
    """The contract's page with one cell of the error table changed."""
    row = next(line for line in CONTRACT_PAGE.splitlines() if line.startswith(f"| `{code}` | "))
    assert row.count(old) == 1, f"{old!r} stands {row.count(old)} times in the row of {code}"
    return CONTRACT_PAGE.replace(row, row.replace(old, new))


def without(part: str) -> str:
    assert CONTRACT_PAGE.count(part) == 1
    return CONTRACT_PAGE.replace(part, "")


EXTRA_OPERATION = """### `lanes.polish` (mutate)

Served: no

Parameters: none.

Result

| Field | Type | Meaning |
|---|---|---|
| `shine` | number | how much |

Errors: `invalid_request`.

"""
SECOND_RESULT = section("model.status").partition("Result of a model\n")[2].partition("Result of a download\n")[0]
EXTRA_ERROR = "| `too_shiny` | semantic | permanent | no | – | none | Nothing helps |\n"
FIRST_ERROR = "| `invalid_request` | channel or semantic |"

PLANTED = {
    "an operation is missing": (without(section("models.list")), ["models.list: only in the code"]),
    "an operation is too many": (
        CONTRACT_PAGE.replace("### Pause status", EXTRA_OPERATION + "### Pause status"),
        ["lanes.polish: only in the document"],
    ),
    "two operations changed places": (
        without(section("probe.report")).replace("### `probe.start`", section("probe.report") + "### `probe.start`"),
        ["probe.report: out of the registry's order"],
    ),
    "the kind changed": (
        CONTRACT_PAGE.replace("### `model.unload` (mutate)", "### `model.unload` (query)"),
        ["model.unload: is query in the document and mutate in the code"],
    ),
    "it is served": (
        planted("microllm.oneshot", "Served: no", "Served: yes"),
        ["microllm.oneshot: is served in the document and not served in the code"],
    ),
    "it isn't served": (
        planted("embed.query", "Served: yes", "Served: no"),
        ["embed.query: is not served in the document and served in the code"],
    ),
    "a parameter was renamed": (
        planted("embed.query", "| `text` |", "| `texts` |"),
        [
            "embed.query parameters: `text` is only in the code",
            "embed.query parameters: `texts` is only in the document",
        ],
    ),
    "a parameter inside an array was renamed": (
        planted("embed.batch", "| `items[].id` |", "| `items[].key` |"),
        [
            "embed.batch parameters: `items[].id` is only in the code",
            "embed.batch parameters: `items[].key` is only in the document",
        ],
    ),
    "a parameter became optional": (
        planted(
            "model.load",
            "| `task` | `embed` or `rerank` or `generate` | yes |",
            "| `task` | `embed` or `rerank` or `generate` | no |",
        ),
        ["model.load parameters: `task` is optional in the document and required in the code"],
    ),
    "a choice was dropped": (
        planted("model.load", "`mean` or `cls` or `last`", "`mean` or `cls`"),
        [
            "model.load parameters: `pooling` is '`cls` or `mean`' in the document "
            "and '`cls` or `last` or `mean`' in the code"
        ],
    ),
    "a bound changed": (
        planted("model.load", "1 to 1048576", "1 to 65536"),
        [
            "model.load parameters: `max_tokens` is 'integer, 1 to 65536' in the document "
            "and 'integer, 1 to 1048576' in the code"
        ],
    ),
    "a shared constraint was renamed": (
        CONTRACT_PAGE.replace("| `required_epoch` | integer", "| `epoch` | integer"),
        [
            "embed.query parameters: `required_epoch` is only in the code",
            "embed.query parameters: `epoch` is only in the document",
            "embed.batch parameters: `required_epoch` is only in the code",
            "embed.batch parameters: `epoch` is only in the document",
            "rerank.score parameters: `required_epoch` is only in the code",
            "rerank.score parameters: `epoch` is only in the document",
        ],
    ),
    "unknown members are tolerated": (
        planted("probe.start", "Parameters\n", "Parameters\n\nUnknown members are ignored.\n"),
        ["probe.start: the document and the code disagree on unknown members"],
    ),
    "a result was renamed": (
        planted("model.unload", "| `fingerprint` |", "| `lane_fingerprint` |"),
        [
            "model.unload result: `fingerprint` is only in the code",
            "model.unload result: `lane_fingerprint` is only in the document",
        ],
    ),
    "a result may be absent": (
        planted("model.load", "| `state` |", "| `state?` |"),
        ["model.load result: `state` is optional in the document and required in the code"],
    ),
    "a result may be null": (
        planted("probe.start", "| `job_id` | string |", "| `job_id` | string or null |"),
        ["probe.start result: `job_id` is 'string or null' in the document and 'string' in the code"],
    ),
    "one of several results is missing": (
        planted("model.status", "Result of a model\n" + SECOND_RESULT, ""),
        ["model.status: has 2 results in the document and 3 in the code"],
    ),
    "a produced member is announced for later": (
        planted("embed.result", "| `provider_request_ids?` |", "| `state` |"),
        ["embed.result result: `state` is produced, and the document says not yet"],
    ),
    "an operation lists a code that doesn't exist": (
        planted("models.remove", "`model_in_use`, `store_failure`", "`model_in_use`, `shop_failure`"),
        ["models.remove: lists the unknown error `shop_failure`"],
    ),
    "a code is missing": (
        "\n".join(line for line in CONTRACT_PAGE.splitlines() if not line.startswith("| `lane_paused` |")),
        ["error `lane_paused`: only in the code"],
    ),
    "a code is too many": (
        CONTRACT_PAGE.replace(FIRST_ERROR, EXTRA_ERROR + FIRST_ERROR),
        ["error `too_shiny`: only in the document"],
    ),
    "a class changed": (
        error_row("queue_full", "| transient |", "| permanent |"),
        ["error `queue_full`: class is permanent in the document and transient in the code"],
    ),
    "the retry time changed": (
        error_row("download_failed", "| 1000 |", "| 2000 |"),
        ["error `download_failed`: retry_after_ms is 2000 in the document and 1000 in the code"],
    ),
    "the retry time vanished": (
        error_row("model_loading", "| 250 |", "| – |"),
        ["error `model_loading`: retry_after_ms is None in the document and 250 in the code"],
    ),
    "repeating became safe": (
        error_row("deadline_exceeded", "| no |", "| yes |"),
        ["error `deadline_exceeded`: safe to retry is True in the document and False in the code"],
    ),
    "the level changed": (
        error_row("overloaded", "| channel |", "| semantic |"),
        ["error `overloaded`: level is {semantic} in the document and {channel} in the code"],
    ),
    "a member of details was renamed": (
        error_row("unknown_model", "`{model_id}`", "`{model}`"),
        ["error `unknown_model`: details is {{model}} in the document and {{model_id}} in the code"],
    ),
    "details may be missing": (
        error_row("shape_compiling", "`{lane_id, shape}`", "`{lane_id, shape}` or none"),
        [
            "error `shape_compiling`: details is {{lane_id, shape}, {}} in the document "
            "and {{lane_id, shape}} in the code"
        ],
    ),
    "a number changed": (
        CONTRACT_PAGE.replace("| -32001 |", "| -32009 |"),
        [
            "number -32009 for `flow_scope_refused` is only in the document",
            "number -32001 for `flow_scope_refused` is only in the code",
        ],
    ),
    "the wire error lost a member": (
        without(next(line for line in CONTRACT_PAGE.splitlines(True) if line.startswith("| `retry_after_ms?` |"))),
        ["#wire-error: `retry_after_ms` is only in the code"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), PLANTED.values(), ids=PLANTED.keys())
def test_a_planted_drift_is_found_and_nothing_else(text: str, expected: list[str]) -> None:
    assert drift(text) == expected


def test_a_flow_rule_that_drifts_is_found() -> None:
    part = section("service.info", EXTENSION_PAGE)
    text = EXTENSION_PAGE.replace(part, part.replace("On a flow: yes", "On a flow: no"))
    assert extension_drift(text) == ["service.info: the document and the code disagree on flows"]


def test_an_operation_that_the_code_gains_is_found() -> None:
    gained = {**CONTRACT, "lanes.polish": Operation("lanes.polish", "mutate")}
    found = differences(parse(CONTRACT_PAGE), operations=gained, errors=(), numbers=(), shapes={})
    assert found[0] == "lanes.polish: only in the code"


# --- the form is not negotiable ---


def _page(body: str) -> Document:
    return parse(f"## Things\n\n### `a.b` (query)\n\n{body}\n")


RESULT = "Result\n\n| Field | Type | Meaning |\n|---|---|---|\n| `x` | string | it |\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"Parameters: none.\n\n{RESULT}\nErrors: `invalid_request`.", "a.b doesn't say whether it is served"),
        (f"Served: maybe\n\nParameters: none.\n\n{RESULT}\nErrors: none", "'Served: ' is followed by yes or no"),
        (f"Served: no\n\n{RESULT}\nErrors: none", "a.b says nothing about its parameters"),
        ("Served: no\n\nParameters: none.\n\nErrors: none", "a.b has no result"),
        (f"Served: no\n\nParameters: none.\n\n{RESULT}", "a.b doesn't say which errors it answers with"),
        (f"Served: no\n\nParameters: none.\n\n{RESULT.replace('Result', 'Outcome')}", "has no label"),
        (f"Served: no\n\nParameters: none.\n\n{RESULT.replace('| it |', '|')}", "2 cells under 3 columns"),
        (f"Served: no\n\nParameters: none.\n\n{RESULT.replace('`x`', 'x')}", "the field 'x' is neither a name nor"),
        (
            f"Served: no\n\nParameters: none.\n\n{RESULT.replace('`x`', '[x](#y)')}",
            "no table of fields under the heading #y",
        ),
        (f"Served: no\n\nParameters: none.\n\n{RESULT}| `x` | string | again |\n", "a.b: x stands twice in one table"),
        (f"Served: no\n\n{RESULT.replace('Result', 'Parameters')}", "the columns don't belong under 'Parameters'"),
        (
            "Served: no\n\nParameters\n\n"
            "| Field | Type | Required | Meaning |\n|---|---|---|---|\n| `x` | name | perhaps | it |\n",
            "whether x is required is said with yes or no",
        ),
        ("| Field | Kind | Meaning |\n|---|---|---|\n| `x` | string | it |", "a field table has the columns"),
    ],
)
def test_a_page_out_of_form_is_refused(body: str, message: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(message)):
        _page(body)


def test_fenced_lines_are_not_read() -> None:
    document = _page(
        f"Served: no\n\n```\n# no heading\n| no | table |\n```\n\nParameters: none.\n\n{RESULT}\nErrors: `a`."
    )
    assert [text.errors for text in document.operations] == [frozenset({"a"})]


def test_anchors_are_those_of_a_rendered_page() -> None:
    assert anchor_of("`embed.query` (query)") == "embedquery-query"
    assert anchor_of("Request constraints") == "request-constraints"
