"""Each guard around OpenVINO, and what happens without it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from fixtures.model_files import expected, tiny_model
from fixtures.openvino_tiny import normalised, random_rows, tiny_on_openvino
from synapse_engines.errors import EngineMismatch, InputError
from synapse_engines.openvino import batching, bert, graph, modernbert, runtime, telemetry
from synapse_engines.openvino import model as engine
from synapse_engines.openvino.build import ENGINE_BUILD, IN_FORCE, OPENVINO_VERSION
from synapse_engines.openvino.graph import GraphWeights
from synapse_engines.openvino.runtime import ops, ov

PACKAGE = Path(runtime.__file__).parent
LINUX = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux lists a process's mappings")


# Telemetry.

QUIET_LOAD = """
import json, pathlib, socket, sys
opened = []
def refuse(event, details):
    if event.startswith("socket."):
        opened.append(event)
        raise OSError("no sockets here")
sys.addaudithook(refuse)
from fixtures.openvino_tiny import tiny_on_openvino, random_rows
model = tiny_on_openvino("bert")
vectors = model.embed(random_rows([3, 40]))
model.close()
import openvino_telemetry
print(json.dumps({
    "sockets": opened,
    "inert": openvino_telemetry.Telemetry.__module__,
    "used": sys.modules["openvino.tools.ovc"].telemetry.__class__.__module__,
    "backend": sorted(name for name in sys.modules if name.startswith("openvino_telemetry")),
    "shape": vectors.shape,
    "home": [str(path) for path in pathlib.Path.home().rglob("*")],
}))
"""


def in_fresh_python(code: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)


def test_loading_and_embedding_opens_no_socket_and_leaves_nothing_at_home(tmp_path: Path) -> None:
    done = in_fresh_python(QUIET_LOAD, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "sockets": [],
        "inert": "synapse_engines.openvino.telemetry",
        "used": "synapse_engines.openvino.telemetry",
        "backend": ["openvino_telemetry", "openvino_telemetry.backend"],
        "shape": [2, 64],
        "home": [],
    }


def test_telemetry_that_came_first_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino_telemetry", ModuleType("openvino_telemetry"))
    with pytest.raises(RuntimeError, match="openvino_telemetry was imported before it could be blocked"):
        telemetry.block()


def test_blocking_again_changes_nothing() -> None:
    before = sys.modules["openvino_telemetry"]
    telemetry.block()
    assert sys.modules["openvino_telemetry"] is before


def test_only_the_guarded_module_imports_the_library() -> None:
    importers = set()
    for path in PACKAGE.parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            if any(name.split(".")[0] == "openvino" for name in names):
                importers.add(path.relative_to(PACKAGE.parent).as_posix())
    assert importers == {"openvino/runtime.py"}


def test_declared_build_is_readable_without_numpy_and_openvino(tmp_path: Path) -> None:
    code = (
        "import sys; from synapse_engines.openvino.build import ENGINE_BUILD; import synapse_engines.openvino as p;"
        "print(ENGINE_BUILD, callable(p.build), {'numpy', 'openvino'} & set(sys.modules))"
    )
    assert in_fresh_python(code, tmp_path).stdout == f"{ENGINE_BUILD} True set()\n"


# Float32, and proof of it.


def test_facts_are_read_back_from_the_engine() -> None:
    facts = tiny_on_openvino("bert").facts
    assert {name: facts[name] for name in IN_FORCE} == dict(IN_FORCE)
    assert facts["INFERENCE_PRECISION_HINT"] == "f32"
    assert facts["EXECUTION_MODE_HINT"] == "ACCURACY"
    assert facts["KV_CACHE_PRECISION"] == "f32"
    assert facts["DYNAMIC_QUANTIZATION_GROUP_SIZE"] == "0"
    assert facts["engine"] == "openvino"
    assert facts["engine_build"] == ENGINE_BUILD == "openvino-2026.4.1/f32-2"
    assert facts["version"].startswith(OPENVINO_VERSION)


def test_the_library_left_to_its_defaults_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "REQUESTED", {})
    with pytest.raises(EngineMismatch) as caught:
        tiny_on_openvino("bert")
    # On processors with bfloat16 the precision itself differs too.
    assert {"EXECUTION_MODE_HINT", "KV_CACHE_PRECISION"} <= caught.value.expected.keys()
    assert caught.value.expected["KV_CACHE_PRECISION"] == "f32"
    assert caught.value.actual["KV_CACHE_PRECISION"] == "u8"
    assert caught.value.actual["EXECUTION_MODE_HINT"] == "PERFORMANCE"


def test_a_property_that_the_library_no_longer_knows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "IN_FORCE", {**IN_FORCE, "A_NEW_NAME": "f32"})
    with pytest.raises(EngineMismatch) as caught:
        tiny_on_openvino("bert")
    assert caught.value.expected == {"A_NEW_NAME": "f32"}
    assert caught.value.actual == {"A_NEW_NAME": "absent"}


def test_another_release_of_the_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.ov, "get_version", lambda: "2027.0.0-1-abc-releases/2027/0")
    with pytest.raises(EngineMismatch) as caught:
        tiny_on_openvino("bert")
    assert caught.value.expected == {"openvino": OPENVINO_VERSION}
    assert caught.value.actual == {"openvino": "2027.0.0"}


# The first inference of one token.

AFTER_ONE_TOKEN = (1, 128, 17, 1, 512)


def off_by(name: str, lengths: tuple[int, ...] = AFTER_ONE_TOKEN) -> list[float]:
    """Largest differences from transformers, for rows of these lengths given one after another to a new model."""
    assert name in ("bert", "modernbert")
    known = expected(name)
    model = tiny_on_openvino(name, pooling="mean")
    found = np.concatenate([model.embed([known.row(length)]) for length in lengths])
    model.close()
    right = normalised(np.stack([known.vector(length, "mean") for length in lengths]))
    return [float(difference) for difference in np.abs(found - right).max(axis=1)]


def without_mask(queries: ov.Node, keys: ov.Node, values: ov.Node, mask: ov.Node) -> ov.Node:
    return graph.join_heads(ops.scaled_dot_product_attention(queries, keys, values))


def with_constant_mask(queries: ov.Node, keys: ov.Node, values: ov.Node, mask: ov.Node) -> ov.Node:
    zero = ops.constant(np.zeros((1, 1, 1, 1), np.float32))
    return graph.join_heads(ops.scaled_dot_product_attention(queries, keys, values, zero))


@pytest.fixture
def frames_of_any_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attention over rows at their exact length, as the library's fault needs it."""
    monkeypatch.setattr(batching, "FRAME_STEP", 1)


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_with_all_guards_a_row_of_one_token_harms_none_after_it(name: str) -> None:
    assert max(off_by(name)) <= 2e-6


