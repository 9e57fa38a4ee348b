"""Decisions on leaves, guarantees of channels, and the checks that every reply has to pass."""

from __future__ import annotations

from typing import Any

import pytest

from synapse_models.audit import (
    LeafDecision,
    RequestAudit,
    at_pointer,
    consumed,
    noop,
    passed_through,
    rejected,
)
from synapse_models.checks import CHECKS, run_checks
from synapse_models.contract import (
    CHANNELS,
    Guarantee,
    OutputRule,
    choice_conflicts,
    missing_channels,
    partial_channels,
    requested_channels,
)
from synapse_models.parts import ToolCallPart
from synapse_models.plans import DeferredCheck
from synapse_models.request import NamedFunction
from synapse_models.response import (
    Choice,
    InputScoring,
    InputToken,
    Reasoning,
    Refusal,
    Response,
    SessionState,
    StructuredOutput,
    TokenAlternative,
    TokenLogprob,
    Usage,
)

# --- the audit ------------------------------------------------------------------------------------------------------


def audited(active: dict[str, Any], decisions: dict[str, LeafDecision], body: Any) -> tuple[str, ...]:
    audit = RequestAudit(active)
    for path, decision in decisions.items():
        audit.record(path, decision)
    return audit.faults(body)


def test_each_of_the_four_decisions_accounts_for_its_leaf() -> None:
    active = {"a": 1, "b": {"x": [1.0, None]}, "c": 3, "d": 4, "e": 5}
    decisions = {
        "a": consumed("/sampling/t"),
        "b": passed_through("/extra"),
        "c": noop("the provider does this anyway"),
        "d": rejected("no such key"),
        "e": consumed("@path"),
    }
    assert audited(active, decisions, {"sampling": {"t": "one"}, "extra": {"x": [1.0, None]}}) == ()


def test_a_leaf_without_a_decision_is_a_fault() -> None:
    assert audited({"a": 1, "b": 2}, {"b": noop("x")}, {}) == ("a: no decision",)


def test_a_second_decision_is_a_fault() -> None:
    audit = RequestAudit({"a": 1})
    audit.record("a", noop("x"))
    audit.record("a", noop("x"))
    assert audit.faults({}) == ("a: decided twice",)


def test_a_decision_on_what_was_not_asked_is_a_fault() -> None:
    assert audited({}, {"a": noop("x")}, {}) == ("a: decided, but the request doesn't have it",)


def test_a_value_that_is_claimed_on_the_wire_must_be_there() -> None:
    decisions = {"a": consumed("/messages/1/name")}
    assert audited({"a": 1}, decisions, {"messages": [{}]}) == (
        "a: said to be at /messages/1/name, which the body lacks",
    )
    assert audited({"a": 1}, decisions, {"messages": [{}, {"name": None}]}) == ()


@pytest.mark.parametrize(("sent", "value"), [(1, True), (1.0, 1), ([1], [1, 2]), ({"a": 1}, {"a": 2}), ("1", 1)])
def test_a_value_that_is_passed_through_must_be_unchanged(sent: Any, value: Any) -> None:
    assert audited({"a": value}, {"a": passed_through("/k")}, {"k": sent}) == (
        "a: passed through to /k, and changed on the way",
    )
    assert audited({"a": value}, {"a": passed_through("/k")}, {"k": value}) == ()


def test_rejections_come_in_the_requests_order_with_their_reasons() -> None:
    audit = RequestAudit({"a": 1, "b": 2, "c": 3})
    audit.record("c", rejected("no c"))
    audit.record("a", rejected("no a"))
    audit.record("b", noop("x"))
    assert audit.rejections == (("a", "no a"), ("c", "no c"))


@pytest.mark.parametrize("wire_path", ["temperature", "/reasoning/*", ""])
def test_a_wire_path_is_one_place(wire_path: str) -> None:
    with pytest.raises(ValueError, match="neither a JSON pointer"):
        consumed(wire_path)


def test_the_name_of_what_is_passed_through_may_hold_a_star() -> None:
    active = {"a": 1}
    assert audited(active, {"a": passed_through("/a*b")}, {"a*b": 1}) == ()
    assert audited(active, {"a": passed_through("/*")}, {"b": 1}) == ("a: said to be at /*, which the body lacks",)


