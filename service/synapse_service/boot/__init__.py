"""Starting the service, putting its parts together, and ending them in the right order.

``process`` is the life of the service, ``arguments`` what it is started with, ``assembly`` the composition root; the
other modules each put together one part for it. Nothing else of the service imports this package.
"""

from synapse_service.boot.process import run

__all__ = ["run"]
