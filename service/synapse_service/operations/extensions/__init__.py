"""The operations that this product adds to the contract, one file a family; ``docs/extensions.md`` describes them.

Each module has one ``register``, which ``boot`` calls with the router and exactly what the handlers use.
"""
