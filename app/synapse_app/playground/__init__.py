"""What the playground page is made of: its three panels, the picture of similarities, and an index in memory.

:mod:`text_folder` and :mod:`text_index` know neither Qt nor the service; the panels call them in threads.
"""