def test_pointers_follow_their_escapes() -> None:
    assert at_pointer({"a/b": {"c~d": [7]}}, "/a~1b/c~0d/0") == (True, 7)
    assert at_pointer({"a": [7]}, "/a/-1") == (False, None)
    assert at_pointer({"a": "text"}, "/a/0") == (False, None)


# --- channels -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "reasoning.effort",
        "tools.functions",
        "structured_output.format",
        "scoring.sampled_logprobs",
        "scoring.top_logprobs",
        "session.previous_response_id",
        "input.provider_items",
    ],
)
def test_what_is_indexed_by_choice_goes_with_several_answers(path: str) -> None:
    assert choice_conflicts({"sampling.n": 4, path: True}) == ()


@pytest.mark.parametrize("path", ["scoring.input_scoring", "tools.hosted"])
def test_what_is_there_once_does_not_go_with_several_answers(path: str) -> None:
    assert choice_conflicts({path: True, "sampling.n": 2}) == (path,)
    assert choice_conflicts({path: True}) == ()


def test_only_what_was_asked_for_may_be_missed() -> None:
    assert requested_channels({"reasoning.effort": "high", "tools.functions": (), "tools.choice": "auto"}) == set()
    assert requested_channels(
        {
            "reasoning.summary": "auto",
            "scoring.input_scoring": True,
            "scoring.sampled_logprobs": True,
            "tools.choice": NamedFunction(name="f"),
            "structured_output.format": "json_object",
        }
    ) == {"reasoning", "input_scoring", "logprobs", "tool_calls", "structured_output"}
    assert requested_channels({"reasoning.summary": "none", "tools.choice": "none"}) == set()


RULES = {name: OutputRule(guarantee=Guarantee.PRESENT_OR_ERROR) for name in CHANNELS}


def test_a_required_channel_is_there_in_every_answer_or_the_call_fails() -> None:
    response = Response(choices=(Choice(index=0, reasoning=Reasoning(text="")), Choice(index=1)))
    assert missing_channels(frozenset({"reasoning"}), RULES, response) == (
        ("reasoning", "choice 1: asked for and not there"),
    )


def test_a_refused_choice_owes_nothing_and_its_neighbour_does() -> None:
    response = Response(choices=(Choice(index=0, refusal=Refusal(kind="model")), Choice(index=1)))
    assert missing_channels(frozenset({"tool_calls"}), RULES, response) == (
        ("tool_calls", "choice 1: asked for and not there"),
    )


def test_a_blocked_prompt_owes_nothing_and_an_empty_reply_is_no_success() -> None:
    blocked = Response(choices=(), refusal=Refusal(kind="prompt_blocked"))
    required = frozenset({"text", "input_scoring"})
    assert missing_channels(required, RULES, blocked) == ()
    assert ("text", "the reply has no choice at all") in missing_channels(required, RULES, Response(choices=()))


def test_a_null_answer_is_there() -> None:
    response = Response(choices=(Choice(index=0, structured_output=StructuredOutput(value=None)),))
    assert missing_channels(frozenset({"structured_output"}), RULES, response) == ()


SAMPLED = {"scoring.sampled_logprobs": True}


@pytest.mark.parametrize("text", ["", "a"])
def test_no_log_probabilities_are_those_of_no_text(text: str) -> None:
    response = Response(choices=(Choice(index=0, logprobs=()), Choice(index=1, text=text, logprobs=())))
    fault = ("logprobs", "choice 1: 0 tokens have one, and the text goes beyond them")
    assert partial_channels(SAMPLED, response) == ((fault,) if text else ())
    # A server may repeat what the request had begun, and end there.
    assert partial_channels({**SAMPLED, "input.prefill": text}, response) == ()


GONE = "choice 0: 1 tokens have one, and the text goes beyond them"


def spelled(text: str, *pieces: str | bytes, **more: Any) -> Choice:
    tokens = tuple(
        TokenLogprob(token=piece, logprob=-1.0)
        if isinstance(piece, str)
        else TokenLogprob(token="?", logprob=-1.0, token_bytes=piece)
        for piece in pieces
    )
    return Choice(index=0, text=text, logprobs=tokens, **more)


