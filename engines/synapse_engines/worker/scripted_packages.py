"""A TEST DOUBLE for Core ML in a worker: packages that are unpacked for real, and computed as a script says.

Only the hidden boot argument `--scripted-predictor PATH` reaches it, which tests put on a service's command line; no
setting, message or environment variable does. Archives, buckets, padding, processes and frames are the real ones. It
never claims a share of the Neural Engine, because none is there.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from synapse_engines.worker.scripted import scripted_vector


class PackageScript(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How packages behave.

    Attributes:
        dims: numbers in a vector, as the packages declare.
        compile_s: seconds that compiling takes, by length; none for a length that isn't named.
        predict_s: seconds that each row takes.
        dies_compiling: lengths at which compiling ends the process as by SIGKILL.
        gate: rows wait while a file of this name exists.
    """

    dims: int = 64
    compile_s: dict[int, float] = {}
    predict_s: float = 0.0
    dies_compiling: list[int] = []
    gate: str | None = None


class ScriptedPredictor:
    """One package. `neural_engine_share` is never measured."""

    neural_engine_share = None

    def __init__(self, script: PackageScript, length: int) -> None:
        self._script = script
        self._length = length

    def prepare(self) -> None:
        time.sleep(self._script.compile_s.get(self._length, 0.0))
        if self._length in self._script.dies_compiling:
            os.kill(os.getpid(), signal.SIGKILL)

    def predict(self, ids: npt.NDArray[np.int32], mask: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
        while self._script.gate is not None and Path(self._script.gate).exists():
            time.sleep(0.005)
        time.sleep(self._script.predict_s)
        row = ids[0][mask[0] == 1]
        return scripted_vector(row.tolist(), self._script.dims)

    def close(self) -> None:
        """Holds nothing."""


class ScriptedPackages:
    """Opens every package as a ScriptedPredictor."""

    def __init__(self, path: Path) -> None:
        self._script = msgspec.json.decode(path.read_bytes(), type=PackageScript)

    def __call__(self, bundle: Path, length: int) -> ScriptedPredictor:
        """`bundle` is the unpacked folder, which has to be there."""
        if not (bundle / "metadata.json").is_file():
            raise FileNotFoundError(bundle)
        return ScriptedPredictor(self._script, length)
