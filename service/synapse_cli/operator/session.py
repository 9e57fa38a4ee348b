"""What every operator command shares: the global options, calling an operation by its name, and how it ends.

Parameters are held against the operation's own shape before anything is sent, so a wrong one is wrong usage and never
reaches the service. What the service answers is printed as it came with ``--json``, and by the command otherwise.

======  =====================================================================================================
status  meaning
======  =====================================================================================================
0       done
1       refused: the same command will be refused again, until what the message names has changed
2       the command line is wrong
3       no service runs
4       not now: the same command may succeed later; nothing was changed
5       unknown: the connection ended after a change had been asked for; look before asking again
130     interrupted
======  =====================================================================================================
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import typer

from synapse_cli import exits
from synapse_cli.output import Output
from synapse_client import Client, ClientError, ConnectionLost, NoReply, ServiceNotRunning, SynapseError
from synapse_wire.errors import METHOD_NOT_FOUND
from synapse_wire.operations import OPERATIONS

TRY_LATER: Final = 4
UNKNOWN: Final = 5

EXPLAINED: Final = (
    "Exit status: 0 done, 1 refused, 2 wrong usage, 3 the service isn't running, 4 not now (try again later), "
    "5 unknown whether it was carried out, 130 interrupted."
)

POLL_S: Final = 0.5
"""How often a command that waits for a state looks again."""

_PATIENCE_S: Final = {"lanes.load": 600.0, "models.remove": 600.0, "cache.gc": 600.0}
"""Operations that answer only when their work is done, and how long that may take at least."""

_WRONG_PARAMS: Final = -32602
_UNSERVED: Final = {"invalid_request": "The service has another version than this command; `synapse status` shows it."}

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """What stands before the command."""

    home: Path | None = None
    as_json: bool = False
    timeout_s: float = 60.0


class Session:
    """One command's talk with the service."""

    def __init__(self, client: Client, output: Output, timeout_s: float) -> None:
        self.client = client
        self.output = output
        self._timeout_s = timeout_s

    def ask(self, method: str, **given: Any) -> Answer:
        """The result of an operation. Members that are None are left out."""
        return self._call(method, given)[0]

    def run(self, method: str, tell: Callable[[Output, Answer], None], **given: Any) -> Answer:
        """Carry out an operation and print its result: as it came with ``--json``, by ``tell`` otherwise."""
        answer, text = self._call(method, given)
        if self.output.as_json:
            self.output.json(text)
        else:
            tell(self.output, answer)
        return answer

    def _call(self, method: str, given: Mapping[str, Any]) -> tuple[Answer, msgspec.Raw]:
        params = {name: value for name, value in given.items() if value is not None}
        shape = OPERATIONS[method].params
        if shape is not None:
            try:
                msgspec.convert(params, shape)
            except msgspec.ValidationError as error:
                raise typer.BadParameter(f"{method}: {error}") from error
        timeout_s = max(self._timeout_s, _PATIENCE_S.get(method, 0.0))
        text = self.client.call_raw(method, params, timeout_s=timeout_s)
        return msgspec.json.decode(text), text

    def until(self, method: str, met: Callable[[Answer], bool], limit_s: float) -> Answer:
        """Ask again and again until the answer is what is waited for; the last answer after ``limit_s``."""
        deadline = time.monotonic() + limit_s
        while True:
            answer = self.ask(method)
            if met(answer) or time.monotonic() >= deadline:
                return answer
            time.sleep(POLL_S)


@contextmanager
def session(context: typer.Context, doing: str, *, advice: Mapping[str, str] | None = None) -> Iterator[Session]:
    """A session for one command. ``doing`` completes "Could not …"; ``advice`` replaces what is usually advised."""
    from synapse_cli.reporting import CommandError, open_client, show

    options: Options = context.obj
    output = Output(options.as_json)
    try:
        # Connects with the first call, so that wrong usage is told whether or not a service runs.
        with closing(open_client(options.home)) as client:
            yield Session(client, output, options.timeout_s)
    except (SynapseError, ClientError, CommandError) as error:
        show(output, doing, error, {**_UNSERVED, **(advice or {})} if _not_served(error) else advice)
        raise typer.Exit(status_of(error)) from None


def status_of(error: Exception) -> int:
    """The exit status of an error."""
    if isinstance(error, ServiceNotRunning):
        return exits.NOT_RUNNING
    if isinstance(error, ConnectionLost):
        return UNKNOWN if error.sent and _changes(error.method) else TRY_LATER
    if isinstance(error, NoReply):
        return UNKNOWN if _changes(error.method) else TRY_LATER
    if isinstance(error, SynapseError):
        if error.class_ == "transient":
            return TRY_LATER
        return exits.USAGE if error.level == "channel" and error.number == _WRONG_PARAMS else exits.FAILED
    return TRY_LATER if isinstance(error, ClientError) and error.transient else exits.FAILED


def _changes(method: str) -> bool:
    row = OPERATIONS.get(method)
    return row is None or row.kind == "mutate"


def _not_served(error: Exception) -> bool:
    return isinstance(error, SynapseError) and error.number == METHOD_NOT_FOUND
