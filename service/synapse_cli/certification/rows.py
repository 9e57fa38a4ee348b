"""Rows of hardware: what a name such as ``metal-m5`` claims, and whether this machine is that.

A row is ``<backend>-<label>``. The label has to be borne out by the machine before anything is started: a record under
a wrong row would be believed. Pure functions of what ``machine`` found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from synapse_cli.certification.machine import Machine
from synapse_cli.reporting import CommandError

BACKENDS: Final = ("metal", "ane", "cuda", "vulkan", "cpu")

_ARCHITECTURES: Final = {"amd64": "x86_64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Row:
    """A claim: a backend, and what stands after it in the name."""

    name: str
    backend: str
    label: str


def parse(name: str) -> Row:
    """The row of a name; raises CommandError for one that isn't a row's."""
    backend, _, label = name.partition("-")
    if backend not in BACKENDS or not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,63}", label):
        raise CommandError(
            "unknown_row",
            f"{name!r} is no row of hardware",
            "Rows are metal-m5, ane-m5, cuda-<device>, vulkan-<device> and cpu-<architecture>, such as cpu-x86_64.",
        )
    return Row(name, backend, label)


def require(row: Row, machine: Machine) -> None:
    """Refuse a row that this machine is not; raises CommandError."""
    problem = _problem(row, machine)
    if problem is not None:
        raise CommandError(
            "hardware_missing",
            f"{row.name} can't be certified here: {problem}",
            "Run this on the hardware that the row names, or name the row of this machine.",
        )


def _problem(row: Row, machine: Machine) -> str | None:
    if row.backend == "cpu":
        here = _ARCHITECTURES.get(machine.architecture, machine.architecture)
        wanted = _ARCHITECTURES.get(row.label, row.label)
        return None if here == wanted else f"this machine is {here}"
    if row.backend in ("metal", "ane"):
        if machine.system != "darwin" or machine.architecture != "arm64":
            return f"it needs a Mac with Apple silicon, and this is {machine.system} on {machine.architecture}"
        wanted = "apple " + row.label.replace("-", " ")
        return None if machine.chip.lower() == wanted else f"this machine has the chip {machine.chip}"
    if not machine.gpus:
        return "no GPU was found that can tell its name and its id"
    if not any(_is(row.label, gpu.name) for gpu in machine.gpus):
        return f"this machine has {', '.join(gpu.name for gpu in machine.gpus)}"
    return None


def gpu_of(row: Row, machine: Machine) -> int | None:
    """Which of the machine's GPUs the row is about; None where it is about none."""
    if row.backend not in ("cuda", "vulkan"):
        return None
    return next(index for index, gpu in enumerate(machine.gpus) if _is(row.label, gpu.name))


def _is(label: str, name: str) -> bool:
    """Whether the words of a label are words of a device's name, whatever stands around them."""
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    return set(re.split(r"[^a-z0-9]+", label)) <= words
