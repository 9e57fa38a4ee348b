"""What this engine declares about its numbers, readable without Core ML.

The service puts `ENGINE_BUILD` into a lane's fingerprint before anything is loaded. Imports nothing.
"""

from __future__ import annotations

COREMLTOOLS_VERSION = "9.0"
"""The release through which packages are opened."""

SET_REVISION = 1
"""Raised with every change to padding, masks, the choice of a bucket or normalising here that can move a vector."""

ENGINE_BUILD = f"coreml-{COREMLTOOLS_VERSION}/f16-{SET_REVISION}"
"""The engine's part of a lane's fingerprint."""
