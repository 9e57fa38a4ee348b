"""The service's own words for people: states, tasks, engines, kinds of jobs, reasons, in the reader's language.

A word of a newer service that isn't known here is shown as it is, so that nothing is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from synapse_app.i18n import tr
from synapse_app.widgets.delegate import Tone
from synapse_wire import results as r

Words = Mapping[str, Callable[[], str]]

_LANE_STATES: Final[Words] = {
    "unloaded": lambda: tr("not loaded"),
    "loading": lambda: tr("loading"),
    "ready": lambda: tr("ready"),
    "unloading": lambda: tr("unloading"),
    "quarantined": lambda: tr("in quarantine"),
    "paused": lambda: tr("paused"),
}
_LANE_TONES: Final[Mapping[str, Tone]] = {
    "ready": "good",
    "loading": "accent",
    "unloading": "accent",
    "quarantined": "bad",
    "paused": "warning",
}
_TASKS: Final[Words] = {
    "embed": lambda: tr("embedding"),
    "rerank": lambda: tr("reranking"),
    "generate": lambda: tr("text generation"),
}
_ENGINES: Final[Words] = {
    "owned-cpu": lambda: tr("processor"),
    "owned-metal": lambda: tr("Apple graphics (Metal)"),
    "owned-cuda": lambda: tr("NVIDIA graphics (CUDA)"),
    "owned-vulkan": lambda: tr("graphics card (Vulkan)"),
    "ane": lambda: tr("Neural Engine"),
    "llama": lambda: tr("llama worker"),
    "remote_openai_compatible": lambda: tr("remote server"),
}
_BACKENDS: Final[Mapping[str, str]] = {
    "cpu": "owned-cpu",
    "metal": "owned-metal",
    "cuda": "owned-cuda",
    "vulkan": "owned-vulkan",
    "ane": "ane",
}
_REASONS: Final[Words] = {
    "not_supported_on_platform": lambda: tr("not supported on this operating system"),
    "device_missing": lambda: tr("this machine has no such device"),
    "device_below_floor": lambda: tr("the device here is too old or too small"),
    "worker_missing": lambda: tr("the part of Synapse that computes there is not installed"),
}
_JOB_KINDS: Final[Words] = {
    "embed.batch": lambda: tr("Embedding"),
    "model.load": lambda: tr("Adding a model"),
    "probe": lambda: tr("Probe"),
    "models.download": lambda: tr("Download"),
}
_JOB_STATES: Final[Words] = {
    "queued": lambda: tr("waiting", about="state of a job"),
    "running": lambda: tr("running"),
    "paused_needs_reauth": lambda: tr("waits for a sign-in"),
    "done": lambda: tr("done"),
    "failed": lambda: tr("failed"),
    "needs_reauth_expired": lambda: tr("waited too long for a sign-in"),
    "downloading": lambda: tr("downloading"),
    "verifying": lambda: tr("being verified"),
    "committed": lambda: tr("done"),
    "cancelled": lambda: tr("cancelled"),
}
_JOB_TONES: Final[Mapping[str, Tone]] = {
    "running": "accent",
    "downloading": "accent",
    "verifying": "accent",
    "done": "good",
    "committed": "good",
    "failed": "bad",
    "needs_reauth_expired": "bad",
    "paused_needs_reauth": "warning",
}
_HOLDERS: Final[Words] = {
    "loaded": lambda: tr("loaded"),
    "job": lambda: tr("job"),
    "self_check": lambda: tr("self-check"),
    "request": lambda: tr("request"),
    "pin": lambda: tr("pinned by"),
    "registration": lambda: tr("own model"),
    "install": lambda: tr("installed model"),
}


def _of(words: Words, word: str) -> str:
    known = words.get(word)
    return word if known is None else known()


def lane_state(state: str) -> str:
    return _of(_LANE_STATES, state)


def lane_tone(state: str) -> Tone:
    return _LANE_TONES.get(state, "plain")


def task(name: str) -> str:
    return _of(_TASKS, name)


def engine(name: str) -> str:
    """An engine, or the backend of a model of the catalog."""
    return _of(_ENGINES, _BACKENDS.get(name, name))


def reason(word: str) -> str:
    """Why something can't run here."""
    return _of(_REASONS, word)


def job_kind(kind: str) -> str:
    return _of(_JOB_KINDS, kind)


def job_state(state: str) -> str:
    return _of(_JOB_STATES, state)


def job_tone(state: str) -> Tone:
    return _JOB_TONES.get(state, "plain")


def self_check(check: r.SelfCheckState) -> str:
    """How a self-check stands, with its reason where it failed."""
    match check.state:
        case "passed":
            return tr("passed", about="a self-check")
        case "failed":
            why = check.reason if isinstance(check.reason, str) else ""
            return tr("failed: {reason}", reason=why) if why else tr("failed")
        case "pending":
            return tr("when it is first loaded")
        case "not_applicable" | "none":
            return tr("has none")
    return check.state


def holder(found: Mapping[str, object]) -> str:
    """One holder of a ``model_in_use``: what it is and its name."""
    kind = _of(_HOLDERS, str(found.get("kind", "")))
    names = [str(value) for name, value in found.items() if name != "kind" and isinstance(value, str)]
    return f"{kind}: {', '.join(names)}" if names else kind
