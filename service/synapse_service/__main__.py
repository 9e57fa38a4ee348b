"""``python -m synapse_service``: the service, as ``synapse-service`` starts it."""

from synapse_service.boot import run

run()
