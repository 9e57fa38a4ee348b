"""Sixty faults that users reported of other libraries and servers, and the test here that would show each of them.

A fault that only a protocol of a later dialect can have names that dialect; the row must get a test once the dialect
has a binder, and the check at the end sees to it.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from synapse_models.registry import DIALECT_BINDERS
from synapse_models.specs import DIALECT_SPECS

HERE = Path(__file__).parent

REQUESTS = "test_models_openai_chat_requests.py"
REPLIES = "test_models_openai_chat_replies.py"
GUARANTEES = "test_models_openai_chat_guarantees.py"
FRAGMENTS = "test_models_openai_fragments.py"
COMPLETIONS = "test_models_openai_completions_replies.py"
CONTRACT = "test_models_runtime_contract.py"
FOREIGN = "test_models_foreign_dialect.py"
MODEL = "test_models_runtime_model.py"
FAILURES = "test_models_runtime_failures.py"

GOLDEN = f"{REQUESTS}::test_a_leaf_is_on_the_wire_where_and_as_it_should_be"
REFUSED = f"{REQUESTS}::test_a_refused_leaf_is_named_and_nothing_is_sent"
PROFILE = f"{REQUESTS}::test_the_profile_refuses_before_anything_is_sent"
OPTIONS = f"{CONTRACT}::test_options_are_passed_on_or_refused_and_owned_keys_are_always_refused"
TWINS = f"{REPLIES}::test_a_stream_folds_to_what_the_document_says"
FOUND = f"{FRAGMENTS}::test_fragments_find_their_calls"
REPLAY = f"{FOREIGN}::test_provider_items_go_back_byte_for_byte_to_their_own_version_alone"
INCOMPLETE = f"{COMPLETIONS}::test_a_score_that_isn_t_complete_is_an_error_that_names_the_channel"

FAULTS: dict[int, tuple[str, str]] = {
    1: ("an effort is dropped for a model that doesn't reason", PROFILE),
    2: ("the chosen effort isn't on the wire", GOLDEN),
    3: (
        "support is read from a piece of the model's name",
        f"{REQUESTS}::test_an_effort_for_a_model_that_nobody_knows_is_sent",
    ),
    4: (
        "an effort that nobody chose is made up",
        f"{MODEL}::test_a_model_that_isn_t_named_by_the_reply_is_not_made_up",
    ),
    5: ("an effort is gated on known names", f"{REQUESTS}::test_an_effort_for_a_model_that_nobody_knows_is_sent"),
    6: ("an effort is lost when streaming", f"{MODEL}::test_every_way_and_every_try_carries_the_same_leaves"),
    7: ("effort and summary are lost between two protocols", "openai_responses"),
    8: (
        "the token limit is always renamed",
        f"{REQUESTS}::test_the_profile_spells_the_token_limit_and_only_one_spelling_is_sent",
    ),
    9: ("a token limit is made up where the protocol requires one", "anthropic_messages"),
    10: ("stop texts are ignored by one adapter", "google_genai"),
    11: (
        "stop texts are lost on the second converter or the second try",
        f"{MODEL}::test_every_way_and_every_try_carries_the_same_leaves",
    ),
    12: (
        "0.0 is read as unset, and a removed parameter is still sent",
        f"{FOREIGN}::test_the_wire_version_decides_a_leaf",
    ),
    13: ("sampling is sent to a model that rejects it", PROFILE),
    14: ("an unknown option is dropped by one provider and warned of by another", OPTIONS),
    15: ("an unknown option is sent unseen", OPTIONS),
    16: (
        "a 404 about parameters is read as a missing model",
        f"{FAILURES}::test_a_404_means_no_such_model_only_if_it_says_so",
    ),
    17: ("thinking is spelled for the wrong generation of a model", "google_genai"),
    18: ("fewer answers than asked for pass", f"{REPLIES}::test_too_few_answers_are_no_answer"),
    19: ("fragments go to the call that was last seen", FOUND),
    20: ("one index for two calls splices them", FOUND),
    21: ("fragments without an index are lost", FOUND),
    22: ("a call without arguments is a parse error", TWINS),
    23: ("a finish of calls differs between streaming and not", "google_genai"),
    24: ("a finish in the middle cuts the second call off", "google_genai"),
    25: (
        "parallel calls are spliced under load",
        f"{FRAGMENTS}::test_any_interleaving_of_any_pieces_gives_the_calls_back",
    ),
    26: ("an empty id is replaced by an invented one", FOUND),
    27: ("one of two spellings of reasoning isn't read", TWINS),
    28: ("a chunk with reasoning alone is thrown away as empty", TWINS),
    29: (
        "reasoning is there, but not when streaming",
        f"{GUARANTEES}::test_what_was_asked_for_is_there_or_the_call_fails",
    ),
    30: ("a chunk with reasoning and text loses the text", TWINS),
    31: ("raw reasoning beside an empty summary is lost", "openai_responses"),
    32: ("provider state of another dialect is dropped", REFUSED),
    33: ("a seal on a turn is dropped", REPLAY),
    34: ("the order of a turn's items changes", REPLAY),
    35: ("a turn is replayed in part", "anthropic_messages"),
    36: ("an item without a seal gets one, or is dropped", REPLAY),
    37: ("a seal on a part is lost", "google_genai"),
    38: ("items that belong together come apart", "openai_responses"),
    39: ("an empty list is stripped from a replayed item", REPLAY),
    40: ("encrypted reasoning is taken before it is whole", "openai_responses"),
    41: ("the phase of a message is lost on replay", "openai_responses"),
    42: ("scores of generated tokens alone are taken for the input's", INCOMPLETE),
    43: ("an empty slice of scores sums to zero", f"{COMPLETIONS}::test_a_score_alone_has_no_generated_text"),
    44: (
        "text offsets move the boundary of a streamed score",
        f"{COMPLETIONS}::test_a_streamed_score_is_the_same_score",
    ),
    45: ("scored tokens don't spell the input", INCOMPLETE),
    46: ("a cached prompt is scored in part", f"{COMPLETIONS}::test_vllm_s_scores_are_complete_or_an_error"),
    47: ("the token at the boundary has no score", "sglang_native"),
    48: ("scores are sliced at the wrong place", "sglang_native"),
    49: ("tokens that look alike collapse", f"{REPLIES}::test_logprobs_keep_bytes_ids_and_look_alikes"),
    50: ("log-probabilities are asked for and thrown away", "openai_responses"),
    51: (
        "log-probabilities of a refusal mix with those of the text",
        f"{REPLIES}::test_logprobs_of_a_refusal_stay_apart",
    ),
    52: ("thinking is added to the wrong side of the total", "google_genai"),
    53: ("cached tokens are counted twice", f"{REPLIES}::test_usage_in_every_shape_and_absent_is_not_zero"),
    54: ("a last chunk without choices loses the usage", TWINS),
    55: ("of several system messages the last wins", GOLDEN),
    56: ("images are dropped or made text, in tool results too", REFUSED),
    57: ("an image type is sent by a name that isn't registered", GOLDEN),
    58: ("a blocked prompt is an empty success", "google_genai"),
    59: ("a failed stream is an empty success", "openai_responses"),
    60: ("a prefill is sent to a model that rejects it", REFUSED),
}


def test_no_number_is_missing() -> None:
    assert sorted(FAULTS) == list(range(1, 61))


@pytest.mark.parametrize("number", FAULTS)
def test_a_fault_has_a_test_or_a_dialect_that_is_still_to_come(number: int) -> None:
    _, where = FAULTS[number]
    file, _, name = where.partition("::")
    if not name:
        assert file in DIALECT_SPECS
        assert file not in DIALECT_BINDERS, f"{file} can be executed now, so this needs a test"
        return
    functions = {
        node.name
        for node in ast.parse((HERE / file).read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert name in functions
