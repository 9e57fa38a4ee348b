"""`ckdev-synapse-certify`: proves a lane of the catalog on declared hardware, and writes a record of it.

``procedure`` is the run; the other modules are what it needs: the row that is claimed (``rows``), the source tree
(``checkout``), the files (``mirror``), the figures (``assets``, ``judging``), a service of its own (``own_service``),
the machine (``machine``) and the record (``record``). Everything goes through the client, as it would for any program.
"""
