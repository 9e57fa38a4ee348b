"""Embed a text with the Python client: python embed.py MODEL_ID [TEXT]"""

import os
import sys

from synapse_client import Client, ClientError, SynapseError


def main() -> int:
    if len(sys.argv) < 2:
        print("usage: python embed.py MODEL_ID [TEXT]", file=sys.stderr)
        return 2
    model = sys.argv[1]
    text = sys.argv[2] if len(sys.argv) > 2 else "A text to embed."
    try:
        # Without an address, the client looks where the service of this user listens.
        with Client(os.environ.get("SYNAPSE_SOCKET"), name="example-python") as synapse:
            answer = synapse.embed_query(model, text, deadline_ms=30_000)
    except (SynapseError, ClientError) as error:
        print(error, file=sys.stderr)
        return 1
    print("numbers:", " ".join(f"{value:.6f}" for value in answer.vector[:4]), f"... ({answer.dims} in all)")
    print("fingerprint:", answer.fingerprint)
    return 0


if __name__ == "__main__":
    sys.exit(main())
