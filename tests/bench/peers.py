"""The engines that Synapse is compared with, each in a process of its own that works only when it is told to.

``sentence-transformers`` runs with its defaults: it sorts by length and pads batches of 32. ``onnxruntime`` gets the
rows one by one, as from a server that does not batch. ``transformers`` is the yardstick of numbers and is never timed.
``engine`` is Synapse's own engine without the service: tokenizer and graph, called as functions.

A child reads one JSON request a line and answers each with one. It is the same file, run as a program.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from bench.corpus import MAX_TOKENS, QUERY, THREADS, folder, texts

Vectors = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]

ONNX_FILE = "minilm.onnx"


class Peer:
    """One engine in its process."""

    def __init__(self, process: subprocess.Popen[str], work: Path, name: str) -> None:
        self._process = process
        self.pid = process.pid
        self._file = work / f"{name}.npy"

    def ask(self, what: str, **arguments: Any) -> Any:
        """Have the child do something, and wait for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"what": what, **arguments}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("a peer ended; run it by hand to see why: python tests/bench/peers.py NAME FOLDER")
        return json.loads(answer)

    def pass_s(self) -> float:
        """Seconds that the engine takes for the whole corpus."""
        return float(self.ask("pass"))

    def query_ms(self, count: int) -> list[float]:
        """The times of the one short text, asked again and again."""
        return list(self.ask("query", count=count))

    def parts_ms(self, count: int) -> dict[str, float]:
        """The median times of what a query of Synapse's own engine is made of."""
        return dict(self.ask("parts", count=count))

    def embed_s(self, given: Sequence[str]) -> float:
        """Seconds that the engine takes for other texts, which are sent to it beforehand."""
        return float(self.ask("embed", texts=list(given)))

    def vectors(self, given: Sequence[str]) -> Vectors:
        """What the engine makes of texts."""
        self.ask("vectors", texts=list(given), file=str(self._file))
        found: Vectors = np.load(self._file)
        return found


@contextmanager
def running(*names: str) -> Iterator[list[Peer]]:
    """The peers of these names, loaded and idle."""
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="synapse-peers-")))
        if "onnxruntime" in names:
            command = [sys.executable, __file__, "export", str(work)]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        processes = [stack.enter_context(_start(name, work)) for name in names]
        peers = [Peer(process, work, name) for name, process in zip(names, processes, strict=True)]
        for peer in peers:
            peer.ask("ready")
        yield peers


@contextmanager
def _start(name: str, work: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, __file__, name, str(work)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    try:
        yield process
    finally:
        process.communicate()


# --- in the children ---


def own_parts() -> tuple[Callable[[Sequence[str]], list[npt.NDArray[np.int32]]], Callable[..., Vectors]]:
    """Synapse's engine: texts to rows of ids, and rows to vectors."""
    from synapse_engines import openvino
    from synapse_engines.backend import EmbedSpec
    from synapse_engines.families import family_for
    from synapse_engines.tokenizer import SanitisedTokenizer, derive_specials

    config = json.loads((folder() / "config.json").read_text())
    family = family_for(config)
    cfg = family.parse(config)
    stored = (folder() / "tokenizer.json").read_bytes()
    specials = derive_specials(stored, family.name, config)
    tokenizer = SanitisedTokenizer.load(stored, specials=specials, allow_added=None, vocab_size=cfg.vocab)
    spec = EmbedSpec(family.name, "mean", True, MAX_TOKENS)
    model = openvino.build(folder() / "model.safetensors", family, cfg, spec, THREADS)

    def rows(given: Sequence[str]) -> list[npt.NDArray[np.int32]]:
        encodings = (tokenizer.truncate(each, MAX_TOKENS) for each in tokenizer.encode_many(given))
        return [np.array(each.ids, np.int32) for each in encodings]

    return rows, model.embed


def engine(_work: Path) -> Embed:
    rows, embed = own_parts()
    return lambda given: embed(rows(given))


def sentence_transformers(_work: Path) -> Embed:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(THREADS)
    model = SentenceTransformer(str(folder()), device="cpu")

    def embed(given: Sequence[str]) -> Vectors:
        found: Vectors = model.encode(list(given), show_progress_bar=False)
        return found

    return embed


def transformers(_work: Path) -> Embed:
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(THREADS)
    tokenizer = AutoTokenizer.from_pretrained(folder())
    model = AutoModel.from_pretrained(folder(), attn_implementation="eager").eval()

    @torch.no_grad()
    def row(text: str) -> Vectors:
        encoded = tokenizer(text, return_tensors="pt", truncation=True, max_length=MAX_TOKENS)
        mean = model(**encoded).last_hidden_state[0].mean(0)
        found: Vectors = torch.nn.functional.normalize(mean, dim=0).numpy()
        return found

    return lambda given: np.stack([row(text) for text in given])


def onnxruntime(work: Path) -> Embed:
    import onnxruntime as runtime
    from tokenizers import Tokenizer

    options = runtime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = runtime.InferenceSession(str(work / ONNX_FILE), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)

    def embed(given: Sequence[str]) -> Vectors:
        rows = [np.array([each.ids], np.int64) for each in tokenizer.encode_batch(list(given))]
        return np.concatenate([session.run(None, {"ids": row, "mask": np.ones_like(row)})[0] for row in rows])

    return embed


ENGINES: dict[str, Callable[[Path], Embed]] = {
    "engine": engine,
    "sentence-transformers": sentence_transformers,
    "transformers": transformers,
    "onnxruntime": onnxruntime,
}


def export(work: Path) -> None:
    """Writes the model as ONNX, mean-pooled and normalised, in float32."""
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
            str(work / ONNX_FILE),
            input_names=["ids", "mask"],
            output_names=["vectors"],
            dynamic_axes={"ids": axes, "mask": axes},
            opset_version=17,
            dynamo=False,
        )


def times_ms(count: int, work: Callable[[], object]) -> list[float]:
    """What a piece of work takes each time, in milliseconds."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1000)
    return times


def query_parts_ms(count: int) -> dict[str, float]:
    """What a query takes inside Synapse's engine."""
    tokenize, embed = own_parts()
    rows = tokenize([QUERY])
    assert rows[0].size == 12
    embed(rows)
    works: dict[str, Callable[[], object]] = {"tokenizer": lambda: tokenize([QUERY]), "graph": lambda: embed(rows)}
    return {part: statistics.median(times_ms(count, work)) for part, work in works.items()}


def answer(name: str, work: Path) -> None:
    """Do what is asked on standard input until it ends."""
    embed, corpus = ENGINES[name](work), texts()
    embed(corpus[:8])
    for line in sys.stdin:
        request = json.loads(line)
        result: object = None
        match request["what"]:
            case "pass":
                began = time.perf_counter()
                embed(corpus)
                result = time.perf_counter() - began
            case "query":
                result = times_ms(request["count"], lambda: embed([QUERY]))
            case "parts":
                result = query_parts_ms(request["count"])
            case "embed":
                began = time.perf_counter()
                embed(request["texts"])
                result = time.perf_counter() - began
            case "vectors":
                np.save(request["file"], embed(request["texts"]))
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["export", path]:
            export(Path(path))
        case [which, path]:
            answer(which, Path(path))
        case _:
            sys.exit("for the use of the measurements")
