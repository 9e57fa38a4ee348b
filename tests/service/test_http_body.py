"""One body over HTTP: resumed where it broke off, begun anew where that can't be, given up where it must be."""

from __future__ import annotations

import asyncio
import email.utils
import hashlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fixtures.clocks import FakeClock
from fixtures.mirror import TLS, Fault, Mirror, running_mirror
from fixtures.socket_server import until
from synapse_models.credentials import Secret
from synapse_service.catalog import http_body
from synapse_service.catalog.blobs import CHUNK_BYTES, BlobStore, BlobWriter
from synapse_service.catalog.credentials import CredentialTrouble, advice
from synapse_service.catalog.http_body import MAX_RETRIES, BodyFetcher
from synapse_service.catalog.sources import RemoteFile
from synapse_wire.errors import SynapseError

BODY = bytes(range(256)) * 1200
SHA = hashlib.sha256(BODY).hexdigest()
SIX_TENTHS = len(BODY) * 6 // 10


class Desk:
    """A fetcher whose pauses take no time, and everything around it."""

    def __init__(self, store: BlobStore, mirror: Mirror) -> None:
        self.store = store
        self.mirror = mirror
        self.clock = FakeClock()
        self.pauses: list[float] = []
        self.seen: list[int] = []
        self.tokens: dict[str, str] = {}
        self.asked_for: list[str] = []
        self.trouble: str | None = None
        self.proxy: str | None = None
        self.ca_file: str | None = None
        self.writers: list[BlobWriter] = []
        self.fetcher = BodyFetcher(
            store,
            proxy=lambda: self.proxy,
            ca_file=lambda: self.ca_file,
            clock=self.clock,
            credentials=self,
            no_byte_timeout_s=0.3,
            sleep=lambda seconds: self._sleep(seconds),
        )
        mirror.taken = lambda: self.seen[-1] if self.seen else 0

    async def token(self, url: str) -> Secret | None:
        self.asked_for.append(url)
        if self.trouble is not None:
            raise CredentialTrouble(self.trouble)
        text = self.tokens.get(url)
        return None if text is None else Secret(text)

    async def _sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)

    async def fetch(self, path: str = "/m", *, size: int | None = len(BODY), url: str | None = None) -> BlobWriter:
        file = RemoteFile("model.safetensors", url or self.mirror.base + path, size)
        self.writers.append(await self.fetcher.fetch(file, self.seen.append))
        return self.writers[-1]

    async def failure(self, **changes: Any) -> SynapseError:
        with pytest.raises(SynapseError) as caught:
            await self.fetch(**changes)
        assert list(self.store.staging.iterdir()) == []
        return caught.value

    def publish(self, writer: BlobWriter) -> bytes:
        writer.publish("model.safetensors", SHA, len(BODY))
        return self.store.path(SHA).read_bytes()


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with running_mirror() as mirror:
        mirror.files["/m"] = BODY
        yield mirror


@pytest.fixture
def desk(tmp_path: Path, mirror: Mirror) -> Iterator[Desk]:
    store = BlobStore(tmp_path / "cache")
    store.prepare()
    desk = Desk(store, mirror)
    yield desk
    for writer in desk.writers:
        writer.discard()


async def test_a_whole_body_comes_in_one_request_without_compression(desk: Desk) -> None:
    writer = await desk.fetch()
    assert desk.publish(writer) == BODY
    ((_, headers),) = desk.mirror.requests
    assert (headers["Accept-Encoding"], "Range" in headers) == ("identity", False)
    assert desk.seen[-1] == len(BODY)


# --- a part is there ---


async def test_a_broken_body_is_resumed_where_it_broke_off(desk: Desk) -> None:
    desk.mirror.plan["/m"] = ["early_close"]
    writer = await desk.fetch()
    assert desk.publish(writer) == BODY
    assert desk.mirror.asked("/m") == [None, f"bytes={SIX_TENTHS}-"]
    assert desk.mirror.requests[1][1]["If-Range"] == '"v1"'
    assert desk.pauses == [0.5]


async def test_without_a_strong_etag_the_rest_is_asked_for_all_the_same(desk: Desk) -> None:
    desk.mirror.etag = 'W/"weak"'
    desk.mirror.plan["/m"] = ["early_close"]
    assert desk.publish(await desk.fetch()) == BODY
    assert "If-Range" not in desk.mirror.requests[1][1]


