"""The settings: ``declared`` says which there are, ``store`` where their values come from and how they change.

``tables`` and ``toml_edit`` serve ``store``: entries that are tables, and a person's file kept as it was written.
"""
