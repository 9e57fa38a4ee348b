"""What a client can find out by itself, as exceptions that say what to do next.

Refusals by the service are not here: they are :class:`synapse_wire.errors.SynapseError`. Every class below carries a
``code`` of its own, which never occurs on the wire, and a ``remedy`` in plain words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from synapse_wire.results import DownloadStatus, JobStatus


class ClientError(Exception):
    """Base of everything that the client itself reports. ``remedy`` says what a person or program can do."""

    code: ClassVar[str] = "client_error"
    transient: ClassVar[bool] = True

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"


class ServiceNotRunning(ClientError):
    """Nobody listens at ``address``."""

    code = "service_not_running"

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"The Synapse service is not running: {reason} ({address}).",
            "Start it with `synapse serve` or from the tray application.",
        )
        self.address = address
        self.reason = reason


class EndpointRefused(ClientError):
    """Something is at ``address``, but this user may not, or should not, talk to it."""

    code = "endpoint_refused"
    transient = False

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address} can't be used: {reason}.", "Run `synapse doctor` to see who owns it.")
        self.address = address
        self.reason = reason


class ConnectionLost(ClientError):
    """The connection ended while ``method`` was under way.

    ``sent`` is True when the whole request had been handed to the operating system, so that the service may have
    carried it out. Such a request is repeated by itself only when it merely asks.
    """

    code = "connection_lost"

    def __init__(self, method: str, reason: str, *, sent: bool) -> None:
        remedy = (
            "It may have been carried out; look at the state before sending it again."
            if sent
            else "It was not sent; it can be sent again."
        )
        super().__init__(f"The connection to the service ended during {method}: {reason}.", remedy)
        self.method = method
        self.reason = reason
        self.sent = sent


class NoReply(ClientError, TimeoutError):
    """No answer to ``method`` came within ``waited_s`` seconds. The request was cancelled."""

    code = "no_reply"

    def __init__(self, method: str, waited_s: float) -> None:
        super().__init__(
            f"The service did not answer {method} within {waited_s:.1f} s.",
            "Allow more time, or run `synapse doctor` if it answers nothing at all.",
        )
        self.method = method
        self.waited_s = waited_s


class JobUnfinished(ClientError, TimeoutError):
    """A job was still going when the time allowed for waiting ran out. The job itself goes on."""

    code = "job_unfinished"

    def __init__(self, status: JobStatus | DownloadStatus, waited_s: float) -> None:
        super().__init__(
            f"Job {status.job_id} ({status.kind}) is still {status.state} after {waited_s:.1f} s.",
            "It goes on in the service; wait for it again with the same job id.",
        )
        self.status = status


class BatchDiverted(ClientError):
    """A batch was too large to be answered at once, so the job ``job_id`` computes it. The job goes on."""

    code = "batch_diverted"
    transient = False

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"The batch is over the inline budgets and became job {job_id}.",
            "Read its pages with `embed_result`, or give large batches to `embed_all`.",
        )
        self.job_id = job_id


class DivergedItem(ClientError):
    """The service embedded another text than the one that was sent as item ``item_id``; both SHA-256 are hex."""

    code = "diverged_item"
    transient = False

    def __init__(self, item_id: str, sent_sha256: str, received_sha256: str) -> None:
        super().__init__(
            f"Item {item_id!r} is not the text that was sent: its SHA-256 is {received_sha256}, not {sent_sha256}.",
            "Don't keep its vector. Send the text again under another request key.",
        )
        self.item_id = item_id
        self.sent_sha256 = sent_sha256
        self.received_sha256 = received_sha256


class FingerprintChanged(ClientError):
    """The model was exchanged during one ``embed_all``: what comes now belongs to another vector space."""

    code = "fingerprint_changed"
    transient = False

    def __init__(self, first: str, now: str, request_key: str) -> None:
        super().__init__(
            f"The vectors under {request_key!r} have the fingerprint {now}, the ones before them {first}.",
            "The two must not share an index: embed everything again under a new request key.",
        )
        self.first = first
        self.now = now
        self.request_key = request_key


class ProtocolViolation(ClientError):
    """The other side sent something that this version of the contract doesn't know."""

    code = "protocol_violation"
    transient = False

    def __init__(self, message: str) -> None:
        super().__init__(message, "Check that client and service are of the same version.")


class ClientClosed(ClientError):
    """The client object was closed before or during the call."""

    code = "client_closed"
    transient = False

    def __init__(self) -> None:
        super().__init__("This client was closed.", "Make a new one.")


class Busy(Exception):
    """The service is there but can't take another connection at this moment. Never leaves a client."""