@pytest.mark.parametrize("fault", ["ignore_range", "wrong_range", "no_range"])
async def test_a_server_that_gives_no_rest_has_the_file_begun_anew(desk: Desk, fault: Fault) -> None:
    # Goes red without `begin_anew`: the old part would stand before the new bytes.
    desk.mirror.plan["/m"] = ["early_close", fault]
    assert desk.publish(await desk.fetch()) == BODY
    asked = [None, f"bytes={SIX_TENTHS}-"]
    assert desk.mirror.asked("/m") == asked if fault == "ignore_range" else [*asked, None]


async def test_a_rest_of_another_version_is_not_added_to_the_part_that_is_here(desk: Desk) -> None:
    # Goes red without the comparison of ETags: the two halves would be a file that never was.
    desk.mirror.plan["/m"] = ["early_close", "any_version"]
    desk.mirror.files["/m"] = b"x" * len(BODY)

    async def change(seconds: float) -> None:
        desk.mirror.files["/m"], desk.mirror.etag = BODY, '"v2"'

    desk._sleep = change  # type: ignore[method-assign]
    assert desk.publish(await desk.fetch()) == BODY
    assert desk.mirror.asked("/m") == [None, f"bytes={SIX_TENTHS}-", None]


async def test_a_range_with_more_digits_than_any_file_has_is_another_part(desk: Desk) -> None:
    desk.mirror.plan["/m"] = ["early_close", "long_range"]
    assert desk.publish(await desk.fetch()) == BODY
    assert desk.mirror.asked("/m") == [None, f"bytes={SIX_TENTHS}-", None]


async def test_an_etag_that_could_not_be_sent_back_is_none(desk: Desk) -> None:
    desk.mirror.etag = '"\xe9"'
    desk.mirror.plan["/m"] = ["early_close"]
    assert desk.publish(await desk.fetch()) == BODY
    assert [headers.get("If-Range") for _, headers in desk.mirror.requests] == [None, None]


async def test_a_file_that_changed_on_the_server_is_begun_anew(desk: Desk) -> None:
    desk.mirror.plan["/m"] = ["early_close"]
    desk.mirror.files["/m"] = b"x" * len(BODY)

    async def change(seconds: float) -> None:
        desk.mirror.files["/m"], desk.mirror.etag = BODY, '"v2"'

    desk._sleep = change  # type: ignore[method-assign]
    assert desk.publish(await desk.fetch()) == BODY


async def test_all_of_a_file_of_unknown_length_is_there_when_the_server_has_no_more(desk: Desk) -> None:
    # The connection broke after the last byte: the rest that is asked for is empty, and 416 says so.
    desk.mirror.files["/m"] = BODY + b"tail"
    desk.mirror.plan["/m"] = ["early_close"]

    async def shorten(seconds: float) -> None:
        desk.mirror.files["/m"] = BODY[: desk.seen[-1]]

    desk._sleep = shorten  # type: ignore[method-assign]
    writer = await desk.fetch(size=None)
    assert writer.size == desk.seen[-1] == (len(BODY) + 4) * 6 // 10


async def test_the_last_byte_ends_a_file_of_known_length_although_the_reply_broke(desk: Desk) -> None:
    desk.mirror.plan["/m"] = ["early_close"]
    writer = await desk.fetch(size=SIX_TENTHS)
    assert (writer.size, len(desk.mirror.requests)) == (SIX_TENTHS, 1)


async def test_a_connection_that_always_breaks_is_given_up_after_a_few_attempts(desk: Desk) -> None:
    desk.mirror.fault = "early_close"
    error = await desk.failure()
    assert (error.code, error.details) == (
        "download_failed",
        {"file": "model.safetensors", "reason": "network", "http_status": None},
    )
    assert len(desk.mirror.requests) == 1 + MAX_RETRIES
    assert desk.pauses == [0.5, 1.0, 2.0]


async def test_a_good_piece_between_two_breaks_makes_the_patience_new(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_body, "GOOD_PIECE_BYTES", 1)
    desk.mirror.plan["/m"] = ["early_close"] * 8
    assert desk.publish(await desk.fetch()) == BODY
    assert desk.pauses == [0.5] * 8


async def test_a_server_that_hangs_up_before_it_answers_is_asked_again(desk: Desk) -> None:
    desk.mirror.plan["/m"] = ["silent_close"]
    assert desk.publish(await desk.fetch()) == BODY


async def test_a_reply_that_is_no_http_is_reported_without_the_address_that_a_redirect_signed(desk: Desk) -> None:
    signed = "/m?signature=CANARY"
    desk.mirror.redirects = {"/here": signed}
    desk.mirror.plan[signed] = ["nonsense"] * (http_body.MAX_RETRIES + 1)
    error = await desk.failure(path="/here")
    assert error.details == {"file": "model.safetensors", "reason": "network", "http_status": None}
    assert "Invalid" in error.message
    assert "CANARY" not in error.message