@pytest.mark.parametrize(
    ("choice", "usage", "fault"),
    [
        (spelled("hello there", "hello", " there"), None, None),
        (spelled("hello there", "hello"), None, GONE),
        (spelled("hello there", " there"), Usage(output_tokens=2), GONE),
        (spelled("hello there", "hello"), Usage(output_tokens=0), GONE),
        (spelled("a-b-c", "a", "c"), None, "choice 0: 2 tokens have one, and the text goes beyond them"),
        (spelled("a😀", b"a", b"\xf0\x9f", b"\x98\x80"), Usage(output_tokens=9), None),
        (spelled("a😀b", b"a", b"\xf0\x9f", b"b"), None, "choice 0: 3 tokens have one, and the text goes beyond them"),
        # The usage counts the token that ended the answer, or thinking that isn't shown; nothing of the text is lost.
        (spelled("hello there", "hello", " there"), Usage(output_tokens=3), None),
        (spelled("hello there", "hello", " there"), Usage(output_tokens=90), None),
        # White space that a server cuts from the ends of an answer, or from each of its tokens.
        (spelled("hello there", " hello", " there", "\n"), Usage(output_tokens=4), None),
        (spelled("hello there", "hello", "there"), Usage(output_tokens=3), None),
        # As many as were generated: what more there is of a text was not.
        (spelled("[1] hello", " hello"), Usage(output_tokens=1), None),
        # Spelled otherwise than the text: the usage tells.
        (spelled("hello there", "Ġhello", "Ġthere"), Usage(output_tokens=3), None),
        (spelled("hello there", "Ġhello"), Usage(output_tokens=3), "choice 0: 1 tokens have one, and 3 were generated"),
        (spelled("hello there", "Ġhello"), None, None),
        (spelled("a😀b", "a", "�", "", "b"), Usage(output_tokens=5), None),
        (spelled("a😀b", "a", "", "b"), None, None),
        # One entry for a character of several tokens, and one without text for the end of the answer.
        (spelled("hi 😀", "hi", " ", "😀", ""), Usage(output_tokens=7), None),
        (spelled("hello there", "hello", " there", "<|end|>"), Usage(output_tokens=7), None),
        # Cut within a character.
        (spelled("hi\ufffd", "hi"), Usage(output_tokens=3), None),
        (spelled("hello", "Ġhello", reasoning=Reasoning(text="x")), Usage(output_tokens=9), None),
        (
            spelled("hello", "Ġhello", tool_calls=(ToolCallPart(name="f", arguments_text=""),)),
            Usage(output_tokens=9),
            None,
        ),
        (spelled("hello", "Ġhello"), Usage(output_tokens=9, reasoning_tokens=7), None),
        (spelled("hello there", "hello", refusal=Refusal(kind="model")), None, None),
    ],
)
def test_log_probabilities_of_a_part_of_the_text_are_told_from_those_of_all_of_it(
    choice: Choice, usage: Usage | None, fault: str | None
) -> None:
    response = Response(choices=(choice,), usage=usage)
    assert partial_channels(SAMPLED, response) == (() if fault is None else (("logprobs", fault),))
    assert partial_channels({}, response) == ()


def test_what_a_request_had_begun_or_stops_at_has_no_log_probabilities_to_miss() -> None:
    begun = Response(choices=(spelled("hello there", " there"),))
    assert partial_channels({**SAMPLED, "input.prefill": "hello"}, begun) == ()
    stopped = Response(choices=(spelled("hello", "Ġhello"),), usage=Usage(output_tokens=4))
    assert partial_channels({**SAMPLED, "sampling.stop": ("END",)}, stopped) == ()


def test_an_empty_list_of_calls_is_not_a_call() -> None:
    response = Response(choices=(Choice(index=0, tool_calls=()),))
    assert len(missing_channels(frozenset({"tool_calls"}), RULES, response)) == 1
    assert missing_channels(frozenset(), RULES, response) == ()


def test_a_validator_sees_what_is_there_whether_required_or_not() -> None:
    rules = {
        **RULES,
        "usage": OutputRule(guarantee=Guarantee.BEST_EFFORT, validator=lambda usage: "negative" if usage else None),
    }
    response = Response(choices=(Choice(index=0),), usage=Usage(input_tokens=-1))
    assert missing_channels(frozenset(), rules, response) == (("usage", "negative"),)


