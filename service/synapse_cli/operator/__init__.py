"""`ck-synapse-opctl`: what an operator does to a running service, one module a family of commands.

Each module has ``register(app)``, which ``synapse_cli.opctl`` calls. A command names an operation, gives its
parameters, and says what to print; ``session`` does the rest, the same for all of them.
"""
