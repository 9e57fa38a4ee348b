"""The operations, one file a family: decoded parameters in, a result out, and a typed refusal where one is due.

``boot`` calls each module's ``register`` with the router and exactly what its handlers use. Handlers know nothing of
bytes, sockets or connections' limits; what is behind them knows nothing of the wire.
"""