def test_a_channel_that_never_comes_is_a_fault_when_it_does() -> None:
    rules = {**RULES, "logprobs": OutputRule(guarantee=Guarantee.NEVER)}
    response = Response(choices=(Choice(index=0, logprobs=()),))
    assert missing_channels(frozenset(), rules, response) == (
        ("logprobs", "choice 0: there, though this dialect never has it"),
    )


# --- checks of replies ----------------------------------------------------------------------------------------------


def scored(*logprobs: float | None, counted: int | None) -> Response:
    tokens = tuple(InputToken(token="t", logprob=value) for value in logprobs)
    return Response(
        choices=(Choice(index=0),), input_scoring=InputScoring(tokens=tokens), usage=Usage(input_tokens=counted)
    )


SCORE = {"scoring.input_scoring": True}


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (scored(None, -1.0, -2.0, counted=3), None),
        (scored(None, 0.0, 0.0, counted=3), None),
        (scored(-1.0, -1.0, counted=2), None),
        (scored(None, -1.0, counted=3), "2 scores for 3 input tokens"),
        (scored(-1.0, counted=5), "1 scores for 5 input tokens"),
        (scored(None, -1.0, None, counted=3), "no score at input token 2"),
        (scored(None, -1.0, counted=None), "the reply doesn't say how many input tokens there were"),
        (Response(choices=(Choice(index=0),)), "the reply has no scores of the input"),
        (Response(choices=(), refusal=Refusal(kind="prompt_blocked")), None),
    ],
)
def test_input_scores_are_complete_or_an_error(response: Response, expected: str | None) -> None:
    fault = CHECKS["response.input_scores_complete"](SCORE, {}, response)
    assert fault is None if expected is None else fault is not None and fault.startswith(expected)


def with_alternatives(*counts: int) -> Response:
    other = TokenAlternative(token="o", logprob=-1.0)
    tokens = tuple(TokenLogprob(token="t", logprob=-1.0, alternatives=(other,) * count) for count in counts)
    return Response(choices=(Choice(index=0, logprobs=tokens),))


def test_each_position_has_as_many_alternatives_as_the_floor() -> None:
    check = CHECKS["response.top_logprobs_breadth"]
    floors = {"top_logprobs": {"minimum": 3}}
    asked = {"scoring.top_logprobs": 5}
    assert check(asked, floors, with_alternatives(3, 4)) is None
    assert check(asked, floors, with_alternatives(3, 2)) == "choice 0, token 1 has 2 alternatives, and 3 are needed"
    assert check(asked, {}, with_alternatives(4)) == "choice 0, token 0 has 4 alternatives, and 5 are needed"
    assert check({"scoring.top_logprobs": 0}, floors, with_alternatives(0)) is None


def test_fewer_alternatives_are_enough_where_there_are_no_more_candidates() -> None:
    check = CHECKS["response.top_logprobs_breadth"]

    def offered(*logprobs: float) -> Response:
        others = tuple(TokenAlternative(token="o", logprob=logprob) for logprob in logprobs)
        return Response(
            choices=(Choice(index=0, logprobs=(TokenLogprob(token="t", logprob=0.0, alternatives=others),)),)
        )

    asked = {"scoring.top_logprobs": 3}
    assert check(asked, {}, offered(0.0)) is None
    assert check(asked, {}, offered(-0.69315, -0.69315)) is None
    assert check(asked, {}, offered()) == "choice 0, token 0 has 0 alternatives, and 3 are needed"
    assert check(asked, {}, offered(-0.01)) == "choice 0, token 0 has 1 alternatives, and 3 are needed"
    assert check(asked, {}, offered(1000.0, 0.0)) == "choice 0, token 0 has 2 alternatives, and 3 are needed"


def test_the_first_input_token_has_no_alternatives_to_miss() -> None:
    check = CHECKS["response.top_logprobs_breadth"]
    assert check({"scoring.top_logprobs": 1}, {}, scored(None, counted=1)) is None
    assert check({"scoring.top_logprobs": 1}, {}, scored(None, -1.0, counted=2)) is not None


