"""One package for each provider's wire format. A package here and a line in ``registry.py`` make a dialect."""
