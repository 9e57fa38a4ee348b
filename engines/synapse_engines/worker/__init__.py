"""The worker: one process that holds one loaded model and answers the service over a pair of pipes.

`frames` and `protocol` are shared with the service process, so they import neither NumPy nor an engine.
Everything else here runs inside the worker only. A worker opens no socket, no database and no file besides the
model's own.
"""