@pytest.mark.parametrize(
    ("active", "choice", "usage", "good"),
    [
        ({"reasoning.effort": "high"}, Choice(index=0, reasoning=Reasoning(text="x")), None, True),
        ({"reasoning.effort": "high"}, Choice(index=0), Usage(reasoning_tokens=9), True),
        ({"reasoning.effort": "high"}, Choice(index=0), Usage(reasoning_tokens=0), False),
        ({"reasoning.effort": "high"}, Choice(index=0), None, False),
        ({"reasoning.effort": "none"}, Choice(index=0), None, True),
        ({"reasoning.budget_tokens": 0}, Choice(index=0), None, True),
        ({"reasoning.budget_tokens": 9}, Choice(index=0), None, False),
        ({"reasoning.summary": "auto"}, Choice(index=0), Usage(reasoning_tokens=9), False),
        ({"reasoning.effort": "high"}, Choice(index=0, refusal=Refusal(kind="model")), None, True),
        ({}, Choice(index=0), None, True),
    ],
)
def test_thinking_that_was_asked_for_shows(
    active: dict[str, Any], choice: Choice, usage: Usage | None, good: bool
) -> None:
    fault = CHECKS["response.reasoning_present"](active, {}, Response(choices=(choice,), usage=usage))
    assert (fault is None) is good


@pytest.mark.parametrize(
    ("name", "active", "good", "bad"),
    [
        ("logprobs_present", {"scoring.sampled_logprobs": True}, Choice(index=0, logprobs=()), Choice(index=0)),
        (
            "structured_output_present",
            {"structured_output.format": "json_object"},
            Choice(index=0, structured_output=StructuredOutput(value=None)),
            Choice(index=0, text="{}"),
        ),
        ("tool_calls_present", {"tools.choice": "auto"}, Choice(index=0), None),
        ("tool_calls_present", {"tools.choice": "required"}, None, Choice(index=0, tool_calls=())),
    ],
)
def test_what_was_asked_of_each_answer_is_there(
    name: str, active: dict[str, Any], good: Choice | None, bad: Choice | None
) -> None:
    check = CHECKS[f"response.{name}"]
    if good is not None:
        assert check(active, {}, Response(choices=(good,))) is None
    if bad is not None:
        assert check(active, {}, Response(choices=(bad,))) is not None
        assert check({}, {}, Response(choices=(bad,))) is None


def test_a_session_that_goes_on_can_go_on_again() -> None:
    check = CHECKS["response.session_present"]
    active = {"session.previous_response_id": "r"}
    assert check(active, {}, Response(choices=())) is not None
    assert check(active, {}, Response(choices=(), session=SessionState(response_id="s"))) is None


def test_tokens_without_text_betray_a_server_without_its_tokenizer() -> None:
    check = CHECKS["response.token_text_present"]
    empty = TokenLogprob(token="", logprob=-1.0, token_id=1)
    assert check({}, {}, Response(choices=(Choice(index=0, logprobs=(empty, empty)),))) is not None
    assert check({}, {}, Response(choices=(Choice(index=0, logprobs=(empty,)),))) is None


def test_a_plans_checks_run_once_each_and_only_those_of_replies() -> None:
    def check(stage: Any, verifier: str, capability: str = "input_scoring") -> DeferredCheck:
        return DeferredCheck(capability=capability, stage=stage, verifier=verifier, reason="", evidence="")

    checks = [
        check("setup", "Engine.verify_deployment"),
        check("request", "response.input_scores_complete"),
        check("request", "response.input_scores_complete"),
    ]
    response = Response(choices=(Choice(index=0),))
    assert run_checks(checks, SCORE, {}, response) == (("input_scoring", "the reply has no scores of the input"),)


def test_alternatives_are_there_whether_a_plan_says_so_or_not_and_counted_where_it_does() -> None:
    asked = {"scoring.top_logprobs": 2}
    none = ("top_logprobs", "choice 0, token 0 has 0 alternatives, and 1 are needed")
    assert run_checks((), asked, {}, with_alternatives(0)) == (none,)
    assert run_checks((), asked, {}, with_alternatives(1)) == ()
    assert run_checks((), {}, {}, with_alternatives(0)) == ()
    fault = ("top_logprobs", "choice 0, token 0 has 1 alternatives, and 2 are needed")
    named = DeferredCheck(
        capability="top_logprobs", stage="request", verifier="response.top_logprobs_breadth", reason="", evidence=""
    )
    assert run_checks((named,), asked, {}, with_alternatives(1)) == (fault,)
