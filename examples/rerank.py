"""Put texts in order with the Python client: python rerank.py MODEL_ID QUERY TEXT [TEXT ...]"""

import os
import sys

from synapse_client import Client, ClientError, SynapseError


def main() -> int:
    if len(sys.argv) < 4:
        print("usage: python rerank.py MODEL_ID QUERY TEXT [TEXT ...]", file=sys.stderr)
        return 2
    model, query, *texts = sys.argv[1:]
    try:
        # Without an address, the client looks where the service of this user listens.
        with Client(os.environ.get("SYNAPSE_SOCKET"), name="example-python") as synapse:
            answer = synapse.rerank(model, query, texts, deadline_ms=30_000)
    except (SynapseError, ClientError) as error:
        print(error, file=sys.stderr)
        return 1
    for name, score in answer.best_first():
        print(f"{score:.6f}", texts[int(name)])
    print("fingerprint:", answer.fingerprint)
    return 0


if __name__ == "__main__":
    sys.exit(main())
