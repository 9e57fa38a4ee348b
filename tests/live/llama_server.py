"""Serves one GGUF file by llama.cpp's own HTTP server, from the xllamacpp package, on a loopback port of its choice.

A process of its own, since the library keeps threads and logs for itself. Prints one line, the server's address, and
serves until its standard input ends.
"""

from __future__ import annotations

import argparse
import sys


def main() -> None:
    """Command line: the model's file, the name to report for it, and the key to ask for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--alias", required=True)
    parser.add_argument("--key", default="")
    arguments = parser.parse_args()
    import xllamacpp  # type: ignore[import-untyped]

    params = xllamacpp.CommonParams()
    params.model.path = arguments.model
    params.model_alias = [arguments.alias]
    params.api_keys = [arguments.key] if arguments.key else []
    params.n_ctx = 4096
    params.n_parallel = 2
    params.cpuparams.n_threads = 1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