async def test_a_body_that_is_longer_than_the_file_is_cut_off(desk: Desk) -> None:
    desk.mirror.files["/m"] = bytes(2 * CHUNK_BYTES)
    desk.mirror.fault = "endless"
    writer = await desk.fetch(size=10)
    assert 10 < writer.size <= 10 + CHUNK_BYTES


# --- given up ---


@pytest.mark.parametrize(
    ("fault", "message"), [("stall", "no byte of model.safetensors arrived"), ("gzip", "compressed")]
)
async def test_a_body_that_stalls_or_is_compressed_is_given_up_at_once(desk: Desk, fault: Fault, message: str) -> None:
    desk.mirror.fault = fault
    error = await desk.failure()
    assert error.details == {"file": "model.safetensors", "reason": "network", "http_status": None}
    assert message in error.message
    assert len(desk.mirror.requests) == 1


async def test_a_rest_that_is_compressed_is_given_up(desk: Desk) -> None:
    desk.mirror.plan["/m"] = ["early_close", "gzip"]
    assert "compressed" in (await desk.failure()).message


@pytest.mark.parametrize("status", [403, 404, 500])
async def test_an_error_status_is_reported_at_once(desk: Desk, status: int) -> None:
    desk.mirror.status = status
    error = await desk.failure()
    assert error.details == {"file": "model.safetensors", "reason": "http_status", "http_status": status}
    assert len(desk.mirror.requests) == 1


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_server_is_asked_again_after_the_pause_that_it_names(desk: Desk, status: int) -> None:
    desk.mirror.status, desk.mirror.retry_after, desk.mirror.busy_times = status, "7", 2
    assert desk.publish(await desk.fetch()) == BODY
    assert desk.pauses == [7.0, 7.0]


async def test_the_pause_may_be_named_as_a_moment(desk: Desk) -> None:
    moment = email.utils.formatdate(desk.clock.wall_ms() / 1000 + 9, usegmt=True)
    desk.mirror.status, desk.mirror.retry_after, desk.mirror.busy_times = 503, moment, 1
    assert desk.publish(await desk.fetch()) == BODY
    assert desk.pauses == [9.0]


@pytest.mark.parametrize(
    "moment",
    [
        "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
        "Mon, 01 Jan 99999999999 00:00:00 GMT",
        "soon",
    ],
)
async def test_a_pause_that_nobody_understands_counts_as_none(desk: Desk, moment: str) -> None:
    desk.mirror.status, desk.mirror.busy_times, desk.mirror.retry_after = 503, 1, moment
    assert desk.publish(await desk.fetch()) == BODY
    assert desk.pauses == [0.5]


async def test_a_busy_server_that_names_no_pause_is_asked_again_with_growing_ones(desk: Desk) -> None:
    desk.mirror.status = 503
    error = await desk.failure()
    assert error.details == {"file": "model.safetensors", "reason": "http_status", "http_status": 503}
    assert desk.pauses == [0.5, 1.0, 2.0]


async def test_a_pause_that_is_too_long_is_not_waited_for(desk: Desk) -> None:
    desk.mirror.status, desk.mirror.retry_after = 429, "3600"
    error = await desk.failure()
    assert (error.details or {})["http_status"] == 429
    assert (desk.pauses, len(desk.mirror.requests)) == ([], 1)


async def test_a_port_where_nobody_listens_is_reported_at_once(desk: Desk) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        error = await desk.failure(url=f"http://127.0.0.1:{unused.getsockname()[1]}/m")
    assert "Connect call failed" in error.message
    assert desk.pauses == []