@pytest.mark.usefixtures("frames_of_any_width")
@pytest.mark.parametrize("unguarded", [without_mask, with_constant_mask])
def test_without_any_guard_every_longer_row_is_garbage(monkeypatch: pytest.MonkeyPatch, unguarded: object) -> None:
    monkeypatch.setattr(bert, "attention", unguarded)
    monkeypatch.setattr(engine, "WARM_UP_TOKENS", 1)
    one, *longer, again, longest = off_by("bert")
    assert max(one, again) <= 2e-6
    assert min(*longer, longest) > 0.1


@pytest.mark.usefixtures("frames_of_any_width")
@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_the_mask_alone_is_a_guard(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "WARM_UP_TOKENS", 1)
    assert max(off_by(name)) <= 2e-6


@pytest.mark.usefixtures("frames_of_any_width")
def test_the_warm_up_alone_is_a_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bert, "attention", without_mask)
    assert max(off_by("bert")) <= 2e-6


def test_the_frame_alone_is_a_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bert, "attention", without_mask)
    monkeypatch.setattr(engine, "WARM_UP_TOKENS", 1)
    # Without a mask only rows that fill their frames can come out right.
    assert max(off_by("bert", (128, 256, 512))) <= 2e-6


def test_the_warm_up_is_no_longer_than_the_lane_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    infer = engine.OpenVinoModel._infer

    def spy(self: engine.OpenVinoModel, rows: list[np.ndarray]) -> np.ndarray:
        seen.append([row.size for row in rows])
        return infer(self, rows)

    monkeypatch.setattr(engine.OpenVinoModel, "_infer", spy)
    tiny_on_openvino("bert")
    tiny_on_openvino("bert", max_tokens=40)
    assert seen == [[128], [40]]


# Inputs.


