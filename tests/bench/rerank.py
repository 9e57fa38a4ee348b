"""Twenty candidates of exactly 128 tokens, on a ModernBERT classifier of the published size with random weights.

Synapse answers over its socket, from texts to scores. ``sentence-transformers`` does the same in process with its
CrossEncoder, and ``onnxruntime`` gets the same rows of ids, all of one length and in one call. Each peer is a process
of its own that works only when it is told to; rounds alternate between them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])

from bench.corpus import THREADS
from bench.figures import Report, ratio, spread
from fixtures.model_files import tiny_model
from fixtures.service_process import file_manifest, running_service

if TYPE_CHECKING:
    from synapse_client import Client

SECONDS = 240
ROUNDS = 7
CANDIDATES, TOKENS = 20, 128
QUERY = "boats in the harbour every morning before the fog lifts"
WORDS = ("harbour", "master", "counts", "the", "boats", "morning", "service", "reads", "one", "line", "numbers")
TOLERANCE = 1e-4
MODEL = "reranker"


def measure() -> Report:
    """The two ratios, and how far the scores are apart."""
    report = Report()
    with tempfile.TemporaryDirectory(prefix="synapse-bench-") as work:
        folder = Path(work) / "model"
        subprocess.run([sys.executable, __file__, "make", str(folder)], check=True, stderr=subprocess.DEVNULL)
        texts = json.loads((folder / "texts.json").read_text())
        with (
            _service(Path(work), folder) as client,
            _peer("cross-encoder", folder) as cross,
            _peer("onnx", folder) as runtime,
        ):
            answer = client.rerank(MODEL, QUERY, texts)
            assert answer.token_counts == [TOKENS] * CANDIDATES
            theirs = cross("scores")
            off = float(np.abs(np.array(answer.scores) - np.array(theirs)).max())
            turns: dict[str, Callable[[], float]] = {
                "Synapse": lambda: _timed(lambda: client.rerank(MODEL, QUERY, texts)),
                "CrossEncoder": lambda: float(cross("go")),
                "onnxruntime": lambda: float(runtime("go")),
            }
            taken: dict[str, list[float]] = {name: [] for name in turns}
            for _ in range(ROUNDS):
                for name, turn in turns.items():
                    taken[name].append(turn())
    ours = taken["Synapse"]
    title = f"rerank of {CANDIDATES} candidates x {TOKENS} tokens, ModernBERT-base size: "
    report.at_least(
        f"{title}speed, of CrossEncoder's",
        ratio(taken["CrossEncoder"], ours),
        "x",
        1.15,
        spread(taken["CrossEncoder"], ours),
    )
    report.at_least(
        f"{title}speed, of onnxruntime's",
        ratio(taken["onnxruntime"], ours),
        "x",
        1.0,
        spread(taken["onnxruntime"], ours),
    )
    report.at_most(f"{title}largest difference of a score from CrossEncoder's", off, "", TOLERANCE)
    for name, seconds in taken.items():
        report.lines.append(f"{name}: median {sorted(seconds)[len(seconds) // 2]:.3f} s, best {min(seconds):.3f} s")
    return report


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@contextmanager
def _service(work: Path, folder: Path) -> Iterator[Client]:
    environ = {"SYNAPSE_WORKER_THREADS": str(THREADS)}
    with (
        running_service(work / "home", arguments=("--cpu-lanes",), environ=environ) as service,
        service.client() as client,
    ):
        # A short lane, because the probe computes every length up to its limit with the slow reference.
        loading = client.model_load(
            MODEL, task="rerank", engine="owned-cpu", files=file_manifest(folder), max_tokens=2 * TOKENS
        )
        client.wait_job(loading.job_id, timeout_s=600)
        client.wait_job(client.probe_start(MODEL).job_id, timeout_s=600)
        yield client


@contextmanager
def _peer(name: str, folder: Path) -> Iterator[Callable[[str], Any]]:
    process = subprocess.Popen(
        [sys.executable, __file__, name, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )

    def ask(what: str) -> Any:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(what + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"a peer ended; see why: python tests/bench/rerank.py {name} FOLDER")
        return json.loads(line)

    try:
        ask("ready")
        yield ask
    finally:
        process.communicate()


# --- in the children ---


def make(folder: Path) -> None:
    """Write the model, its tokenizer, and candidates that make pairs of the wanted length; and all of it as ONNX."""
    import torch
    from tokenizers import Tokenizer
    from transformers import ModernBertConfig, ModernBertForSequenceClassification, PreTrainedTokenizerFast

    from bench.full_size import enliven

    tokenizer = Tokenizer.from_file(str(tiny_model("modernbert-reranker") / "tokenizer.json"))
    ids = {name: tokenizer.token_to_id(f"[{name.upper()}]") for name in ("cls", "sep", "pad")}
    config = ModernBertConfig(
        num_labels=1,
        classifier_pooling="mean",
        bos_token_id=ids["cls"],
        cls_token_id=ids["cls"],
        eos_token_id=ids["sep"],
        sep_token_id=ids["sep"],
        pad_token_id=ids["pad"],
        attn_implementation="sdpa",
    )
    model = ModernBertForSequenceClassification(config).eval()
    enliven(model)
    with torch.no_grad():
        model.classifier.weight.mul_(0.2)  # Else every score would be 0 or 1.
        model.classifier.bias.zero_()
    model.save_pretrained(folder)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]"
    )
    fast.save_pretrained(folder)
    texts = [_text(tokenizer, seed) for seed in range(CANDIDATES)]
    (folder / "texts.json").write_text(json.dumps(texts))
    _export(model, folder)


def _text(tokenizer: Any, seed: int) -> str:
    """Words until the pair is too long, and then as many letters as are missing."""
    random = np.random.default_rng(seed)
    words: list[str] = []
    while len(tokenizer.encode(QUERY, " ".join([*words, "a"])).ids) < TOKENS - 8:
        words.append(str(random.choice(WORDS)))
    text = " ".join(words)
    for _ in range(64):
        missing = TOKENS - len(tokenizer.encode(QUERY, text).ids)
        if missing == 0:
            return text
        text += " a" if missing > 0 else ""
    raise SystemExit("no text makes a pair of that length")


def _export(model: Any, folder: Path) -> None:
    import torch

    class Classifier(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.model(input_ids=ids, attention_mask=mask).logits)

    model.set_attn_implementation("eager")
    example = torch.ones((2, TOKENS), dtype=torch.int64)
    with warnings.catch_warnings():
        # The exporter that needs no further package is the old one, and says so at length.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Classifier().eval(),
            (example, torch.ones_like(example)),
            str(folder / "model.onnx"),
            input_names=["ids", "mask"],
            output_names=["scores"],
            dynamic_axes={"ids": {0: "rows"}, "mask": {0: "rows"}},
            opset_version=17,
            dynamo=False,
        )


def cross_encoder(folder: Path) -> Callable[[], Any]:
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(THREADS)
    model = CrossEncoder(str(folder), device="cpu")
    pairs = [(QUERY, text) for text in json.loads((folder / "texts.json").read_text())]
    return lambda: model.predict(pairs, show_progress_bar=False)


def onnx(folder: Path) -> Callable[[], Any]:
    import onnxruntime as runtime
    from tokenizers import Tokenizer

    options = runtime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = runtime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(tiny_model("modernbert-reranker") / "tokenizer.json"))
    pairs = [(QUERY, text) for text in json.loads((folder / "texts.json").read_text())]

    def score() -> Any:
        rows = np.array([each.ids for each in tokenizer.encode_batch(pairs)], np.int64)
        return session.run(None, {"ids": rows, "mask": np.ones_like(rows)})[0][:, 0]

    return score


def serve(score: Callable[[], Any]) -> None:
    """Do what is asked on standard input until it ends."""
    score()
    for line in sys.stdin:
        began = time.perf_counter()
        scores = score() if line.strip() != "ready" else []
        seconds = time.perf_counter() - began
        told = seconds if line.strip() == "go" else [float(each) for each in scores]
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", path]:
            make(Path(path))
        case ["cross-encoder", path]:
            serve(cross_encoder(Path(path)))
        case ["onnx", path]:
            serve(onnx(Path(path)))
        case _:
            sys.exit("for the use of the measurements")