async def test_a_name_that_does_not_resolve_is_reported_with_the_reason(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    error = await desk.failure(url="https://nowhere.invalid/m")
    assert error.details == {"file": "model.safetensors", "reason": "network", "http_status": None}
    assert "nowhere.invalid" in error.message
    assert "Name or service not known" in error.message


async def test_a_certificate_that_nobody_signed_is_reported_with_the_reason(desk: Desk) -> None:
    with running_mirror(tls=True) as secure:
        secure.files["/m"] = BODY
        error = await desk.failure(url=secure.base + "/m")
        assert "certificate verify failed" in error.message.lower()
        assert secure.requests == []


async def test_a_file_of_certificates_is_believed_instead_of_the_systems(desk: Desk) -> None:
    desk.ca_file = str(TLS / "cert.pem")
    with running_mirror(tls=True) as secure:
        secure.files["/m"] = BODY
        assert desk.publish(await desk.fetch(url=secure.base + "/m")) == BODY


async def test_a_file_of_certificates_that_is_none_is_named_with_its_setting(desk: Desk, tmp_path: Path) -> None:
    desk.ca_file = str(tmp_path / "missing.pem")
    error = await desk.failure()
    assert error.code == "download_failed"
    assert "ca_file" in error.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
async def test_a_pipe_in_place_of_certificates_is_not_waited_for(desk: Desk, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.pem")
    desk.ca_file = str(tmp_path / "pipe.pem")
    message = (await desk.failure()).message
    assert "not a regular file" in message
    assert "correct the setting ca_file" in message


async def test_certificates_are_read_off_the_loop_and_not_for_every_file(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = http_body._tls
    on_the_loop: list[bool] = []

    def reading(ca_file: str | None) -> Any:
        on_the_loop.append(threading.current_thread() is threading.main_thread())
        return read(ca_file)

    monkeypatch.setattr(http_body, "_tls", reading)
    for later, ca_file, reads in ((0.0, None, 1), (0.0, None, 1), (61.0, None, 2), (0.0, str(TLS / "cert.pem"), 3)):
        desk.clock.advance(later)
        desk.ca_file = ca_file
        (await desk.fetch()).discard()
        assert on_the_loop == [False] * reads


async def test_a_cancelled_fetch_leaves_nothing_behind(desk: Desk) -> None:
    gate = desk.mirror.hold("/m")
    task = asyncio.create_task(desk.fetch())
    await until(lambda: bool(desk.seen))
    task.cancel()
    await asyncio.wait([task])
    gate.set()
    assert task.cancelled()
    assert list(desk.store.staging.iterdir()) == []


# --- where it may go, and what it takes along ---


async def test_a_credential_goes_to_the_first_address_and_to_no_other(desk: Desk) -> None:
    # Goes red without the comparison of origins in `authorization`.
    desk.tokens = {desk.mirror.base + "/here": "hf_secret"}
    desk.mirror.gated = "hf_secret"
    with running_mirror() as other:
        other.files["/there"] = BODY
        desk.mirror.redirects = {"/here": "/m2", "/m2": other.base + "/there"}
        assert desk.publish(await desk.fetch("/here")) == BODY
        sent = [headers.get("Authorization") for _, headers in desk.mirror.requests]
        assert sent == [None, "Bearer hf_secret", "Bearer hf_secret"]
        assert ["Authorization" in headers for _, headers in other.requests] == [False]


async def test_another_server_that_wants_a_credential_gets_none(desk: Desk) -> None:
    # Goes red without the comparison of origins in `_open`.
    desk.tokens = {desk.mirror.base + "/here": "hf_secret"}
    with running_mirror() as other:
        other.files["/there"] = BODY
        other.gated = "hf_secret"
        desk.mirror.redirects = {"/here": other.base + "/there"}
        error = await desk.failure(path="/here")
        assert (error.details or {})["http_status"] == 401
        assert f"the request was redirected to {other.base}, which is given no token" in error.message
        assert ["Authorization" in headers for _, headers in other.requests] == [False]
        assert desk.asked_for == []


async def test_a_file_that_everybody_gets_is_fetched_without_asking_the_keyring(desk: Desk) -> None:
    desk.tokens = {desk.mirror.base + "/m": "hf_secret"}
    assert desk.publish(await desk.fetch("/m")) == BODY
    assert desk.asked_for == []
    assert ["Authorization" in headers for _, headers in desk.mirror.requests] == [False]


async def test_a_gated_file_goes_on_after_a_break_with_the_credential_that_it_began_with(desk: Desk) -> None:
    desk.tokens = {desk.mirror.base + "/m": "hf_secret"}
    desk.mirror.gated = "hf_secret"
    desk.mirror.plan["/m"] = ["none", "early_close"]
    assert desk.publish(await desk.fetch("/m")) == BODY
    assert desk.asked_for == [desk.mirror.base + "/m"]
    sent = [headers.get("Authorization") for _, headers in desk.mirror.requests]
    assert sent == [None, "Bearer hf_secret", "Bearer hf_secret"]


@pytest.mark.parametrize(
    ("tokens", "trouble", "words"),
    [
        ({}, None, "store one with `synapse credentials set {host} --origin http://{host}`"),
        ({"/m": "hf_wrong"}, None, "look at the token's rights, and accept the model's terms"),
        ({}, "the keyring is locked; unlock it", "it wants a token, and the keyring is locked; unlock it"),
    ],
    ids=["no token", "a token that isn't accepted", "a locked keyring"],
)
async def test_a_gated_file_that_stays_closed_says_what_to_do(
    desk: Desk, tokens: dict[str, str], trouble: str | None, words: str
) -> None:
    desk.tokens = {desk.mirror.base + path: token for path, token in tokens.items()}
    desk.trouble = trouble
    desk.mirror.gated = "hf_secret"
    error = await desk.failure(path="/m")
    assert error.details == {"file": "model.safetensors", "reason": "http_status", "http_status": 401}
    assert words.format(host=desk.mirror.base.partition("://")[2]) in error.message
    assert "hf_wrong" not in repr(error) + error.message
    assert len(desk.asked_for) == 1


@pytest.mark.parametrize(
    ("url", "command"),
    [
        ("https://huggingface.co/a/b", "set huggingface --origin https://huggingface.co"),
        ("https://HUGGINGFACE.co:443/a", "set huggingface --origin https://huggingface.co"),
        ("https://huggingface.co:8443/a", "set huggingface.co:8443 --origin https://huggingface.co:8443"),
        ("https://files.corp.test/a", "set files.corp.test --origin https://files.corp.test"),
        ("http://[::1]:8080/a", "set _::1_:8080 --origin http://[::1]:8080"),
        ("https://müller.test/a", "set m_ller.test --origin https://müller.test"),
    ],
)
def test_the_advice_names_the_server_that_refused(url: str, command: str) -> None:
    # Goes red where another server's command is `set huggingface`: that would replace the hub's token.
    assert advice(401, url, url, None, None) == f"; it wants a token: store one with `synapse credentials {command}`"


async def test_the_range_goes_to_wherever_the_file_is(desk: Desk) -> None:
    desk.mirror.redirects = {"/here": "/m"}
    desk.mirror.plan["/m"] = ["early_close"]
    assert desk.publish(await desk.fetch("/here")) == BODY
    assert desk.mirror.asked("/m") == [None, f"bytes={SIX_TENTHS}-"]


@pytest.mark.parametrize(
    "target",
    [
        "http://192.0.2.1/m",
        "ftp://127.0.0.1/m",
        "file:///etc/passwd",
        "https://[broken/m",
        "https://host.invalid:99999/m",
        "https://a..invalid/m",
        f"https://{'a' * 64}.invalid/m",
        "https:///m",
        "",
    ],
)
async def test_a_redirect_to_a_place_without_tls_or_to_nowhere_is_not_followed(desk: Desk, target: str) -> None:
    # A credential is held, so that the place is compared with the one that it is for.
    desk.mirror.redirects = {"/here": target}
    desk.mirror.gated = "secret"
    desk.tokens[desk.mirror.base + "/here"] = "secret"
    error = await desk.failure(path="/here")
    assert error.details == {"file": "model.safetensors", "reason": "network", "http_status": None}
    assert "redirected" in error.message


@pytest.mark.parametrize("host", ["a..invalid", f"{'a' * 64}.invalid", f"{'ä' * 64}.invalid"])
@pytest.mark.parametrize("at", ["base", "proxy"])
async def test_a_setting_with_a_host_that_can_not_be_looked_up_is_told(desk: Desk, host: str, at: str) -> None:
    if at == "proxy":
        desk.proxy = f"http://{host}:3128"
    error = await desk.failure(url=None if at == "proxy" else f"https://{host}/m")
    assert error.details == {"file": "model.safetensors", "reason": "network", "http_status": None}
    assert error.message == "the address of model.safetensors can't be read, or that of the proxy"


async def test_a_proxy_of_the_environment_that_is_no_address_is_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://[broken:3128")
    error = await desk.failure()
    assert error.details == {"file": "model.safetensors", "reason": "network", "http_status": None}
    assert "the environment names a proxy" in error.message


async def test_a_proxy_of_the_settings_is_used(desk: Desk) -> None:
    with running_mirror() as proxy:
        proxy.files["http://files.invalid/m"] = BODY
        desk.proxy = proxy.base
        assert desk.publish(await desk.fetch(url="http://files.invalid/m")) == BODY


async def test_a_proxy_of_the_environment_is_used_with_its_password(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_mirror() as proxy:
        monkeypatch.setenv("https_proxy", proxy.base.replace("http://", "http://user:pa%20ss@"))
        error = await desk.failure(url="https://files.invalid/m")
        path, headers = proxy.requests[0]
        assert (path, headers["Proxy-Authorization"]) == ("files.invalid:443", "Basic dXNlcjpwYSBzcw==")
        assert "user" not in error.message


async def test_a_host_that_the_environment_excepts_is_not_asked_through_the_proxy(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:3128")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert desk.publish(await desk.fetch()) == BODY


async def test_netrc_is_not_read(desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    await desk.fetch()
    assert "Authorization" not in desk.mirror.requests[0][1]
