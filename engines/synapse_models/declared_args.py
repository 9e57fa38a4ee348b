"""Request defaults as a file declares them: where they may stand, and how they are read.

``declaration.py`` reads each one through :func:`read_default`. How they fill a request is ``defaults.py``'s. Pure.
"""

from __future__ import annotations

from typing import Final

import msgspec

from synapse_models.leaves import LEAVES, leaf_type
from synapse_models.parts import JSONValue

GROUPS: Final = ("sampling", "scoring", "reasoning", "tools", "structured_output")
"""The parameter groups that may have defaults: not what a session goes on from, nor how the answer travels."""


def read_default(path: str, value: JSONValue) -> JSONValue:
    """``value`` as the plain form of the default of the leaf ``path``.

    Raises ValueError, saying what is wrong, for a path that can't have a default and for a value of another type.
    """
    group = path.partition(".")[0]
    if path not in LEAVES or group not in GROUPS:
        raise ValueError(f"no default can stand here; groups are {', '.join(GROUPS)}, and dialect_options")
    if value is None:
        raise ValueError("null is no value; leave the key out")
    try:
        return msgspec.json.decode(msgspec.json.encode(msgspec.convert(value, type=leaf_type(path), strict=True)))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
