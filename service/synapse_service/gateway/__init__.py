"""The gateway: lanes whose vectors a remote provider computes.

Belongs here: provider profiles, references to credentials, calibration and the watch for drift, and the discovery of
providers on the local network. Wire formats do not: `synapse_models` holds them.
"""
