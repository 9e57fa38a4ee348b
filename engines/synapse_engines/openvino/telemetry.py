"""Keeps `import openvino` from reporting to its maker.

The library's Python package sends an event over the network as it is imported, through the package
`openvino_telemetry`, and keeps a client id under the user's home. `block` puts a module of the same name in its
place that does nothing. Called by `runtime` before its import of the library; touches `sys.modules` only.
"""

from __future__ import annotations

import sys
from types import ModuleType

_PACKAGE = "openvino_telemetry"
_MARK = "__synapse_inert__"


class Telemetry:
    """Accepts every call that OpenVINO makes on the class of this name, and does nothing."""

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        pass

    def init(self, *_args: object, **_kwargs: object) -> None:
        pass

    def start_session(self, *_args: object, **_kwargs: object) -> None:
        pass

    def end_session(self, *_args: object, **_kwargs: object) -> None:
        pass

    def send_event(self, *_args: object, **_kwargs: object) -> None:
        pass

    def send_error(self, *_args: object, **_kwargs: object) -> None:
        pass

    def send_stack_trace(self, *_args: object, **_kwargs: object) -> None:
        pass

    def force_shutdown(self, *_args: object, **_kwargs: object) -> None:
        pass


def block() -> None:
    """Makes every later import of `openvino_telemetry` in this process find the inert module.

    Calling it again is harmless.

    Raises:
        RuntimeError: the real package was imported before, so something may have been sent already.
    """
    present = sys.modules.get(_PACKAGE)
    if present is not None:
        if not hasattr(present, _MARK):
            raise RuntimeError(f"{_PACKAGE} was imported before it could be blocked")
        return
    package, backend = ModuleType(_PACKAGE), ModuleType(f"{_PACKAGE}.backend")
    package.__dict__.update({_MARK: True, "Telemetry": Telemetry, "backend": backend, "__path__": []})
    # OpenVINO imports this name next to the class and falls back to another stub when it is missing.
    backend.__dict__["backend_ga4"] = None
    sys.modules[_PACKAGE] = package
    sys.modules[backend.__name__] = backend
