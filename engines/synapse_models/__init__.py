"""The model plane: one way to ask for a generation, whichever provider answers it.

Will hold the request and the response that all providers share, the declaration of what a model can do, the check of
one against the other before anything is sent, and one package under `dialects/` for each provider's wire format.
Importable without the service; only the module that owns connections may import an HTTP client.
"""
