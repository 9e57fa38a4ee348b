"""One module for each family of commands. Each has ``register(app)``, which ``synapse_cli.main`` calls.

Importing a module here must stay cheap, because `synapse --help` imports all of them: whatever a command needs to do
its work is imported in its function.
"""
