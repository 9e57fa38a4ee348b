"""The background service: one asyncio process that owns the socket, admits and schedules work, and remembers.

``boot`` is the only module that knows every part. Nothing here computes a vector or imports an array library: that
happens in worker processes. Clocks and id sources come in as arguments, so that time can be moved in tests.
"""
