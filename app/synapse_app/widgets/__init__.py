"""What pages share: list models that hold rows, delegates that paint them, and small controls with names and roles.

A list of any length is one view, one model and one delegate; a row is painted, not built from widgets.
"""
