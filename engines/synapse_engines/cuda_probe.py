"""What the NVIDIA driver says about this machine, as a last line of JSON: `python -m synapse_engines.cuda_probe`.

Run by `devices` in a process of its own, because starting the driver can hang or crash, and cannot be undone. Uses
the driver library through ctypes and opens no device context. Figures and codes are those of the CUDA driver API
reference: cuInit, cuDriverGetVersion, cuDeviceGetCount, cuDeviceGet, cuDeviceGetAttribute.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Callable
from typing import Any

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_CAPABILITY_MAJOR = 75
_CAPABILITY_MINOR = 76


class DriverUnusable(Exception):
    """The driver is not there, or refused a call."""


def query(load: Callable[[str], Any]) -> dict[str, Any]:
    """The driver's API version (1000 * major + 10 * minor) and the compute capability of each device it lists.

    Args:
        load: opens a shared library by name.

    Raises:
        DriverUnusable: nothing usable is known.
    """
    try:
        driver = load(_LIBRARY)
    except OSError as error:
        raise DriverUnusable(f"no driver: {error}") from error

    def call(name: str, *arguments: Any) -> int:
        """What the driver writes through its first argument."""
        result = ctypes.c_int()
        code = getattr(driver, name)(ctypes.pointer(result), *arguments)
        if code != 0:
            raise DriverUnusable(f"{name} answered {code}")
        return result.value

    code = driver.cuInit(0)
    if code != 0:
        raise DriverUnusable(f"cuInit answered {code}")
    driver_api = call("cuDriverGetVersion")
    devices = []
    for index in range(call("cuDeviceGetCount")):
        device = call("cuDeviceGet", index)
        devices.append(
            [
                call("cuDeviceGetAttribute", _CAPABILITY_MAJOR, device),
                call("cuDeviceGetAttribute", _CAPABILITY_MINOR, device),
            ]
        )
    return {"driver_api": driver_api, "devices": devices}


def main() -> None:
    """Prints the findings, or an object with `error`."""
    try:
        findings = query(ctypes.CDLL)
    except DriverUnusable as error:
        findings = {"error": str(error)}
    # On a line of its own, whatever the driver may have printed before.
    sys.stdout.write(f"\n{json.dumps(findings)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
    # Straight out: what a driver does at exit can crash or hang, and has nothing to say any more.
    os._exit(0)
