"""Credentials: named, never written; resolved late; shown to nothing."""

from __future__ import annotations

import copy
import pickle

import msgspec
import pytest

from synapse_models.credentials import NO_CREDENTIAL, CredentialRef, EnvironmentResolver, Secret
from synapse_models.errors import MAX_EXCERPT_CHARS, AuthenticationFailed, redacted
from synapse_models.policy import ConnectionIdentity, origin_of

CANARY = "sk-canary-0123456789"


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("none", "none", ""),
        ("env:OPENAI_API_KEY", "env", "OPENAI_API_KEY"),
        ("keyring:work/openai", "keyring", "work/openai"),
    ],
)
def test_a_reference_reads_back_as_it_was_written(text: str, kind: str, name: str) -> None:
    ref = CredentialRef.parse(text)
    assert (ref.kind, ref.name, str(ref)) == (kind, name, text)


@pytest.mark.parametrize(
    "text", [CANARY, "", "env:", "env:1X", "env:A B", "keyring:", "file:/etc/passwd", "None", "env:A\n"]
)
def test_anything_else_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ValueError, match="keyring:NAME, env:NAME or none") as caught:
        CredentialRef.parse(text)
    assert CANARY not in str(caught.value)


def test_a_secret_shows_itself_to_reveal_alone() -> None:
    secret = Secret(CANARY)
    assert secret.reveal() == CANARY
    assert secret == Secret(CANARY)
    for shown in (repr(secret), str(secret), f"{secret}", f"{secret!s:>40}", repr([secret]), "%s" % secret):  # noqa: UP031
        assert CANARY not in shown
    for write in (pickle.dumps, copy.copy, msgspec.json.encode):
        with pytest.raises(TypeError):
            write(secret)


async def test_environment_variables_are_resolved_and_nothing_else() -> None:
    resolver = EnvironmentResolver({"KEY": f"  {CANARY}\n", "EMPTY": " "})
    assert await resolver.resolve(NO_CREDENTIAL) is None
    assert await resolver.resolve(CredentialRef.parse("env:KEY")) == Secret(CANARY)
    for ref, said in (("env:EMPTY", "is not set"), ("env:ABSENT", "is not set"), ("keyring:x", "only environment")):
        with pytest.raises(AuthenticationFailed, match=said):
            await resolver.resolve(CredentialRef.parse(ref))


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("key mysecretvalue is wrong", "key [redacted] is wrong"),
        ("Incorrect API key provided: sk-abcd***wxyz.", "Incorrect API key provided: [redacted]"),
        ("Authorization: Bearer abc.def", "Authorization: [redacted]"),
        ("AIzaSyA1234567890abc in use", "[redacted] in use"),
        ("nothing here", "nothing here"),
    ],
)
def test_excerpts_lose_secrets_and_what_looks_like_one(text: str, clean: str) -> None:
    assert redacted(text, ["mysecretvalue", ""]) == clean


def test_the_cut_of_an_excerpt_leaves_no_half_of_a_secret() -> None:
    secret = "Q" * 40
    shown = redacted("x" * (MAX_EXCERPT_CHARS - 20) + secret, [secret])
    assert len(shown) <= MAX_EXCERPT_CHARS
    assert "QQ" not in shown


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://API.example.org/v1", "https://api.example.org"),
        ("https://a:443/", "https://a"),
        ("http://127.0.0.1:8080/v1?x=1", "http://127.0.0.1:8080"),
        ("http://[::1]:80/", "http://[::1]"),
        ("http://a.b./v1", "http://a.b."),
        (f"http://{'a' * 63}.b", f"http://{'a' * 63}.b"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize("url", ["", "api.example.org", "ftp://a", f"https://user:{CANARY}@a/", "https://user@a"])
def test_addresses_with_user_info_or_of_another_scheme_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address must") as caught:
        origin_of(url)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("host", ["a..b", ".x", ".", "a..", "a" * 64, f"b.{'a' * 64}.c"])
def test_a_host_that_has_no_name_is_refused(host: str) -> None:
    with pytest.raises(ValueError, match="address must name a host"):
        origin_of(f"http://{host}/v1")


def test_an_identity_takes_no_secret_in_its_proxy_and_no_path_in_its_origin() -> None:
    with pytest.raises(ValueError, match="user name"):
        ConnectionIdentity(family="http_json", origin="https://a", proxy=f"http://u:{CANARY}@proxy")
    with pytest.raises(ValueError, match="nothing before or after"):
        ConnectionIdentity(family="http_json", origin="https://a/v1")