@pytest.mark.parametrize(
    ("row", "reason"),
    [([5, -1, 7], "bad_id"), ([5, 512], "bad_id"), ([2**31 - 1], "bad_id"), ([], "empty"), ([1] * 65, "too_long")],
)
def test_senseless_rows_never_reach_the_engine(row: list[int], reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_on_openvino("bert", max_tokens=64)
    monkeypatch.setattr(model, "_infer", lambda rows: pytest.fail("the engine was asked"))
    with pytest.raises(InputError) as caught:
        model.embed([np.array([1, 2], np.int32), np.array(row, np.int32)])
    assert (caught.value.reason, caught.value.row) == (reason, 1)


@pytest.mark.parametrize("row", [[5, -1, 7], [5, 512]])
def test_unchecked_ids_would_give_finite_nonsense(row: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_on_openvino("bert")
    monkeypatch.setattr(engine, "check_rows", lambda rows, **limits: None)
    assert np.isfinite(model.embed([np.array(row, np.int32)])).all()


# Masks.


def test_masks_are_finite_numbers_and_never_boolean(monkeypatch: pytest.MonkeyPatch) -> None:
    masks = []
    plain = graph.attention

    def spy(queries: ov.Node, keys: ov.Node, values: ov.Node, mask: ov.Node) -> ov.Node:
        masks.append(mask)
        return plain(queries, keys, values, mask)

    monkeypatch.setattr(modernbert, "attention", spy)
    tiny_on_openvino("modernbert")
    assert len(masks) == 6
    assert {str(mask.get_element_type()) for mask in masks} == {"<Type: 'float32'>"}
    assert all(mask.get_output_partial_shape(0)[3].is_dynamic for mask in masks)
    assert np.finfo(np.float32).min == graph.FORBIDDEN


def test_everything_forbidden_gives_numbers_where_a_boolean_mask_gives_nan() -> None:
    random = np.random.default_rng(3).standard_normal((3, 1, 2, 20, 16)).astype(np.float32)

    def attend(kind: ov.Type, forbidden: object) -> np.ndarray:
        inputs = [ops.parameter(ov.PartialShape([1, 2, -1, 16]), ov.Type.f32) for _ in range(3)]
        mask = ops.parameter(ov.PartialShape([1, 1, -1, -1]), kind)
        result = ops.scaled_dot_product_attention(*inputs, mask)
        compiled, _ = runtime.compile_float32(ov.Model([ops.result(result)], [*inputs, mask], "masks"), 1)
        found: np.ndarray = compiled([*random, np.full((1, 1, 20, 20), forbidden)])[0]
        return found

    assert np.isfinite(attend(ov.Type.f32, np.float32(graph.FORBIDDEN))).all()
    assert np.isnan(attend(ov.Type.boolean, False)).all()


# One compiled model over mapped weights.


def test_one_compilation_serves_short_and_banded_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    plain = runtime.compile_float32
    monkeypatch.setattr(engine, "compile_float32", lambda *given: compiled.append(given) or plain(*given))
    model = tiny_on_openvino("modernbert")
    assert np.isfinite(model.embed(random_rows([3, 512, 513, 1300]))).all()
    assert len(compiled) == 1


def test_constants_lie_in_the_mapped_file(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = []
    stored = GraphWeights._stored

    def spy(self: GraphWeights, name: str) -> ov.Node:
        node = stored(self, name)
        shared.append(np.shares_memory(node.data, self._weights.raw(name)))
        return node

    monkeypatch.setattr(GraphWeights, "_stored", spy)
    tiny_on_openvino("bert")
    assert shared == [True] * (5 + 2 * 16)


@LINUX
def test_a_loaded_model_keeps_no_page_of_its_file_in_memory() -> None:
    path = tiny_model("qwen3") / "model.safetensors"
    model = tiny_on_openvino("qwen3")
    held = resident_kib(path)
    model.close()
    assert held == 0


def resident_kib(path: Path) -> int:
    """Memory in KiB that the mappings of `path` in this process hold."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(maxsplit=1)[0]:
            inside = line.endswith(str(path))
        elif inside and line.startswith("Rss:"):
            found += int(line.split()[1])
    return found


@LINUX
def test_closing_lets_go_of_the_file() -> None:
    path = tiny_model("qwen3") / "model.safetensors"
    model = tiny_on_openvino("qwen3")
    assert str(path) in Path("/proc/self/maps").read_text()
    model.close()
    model.close()
    assert str(path) not in Path("/proc/self/maps").read_text()
    with pytest.raises(ValueError, match="the model is closed"):
        model.embed(random_rows([3]))
