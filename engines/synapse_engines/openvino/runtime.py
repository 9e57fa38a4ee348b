"""The OpenVINO library under guard: import without telemetry, float32 compilation, and proof of what is in force.

The only module that imports `openvino`; the graph modules take `ov` and `ops` from here. Called by `model`.
Reads and writes no file.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from synapse_engines.errors import EngineMismatch
from synapse_engines.openvino import telemetry
from synapse_engines.openvino.build import ENGINE_BUILD, IN_FORCE, OPENVINO_VERSION, REQUESTED

telemetry.block()

import openvino as ov  # noqa: E402 - only after telemetry is blocked
from openvino import opset15 as ops  # noqa: E402

__all__ = ["compile_float32", "ops", "ov"]

_DEVICE = "CPU"


def _require_declared_version() -> None:
    """Refuses to run on another release of the library than the one in the fingerprint.

    Raises:
        EngineMismatch: naming both versions.
    """
    # "2026.4.1-22982-e213a147257-releases/2026/4": release, build number, commit, branch.
    installed = str(ov.get_version()).split("-", 1)[0]
    if installed != OPENVINO_VERSION:
        raise EngineMismatch({"openvino": OPENVINO_VERSION}, {"openvino": installed})


def compile_float32(model: ov.Model, threads: int) -> tuple[ov.CompiledModel, Mapping[str, str]]:
    """Compiles `model` with the declared properties and reads back what the engine made of them.

    The number of threads is reported and not compared: the library lowers it to the processors that the process
    may use, and it moves no number.

    Args:
        model: the graph.
        threads: processors that one inference may use, at least 1.

    Returns:
        The compiled model, and facts about the engine as text: its names, version and properties in force.

    Raises:
        EngineMismatch: the library is another release than declared, or a property is not in force as declared.
    """
    _require_declared_version()
    requested = {**REQUESTED, "INFERENCE_NUM_THREADS": str(threads)}
    compiled = ov.Core().compile_model(model, _DEVICE, requested)
    in_force = _read_back(compiled)
    differing = {name: value for name, value in IN_FORCE.items() if in_force.get(name) != value}
    if differing:
        raise EngineMismatch(differing, {name: in_force.get(name, "absent") for name in differing})
    facts = {"engine": "openvino", "version": str(ov.get_version()), "engine_build": ENGINE_BUILD, **in_force}
    return compiled, facts


def _read_back(compiled: ov.CompiledModel) -> dict[str, str]:
    """The properties of a compiled model that decide numbers and speed, as text; unknown ones are left out."""
    known = compiled.get_property("SUPPORTED_PROPERTIES")
    wanted = [*IN_FORCE, "INFERENCE_NUM_THREADS", "RUNTIME_REQUIREMENTS"]
    return {name: _text(compiled.get_property(name)) for name in wanted if name in known}


def _text(value: object) -> str:
    """A property's value in the spelling that the library accepts for setting it."""
    match value:
        case bool():
            return "YES" if value else "NO"
        case list():
            return ",".join(_text(each) for each in value)
        case ov.Type():
            return str(value.to_string())
        case enum.Enum():
            return value.name
        case _:
            # The library's own enumerations are no enum.Enum, but name their members in the same way.
            return str(getattr(value, "name", value))
