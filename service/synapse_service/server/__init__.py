"""The service's side of the socket: from the bytes of a client to the handler of an operation, and back.

A request walks through it in this order:

==================  =================================================================================
``transports``      accepts at a Unix socket or a named pipe, and says who connected (``peer``)
``socket_server``   keeps the connections, and stops without losing a reply
``connection``      one client: lines in, checks, tasks, cancellation, events
``host``            what the connections share, and what one client may take
``line_clock``      how long that client may take to finish a line
``router``          which handler serves a method, and the checks before it
``outbox``          what was said and not read yet
==================  =================================================================================

``boot`` fills the router and starts the server. Handlers see ``router.Call`` and the connection in it, nothing else.
"""
