"""Packages and sets of them: what a package says about itself, the choice of a bucket, and what a set computes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fixtures.model_files import tiny_config
from fixtures.packages import bundle_files, metadata, sha256_of, write_package, zipped
from synapse_engines.backend import EmbedSpec
from synapse_engines.coreml.model import PackageSet, load, no_predictor
from synapse_engines.coreml.packages import Package, bucket, ladder, read_package
from synapse_engines.errors import ArtifactError, EngineMismatch, InputError
from synapse_engines.worker.loading import LoadedEmbedder, load_model
from synapse_engines.worker.protocol import LoadSpec, PackageFile

SPEC = EmbedSpec("bert", "mean", True, 512, "f16")


def test_a_package_says_how_long_its_rows_and_vectors_are(tmp_path: Path) -> None:
    assert read_package(write_package(tmp_path, 256, 384)) == Package(256, 384)


def _schema(key: str, at: int = 0, **changes: Any) -> dict[str, Any]:
    schema = metadata(128)[0][key]
    schema[at] |= changes
    return {key: schema}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"inputSchema": []}, "the model takes []"),
        ({"inputSchema": metadata(128)[0]["inputSchema"][:1]}, "the model takes ['input_ids']"),
        (_schema("inputSchema", name="tokens"), "the model takes"),
        (_schema("inputSchema", shape="[1, 64]"), "not one of [1, length]"),
        (_schema("inputSchema", shape="[2, 128]"), "not one of [1, length]"),
        (_schema("inputSchema", shape="[]"), "not one of [1, length]"),
        (_schema("inputSchema", shape="[1, true]"), "has no readable shape"),
        (_schema("inputSchema", shape="1 x 128"), "has no readable shape"),
        (_schema("inputSchema", shape="[" * 100_000), "has no readable shape"),
        (_schema("inputSchema", hasShapeFlexibility="1"), "has no fixed shape"),
        (_schema("inputSchema", hasShapeFlexibility=[]), "has no fixed shape"),
        (_schema("inputSchema", type="Image"), "something else than named arrays"),
        ({"outputSchema": []}, "not one array"),
        (_schema("outputSchema", shape="[1, 128, 64]"), "not [1, dims]"),
    ],
)
def test_a_package_that_can_not_be_part_of_a_set_is_refused(
    changes: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(ArtifactError) as caught:
        read_package(write_package(tmp_path, 128, **changes))
    assert caught.value.reason == "bad_package"
    assert problem in caught.value.detail


@pytest.mark.parametrize("missing", ["coremldata.bin", "metadata.json"])
def test_a_folder_without_what_the_compiler_writes_is_refused(missing: str, tmp_path: Path) -> None:
    files = bundle_files(128)
    del files[f"model.mlmodelc/{missing}"]
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(files))
    with pytest.raises(ArtifactError, match=f"has no {missing}"):
        read_package(path)


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"[1]", b"[{}, {}]", b"[" * 100_000])
def test_metadata_that_describes_no_model_is_refused(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(bundle_files(128) | {"model.mlmodelc/metadata.json": text}))
    with pytest.raises(ArtifactError) as caught:
        read_package(path)
    assert caught.value.reason == "bad_package"


# --- the set ---


def test_buckets_are_ordered_by_length_whatever_the_order_of_the_files() -> None:
    assert ladder([("a", Package(512, 8)), ("b", Package(128, 8)), ("c", Package(256, 8))]) == (128, 256, 512)


@pytest.mark.parametrize("second", [Package(128, 8), Package(256, 9)])
def test_packages_that_do_not_fit_each_other_are_refused_naming_the_file(second: Package) -> None:
    with pytest.raises(ArtifactError) as caught:
        ladder([("a.zip", Package(128, 8)), ("b.zip", second)])
    assert (caught.value.reason, caught.value.file) == ("bad_package", "b.zip")


@pytest.mark.parametrize(
    ("longest", "expected"), [(1, 128), (127, 128), (128, 128), (129, 256), (256, 256), (257, 512), (512, 512)]
)
def test_the_smallest_bucket_that_holds_the_longest_row_is_chosen(longest: int, expected: int) -> None:
    assert bucket((128, 256, 512), longest) == expected


def test_no_bucket_cuts_a_row() -> None:
    with pytest.raises(ValueError, match="513 tokens is longer than the largest bucket of 512"):
        bucket((128, 256, 512), 513)


class SummingPredictor:
    """A TEST DOUBLE for an opened package: the vector is (sum of the masked ids, rows seen, bucket)."""

    def __init__(self, length: int, share: float | None = 0.97) -> None:
        self.length = length
        self.neural_engine_share = share
        self.calls: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]] = []
        self.closed = False
        self.prepared = 0
        self.errors: list[Exception] = []

    def prepare(self) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.prepared += 1

    def predict(self, ids: npt.NDArray[np.int32], mask: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
        assert ids.shape == mask.shape == (1, self.length)
        assert (ids.dtype, mask.dtype) == (np.int32, np.int32)
        self.calls.append((ids.copy(), mask.copy()))
        return np.array([[int((ids * mask).sum()), int(mask.sum()), self.length]], np.float32)

    def close(self) -> None:
        self.closed = True


def package_set(*lengths: int, shares: Sequence[float | None] = (), normalize: bool = False) -> PackageSet:
    given = shares or [0.97] * len(lengths)
    predictors = {length: SummingPredictor(length, share) for length, share in zip(lengths, given, strict=True)}
    return PackageSet(predictors, 3, 1000, EmbedSpec("bert", "mean", normalize, lengths[-1], "f16"))


def row(length: int) -> npt.NDArray[np.int32]:
    return np.arange(1, length + 1, dtype=np.int32)


def test_each_bucket_is_compiled_once_when_it_is_first_used_and_that_is_told() -> None:
    told: list[tuple[int, bool]] = []
    predictors = {length: SummingPredictor(length) for length in (8, 16)}
    spec = EmbedSpec("bert", "mean", False, 16, "f16")
    packages = PackageSet(predictors, 3, 1000, spec, lambda length, begun: told.append((length, begun)))
    assert told == []
    packages.embed([row(3)])
    packages.embed([row(4), row(5)])
    assert told == [(8, True), (8, False)]
    packages.embed([row(3), row(9)])
    assert told == [(8, True), (8, False), (16, True), (16, False)]
    assert [each.prepared for each in predictors.values()] == [1, 1]


def test_a_compile_that_fails_is_over_and_is_tried_again() -> None:
    told: list[tuple[int, bool]] = []
    predictor = SummingPredictor(8)
    predictor.errors = [EngineMismatch({"a": "1"}, {"a": "2"})]
    spec = EmbedSpec("bert", "mean", False, 8, "f16")
    packages = PackageSet({8: predictor}, 3, 1000, spec, lambda length, begun: told.append((length, begun)))
    with pytest.raises(EngineMismatch):
        packages.embed([row(3)])
    packages.embed([row(3)])
    assert told == [(8, True), (8, False)] * 2
    assert len(predictor.calls) == 1


def test_all_rows_of_a_call_run_in_the_bucket_of_the_longest_and_keep_every_token() -> None:
    vectors = package_set(8, 16, 32).embed([row(3), row(9), row(16)])
    assert vectors.tolist() == [[6.0, 3.0, 16.0], [45.0, 9.0, 16.0], [136.0, 16.0, 16.0]]
    assert package_set(8, 16, 32).embed([row(3)]).tolist() == [[6.0, 3.0, 8.0]]


def test_padding_is_masked() -> None:
    found = package_set(8)
    found.embed([row(3)])
    ((ids, mask),) = found._predictors[8].calls  # type: ignore[attr-defined]
    assert (ids.tolist(), mask.tolist()) == ([[1, 2, 3, 0, 0, 0, 0, 0]], [[1, 1, 1, 0, 0, 0, 0, 0]])


def test_a_row_longer_than_every_bucket_is_refused_not_cut() -> None:
    with pytest.raises(InputError) as caught:
        package_set(8, 16).embed([row(17)])
    assert (caught.value.reason, caught.value.row) == ("too_long", 0)


def test_vectors_are_scaled_to_length_one_where_the_lane_says_so() -> None:
    (vector,) = package_set(8, normalize=True).embed([row(3)])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(
    ("shares", "share", "fact"),
    [([0.98, 0.91], 0.91, "0.9100"), ([0.98, None], None, "unmeasured"), ([0.0, 0.98], 0.0, "0.0000")],
)
def test_the_share_of_a_set_is_that_of_its_worst_package_and_unmeasured_is_no_share(
    shares: list[float | None], share: float | None, fact: str
) -> None:
    found = package_set(8, 16, shares=shares)
    assert (found.neural_engine_share, found.facts["neural_engine_share"]) == (share, fact)
    assert found.facts["buckets"] == "8,16"


def test_loading_a_set_unpacks_and_opens_every_package(tmp_path: Path) -> None:
    paths = [write_package(tmp_path, length, 3) for length in (16, 8)]
    opened: list[tuple[str, int]] = []

    def open_package(bundle: Path, length: int) -> SummingPredictor:
        assert (bundle / "model.mil").is_file()
        opened.append((bundle.parent.name, length))
        return SummingPredictor(length)

    found = load([(path, sha256_of(path)) for path in paths], tmp_path / "out", 1000, 3, SPEC, open_package)
    assert opened == [(sha256_of(paths[0]), 16), (sha256_of(paths[1]), 8)]
    assert found.ladder == (8, 16)


def test_a_set_that_is_not_what_the_lane_declares_opens_nothing(tmp_path: Path) -> None:
    path = write_package(tmp_path, 8, 3)
    with pytest.raises(ArtifactError, match="the lane declares 4"):
        load([(path, sha256_of(path))], tmp_path / "out", 1000, 4, SPEC, no_predictor)


def test_packages_that_were_opened_are_closed_when_a_later_one_fails(tmp_path: Path) -> None:
    paths = [write_package(tmp_path, length, 3) for length in (8, 16)]
    first = SummingPredictor(8)

    def open_package(bundle: Path, length: int) -> SummingPredictor:
        if length == 16:
            raise EngineMismatch({"a": "1"}, {"a": "2"})
        return first

    with pytest.raises(EngineMismatch):
        load([(path, sha256_of(path)) for path in paths], tmp_path / "out", 1000, 3, SPEC, open_package)
    assert first.closed


def test_production_has_nothing_to_open_a_package_with(tmp_path: Path) -> None:
    path = write_package(tmp_path, 64, 64)
    config = tiny_config("bert")
    spec = LoadSpec(
        backend="coreml",
        model_path=str(path),
        config=config,
        family="bert",
        pooling="mean",
        normalize=True,
        max_tokens=64,
        dtype="f16",
        threads=1,
        packages=(PackageFile(str(path), sha256_of(path)),),
        package_root=str(tmp_path / "out"),
        dims=64,
    )
    with pytest.raises(EngineMismatch, match="predictor is none in this build"):
        load_model(spec, lambda rows, tokens: None)
    loaded = load_model(spec, lambda rows, tokens: None, open_package=lambda bundle, length: SummingPredictor(length))
    assert isinstance(loaded, LoadedEmbedder)
    assert (loaded.vocab, loaded.max_tokens, loaded.self_test_values) == (config["vocab_size"], 64, None)
    # The longest row chooses the bucket of all, so a request is never split.
    assert loaded.tokens_per_call > 64 * 512 * 512
