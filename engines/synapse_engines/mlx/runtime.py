"""MLX itself: how it is started, proven to compute in float32, and kept on one thread.

Called by `model`, which owns one `Runtime`. Sets process-wide properties of MLX, so a process computes either on its
accelerator or on its processor.

- MLX lets float32 matrix products round their inputs to ten bits on hardware that has units for it, unless
  MLX_ENABLE_TF32=0 is in the environment before its first operation (mlx issue 3860). Vectors would be off in the
  fourth digit, so the variable is set here and a product that shows the rounding is tried.
- On a processor `mx.compile` writes C++ into a folder of predictable name and loads what the compiler made of it. The
  graphs gain nothing from it, so it is off.
- Streams belong to threads: what one thread described another can't evaluate. So everything runs on a thread of our
  own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, ParamSpec, TypeVar

import mlx.core as mx
import numpy as np

from synapse_engines.errors import EngineMismatch
from synapse_engines.mlx.build import DECLARED, ENGINE_BUILD
from synapse_engines.mlx.memory import CACHE_BYTES

Device = Literal["gpu", "cpu"]
P = ParamSpec("P")
T = TypeVar("T")


class Runtime:
    """MLX on one device and one thread.

    Attributes:
        device: where everything is computed.
        facts: engine, version, device and kind of matrix product as found.
    """

    def __init__(self, device: Device) -> None:
        """Starts MLX.

        Raises:
            EngineMismatch: the device is absent, or MLX is not what `build.DECLARED` says.
        """
        self.device: Device = device
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mlx")
        self._closed = False
        try:
            self.facts = self.run(_start, device)
        except BaseException:
            self.close()
            raise

    def run(self, task: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `task` returns or raises on the MLX thread. The caller waits; other Python threads run meanwhile."""
        return self._thread.submit(task, *args, **kwargs).result()

    def close(self) -> None:
        """Ends the thread and gives freed buffers back to the system. Harmless when repeated."""
        if not self._closed:
            self._closed = True
            self.run(mx.clear_cache)
            self._thread.shutdown()


def _start(device: Device) -> Mapping[str, str]:
    """Sets MLX up on the calling thread and returns the facts found."""
    os.environ["MLX_ENABLE_TF32"] = "0"
    wanted = mx.gpu if device == "gpu" else mx.cpu
    if not mx.is_available(wanted):
        raise EngineMismatch({"device": device}, {"device": "cpu" if device == "gpu" else "absent"})
    mx.set_default_device(wanted)
    mx.set_cache_limit(CACHE_BYTES)
    mx.disable_compile()
    info: Mapping[str, Any] = mx.device_info(wanted)
    facts = {
        "engine": "mlx",
        "engine_build": ENGINE_BUILD,
        # MLX's type stubs leave the attribute out.
        "version": str(vars(mx)["__version__"]),
        "device": device,
        "device_name": str(info.get("device_name", "unknown")),
        "architecture": str(info.get("architecture", "unknown")),
        "matmul": "float32" if _products_keep_float32() else "reduced",
    }
    different = {name: value for name, value in DECLARED.items() if facts[name] != value}
    if different:
        raise EngineMismatch(different, {name: facts[name] for name in different})
    return facts


def _products_keep_float32() -> bool:
    """Whether a matrix product keeps the twelfth bit after the point, which every reduced format loses."""
    value = np.full((128, 128), 1 + 2**-12, np.float32)
    product = mx.array(value) @ mx.eye(128)
    return bool(np.array_equal(np.array(product), value))
