"""What the service remembers: one SQLite database through Peewee.

``opening`` brings the file into a usable state, ``migrations`` bring it to the present schema, ``models`` are its
tables, and ``database`` holds the :class:`~synapse_service.store.database.Store` that everyone else uses: closures run
on one writer thread or one reader thread (``connection_thread``), each in a transaction. ``errors`` says what went
wrong in the disk's terms.
"""
